import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import { Worker } from "node:worker_threads";
import { TurnLock, WORKER } from "./support/turn-lock.js";

test("a late notification does not let a waiter pass before its turn", async () => {
  const lock = new TurnLock();
  const marks = new Int32Array(new SharedArrayBuffer(4 * 200));
  const worker = new Worker(new URL("workers/early-waker.js", import.meta.url), {
    workerData: { words: lock.words, marks },
  });
  for (let round = 0; round < marks.length; round++) {
    lock.pass(WORKER);
    lock.waitForWorker();
    assert.equal(Atomics.load(marks, round), 1);
  }
  await once(worker, "exit");
});
