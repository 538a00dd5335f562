// Refusal of additional arguments and null options.
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  type Message,
  MessagePool,
  MessageSystem,
  MpscRing,
  SettingError,
  SlotPool,
  SpscRing,
  type Target,
  WorkerBridge,
  type Place,
} from "millpond";
import { MarketData, MarketRing } from "millpond/market";
import { RingWriter } from "./support/ring-writer.js";

type Any = (...values: unknown[]) => unknown;

const refused = (error: Error): boolean => {
  assert.ok(error instanceof SettingError, String(error));
  assert.match(error.message, /^arguments of .* is .*: it must be at most \d$/);
  return true;
};

test("methods of a system, a target and a place refuse additional arguments", async () => {
  const system = new MessageSystem();
  let ran = 0;
  system.on("x", () => ++ran);
  const of = (owner: object, name: string): Any => (owner as Record<string, Any>)[name]!.bind(owner);
  const handler = (): number => 0;
  const throwing: readonly (readonly [string, ...unknown[]])[] = [
    ["send", "x", 1, {}, { signal: 1 }],
    ["send", "x", 1, undefined, {}],
    ["send", "other/x", 1, undefined, {}],
    ["emit", "x", 1, undefined, {}],
    ["target", "x", {}],
    ["on", "y", handler, {}, {}],
    ["once", "y", handler, {}, {}],
    ["subscribe", "y", handler, {}, {}],
    ["messages", "y", {}, {}],
    ["off", "x", handler, {}],
    ["use", { before: handler }, "x", {}],
    ["has", "x", 1],
    ["handles", "x", 1],
    ["canAccept", "x", 1],
    ["start", {}],
    ["flush", "x"],
    ["stats", "x"],
    ["prometheus", "x"],
    ["close", 1, 2],
  ];
  for (const [name, ...values] of throwing) assert.throws(() => of(system, name)(...values), refused, name);
  const rejecting: readonly (readonly [string, ...unknown[]])[] = [
    ["request", "x", 1, {}, {}],
    ["waitFor", "x", {}, {}],
    ["whenReady", "x", {}, {}],
  ];
  for (const [name, ...values] of rejecting) {
    await assert.rejects(of(system, name)(...values) as Promise<unknown>, refused, name);
  }
  const message = system.pool.acquire("x", 1) as Message;
  assert.throws(() => of(system, "forward")(message, "x", {}, {}), refused);
  for (const name of ["send", "emit"]) {
    assert.throws(() => of(system, name)(message, {}, {}), refused);
    assert.throws(() => of(system, name)(message, {}, undefined, {}), refused);
    assert.throws(() => of(system, name)(5, {}, {}), SettingError);
  }
  system.pool.release(message);
  const target: Target<unknown, unknown> = system.target("x");
  assert.throws(() => of(target, "send")(1, { timeoutMs: 5 }), refused);
  const place: Place = await system.whenReady("x");
  assert.throws(() => of(place, "send")(1, {}, {}), refused);
  assert.throws(() => of(place, "release")(1), refused);
  assert.equal(place.held, true);
  place.release();
  assert.deepEqual([ran, system.idle, system.pool.stats().inUse], [0, true, 0]);
  assert.deepEqual([system.send("x", 1, {}), target.send(1)], [1, 2]);
  assert.equal(MessageSystem.prototype.flush.name, "flush");
});

test("constructors, pools and bridges refuse additional arguments", () => {
  const made = (type: unknown, ...values: unknown[]): unknown =>
    new (type as new (...values: unknown[]) => unknown)(...values);
  assert.throws(() => made(MessageSystem, {}, {}), refused);
  assert.throws(() => made(MessagePool, 5, {}, {}), refused);
  assert.throws(() => made(SlotPool, { id: "i32" }, 8, {}, {}), refused);
  assert.throws(() => made(WorkerBridge, new MessageSystem(), undefined, {}, {}), refused);
  assert.throws(() => made(MarketData, { port: 9_100 }, {}), refused);
  const pool = new MessagePool(5);
  const acquire = pool.acquire.bind(pool) as Any;
  assert.throws(() => acquire("x", 1, 2, { priority: "high" }), refused);
  assert.throws(() => (pool.warmup.bind(pool) as Any)(1, 2), refused);
  assert.throws(() => (pool.stats.bind(pool) as Any)("x"), refused);
  const message = pool.acquire("x") as Message;
  const { handle } = message;
  assert.throws(() => (pool.release.bind(pool) as Any)(message, "x"), refused);
  assert.throws(() => (pool.at.bind(pool) as Any)(handle, "x"), refused);
  assert.throws(() => (pool.handleOf.bind(pool) as Any)(message, "x"), refused);
  assert.throws(() => (pool.withMessage.bind(pool) as Any)("x", 1, () => 0, 2, "x"), refused);
  assert.equal(pool.stats().inUse, 1);
  pool.release(message);
  assert.equal(pool.stats().inUse, 0);
  const bridge = new WorkerBridge(new MessageSystem());
  assert.throws(() => (bridge.forward.bind(bridge) as Any)("x", {}, {}), refused);
  assert.throws(() => (bridge.close.bind(bridge) as Any)(0, {}), refused);
  void bridge.close();
});

test("slots, rings and market data refuse additional arguments, without an effect", async () => {
  const refuses = (owner: object, calls: readonly (readonly [string, ...unknown[]])[]): void => {
    const methods = owner as Record<string, Any>;
    for (const [name, ...values] of calls) assert.throws(() => methods[name]!(...values), refused, name);
  };
  const slots = new SlotPool({ id: "i32" }, 2);
  const handle = slots.acquire();
  refuses(slots, [
    ["acquire", 1],
    ["tryAcquire", 1],
    ["release", handle, 1],
    ["at", handle, 1],
    ["offsetOf", handle, 1],
    ["view", 1],
    ["stats", 1],
  ]);
  assert.equal(slots.stats().inUse, 1);
  const bytes = new Uint8Array(8);
  for (const Ring of [SpscRing, MpscRing]) {
    refuses(Ring, [["create", 2, 8, 8]]);
    const ring = Ring.create(2, 8);
    assert.throws(() => new (Ring as unknown as new (...values: unknown[]) => unknown)(ring.buffer, 1), refused);
    assert.equal(ring.tryPush(bytes), true);
    refuses(ring, [
      ["claim", 1],
      ["publish", 0, 1],
      ["front", 1],
      ["release", 1],
      ["tryPush", bytes, 1],
      ["tryPop", bytes, 1],
      ["poll", () => 0, 1, 1],
      ["spin", 1, 1],
      ["wait", 1, 1],
      ["wake", 1],
    ]);
    await assert.rejects((ring.waitAsync.bind(ring) as Any)(1, 1) as Promise<unknown>, refused);
    assert.equal(
      ring.poll(() => 0),
      1,
    );
  }
  await assert.rejects((MarketRing.open as Any)("none", 1) as Promise<unknown>, refused);
  const { buffer } = new RingWriter(64, 4).bytes;
  assert.throws(() => new (MarketRing as unknown as new (...values: unknown[]) => unknown)(buffer, "x", 1), refused);
  const market = new MarketRing(buffer);
  refuses(market, [
    ["poll", {}, 1, 1],
    ["join", {}, 1],
    ["seek", 1, 1],
    ["account", 1],
    ["writerState", 1, 1],
    ["symbol", 0, 1],
    ["venue", 0, 1],
    ["close", 1],
  ]);
  assert.equal(market.poll({}), 0);
  const data = new MarketData({ port: 9 });
  refuses(data, [
    ["setMode", "every", 1],
    ["account", 1],
    ["close", 1],
  ]);
  data.close();
});

test("options that are null are refused", async () => {
  const system = new MessageSystem();
  await assert.rejects(system.waitFor("x", { timeoutMs: null as never }), SettingError);
  await assert.rejects(system.waitFor("x", { timeoutMs: Number.NaN }), SettingError);
  const of = (retries: object): void => void system.on("x", () => 0, { retries: retries as never });
  for (const name of ["delayMs", "maxDelayMs", "factor", "jitter"]) {
    assert.throws(() => of({ times: 1, [name]: null }), SettingError);
  }
  for (const name of ["concurrency", "overflow", "key"]) {
    const queue = { capacity: 1, [name]: null };
    assert.throws(() => system.on("x", () => 0, { queue: queue as never }), SettingError);
  }
  assert.throws(() => new MessageSystem({ timeoutMs: null as never }), SettingError);
  assert.deepEqual(system.stats().receivers, []);
});
