// The worker of the bridge's model test. It runs only while the test's thread sleeps, and the other way round, so that what each
// side finds is the same in every run.
import { setImmediate as turn } from "node:timers/promises";
import { workerData } from "node:worker_threads";
import { type BridgePort, MessageSystem, WorkerBridge } from "millpond";
import { type Command, type PartySpec, ScriptedSide } from "../support/scripted-side.js";

const { port, lock, parties } = workerData as { port: BridgePort; lock: Int32Array; parties: PartySpec[] };
const system: MessageSystem = new MessageSystem(ScriptedSide.reporting(() => side));
const side = new ScriptedSide(system);
const bridge = new WorkerBridge(system, port);
for (const party of parties) {
  if (party.config.remote !== true) side.register(party);
}
bridge.forward("near/*");

function handOver(): void {
  Atomics.store(lock, 0, 0);
  Atomics.notify(lock, 0);
}

async function sleep(): Promise<void> {
  for (let left = 3; left > 0; left--) await turn();
  handOver();
  Atomics.wait(lock, 0, 0);
}

system.on("control/turn", async (message) => {
  try {
    for (const command of message.body as Command[]) side.act(command);
    for (let left = 3; left > 0; left--) await turn();
    return side.report();
  } finally {
    void sleep();
  }
});
system.on("control/exit", () => process.exit());
// Its event loop runs, whatever else happens to it.
setInterval(() => Atomics.add(lock, 1, 1), 1_000).unref();
// Also after an error that nothing catches, which the test's thread then gets.
process.on("exit", handOver);
