import assert from "node:assert/strict";
import { test } from "node:test";
import { MessageDroppedError, MessageSystem, QueueFullError, SystemClosedError } from "millpond";
import { gate, turn } from "./support/gate.js";

test("a queue runs the most urgent first, and each priority in order", async () => {
  const system = new MessageSystem();
  const seen: unknown[] = [];
  system.on("q", (message) => void seen.push(message.body), { queue: { capacity: 100 } });
  system.emit("q", "low 1", { priority: "low" });
  system.emit("q", "medium");
  system.emit("q", "low 2", { priority: "low" });
  system.emit("q", "critical", { priority: "critical" });
  const last = system.send("q", "high", { priority: "high" });
  assert.deepEqual(seen, []);
  await last;
  await turn();
  assert.deepEqual(seen, ["critical", "high", "medium", "low 1", "low 2"]);
  assert.equal(system.pool.stats().inUse, 0);
});

test("a full queue refuses, drops the oldest, drops the newest or waits, by its option", async () => {
  const system = new MessageSystem();
  const seen: Record<string, unknown[]> = { reject: [], "drop-oldest": [], "drop-newest": [], wait: [] };
  const outcomes: Record<string, PromiseSettledResult<unknown>[]> = {};
  for (const overflow of ["reject", "drop-oldest", "drop-newest", "wait"] as const) {
    system.on(overflow, (message) => seen[overflow]!.push(message.body), { queue: { capacity: 2, overflow } });
    const sent = [1, 2, 3, 4].map((body) => system.send(overflow, body) as Promise<unknown>);
    assert.equal(system.canAccept(overflow), false);
    outcomes[overflow] = await Promise.allSettled(sent);
    assert.equal(system.canAccept(overflow), true);
  }
  assert.deepEqual(seen, { reject: [1, 2], "drop-oldest": [3, 4], "drop-newest": [1, 2], wait: [1, 2, 3, 4] });
  const reasons = (overflow: string): unknown[] =>
    outcomes[overflow]!.filter((one) => one.status === "rejected").map((one) => one.reason.constructor);
  assert.deepEqual(reasons("reject"), [QueueFullError, QueueFullError]);
  assert.deepEqual(reasons("drop-oldest"), [MessageDroppedError, MessageDroppedError]);
  assert.deepEqual(reasons("drop-newest"), [MessageDroppedError, MessageDroppedError]);
  assert.deepEqual(reasons("wait"), []);
  assert.equal(system.pool.stats().inUse, 0);
});

test("coalescing keeps one queued message per key: the newest, at the place of the first", async () => {
  const system = new MessageSystem();
  const seen: unknown[] = [];
  system.on("q/{key}", (message) => void seen.push(`${message.param("key")}${message.body}`), {
    queue: { capacity: 10, overflow: "coalesce", key: (message) => message.path },
  });
  for (const [key, body] of [
    ["a", 1],
    ["b", 2],
    ["a", 3],
    ["c", 4],
    ["b", 5],
  ] as const)
    system.emit(`q/${key}`, body);
  await turn();
  assert.deepEqual(seen, ["a3", "b5", "c4"]);
  system.emit("q/a", 6);
  await turn();
  assert.deepEqual(seen.slice(3), ["a6"]);
  assert.equal(system.pool.stats().inUse, 0);
});

test("handlers run up to the concurrency of the queue, and whenReady resolves to a place", async () => {
  const system = new MessageSystem();
  let [running, most] = [0, 0];
  const gates = Array.from({ length: 6 }, gate);
  system.on(
    "q",
    async (message) => {
      running++;
      most = Math.max(most, running);
      await gates[message.body as number]!.opened;
      running--;
    },
    { queue: { capacity: 4, concurrency: 2 } },
  );
  const sent = [0, 1, 2, 3].map((body) => system.send("q", body));
  const place = await system.whenReady("q");
  assert.equal(running, 2);
  sent.push(place.send(4), system.send("q", 5));
  for (const { open } of gates) open();
  await Promise.all(sent);
  assert.equal(most, 2);
});

test("an aborted message leaves its queue, and a running handler keeps its message", async () => {
  const system = new MessageSystem();
  const { opened, open } = gate();
  const seen: unknown[] = [];
  system.on(
    "q",
    async (message) => {
      await opened;
      seen.push(message.body, message.signal?.aborted);
    },
    { queue: { capacity: 4 } },
  );
  const [runs, waits] = [new AbortController(), new AbortController()];
  const first = system.send("q", 1, { signal: runs.signal }) as Promise<unknown>;
  const second = system.send("q", 2, { signal: waits.signal }) as Promise<unknown>;
  await turn();
  runs.abort(new Error("given up"));
  waits.abort(new Error("not wanted"));
  await assert.rejects(first, /given up/);
  await assert.rejects(second, /not wanted/);
  assert.equal(system.pool.stats().inUse, 1);
  open();
  await turn();
  assert.deepEqual(seen, [1, true]);
  assert.equal(system.stats().receivers[0]!.aborted, 1);
  assert.throws(() => system.send("q", 3, { signal: runs.signal }), /given up/);
});

test("places of removed messages go to waiting ones in order", async () => {
  for (const key of [undefined, (message: { readonly body: unknown }) => message.body]) {
    const system = new MessageSystem();
    const { opened, open } = gate();
    const seen: unknown[] = [];
    const queue = { capacity: 4, ...(key === undefined ? {} : { key, overflow: "coalesce" as const }) };
    system.on("q", async (message) => void seen.push(await opened.then(() => message.body)), { queue });
    void system.send("q", "runs");
    await turn();
    system.emit("q", "stays");
    for (let n = 0; n < 100; n++) {
      const abort = new AbortController();
      const sent = system.send("q", n, { signal: abort.signal }) as Promise<unknown>;
      abort.abort(new Error("not wanted"));
      await assert.rejects(sent, /not wanted/);
    }
    const last = [system.send("q", "new"), system.send("q", "newer")] as Promise<unknown>[];
    if (key !== undefined) system.emit("q", "stays");
    await turn();
    open();
    await Promise.all(last);
    assert.deepEqual(seen, ["runs", "stays", "new", "newer"]);
  }
});

test("close waits for queues and handlers, refuses later messages, and reports its timeout", async () => {
  const system = new MessageSystem();
  const { opened, open } = gate();
  const seen: unknown[] = [];
  system.on("q", async (message) => void seen.push(await opened.then(() => message.body)), { queue: { capacity: 9 } });
  for (let n = 0; n < 5; n++) system.emit("q", n);
  assert.equal(await system.close(2), false);
  assert.throws(() => system.send("q"), SystemClosedError);
  assert.equal(system.has("q"), false);
  open();
  assert.equal(await system.close(), true);
  assert.deepEqual(seen, [0, 1, 2, 3, 4]);
});

test("errors of queued messages without a waiting caller reach onError, and are counted", async () => {
  const told: unknown[] = [];
  const system = new MessageSystem({ onError: (error, path) => void told.push(path, (error as Error).message) });
  system.on("q", () => Promise.reject(new Error("bad")), { queue: { capacity: 2 } });
  system.emit("q", 1);
  await turn();
  assert.deepEqual(told, ["q", "bad"]);
  assert.equal(system.stats().receivers[0]!.failed, 1);
});
