import assert from "node:assert/strict";
import { test } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { type Message, MessagePool, MessageSystem } from "millpond";

setFlagsFromString("--allow-natives-syntax");
/** Whether two objects have the same hidden class and field representations, according to V8. */
const sameShape = runInNewContext("(one, other) => %HaveSameMap(one, other)") as (
  one: object,
  other: object,
) => boolean;

const bodies: readonly unknown[] = [
  undefined,
  null,
  7,
  2 ** 40,
  0.5,
  true,
  "text",
  Symbol("s"),
  9n,
  { a: 1 },
  [1],
  () => 1,
];

test("pooled messages have one hidden class, for any body and meta and any number of loans", () => {
  const pool = new MessagePool(bodies.length);
  const first = pool.acquire("first");
  pool.release(first);
  for (let round = 0; round < 3; round++) {
    const messages = bodies.map((body, n) => pool.acquire(`p/${n}`, body, bodies[bodies.length - 1 - n]));
    for (const message of messages) assert.ok(sameShape(first, message));
    messages[0]!.meta = { changed: true };
    assert.ok(messages[0]!.handle >= 0);
    for (const message of messages) pool.release(message);
    for (const message of messages) assert.ok(sameShape(first, message));
  }
});

test("plain messages have one hidden class", () => {
  const pool = new MessagePool(0);
  const first = pool.acquire("first");
  for (const body of bodies) {
    const message = pool.acquire("p", body, body);
    assert.ok(sameShape(first, message));
    pool.release(message);
    assert.ok(sameShape(first, message));
  }
});

test("handlers get messages of one hidden class from every kind of send", async () => {
  const system = new MessageSystem();
  const seen: Message[] = [];
  system.on("a/{id}", (message) => void seen.push(message));
  system.on("b", (message) => void seen.push(message), { queue: { capacity: 8 } });
  system.send("a/1", 1);
  system.emit("a/2", "two");
  system.emit("b", { three: 3 });
  await system.request("a/4", 4.5);
  system.send("a/5", undefined, { signal: new AbortController().signal });
  system.flush();
  assert.ok(seen.length >= 5);
  for (const message of seen) assert.ok(sameShape(seen[0]!, message));
});
