// The ready message of the fast path.
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Message, MessageSystem, UseAfterReleaseError } from "millpond";

for (const pool of [4, 0]) {
  test(`a ready message whose stamps are used up is replaced: pool of ${pool}`, () => {
    const system = new MessageSystem({ pool });
    let last: Message | undefined;
    system.on("inner", (message) => (message.body as number) * 2);
    system.on("outer", (message) => {
      message.meta = "noted";
      return system.send("inner", message.body);
    });
    system.on("near the end", (message) => {
      last = message;
      return message.body;
    });
    for (let n = 0; n < 20; n++) system.send("near the end", n);
    (last as unknown as { _stamp: number })._stamp = 2 ** 31 - 2;
    for (let n = 0; n < 5; n++) {
      assert.equal(system.send("near the end", n), n);
      assert.equal(system.send("outer", n), 2 * n);
    }
    assert.equal(system.pool.stats().inUse, 0);
  });

  test(`a ready message that its handler keeps is replaced: pool of ${pool}`, () => {
    const system = new MessageSystem({ pool });
    const kept: Message[] = [];
    let keeps = false;
    system.on("keep", (message) => void (keeps && kept.push(message.keep())));
    for (let n = 0; n < 20; n++) system.send("keep", n);
    keeps = true;
    for (let n = 0; n < 3; n++) system.send("keep", n);
    assert.deepEqual(
      kept.map((message) => message.body),
      [0, 1, 2],
    );
    const { inUse, kept: counted } = system.pool.stats();
    assert.deepEqual([inUse, counted], [0, 3]);
  });

  test(`the handle of a ready message is valid until its async handler has settled: pool of ${pool}`, async () => {
    const system = new MessageSystem({ pool });
    let handle = Number.NaN;
    system.on("slow", async (message) => {
      handle = message.handle;
      await null;
      return system.pool.at(handle) === (message as Message);
    });
    assert.equal(await system.send("slow", 1), true);
    assert.throws(() => system.pool.at(handle), UseAfterReleaseError);
    assert.equal(system.pool.stats().inUse, 0);
  });
}
