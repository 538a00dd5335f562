// Refusal by name of invalid options, numbers and strings, without an effect.
import assert from "node:assert/strict";
import { test } from "node:test";
import { runInNewContext } from "node:vm";
import {
  LatencyHistogram,
  MarketData,
  type MarketEvent,
  MarketRing,
  type MarketRingHandler,
  MessagePool,
  MessageSystem,
  MpscRing,
  NoHandlerError,
  SettingError,
  SlotPool,
  SpscRing,
  WorkerBridge,
} from "millpond";
import { flush } from "millpond/testing";
import { joined } from "./support/joined.js";
import { RingWriter } from "./support/ring-writer.js";

const refused = (setting: string) => ({
  name: "SettingError",
  message: new RegExp(`^${setting.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")} is `),
});

test("numbers and texts that a field cannot hold are refused, and the field stays as it was", () => {
  const slots = new SlotPool(
    {
      of_i8: "i8",
      of_u8: "u8",
      of_i16: "i16",
      of_u16: "u16",
      of_i32: "i32",
      of_u32: "u32",
      of_f32: "f32",
      of_f64: "f64",
      of_i64: "i64",
      of_u64: "u64",
      of_i64n: "i64n",
      of_u64n: "u64n",
      of_text: "text8",
    } as never as { readonly a: "u8" },
    1,
  );
  const record = slots.at(slots.acquire()) as unknown as Record<string, unknown>;
  const notWhole = [1.5, Number.NaN, Infinity, "1", undefined, null, true];
  const cases: Record<string, { good: unknown[]; bad: unknown[] }> = {
    of_i8: { good: [-128, 127, -0], bad: [...notWhole, -129, 128, 2 ** 32] },
    of_u8: { good: [0, 255], bad: [...notWhole, -1, 256, 300, 2 ** 32] },
    of_i16: { good: [-32_768, 32_767], bad: [...notWhole, -32_769, 32_768] },
    of_u16: { good: [0, 65_535], bad: [...notWhole, -1, 65_536] },
    of_i32: { good: [-(2 ** 31), 2 ** 31 - 1], bad: [...notWhole, 2 ** 31, -(2 ** 31) - 1] },
    of_u32: { good: [0, 2 ** 32 - 1], bad: [...notWhole, -1, 2 ** 32] },
    of_f32: { good: [0.5, Infinity], bad: ["1", undefined, 1n, 1e300] },
    of_f64: { good: [1e300, -Infinity], bad: ["1", undefined, 1n] },
    of_i64: { good: [-(2n ** 63n), 2n ** 63n - 1n], bad: [1, "1", undefined, 2n ** 63n, -(2n ** 63n) - 1n] },
    of_u64: { good: [0n, 2n ** 64n - 1n], bad: [1, "1", undefined, -1n, 2n ** 64n] },
    of_i64n: { good: [-(2 ** 53), 2 ** 60, -(2 ** 63)], bad: [...notWhole, 2 ** 63, -(2 ** 64)] },
    of_u64n: { good: [2 ** 53, 2 ** 63], bad: [...notWhole, -1, 2 ** 64] },
    of_text: {
      good: ["", "AAPL", "12345678", "éé€", "\u{1f600}é", "\ufeffa"],
      bad: ["123456789", "ééééé", "a\0b", "\ud83d", "ab\udc00", 5, undefined, null],
    },
  };
  for (const [name, { good, bad }] of Object.entries(cases)) {
    for (const value of good) {
      record[name] = value;
      assert.equal(record[name], value === 0 ? 0 : value);
      for (const other of bad) {
        assert.throws(() => (record[name] = other), refused(name));
        assert.equal(record[name], value === 0 ? 0 : value);
      }
    }
  }
  record["of_f32"] = 0.1;
  assert.equal(record["of_f32"], Math.fround(0.1));
  const not = (value: number): unknown => (record["of_f64"] = value);
  not(Number.NaN);
  assert.ok(Number.isNaN(record["of_f64"]));
  // Records exchanged with other languages.
  record["of_text"] = "é";
  const bytes = new Uint8Array(slots.buffer);
  const at = bytes.lastIndexOf(0xc3);
  assert.deepEqual([...bytes.subarray(at, at + 3)], [0xc3, 0xa9, 0]);
  bytes[at + 1] = 0;
  assert.equal(record["of_text"], "\ufffd");
  const shared = new SlotPool({ text: "text4" }, 1, { shared: true });
  shared.record.text = "€";
  assert.equal(shared.record.text, "€");
});

test("arguments of rings, pools and reports that are out of range are refused by name", async () => {
  const full = SpscRing.create(2, 8);
  full.tryPush(new Uint8Array(8).fill(1));
  full.tryPush(new Uint8Array(8).fill(2));
  for (const bad of [Number.NaN, -1, "5", null]) {
    const value = bad as number;
    assert.throws(() => full.poll(() => {}, value), refused("max"));
    assert.throws(() => full.spin(value), refused("times"));
    assert.throws(() => full.wait(value), refused("timeoutMs"));
    await assert.rejects(full.waitAsync(value), refused("timeoutMs"));
    assert.throws(() => new MessagePool().trim(value), refused("atLeast"));
    assert.throws(() => new MessagePool().leaks(value), refused("longerThanMs"));
    await assert.rejects(flush(new MessageSystem(), value), refused("turns"));
    assert.throws(() => new LatencyHistogram().percentile(value), refused("fraction"));
  }
  assert.throws(() => full.poll(5 as never), refused("handle"));
  // A longer array would include the next message, and an array of another class half of each number.
  for (const into of [new Uint8Array(9), new Uint16Array(4), [1, 2], undefined]) {
    assert.throws(() => full.tryPop(into as never), refused("message"));
    assert.throws(() => full.tryPush(into as never), refused("message"));
  }
  assert.equal(
    full.poll(() => {}, Infinity),
    2,
  );
  for (const buffer of [5, {}, new ArrayBuffer(2_048), new SharedArrayBuffer(8), full.buffer]) {
    assert.throws(() => new MpscRing(buffer as never), refused("buffer"));
  }
  assert.throws(() => new LatencyHistogram().record(Number.NaN), refused("nanos"));
  assert.throws(() => new MessagePool(4, { checked: "no" } as never), refused("checked"));
  assert.throws(() => new MessagePool(4, [] as never), refused("pool options"));
  assert.throws(() => new SlotPool({ a: "u8" }, 1, { shared: 1 } as never), refused("shared"));
  const system = new MessageSystem();
  assert.throws(() => new WorkerBridge({} as never), refused("system"));
  for (const port of [{}, 5, null, { send: full.buffer, receive: full.buffer, control: {} }]) {
    assert.throws(() => new WorkerBridge(system, port as never), refused("port"));
  }
});

test("buffers of another realm are accepted", async () => {
  const foreign = (kind: string, from: ArrayBufferLike): never => {
    const made = runInNewContext(`new ${kind}(${from.byteLength})`) as ArrayBufferLike;
    new Uint8Array(made).set(new Uint8Array(from));
    return made as never;
  };
  for (const Ring of [SpscRing, MpscRing]) {
    const ring = new Ring(foreign("SharedArrayBuffer", Ring.create(2, 8).buffer));
    assert.ok(ring.tryPush(runInNewContext("new Uint8Array(8).fill(7)") as Uint8Array));
    assert.ok(ring.tryPop(runInNewContext("new Uint8Array(8)") as Uint8Array));
  }
  const writer = new RingWriter(64, 4);
  for (const kind of ["ArrayBuffer", "SharedArrayBuffer"]) {
    assert.equal(new MarketRing(foreign(kind, writer.bytes.buffer)).capacity, 64);
  }
  const wake = runInNewContext("new Int32Array(new SharedArrayBuffer(4))") as Int32Array<SharedArrayBuffer>;
  new MarketData({ port: 1, wake }).close();
  const near = new WorkerBridge(new MessageSystem());
  const { send, receive, control } = near.port;
  const rings = { send: foreign("SharedArrayBuffer", send), receive: foreign("SharedArrayBuffer", receive) };
  const far = new WorkerBridge(new MessageSystem(), { ...rings, control });
  await Promise.all([near.close(0), far.close(0)]);
});

test("market rings refuse invalid numbers, names and handlers", async () => {
  const writer = new RingWriter(64, 4);
  writer.quote(0, 5, 5);
  const ring = new MarketRing(writer.bytes.buffer);
  for (const bad of [Number.NaN, -1, 1.5, "5", Infinity]) {
    assert.throws(() => ring.seek(bad as number), refused("entry"));
    if (bad !== Infinity) assert.throws(() => ring.poll({}, bad as number), refused("max"));
    if (typeof bad === "number") assert.deepEqual([ring.symbol(bad), ring.venue(bad)], [undefined, undefined]);
  }
  assert.throws(() => ring.writerState(Number.NaN), refused("silentAfterMs"));
  for (const handler of [undefined, null, 5]) {
    assert.throws(() => ring.poll(handler as never), refused("handler"));
    assert.throws(() => ring.join(handler as never), refused("handler"));
  }
  assert.equal(ring.account().queued, 0);
  for (const buffer of [5, {}, new Uint8Array(4_096)]) {
    assert.throws(() => new MarketRing(buffer as never), refused("buffer"));
  }
  for (const name of [5, undefined, "", "../x", "a/b", "x".repeat(65), "a.lock", "main\n"]) {
    await assert.rejects(MarketRing.open(name as string), refused("ring"));
    if (name !== undefined) assert.throws(() => new MarketData({ ring: name as string }), refused("ring"));
  }
  const url = "ws://127.0.0.1:1/ws";
  assert.throws(() => new MarketData({ url: "ws://host:99999/ws" }), refused("url"));
  for (const token of ["a\nb", "ü", 5])
    assert.throws(() => new MarketData({ url, token: token as string }), refused("token"));
});

test("a ring closed by its handler delivers nothing more, from poll and join", () => {
  for (const way of ["poll", "join"] as const) {
    const writer = new RingWriter(64, 4);
    for (let id = 0; id < 4; id++) writer.name(id, `S${id}`);
    const ring = new MarketRing(writer.bytes.buffer);
    for (let id = 0; id < 4; id++) {
      writer.quote(id, 5, 5);
      writer.status(id, 2);
    }
    const seen: number[] = [];
    const stopAtSecond = (_event: unknown, number: number): void => {
      seen.push(number);
      if (seen.length === 2) ring.close();
    };
    const handler: MarketRingHandler = { quote: stopAtSecond, status: stopAtSecond, missed: () => seen.push(-1) };
    ring[way](handler);
    assert.equal(seen.length, 2);
    assert.equal(ring.poll(handler), 0);
  }
});

test("a client closed by a handler of its system delivers nothing more", async () => {
  const { createServer } = await import("node:net");
  const line = '{"type":"gap","channel":0,"timestamp":1,"sequence":1,"first":0,"last":0,"reason":"sequence"}\n';
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.write(line.repeat(10));
  }).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as { port: number };
  const system = new MessageSystem();
  const seen: string[] = [];
  const closed = new Promise<void>((resolve) => {
    system.on("connected://", () => {});
    system.on("gap://{channel}", (message) => {
      seen.push((message.body as MarketEvent).type);
      if (seen.length !== 3) return;
      market.close();
      setImmediate(resolve);
    });
  });
  const market = new MarketData({ port, system });
  await closed;
  server.close();
  assert.equal(seen.length, 3);
  const { received, delivered, undelivered, missedHere, waiting } = market.account();
  assert.equal(received, delivered + undelivered + missedHere + waiting);
});

test("a transfer that throws rejects the sender's promise, and no call is made", async () => {
  const { near, far, nearEnd } = joined();
  far.on("other/{n}", (message) => message.body);
  let calls = 0;
  nearEnd.forward("other/*" as never, {
    transfer: ({ body }) => {
      calls++;
      if (body === "throws") throw new Error("no transfer");
      return [];
    },
  });
  let sent: unknown;
  assert.doesNotThrow(() => (sent = near.send("other/1", "throws")));
  await assert.rejects(sent as Promise<unknown>, /no transfer/);
  assert.equal(await near.send("other/1", "fine"), "fine");
  assert.equal(calls, 2);
  assert.equal(near.pool.stats().inUse, 0);
  assert.equal(await nearEnd.close(), true);
});

test("an error has at most the start of a long path or text, and the whole path as a field", async () => {
  const path = `a/${"x".repeat(1e7)}`;
  const short = (error: unknown): boolean => (error as Error).message.length < 600;
  const system = new MessageSystem({ checked: true });
  assert.throws(
    () => system.send(path),
    (error: NoHandlerError) => short(error) && error.path === path,
  );
  system.on("a/*", () => new Promise(() => {}), { queue: { capacity: 1 } });
  const first = system.request(path, 0, { timeoutMs: 5 });
  await assert.rejects(first, short);
  const rest = [1, 2].map((body) => system.send(path, body) as Promise<unknown>);
  await assert.rejects(Promise.race(rest), short);
  system.on("b/{n}", (message) => message.param("other" as never));
  assert.throws(
    () => system.send(`b/${path.slice(2)}`),
    (error) => error instanceof SettingError || short(error),
  );
  const { near, nearEnd } = joined();
  nearEnd.forward("a/*" as never);
  await assert.rejects(near.send(path, () => 0) as Promise<unknown>, short);
  await nearEnd.close(0);
});
