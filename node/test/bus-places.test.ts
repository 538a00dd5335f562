// Places in a queue: their order and their ends.
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  MessagePool,
  MessageSystem,
  NoHandlerError,
  PlaceExpiredError,
  PoolExhaustedError,
  SystemClosedError,
} from "millpond";
import { gate, turn } from "./support/gate.js";

test("ten requests for four places are granted in order, and none is refused", async () => {
  const system = new MessageSystem();
  const gates = Array.from({ length: 10 }, gate);
  const order: number[] = [];
  const handle = async (message: { readonly body: unknown }): Promise<void> => {
    order.push(message.body as number);
    await gates[message.body as number]!.opened;
  };
  system.on("q", handle, { queue: { capacity: 4 } });
  const sent = gates.map(async (_, n) => {
    const place = await system.whenReady("q");
    return place.send(n);
  });
  for (const { open } of gates) {
    await turn();
    open();
  }
  await Promise.all(sent);
  assert.deepEqual(order, [...gates.keys()]);
  assert.equal(system.stats().receivers[0]!.refused, 0);
});

test("of eight producers that wait for places none starves or is refused", async () => {
  const system = new MessageSystem();
  const handled = new Array<number>(8).fill(0);
  const handle = async (message: { readonly body: unknown }): Promise<void> => {
    await null;
    handled[message.body as number]!++;
  };
  system.on("q", handle, { queue: { capacity: 4 } });
  const produce = async (producer: number): Promise<void> => {
    for (let n = 0; n < 100; n++) await (await system.whenReady("q")).send(producer);
  };
  await Promise.all(handled.map((_, producer) => produce(producer)));
  assert.deepEqual(handled, new Array(8).fill(100));
  assert.equal(system.stats().receivers[0]!.refused, 0);
});

test("a place ends with its signal, its time limit, its release or close, and the next request gets it", async () => {
  const system = new MessageSystem();
  system.on("q", () => 0, { queue: { capacity: 1 } });
  const abort = new AbortController();
  const first = await system.whenReady("q", { signal: abort.signal });
  const second = system.whenReady("q", { holdMs: 1 });
  assert.equal(system.canAccept("q"), false);
  abort.abort(new Error("not needed"));
  const held = await second;
  assert.throws(() => first.send(1), PlaceExpiredError);
  const third = await system.whenReady("q");
  assert.equal(held.held, false);
  const waiting = system.whenReady("q");
  third.release();
  const fourth = await waiting;
  const late = assert.rejects(system.whenReady("q"), SystemClosedError);
  assert.equal(await system.close(), true);
  await late;
  assert.throws(() => fourth.send(1), PlaceExpiredError);
});

test("a message that is refused at the call leaves its place held", async () => {
  const system = new MessageSystem({ pool: new MessagePool(1, { overflow: "refuse" }) });
  system.on("q", (message) => message.body, { queue: { capacity: 1 } });
  const place = await system.whenReady("q");
  const message = system.pool.acquire("other");
  assert.throws(() => place.send(1), PoolExhaustedError);
  system.pool.release(message);
  assert.throws(() => place.send(1, { signal: AbortSignal.abort(new Error("given up")) }), /given up/);
  assert.equal(place.held, true);
  assert.equal(system.canAccept("q"), false);
  assert.equal(await place.send(2), 2);
  assert.equal(system.canAccept("q"), true);
});

test("a place ends with its handler, held or waited for", async () => {
  for (const queue of [undefined, { capacity: 1 }]) {
    const system = new MessageSystem();
    const old = queue === undefined ? {} : { queue };
    const off = system.on("q", () => "old", old);
    const held = await system.whenReady("q");
    const waits = queue === undefined ? undefined : assert.rejects(system.whenReady("q"), NoHandlerError);
    off();
    system.on("q", () => "new");
    assert.throws(() => held.send(1), PlaceExpiredError);
    await waits;
    assert.equal(system.send("q"), "new");
    assert.equal(system.stats().receivers.length, 1);
  }
});
