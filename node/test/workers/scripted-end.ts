// The worker of the bridges' model test. It runs only in its turn, from its first line on, so that every run is the same.
import { setImmediate as turn } from "node:timers/promises";
import { workerData } from "node:worker_threads";
import { MessageSystem, WorkerBridge } from "millpond";
import type { FarEnd, FarTurn } from "../support/bridge-pair.js";
import { ScriptedSide } from "../support/scripted-side.js";
import { TEST, TurnLock, WORKER } from "../support/turn-lock.js";

const { words, closing, ends } = workerData as { words: Int32Array; closing: Int32Array; ends: FarEnd[] };
const lock = new TurnLock(words);
lock.wait(WORKER);
/** Far sides that have completed this turn. */
let done = 0;

async function finish(turns: number): Promise<void> {
  done++;
  if (done < turns) return;
  done = 0;
  for (;;) {
    for (let left = 3; left > 0; left--) await turn();
    lock.pass(TEST);
    lock.wait(WORKER);
    if (!lock.closing) return;
    // Sides with closing bridges get no commands.
    for (let left = 3; left > 0; left--) await turn();
    for (const [at, side] of sides.entries()) if (closing[at] === 1) side.openAll();
  }
}

const sides: ScriptedSide[] = [];

for (const { port, parties, asyncContext } of ends) {
  const system: MessageSystem = new MessageSystem({ ...ScriptedSide.reporting(() => side), asyncContext });
  const side = new ScriptedSide(system);
  sides.push(side);
  const bridge = new WorkerBridge(system, port);
  for (const party of parties) {
    if (party.config.remote !== true) side.register(party);
  }
  bridge.forward("near/*");
  system.on("control/turn", async (message) => {
    const { commands, turns } = message.body as FarTurn;
    try {
      for (const command of commands) side.act(command);
      for (let left = 3; left > 0; left--) await turn();
      return side.report();
    } finally {
      void finish(turns);
    }
  });
  system.on("control/exit", () => process.exit());
}
// The pulse shows that the event loop runs.
setInterval(() => lock.pulse(), 1_000).unref();
// Runs after an uncaught error too, which the test's thread then gets.
process.on("exit", () => lock.pass(TEST));
