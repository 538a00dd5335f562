// The ends of streams and waits.
import assert from "node:assert/strict";
import { test } from "node:test";
import { MessageSystem, RegistrationRemovedError } from "millpond";

test("off ends a stream after the messages sent before, and its readers", async () => {
  const system = new MessageSystem();
  const stream = system.messages("x/{n}");
  const got: unknown[] = [];
  const loop = (async () => {
    for await (const message of stream) got.push(message.body);
  })();
  for (let n = 0; n < 3; n++) system.emit("x/1", n);
  assert.equal(system.off("x/{n}"), 1);
  assert.equal(system.emit("x/1", "after"), 0);
  await loop;
  assert.deepEqual([got, stream.lost], [[0, 1, 2], 0]);
  const idle = system.messages("x/{n}");
  const next = idle.next();
  system.off("x/{n}");
  assert.deepEqual([await next, await idle.next()], Array(2).fill({ value: undefined, done: true }));
  assert.deepEqual(system.stats().receivers, []);
});

test("a stream whose signal is aborted before or later ends", async () => {
  const system = new MessageSystem();
  const before = system.messages("x", { signal: AbortSignal.abort() });
  assert.equal((await before.next()).done, true);
  const abort = new AbortController();
  const later = system.messages("x", { signal: abort.signal });
  system.emit("x", "sent");
  abort.abort();
  assert.equal((await later.next()).value?.body, "sent");
  assert.equal((await later.next()).done, true);
});

test("off rejects a wait without a message, and not one with a message", async () => {
  const system = new MessageSystem();
  const removed = system.waitFor("x", { timeoutMs: 60_000 });
  system.off("x");
  await assert.rejects(removed, (error: RegistrationRemovedError) => {
    assert.ok(error instanceof RegistrationRemovedError);
    assert.deepEqual([error.code, error.path], ["BUS_REGISTRATION_REMOVED", "x"]);
    return true;
  });
  const received = system.waitFor("x");
  system.emit("x", "sent");
  system.off("x");
  assert.equal((await received).body, "sent");
  assert.equal(system.pool.stats().inUse, 0);
  assert.equal(await system.close(), true);
});

test("a wait whose first message is aborted resolves to the next one", async () => {
  const system = new MessageSystem();
  system.on("x", () => 0);
  const abort = new AbortController();
  const next = system.waitFor("x");
  system.send("x", "aborted", { signal: abort.signal });
  system.send("x", "next");
  abort.abort();
  assert.equal((await next).body, "next");
  const again = new AbortController();
  const removed = system.waitFor("x");
  system.send("x", "aborted", { signal: again.signal });
  system.off("x");
  again.abort();
  await assert.rejects(removed, RegistrationRemovedError);
  assert.equal(system.pool.stats().inUse, 0);
});
