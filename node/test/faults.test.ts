// One test for each fault seen in published systems.
import assert from "node:assert/strict";
import { test } from "node:test";
import { DoubleReleaseError, MessagePool, MessageSystem } from "millpond";
import { assertAllReturned, flush, MessagesOutError, messageOf } from "millpond/testing";

test("fault: a pooled message is recycled while it is still queued, so that every handler gets an empty body", async () => {
  const system = new MessageSystem({ pool: 4 });
  const bodies: unknown[] = [];
  system.on("queued", (message) => void bodies.push(message.body), { queue: { capacity: 100 } });
  for (let n = 0; n < 50; n++) system.emit("queued", { n });
  assert.equal(system.pool.stats().inUse, 50);
  await flush(system);
  assert.deepEqual(
    bodies,
    Array.from({ length: 50 }, (_, n) => ({ n })),
  );
  assertAllReturned(system);
});

test("fault: a double release is accepted, and one message has two owners", () => {
  const pool = new MessagePool(4);
  const message = pool.acquire("a");
  pool.release(message);
  assert.throws(() => pool.release(message), DoubleReleaseError);
  assert.notEqual(pool.acquire("b"), pool.acquire("c"));
});

test("fault: leaks are invisible", () => {
  const pool = new MessagePool(4, { checked: true });
  const lost = pool.acquire("lost/one", 1);
  assert.throws(() => assertAllReturned(pool), MessagesOutError);
  assert.throws(() => assertAllReturned(pool), /lost\/one at .*faults\.test/);
  pool.release(lost);
  assertAllReturned(pool);
});

test("fault: an async handler is not awaited, so that its message is reused below it", async () => {
  const system = new MessageSystem({ pool: 1 });
  system.on("slow", async (message) => {
    const before = message.body;
    await new Promise((resolve) => setImmediate(resolve));
    return [before, message.body];
  });
  const replies = await Promise.all([1, 2, 3].map((body) => system.send("slow", body)));
  assert.deepEqual(replies, [
    [1, 1],
    [2, 2],
    [3, 3],
  ]);
});

test("fault: ids and metadata are rebuilt for every pooled message", () => {
  const system = new MessageSystem({ pool: 16 });
  system.on("a", (message) => message.body);
  const body = { resident: true };
  for (let n = 0; n < 100; n++) assert.equal(system.send("a", body), body);
  assert.ok(system.pool.stats().created <= 2);
});

test("fault: a pool smaller than the messages in flight falls behind plain objects for good", () => {
  const pool = new MessagePool("auto");
  const out = Array.from({ length: 100_000 }, (_, n) => pool.acquire("a", n));
  for (const message of out) pool.release(message);
  const { created } = pool.stats();
  for (let n = 0; n < 100_000; n++) out[n] = pool.acquire("a", n);
  assert.equal(pool.stats().created, created);
  assert.ok(out.every((message, n) => message.body === n));
});

test("fault: a long queue is emptied by Array.shift, which costs its length", async () => {
  const system = new MessageSystem();
  let next = 0;
  const handle = (message: { readonly body: unknown }): void => {
    assert.equal(message.body, next);
    next++;
  };
  system.on("long", handle, { queue: { capacity: 200_000 } });
  for (let n = 0; n < 200_000; n++) system.emit("long", n);
  await flush(system);
  assert.equal(next, 200_000);
});

test("fault: every request starts a timer of its own", async () => {
  const timers = (): number => process.getActiveResourcesInfo().filter((name) => name === "Timeout").length;
  const system = new MessageSystem();
  let open = (): void => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  system.on("wait", () => opened);
  const before = timers();
  const replies = Array.from({ length: 1_000 }, () => system.request("wait"));
  assert.equal(timers(), before + 1);
  open();
  await Promise.all(replies);
  assert.equal(timers(), before);
});

test("fault: the longest pattern wins instead of the most specific one", () => {
  const system = new MessageSystem();
  system.on("orders/{someVeryLongParameterName}/{anotherVeryLongName}", () => "long");
  system.on("orders/new/{id}", () => "specific");
  system.on("*", () => "rest");
  assert.equal(system.send("orders/new/7"), "specific");
  assert.equal(system.send("orders/old/7"), "long");
  assert.equal(system.send("orders/new"), "rest");
});

test("fault: fan-out clones the body for each receiver", async () => {
  const system = new MessageSystem();
  const bodies: unknown[] = [];
  for (let n = 0; n < 4; n++) system.subscribe("fan", (message) => bodies.push(message.body));
  const body = {};
  assert.equal(system.emit("fan", body), 4);
  await flush(system);
  assert.equal(bodies.length, 4);
  assert.ok(bodies.every((one) => one === body));
});

test("a handler can be called with a message without a pool", () => {
  const message = messageOf("a/b", 5, "note");
  assert.deepEqual([message.path, message.body, message.meta], ["a/b", 5, "note"]);
  message[Symbol.dispose]();
  assert.equal(message.body, 5);
});

test("flush throws if a handler never settles", async () => {
  const system = new MessageSystem();
  system.on("hang", () => new Promise(() => {}), { queue: { capacity: 2 } });
  system.emit("hang", 1);
  await assert.rejects(flush(system, 20), MessagesOutError);
});
