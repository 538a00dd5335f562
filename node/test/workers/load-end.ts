// The worker of bridge-load.test.ts: makes `turns` of calls and aborts, and closes its end of the bridge when told.
import { parentPort, workerData } from "node:worker_threads";
import { type BridgePort, MessageSystem, WorkerBridge } from "millpond";
import { LoadSide } from "../support/load-side.js";
import { randomFrom } from "../support/random.js";

const { port, seed, turns, closes, timeoutMs } = workerData as {
  readonly port: BridgePort;
  readonly seed: number;
  readonly turns: number;
  /** Turn in which the bridge closes; if not before the last, it closes after it. */
  readonly closes: number;
  readonly timeoutMs: number;
};
const system = new MessageSystem();
const bridge = new WorkerBridge(system, port);
bridge.forward("near/*");
const side = new LoadSide(system, "far", "near", randomFrom(seed), () => true);
let closed: Promise<boolean> | undefined;
for (let at = 0; at < turns; at++) {
  if (at === closes) closed = bridge.close(timeoutMs);
  await side.act();
}
const complete = await (closed ?? bridge.close(timeoutMs));
const tally = await side.tally();
await system.close();
parentPort!.postMessage({
  complete,
  tally,
  starts: side.starts,
  replied: side.replied,
  inUse: system.pool.stats().inUse,
});
