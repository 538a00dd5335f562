import assert from "node:assert/strict";
import { test } from "node:test";
import { MessageSystem, WorkerBridge } from "millpond";
import { closedError, joined, sent as send } from "./support/joined.js";

test("a full bridge refuses messages like a full queue: counted, with a dead letter, without observers", async () => {
  const letters: unknown[] = [];
  const near = new MessageSystem({
    onDeadLetter: ({ path, reason, receiver, error }) => letters.push([path, reason, receiver, (error as Error).name]),
  });
  const far = new MessageSystem();
  const nearEnd = new WorkerBridge(near, undefined, { ringBytes: 1_024 });
  const farEnd = new WorkerBridge(far, nearEnd.port);
  nearEnd.forward("far/*");
  far.on("far/{n}", (message) => message.body);
  let shown = 0;
  near.subscribe("far/{n}", () => shown++, { queue: { capacity: 4_096 } });
  const counts = (): { sent: number; refused: number; failed: number } => near.stats().receivers[0]!;
  const sent = Array.from({ length: 2_000 }, (_, n) => near.send(`far/${n}`, n) as Promise<unknown>);
  assert.equal(near.canAccept("far/x"), false);
  assert.equal(near.emit("far/emitted"), 0);
  const fates = await Promise.allSettled(sent);
  const refused = fates.flatMap((fate) => (fate.status === "rejected" ? [fate.reason as Error] : []));
  assert.ok(refused.length > 100 && refused.length < 1_000);
  for (const error of refused) assert.equal(error.name, "QueueFullError");
  assert.deepEqual(
    fates.slice(0, 2_000 - refused.length).map((fate) => (fate as { value?: unknown }).value),
    Array.from({ length: 2_000 - refused.length }, (_, n) => n),
  );
  assert.deepEqual([counts().sent, counts().refused, counts().failed], [2_001, refused.length + 1, 0]);
  assert.equal(letters.length, refused.length + 1);
  assert.deepEqual(letters.at(-1), ["far/emitted", "refused", "far/*", "QueueFullError"]);
  assert.equal(near.canAccept("far/x"), true);
  assert.equal(await near.send("far/after", "after"), "after");
  assert.equal(shown, 2_000 - refused.length + 1);
  assert.equal(near.pool.stats().inUse, 0);
  // Calls fail with the reason of the bridge's end.
  const cut = Array.from({ length: 2_000 }, (_, n) => assert.rejects(near.send("far/x", n) as Promise<unknown>));
  assert.equal(await nearEnd.close(0), false);
  await Promise.all(cut);
  await assert.rejects(Promise.resolve(near.send("far/x")), closedError);
  await farEnd.close();
});

test("a forward ends with its signal, and earlier calls are answered", async () => {
  const { near, far, nearEnd, farEnd } = joined();
  far.on("far/echo", (message) => message.body);
  near.off("far/*");
  const bridge = nearEnd as unknown as WorkerBridge<Record<string, never>>;
  const abort = new AbortController();
  bridge.forward("far/*" as never, { signal: abort.signal });
  const before = send(near, "far/echo", "before");
  abort.abort();
  assert.equal(await before, "before");
  assert.throws(() => near.send("far/echo"), { name: "NoHandlerError" });
  assert.throws(() => bridge.forward("far/*" as never, { signal: 5 as never }), { name: "SettingError" });
  bridge.forward("far/*" as never, { signal: AbortSignal.abort() });
  assert.equal(near.handles("far/echo"), false);
  assert.deepEqual(await Promise.all([nearEnd.close(), farEnd.close()]), [true, true]);
});

test("transfer is checked when it is given, and its result with each call", async () => {
  const { near, far, nearEnd, farEnd } = joined();
  far.on("far/echo", (message) => message.body);
  const bridge = nearEnd as unknown as WorkerBridge<Record<string, never>>;
  assert.throws(() => bridge.forward("x" as never, { transfer: 5 as never }), /transfer is 5: it must be a function/);
  near.off("far/*");
  for (const moved of [5, "text", {}]) {
    const undo = bridge.forward("far/*" as never, { transfer: () => moved as never });
    const refused = {
      name: "SettingError",
      message: /^transfer of far\/echo is .*: it must be an array of array buffers/,
    };
    await assert.rejects(send(near, "far/echo", 1), refused);
    undo();
  }
  bridge.forward("far/*" as never, { transfer: () => [5] as never });
  await assert.rejects(send(near, "far/echo", 1));
  assert.deepEqual(await Promise.all([nearEnd.close(), farEnd.close()]), [true, true]);
});
