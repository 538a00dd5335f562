// Handlers and observers: parameters, registrations, streams, ownership of messages.
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  type Message,
  MessageInUseError,
  MessagePool,
  MessageSystem,
  NoHandlerError,
  PlaceExpiredError,
  RequestTimeoutError,
  SettingError,
} from "millpond";
import { gate, turn } from "./support/gate.js";

test("an observer of another shape does not hang the event loop, and reads its own parameters", async () => {
  const system = new MessageSystem();
  const seen: string[] = [];
  system.on("bbo://{symbol}", (message) => message.param("symbol"));
  system.subscribe("{scheme}//{sym}", (message) => seen.push(message.param("scheme"), message.param("sym")));
  assert.equal(system.send("bbo://AAPL"), "AAPL");
  await turn();
  assert.deepEqual(seen, ["bbo:", "AAPL"]);
});

test("each receiver sees the parameters of its own template", async () => {
  const system = new MessageSystem();
  const seen: string[] = [];
  system.on("t/{region}/{tenant}", (message) => `${message.param("region")} ${message.param("tenant")}`);
  system.subscribe("t/{tenant}/*", (message) => seen.push(message.param("tenant"), message.param("*")));
  system.subscribe("t/{a}/{b}", (message) => seen.push(message.param("a"), message.param("b")));
  assert.equal(system.send("t/eu/acme"), "eu acme");
  await turn();
  assert.deepEqual(seen.sort(), ["acme", "acme", "eu", "eu"]);
});

test("two parameters in one segment are refused at registration", () => {
  const system = new MessageSystem();
  assert.throws(() => system.on("{a}-{b}", () => 0), SettingError);
  assert.throws(() => system.subscribe("x/{a}-{b}", () => 0), SettingError);
});

test("observers that throw, hang or are full do not affect the sender", async () => {
  const errors: unknown[] = [];
  const system = new MessageSystem({ onError: (error, _, name) => errors.push((error as Error).message, name) });
  system.on("a", (message) => message.body);
  const fail = (): never => {
    throw new Error("mine");
  };
  system.subscribe("a", fail, { name: "throws", queue: { capacity: 100 } });
  system.subscribe("a", () => new Promise(() => {}), { name: "hangs", queue: { capacity: 2 } });
  for (let n = 0; n < 5; n++) assert.equal(system.send("a", n), n);
  await turn();
  assert.deepEqual(errors.slice(0, 2), ["mine", "throws"]);
  assert.equal(errors.length, 10);
  const [, throws, hangs] = system.stats().receivers;
  assert.deepEqual([throws!.failed, throws!.sent], [5, 5]);
  assert.deepEqual([hangs!.dropped, hangs!.running + hangs!.waiting], [3, 2]);
});

test("a request without a handler fails even with observers, and observers do not reply", async () => {
  const system = new MessageSystem();
  system.subscribe("a", () => "mine");
  await assert.rejects(system.request("a"), NoHandlerError);
  assert.throws(() => system.send("a"), NoHandlerError);
});

test("a handler cannot queue its own message again; it forwards it", async () => {
  const system = new MessageSystem();
  const seen: unknown[] = [];
  system.on("audit/{what}", (message) => void seen.push(message.path, message.body), { queue: { capacity: 4 } });
  system.on("work", (message) => void seen.push(message.path, message.body), { queue: { capacity: 4 } });
  system.on("in", (message) => {
    assert.throws(() => system.send(message), MessageInUseError);
    void system.forward(message, "audit/secret");
    return system.forward(message, "work");
  });
  const body = { secret: true };
  await system.send("in", body);
  await turn();
  assert.deepEqual(seen.sort(), ["audit/secret", "work", body, body].sort());
  assert.equal(system.pool.stats().inUse, 0);
});

test("a handler may change its message; a queue's and an observer's may not be changed", async () => {
  const system = new MessageSystem();
  system.on("x", async (message) => {
    message.meta = "noted";
    await turn();
    return [message.body, message.meta];
  });
  system.on("q", () => 0, { queue: { capacity: 1 } });
  const mine = system.pool.acquire("x", 1);
  assert.deepEqual(await system.send(mine as never), [1, "noted"]);
  system.pool.release(mine);
  const queued = system.pool.acquire("q", 1);
  const sent = system.send(queued as never);
  assert.throws(() => (queued.body = 2), MessageInUseError);
  await sent;
  queued.body = 3;
  system.pool.release(queued);
});

test("an observer cannot change, send, emit or release its message with any pool; it may forward and keep it", async () => {
  for (const pool of [2_000, 2, 0]) {
    const system = new MessageSystem({ pool });
    const forwarded: unknown[] = [];
    const seen: Message[] = [];
    system.on("a/{x}", () => 0);
    system.on("b", (message) => void forwarded.push(message.body));
    system.subscribe("a/{x}", (observed) => {
      const message = observed as Message;
      for (const forbidden of [
        () => (message.body = 2),
        () => (message.meta = 2),
        () => system.send(message),
        () => system.emit(message),
        () => system.pool.release(message),
        () => message[Symbol.dispose](),
      ]) {
        assert.throws(forbidden, MessageInUseError);
      }
      system.forward(message, "b");
      seen.push(observed.keep() as Message);
    });
    for (const body of ["one", "two"]) assert.equal(system.send("a/1", body), 0);
    await turn();
    assert.deepEqual(forwarded, ["one", "two"]);
    assert.deepEqual(
      seen.map((message) => [message.body, message.param("x")]),
      [
        ["one", "1"],
        ["two", "1"],
      ],
    );
    assert.deepEqual([system.stats().receivers.at(-1)!.failed, system.pool.stats().inUse], [0, 0]);
  }
});

test("once handles one message: a refused one does not count, and of two places one is used", async () => {
  const system = new MessageSystem();
  let fails = true;
  const key = (): number => {
    if (fails) throw new Error("no key");
    return 1;
  };
  const ran: unknown[] = [];
  const run = (message: { readonly body: unknown }): void => void ran.push(message.body);
  system.once("keyed", run, { queue: { capacity: 4, overflow: "coalesce", key } });
  await assert.rejects(system.send("keyed", 1) as Promise<unknown>, /no key/);
  fails = false;
  await system.send("keyed", 2);
  assert.throws(() => system.send("keyed", 3), NoHandlerError);
  system.once("placed", run, { queue: { capacity: 4 } });
  const [one, other] = [await system.whenReady("placed"), await system.whenReady("placed")];
  await one.send(4);
  assert.throws(() => other.send(5), PlaceExpiredError);
  assert.deepEqual(ran, [2, 4]);
});

test("a refused registration uses no name", () => {
  const system = new MessageSystem();
  system.on("a", () => 0);
  for (let n = 0; n < 5; n++) assert.throws(() => system.on("a", () => 0));
  for (let n = 0; n < 5; n++) assert.throws(() => system.on("b", () => 0, { queue: { capacity: 0 } }), SettingError);
  system.on("c/{x}", () => 0);
  assert.throws(() => system.on("c/{y}", () => 0, { name: "c/{x}" }));
  system.on("b", () => 0);
  system.subscribe("a", () => 0);
  assert.deepEqual(
    system.stats().receivers.map(({ name }) => name),
    ["a", "c/{x}", "b", "a#2"],
  );
});

test("observers and waits get their messages from a pool that refuses", async () => {
  const system = new MessageSystem({ pool: new MessagePool(2, { overflow: "refuse" }) });
  const { opened, open } = gate();
  system.on("x", () => opened);
  const seen: unknown[] = [];
  system.subscribe("x", (message) => void seen.push(message.body));
  const next = system.waitFor("x");
  const sent = system.send("x", "body");
  assert.equal((await next).body, "body");
  open();
  await sent;
  assert.deepEqual(seen, ["body"]);
});

test("off, once, signals, waitFor and for await end their registrations", async () => {
  const system = new MessageSystem();
  const abort = new AbortController();
  const handler = (): number => 1;
  system.on("a", handler, { signal: abort.signal });
  abort.abort();
  assert.equal(system.has("a"), false);
  system.once("a", () => "once");
  assert.equal(system.send("a"), "once");
  assert.throws(() => system.send("a"), NoHandlerError);
  system.on("a", handler);
  assert.equal(
    system.off("a", () => 2),
    0,
  );
  assert.equal(system.off("a", handler), 1);

  const next = system.waitFor("b/{n}");
  const never = assert.rejects(system.waitFor("c", { timeoutMs: 1 }), RequestTimeoutError);
  system.emit("b/7", "body");
  const message = await next;
  assert.deepEqual([message.param("n"), message.body], ["7", "body"]);
  await never;
  const aborted = system.waitFor("c", { signal: AbortSignal.abort(new Error("no")) });
  await assert.rejects(aborted, /no/);

  const stream = system.messages("d/{n}", { capacity: 2 });
  for (let n = 0; n < 5; n++) system.emit(`d/${n}`, n);
  await turn();
  const seen: unknown[] = [];
  for await (const one of stream) {
    seen.push(one.param("n"));
    if (seen.length === 2) break;
  }
  assert.deepEqual(seen, ["3", "4"]);
  const lost = stream.lost + system.stats().receivers.filter(({ template }) => template === "d/{n}").length;
  assert.equal(lost, stream.lost);
  assert.equal(system.has("d/1"), false);
  assert.equal(system.pool.stats().inUse, 0);
});

test("a stream yields or counts each message, even in bursts and if it is closed in the turn of the send", async () => {
  const system = new MessageSystem();
  system.on("x", () => 0);
  const stream = system.messages("x", { capacity: 100 });
  const got: unknown[] = [];
  for (let burst = 0; burst < 3; burst++) {
    for (let n = 0; n < 1_000; n++) system.send("x", n);
    if (burst === 1) await turn();
  }
  for (let n = 0; n < 5; n++) system.send("x", `last ${n}`);
  stream.close();
  system.send("x", "after");
  for await (const message of stream) got.push(message.body);
  assert.deepEqual(
    got.slice(-5),
    [0, 1, 2, 3, 4].map((n) => `last ${n}`),
  );
  assert.equal(got.length + stream.lost, 3_005);
});

test("series of one family differ, and observers count what they were sent", async () => {
  const system = new MessageSystem();
  system.on("a/{n}", () => 0);
  for (let n = 0; n < 3; n++) system.subscribe("a/{n}", () => 0);
  system.send("a/1");
  await turn();
  const lines = system
    .prometheus()
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"));
  const series = lines.map((line) => line.slice(0, line.lastIndexOf(" ")));
  assert.equal(new Set(series).size, series.length);
  assert.deepEqual(
    system.stats().receivers.map(({ name, sent, handled }) => [name, sent, handled]),
    [
      ["a/{n}", 1, 1],
      ["a/{n}#2", 1, 1],
      ["a/{n}#3", 1, 1],
      ["a/{n}#4", 1, 1],
    ],
  );
});
