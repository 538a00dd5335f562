// Limits around handlers: refused middleware, settings and pools, and stack overflows.
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import {
  MessagePool,
  MessageSystem,
  type Middleware,
  PlaceExpiredError,
  PoolExhaustedError,
  RequestTimeoutError,
  SettingError,
} from "millpond";
import { gate } from "./support/gate.js";

test("a handler does not start when its sender gave up during an asynchronous before", async () => {
  for (const options of [{}, { queue: { capacity: 3 } }, { retries: 2 }]) {
    const system = new MessageSystem();
    const { opened, open } = gate();
    const ran: unknown[] = [];
    system.use({ before: () => opened }).use({ before: async () => {} });
    system.on("a", (message) => void ran.push(message.body), options);
    const controller = new AbortController();
    const late = assert.rejects(system.request("a", "late", { timeoutMs: 1 }), RequestTimeoutError);
    const aborted = assert.rejects(system.request("a", "aborted", { signal: controller.signal }), /given up/);
    const kept = system.request("a", "kept");
    controller.abort(new Error("given up"));
    await Promise.all([late, aborted]);
    open();
    await kept;
    await pause(0);
    assert.deepEqual(ran, ["kept"]);
    assert.equal(await system.close(), true);
    assert.equal(system.pool.stats().inUse, 0);
  }
});

test("invalid middleware is refused at its registration", () => {
  const system = new MessageSystem();
  const refused = (call: () => unknown): void =>
    assert.throws(call, (error) => error instanceof SettingError && /middleware|scheme/.test(error.message));
  const wrong = [
    () => {},
    async () => {},
    5,
    null,
    "before",
    [],
    {},
    { befor() {} },
    { before: 5 },
    { before() {}, eror() {} },
  ];
  wrong.forEach((one, at) => {
    refused(() => system.use(one as never));
    refused(() => system.on(`a/${at}`, () => 1, { middleware: [one as never] }));
  });
  for (const all of [5, {}, { before() {} }, "ab"])
    refused(() => system.on("b", () => 1, { middleware: all as never }));
  refused(() => system.use({ before() {} }, 5 as never));
  class Counting implements Middleware {
    calls = 0;
    readonly before = (): void => void this.calls++;
  }
  const counting = new Counting();
  system.use(counting).use({ before: undefined } as never);
  system.on("c", () => 1, { middleware: [] });
  system.send("c");
  assert.equal(counting.calls, 1);
});

for (const options of [{}, { asyncContext: false }, { tracing: true }] as const) {
  test(`a stack overflow that the sender catches leaves nothing behind: ${JSON.stringify(options)}`, async () => {
    const system = new MessageSystem(options);
    system.on("plain", () => system.send("plain"));
    system.on("async", async () => system.send("async"));
    for (let round = 0; round < 3; round++) {
      assert.throws(() => system.send("plain"), RangeError);
      await assert.rejects(async () => system.send("async"), RangeError);
    }
    assert.equal(system.stats().pool.inUse, 0);
    for (const { running, waiting } of system.stats().receivers) assert.deepEqual([running, waiting], [0, 0]);
    system.on("down/{n}", (message): unknown => {
      const left = message.paramInt("n")!;
      return left === 0 ? "bottom" : system.send(`down/${left - 1}`);
    });
    assert.equal(system.send("down/200"), "bottom");
    assert.equal(await system.close(), true);
  });
}

test("options that are refused leave a place held", async () => {
  const system = new MessageSystem();
  system.on("a", (message) => message.body, { queue: { capacity: 1 } });
  const place = await system.whenReady("a");
  for (const bad of [{ timeoutMs: -1 }, { priority: "urgent" }, { sginal: 1 }, 5]) {
    assert.throws(() => place.send(1, bad as never), SettingError);
    assert.equal(place.held, true);
  }
  assert.equal(await place.send(2), 2);
  assert.throws(() => place.send(3), PlaceExpiredError);
});

test("a system refuses a pool of other objects than messages", () => {
  const pool = new MessagePool(4, { factory: () => ({ id: 0 }) });
  assert.throws(() => new MessageSystem({ pool: pool as never }), SettingError);
});

test("settings of a wrong type are refused at the call", () => {
  const wrong = [{ checked: 1 }, { tracing: "yes" }, { asyncContext: "no" }, { tracing: null }];
  for (const options of wrong) assert.throws(() => new MessageSystem(options as never), SettingError);
  const system = new MessageSystem({ checked: undefined, tracing: false } as never);
  const retries = { times: 1, delayMs: 1 };
  for (const options of [
    { retries: { ...retries, factor: "5" } },
    { retries: { ...retries, jitter: true } },
    { name: 5 },
    { name: null },
  ]) {
    assert.throws(() => system.on("a", () => 1, options as never), SettingError);
    assert.equal(system.handles("a"), false);
  }
  assert.throws(() => system.subscribe("a", () => {}, { name: 5 } as never), SettingError);
  system.on("a", () => 1);
  assert.throws(() => system.send("a", 1, [] as never), SettingError);
});

test("a stream counts the messages that its loop leaves", async () => {
  const system = new MessageSystem();
  const stream = system.messages("a");
  for (let n = 0; n < 5; n++) system.emit("a", n);
  for await (const { body } of stream) if (body === 1) break;
  assert.equal(stream.lost, 3);
});

test("a pool of n that refuses serves n messages of its systems at once, and not one more", async () => {
  const pool = new MessagePool(3, { overflow: "refuse" });
  const systems = [new MessageSystem({ pool }), new MessageSystem({ pool, asyncContext: false })];
  assert.equal(pool.stats().inUse, 0);
  for (const system of systems) {
    const { opened, open } = gate();
    let seen = 0;
    for (let times = 0; times < 3; times++) system.subscribe("*", () => void seen++);
    system.on("async", () => opened);
    system.on("queued", () => opened, { queue: { capacity: 4 } });
    const sent = ["async", "queued", "queued"].map((path) => system.send(path));
    for (const path of ["async", "queued"]) {
      assert.throws(() => system.send(path), new PoolExhaustedError(3));
      assert.throws(() => system.emit(path), new PoolExhaustedError(3));
    }
    open();
    await Promise.all(sent);
    assert.equal(seen, 9, "observers get none of them");
    const depths: number[] = [];
    system.on("nested/{depth}", (message): unknown => {
      const depth = Number(message.param("depth"));
      depths.push(depth);
      return depth === 4 ? depth : system.send(`nested/${depth + 1}`);
    });
    for (let times = 0; times < 20; times++) {
      assert.throws(() => system.send("nested/1"), new PoolExhaustedError(3));
      assert.deepEqual(depths.splice(0), [1, 2, 3]);
      assert.equal(system.send("nested/4"), 4);
      depths.pop();
    }
    assert.equal(pool.stats().inUse, 0);
  }
  assert.throws(() => new MessagePool(3, { overflow: "reject" as never }), SettingError);
});
