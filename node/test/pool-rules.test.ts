// Rules of pools: factories, counts, clones, leaks, one class for both module systems.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { test } from "node:test";
import * as imported from "millpond";
import { type Message, MessagePool, SettingError, SpscRing, WrongPoolError } from "millpond";
import { turn } from "./support/gate.js";
import { randomFrom } from "./support/random.js";

test("a record longer than a slot is refused, and adjacent slots keep their contents", () => {
  const ring = SpscRing.create(4, 8);
  ring.tryPush(new Uint8Array(8).fill(1));
  assert.throws(() => ring.tryPush(new Uint8Array(9)), SettingError);
  assert.ok(ring.tryPush(new Uint8Array(8).fill(2)));
  const into = new Uint8Array(8);
  assert.ok(ring.tryPop(into) && into.every((byte) => byte === 1));
  assert.ok(ring.tryPop(into) && into.every((byte) => byte === 2));
});

test("structuredClone of a message does not copy its pool", () => {
  const pool = new MessagePool(1_000, { warmup: 1_000 });
  const message = pool.acquire("a", { n: 1 });
  const clone = structuredClone(message) as unknown as Record<string, unknown>;
  assert.ok(JSON.stringify(clone).length < 300);
  assert.deepEqual(
    Object.values(clone).filter((value) => typeof value === "object" && value !== null),
    [{ n: 1 }],
  );
});

test("the high-water mark counts messages on loan at the same time, also after a resize", () => {
  const pool = new MessagePool(20);
  const out = Array.from({ length: 5 }, () => pool.acquire("a"));
  for (const message of out) pool.release(message);
  pool.resize(0);
  pool.resize(20);
  pool.warmup(20);
  const three = Array.from({ length: 3 }, () => pool.acquire("a"));
  assert.equal(pool.stats().highWater, 5);
  for (const message of three) pool.release(message);
  assert.equal(pool.stats().highWater, 5);
  for (let n = 0; n < 7; n++) pool.acquire("a");
  assert.equal(pool.stats().highWater, 7);
});

test("a reset or clear that throws loses no object, and none stays on loan", () => {
  let fails = true;
  const refuse = (): void => {
    if (fails) throw new Error("not now");
  };
  const pool = new MessagePool(2, { factory: () => ({}), reset: refuse, clear: () => {} });
  for (let n = 0; n < 5; n++) assert.throws(() => pool.acquire("a"), /not now/);
  assert.deepEqual([pool.stats().inUse, pool.stats().size], [0, 1]);
  fails = false;
  const object = pool.acquire("a");
  assert.equal(pool.stats().inUse, 1);
  pool.release(object);
  const strict = new MessagePool(2, { factory: () => ({}), clear: refuse });
  fails = true;
  const message = strict.acquire("a");
  assert.throws(() => strict.release(message), /not now/);
  assert.deepEqual([strict.stats().inUse, strict.stats().size], [0, 0]);
});

test("import and require give the same classes", () => {
  const required = createRequire(import.meta.url)("millpond") as typeof imported;
  const pool = createRequire(import.meta.url)("millpond/pool") as typeof imported;
  assert.equal(required.MessagePool, imported.MessagePool);
  assert.equal(pool.SlotPool, imported.SlotPool);
  const system = new required.MessageSystem();
  system.on("a", (message) => message.body);
  using message = system.pool.acquire("a", 7);
  assert.equal(system.send(message as never), 7);
  assert.throws(() => new imported.MessagePool().at(message.handle), WrongPoolError);
});

test("a factory gets the path, the body and the meta of its acquire", () => {
  const made: unknown[] = [];
  const factory = (path: string, body: number, meta: string): object => {
    made.push([path, body, meta]);
    return {};
  };
  const pool = new MessagePool(4, { factory });
  const one = pool.acquire("a", 1, "x");
  pool.acquire("b", 2, "y");
  pool.release(one);
  pool.acquire("c", 3, "z");
  assert.deepEqual(made, [
    ["a", 1, "x"],
    ["b", 2, "y"],
  ]);
});

test("a leak emits one warning, and an automatic pool shrinks after a burst", async () => {
  const warned = new Promise<Error>((resolve) => process.once("warning", resolve));
  const watched = new MessagePool(4, { warnAfterMs: 2, checked: true });
  const lost = watched.acquire("lost");
  const alive = setInterval(() => {}, 1_000);
  const warning = await warned;
  assert.match(warning.message, /lost has been out .*pool-rules\.test/);
  watched.release(lost);
  const pool = new MessagePool("auto", { shrinkEveryMs: 1 });
  const out = Array.from({ length: 50_000 }, () => pool.acquire("a"));
  for (const message of out) pool.release(message);
  while (pool.stats().size > 100) await turn();
  clearInterval(alive);
  assert.equal(pool.stats().inUse, 0);
});

test("the high-water mark is the largest number on loan under random operations", () => {
  const random = randomFrom(7);
  for (let round = 0; round < 400; round++) {
    const options = [{}, { checked: true }, { overflow: "refuse" }, { factory: () => ({}) }][random(4)]!;
    const own = "factory" in options;
    const pool = new MessagePool<object>(random(2) === 0 ? "auto" : random(8), options as never);
    const out: object[] = [];
    let most = 0;
    const steps: (() => void)[] = [
      () => pool.resize(random(10)),
      () => pool.clear(),
      () => pool.trim(),
      () => pool.leaks(),
      () => pool.warmup(random(8)),
      () => !own && out.length > 0 && (out[random(out.length)] as Message).handle,
      () => !own && out.length > 0 && (out.pop() as Message).keep(),
    ];
    for (let step = 0; step < 60; step++) {
      const what = random(steps.length + 8);
      if (what < steps.length) steps[what]!();
      else if (what < steps.length + 5) {
        if (!("overflow" in options) || out.length < pool.capacity) out.push(pool.acquire("a"));
      } else if (out.length > 0) pool.release(out.splice(random(out.length), 1)[0]!);
      most = Math.max(most, out.length);
      const { inUse, highWater } = pool.stats();
      assert.deepEqual({ inUse, highWater }, { inUse: out.length, highWater: most });
    }
  }
});
