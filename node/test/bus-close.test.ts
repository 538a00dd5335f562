// Closing a system.
import assert from "node:assert/strict";
import { test } from "node:test";
import { CloseInHandlerError, MessageSystem, type Place, PlaceExpiredError, SystemClosedError } from "millpond";
import { turn } from "./support/gate.js";

test("close lets handlers send on in order, and does not deadlock in a handler", async () => {
  const system = new MessageSystem();
  const seen: unknown[] = [];
  let closed: Promise<boolean> | undefined;
  system.on("first", async (message) => {
    await turn();
    return system.send("second", message.body);
  });
  system.on("second", (message) => void seen.push(message.body), { queue: { capacity: 10 } });
  system.on("stop", async () => {
    await null;
    closed = system.close();
    await assert.rejects(closed, CloseInHandlerError);
  });
  const replies = [1, 2, 3].map((body) => system.send("first", body));
  await system.send("stop");
  assert.throws(() => system.send("first", 4), SystemClosedError);
  assert.equal(await system.close(), true);
  await Promise.all(replies);
  assert.deepEqual(seen, [1, 2, 3]);
});

test("close ends streams and waits, and refuses later registrations", async () => {
  const system = new MessageSystem();
  const next = assert.rejects(system.waitFor("x"), SystemClosedError);
  const stream = system.messages("x");
  const end = stream.next();
  assert.equal(await system.close(), true);
  await next;
  assert.deepEqual(await end, { value: undefined, done: true });
  await assert.rejects(system.waitFor("x"), SystemClosedError);
  assert.throws(() => system.messages("x"), SystemClosedError);
  assert.throws(() => system.on("x", () => 0), SystemClosedError);
  assert.throws(() => system.subscribe("x", () => 0), SystemClosedError);
});

test("close in a handler on the fast path ends streams and waits too", async () => {
  const system = new MessageSystem();
  system.on("x", (message) => void (message.body === 20 && system.close().catch(() => {})));
  const next = assert.rejects(system.waitFor("y"), SystemClosedError);
  const stream = system.messages("y");
  for (let n = 0; n <= 20; n++) system.send("x", n);
  assert.deepEqual(await stream.next(), { value: undefined, done: true });
  await next;
});

test("close revokes places that handlers requested meanwhile", async () => {
  const system = new MessageSystem();
  system.on("q", () => 0, { queue: { capacity: 1 } });
  let place: Place | undefined;
  let waiting: Promise<unknown> | undefined;
  system.on("first", async () => {
    await turn();
    place = await system.whenReady("q", { holdMs: Infinity });
    waiting = system.whenReady("q");
    waiting.catch(() => {});
  });
  const reply = system.send("first") as Promise<unknown>;
  assert.equal(await system.close(), true);
  await reply;
  await assert.rejects(waiting!, SystemClosedError);
  assert.equal(place!.held, false);
  assert.throws(() => place!.send(1), PlaceExpiredError);
});
