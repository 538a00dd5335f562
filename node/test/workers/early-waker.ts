// Repeatedly wakes the waiting thread before it is its turn.
import { workerData } from "node:worker_threads";
import { TEST, TurnLock, WORKER } from "../support/turn-lock.js";

const { words, marks } = workerData as { words: Int32Array; marks: Int32Array };
const lock = new TurnLock(words);
for (let round = 0; round < marks.length; round++) {
  lock.wait(WORKER);
  for (let n = 0; n < 1_000; n++) Atomics.notify(words, 0);
  Atomics.store(marks, round, 1);
  lock.pass(TEST);
}
