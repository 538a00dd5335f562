// The other side of bridge-load.test.ts in a worker: `turns` of calls and aborts, and its end of the bridge closes when told.
import { parentPort, workerData } from "node:worker_threads";
import { type BridgePort, MessageSystem, WorkerBridge } from "millpond";
import { LoadSide } from "../support/load-side.js";
import { randomFrom } from "../support/random.js";

const { port, seed, turns, closes, timeoutMs } = workerData as {
  readonly port: BridgePort;
  readonly seed: number;
  readonly turns: number;
  /** In which turn, if at all before the last. */
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
