import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { test } from "node:test";
import {
  MarketData,
  type MarketDataOptions,
  type MarketEvent,
  MarketRing,
  MarketRingError,
  type MarketRingHandler,
} from "millpond";
import { RingWriter } from "./support/ring-writer.js";

const NOTHING: MarketRingHandler = {};
const addon = await import("millpond-shm-linux-x64" as string).then(
  () => undefined,
  () => "millpond-shm-linux-x64 is not built here",
);

function recorder() {
  const seen: unknown[][] = [];
  const handler: MarketRingHandler = {
    quote: (quote, number) => seen.push(["quote", number, quote.instrument, quote.bidPrice, quote.askSize]),
    trade: (trade, number) => seen.push(["trade", number, trade.instrument, trade.price, trade.receiveTime]),
    tradeBreak: (broken, number) => seen.push(["trade_break", number, broken.instrument, broken.tradeId]),
    status: (status, number) => seen.push(["status", number, status.instrument, status.state, status.reason]),
    gap: (gap, number) => seen.push(["gap", number, gap.channel, gap.first, gap.last]),
    clear: (clear, number) => seen.push(["clear", number, clear.instrument, clear.channel, clear.reason]),
    missed: (first, last) => seen.push(["missed", first, last]),
  };
  return { seen, handler };
}

function balanced(ring: MarketRing): void {
  const { published, delivered, filtered, missed, queued } = ring.account();
  assert.equal(published, delivered + filtered + missed + queued);
}

test("every event of a ring is read as it was written, with its number and its instrument's name", () => {
  const writer = new RingWriter(64, 4);
  const ring = new MarketRing(writer.bytes.buffer);
  const { seen, handler } = recorder();
  assert.equal(ring.poll(handler), 0);
  writer.name(0, "AAPL");
  writer.name(1, "A".repeat(32));
  writer.quote(0, 1_892_400, 0);
  writer.trade(1);
  writer.status(0, 2);
  writer.gap(1, 1_001, 1_007);
  writer.clear(1);
  writer.tradeBreak(1);
  assert.equal(ring.poll(handler, 2), 2);
  assert.equal(ring.poll(handler), 4);
  assert.deepEqual(seen, [
    ["quote", 1, 0, 1_892_400, 0],
    ["trade", 2, 1, 1_892_500, 1_580_398_200_000_000_001n],
    ["status", 3, 0, 2, "T1  "],
    ["gap", 4, 1, 1_001, 1_007],
    ["clear", 5, 0xffff_ffff, 1, 1],
    ["trade_break", 6, 1, 4_711],
  ]);
  assert.deepEqual(
    [ring.symbol(0), ring.symbol(1), ring.symbol(2), ring.venue(0)],
    ["AAPL", "A".repeat(32), undefined, "XNAS"],
  );
  assert.deepEqual([ring.instruments, ring.epoch, ring.capacity], [2, 77n, 64]);
  balanced(ring);
});

test("trade ids above 2^53 are exact in the views of a ring", () => {
  const writer = new RingWriter(64, 1);
  const ring = new MarketRing(writer.bytes.buffer);
  const ids = [2n ** 53n, 2n ** 53n + 1n, 2n ** 64n - 1n, 7n];
  for (const id of ids) {
    writer.trade(0, id);
    writer.tradeBreak(0, id);
  }
  const seen: [number, bigint][] = [];
  const note = ({ tradeId, tradeIdExact }: { tradeId: number; tradeIdExact: bigint }): void =>
    void seen.push([tradeId, tradeIdExact]);
  assert.equal(ring.poll({ trade: note, tradeBreak: note }), 2 * ids.length);
  assert.deepEqual(
    seen,
    ids.flatMap((id) => [
      [Number(id), id],
      [Number(id), id],
    ]),
  );
});

test("an entry that is being written is not read, and one that is overwritten in the copy counts as missed", () => {
  const writer = new RingWriter(8, 1);
  const ring = new MarketRing(writer.bytes.buffer);
  const { seen, handler } = recorder();
  writer.name(0, "AAPL");
  writer.begin();
  assert.equal(ring.poll(handler), 0);
  writer.number--;
  writer.quote(0, 1, 2);
  assert.equal(ring.poll(handler), 1);
  for (let n = 0; n < 8; n++) writer.quote(0, n, 2);
  // Entry 2's place is taken again, and the writer is in the middle of it.
  writer.begin();
  seen.length = 0;
  assert.ok(ring.poll(handler) > 1);
  assert.deepEqual(seen[0], ["missed", 2, 3]);
  assert.deepEqual(seen[1]!.slice(0, 2), ["quote", 4]);
  balanced(ring);
  assert.equal(ring.account().missed, 2);
});

test("a lapped reader learns exactly what it missed, whatever the writer did meanwhile", () => {
  const writer = new RingWriter(64, 1);
  const ring = new MarketRing(writer.bytes.buffer);
  writer.name(0, "AAPL");
  let delivered = 0;
  let missed = 0;
  let last = 0;
  const handler: MarketRingHandler = {
    quote(quote, number) {
      assert.equal(number, last + 1);
      assert.equal(quote.bidPrice, number);
      last = number;
      delivered++;
    },
    missed(first, to) {
      assert.equal(first, last + 1);
      last = to;
      missed += to - first + 1;
    },
  };
  let random = 1;
  for (let round = 0; round < 4_000; round++) {
    random = (Math.imul(random, 1_103_515_245) + 12_345) & 0x7fff_ffff;
    for (let n = (random >> 8) % 90; n > 0; n--) writer.quote(0, writer.number + 1, 1);
    ring.poll(handler, (random >> 16) % 80);
    balanced(ring);
    const overwritten = Math.max(0, writer.number - last - 64);
    assert.equal(ring.account().missed, missed + overwritten);
    assert.equal(ring.account().queued, writer.number - last - overwritten);
  }
  while (ring.poll(handler) > 0);
  assert.equal(last, writer.number);
  assert.equal(delivered + missed, writer.number);
  assert.ok(delivered > 0 && missed > 0);
});

test("numbers beyond 2^31 and 2^32 of the sequence's halves are read on", () => {
  for (const before of [2 ** 30 - 3, 2 ** 31 - 3, 2 ** 32 - 3, 2 ** 40 + 2 ** 31 - 3]) {
    const writer = new RingWriter(8, 1);
    writer.name(0, "AAPL");
    writer.number = before;
    for (let n = 0; n < 8; n++) writer.quote(0, 1, 2);
    writer.number -= 8;
    const ring = new MarketRing(writer.bytes.buffer);
    ring.seek(before + 1);
    const { seen, handler } = recorder();
    for (let n = 0; n < 20; n++) {
      writer.quote(0, n, 2);
      if (n % 3 === 0) ring.poll(handler);
    }
    ring.poll(handler);
    // What stood there of the round before, with larger numbers, was what the test itself had put there.
    assert.deepEqual(seen.at(-1)!.slice(0, 4), ["quote", before + 20, 0, 19]);
    balanced(ring);
  }
});

test("a join delivers the board, then every newer event once", () => {
  const writer = new RingWriter(64, 4);
  for (const [id, symbol] of ["AAPL", "MSFT", "IBM"].entries()) writer.name(id, symbol);
  writer.quote(0, 10, 11);
  writer.quote(1, 20, 21, 1);
  writer.status(1, 2);
  writer.clear(1);
  writer.quote(0, 12, 13);
  const ring = new MarketRing(writer.bytes.buffer);
  const { seen, handler } = recorder();
  ring.join(handler);
  // MSFT's quote is void since the Clear of its channel; IBM never had one.
  assert.deepEqual(seen, [
    ["quote", 5, 0, 12, 200],
    ["status", 3, 1, 2, "T1  "],
  ]);
  writer.quote(1, 22, 23, 1);
  assert.equal(ring.poll(handler), 1);
  assert.deepEqual(seen[2], ["quote", 6, 1, 22, 200]);
  balanced(ring);
  assert.equal(ring.account().fromBoard, 2);
});

test("what the board's copy stands for is not delivered again from the ring", () => {
  const writer = new RingWriter(64, 4);
  writer.name(0, "AAPL");
  writer.name(1, "MSFT");
  writer.quote(0, 10, 11);
  writer.quote(1, 20, 21);
  // The cursor that the join takes is behind the board, as when events come between the two.
  writer.u64(128, 0);
  const ring = new MarketRing(writer.bytes.buffer);
  const { seen, handler } = recorder();
  ring.join(handler);
  writer.u64(128, 2);
  assert.equal(seen.length, 2);
  writer.trade(0);
  assert.equal(ring.poll(handler), 3);
  assert.deepEqual(seen[2]!.slice(0, 2), ["trade", 3]);
  assert.equal(ring.account().filtered, 2);
  balanced(ring);
});

test("the recorded ring is read as it was written", () => {
  const golden = new URL("../../../tests/golden/ring_v1_board_v2", import.meta.url);
  const latest = [
    ["AAPL", 1_892_200, 1_500, 1_892_600, 600, 1_795_404_483_541_638_187n],
    ["AMZN", 1_788_800, 200, 1_789_300, 1_400, 1_795_404_483_540_440_038n],
    ["GOOG", 1_411_900, 1_700, 1_412_600, 300, 1_795_404_483_541_837_864n],
    ["MSFT", 4_150_800, 1_900, 4_151_100, 1_500, 1_795_404_483_542_032_773n],
    ["NVDA", 8_753_600, 1_600, 8_754_100, 1_200, 1_795_404_483_541_432_311n],
  ];
  for (const start of ["board", "ring"]) {
    const ring = new MarketRing(Uint8Array.from(readFileSync(golden)).buffer);
    const seen = new Map<string, unknown[]>();
    let quotes = 0;
    const handler: MarketRingHandler = {
      quote: ({ instrument, bidPrice, bidSize, askPrice, askSize, receiveTime }) => {
        quotes++;
        const symbol = ring.symbol(instrument)!;
        seen.set(symbol, [symbol, bidPrice, bidSize, askPrice, askSize, receiveTime]);
      },
    };
    if (start === "board") ring.join(handler);
    else ring.seek(ring.newest - 62);
    while (ring.poll(handler) > 0);
    assert.deepEqual([...seen.values()].sort(), latest, start);
    assert.equal(quotes, start === "board" ? 5 : 63);
  }
});

test("a gap makes the older quotes of its channel incomplete for a late reader, whichever way they come", () => {
  const writer = new RingWriter(64, 4);
  for (const [id, symbol] of ["AAPL", "MSFT", "IBM"].entries()) writer.name(id, symbol);
  writer.quote(0, 10, 11);
  writer.quote(1, 20, 21, 1);
  writer.gap(0, 3, 9);
  writer.quote(2, 30, 31);
  const flags = (ring: MarketRing): unknown[] => {
    const seen: unknown[] = [];
    const handler: MarketRingHandler = {
      quote: (quote) => seen.push([quote.instrument, quote.flags]),
      gap: () => seen.push("gap"),
    };
    ring.join(handler);
    writer.u64(128, writer.number);
    while (ring.poll(handler) > 0);
    balanced(ring);
    return seen;
  };
  const board = [
    [0, 1],
    [1, 0],
    [2, 0],
  ];
  assert.deepEqual(flags(new MarketRing(writer.bytes.buffer)), board);
  // The cursor that the join takes is behind the gap: the ring's copy of it comes too late and is left out.
  writer.u64(128, 2);
  assert.deepEqual(flags(new MarketRing(writer.bytes.buffer)), board);
  // The slot is older than the ring's entry, which the gap in the copy marks.
  writer.u64(writer.slot(0), 0);
  writer.u64(128, 0);
  assert.deepEqual(flags(new MarketRing(writer.bytes.buffer)), [...board.slice(1), [0, 1]]);
});

test("what is no ring, or one of another layout, is refused by name", () => {
  const faultOf = (change: (writer: RingWriter) => void): string => {
    const writer = new RingWriter(8, 1);
    change(writer);
    try {
      new MarketRing(writer.bytes.buffer).poll(NOTHING);
    } catch (error) {
      return (error as MarketRingError).fault;
    }
    return "read";
  };
  const board = 256 + 8 * 128;
  assert.equal(
    faultOf(() => {}),
    "read",
  );
  assert.equal(
    faultOf((writer) => writer.u64(0, 0)),
    "not_ready",
  );
  assert.equal(
    faultOf((writer) => writer.u64(0, 1)),
    "foreign",
  );
  assert.equal(
    faultOf((writer) => writer.u32(8, 2)),
    "other_layout",
  );
  assert.equal(
    faultOf((writer) => writer.u32(12, 2)),
    "other_layout",
  );
  assert.equal(
    faultOf((writer) => writer.u64(16, 9)),
    "other_layout",
  );
  assert.equal(
    faultOf((writer) => writer.u64(16, 2 ** 30)),
    "other_layout",
  );
  assert.equal(
    faultOf((writer) => writer.u32(board + 8, 1)),
    "other_layout",
  );
  assert.equal(
    faultOf((writer) => writer.u32(board + 12, 193)),
    "other_layout",
  );
  assert.equal(
    faultOf((writer) => writer.u32(board + 16, 2)),
    "other_layout",
  );
  assert.equal(
    faultOf((writer) => writer.u32(board + 20, 0)),
    "other_layout",
  );
});

test("the writer is alive, silent, closed or superseded", () => {
  const writer = new RingWriter(8, 1);
  const ring = new MarketRing(writer.bytes.buffer);
  assert.equal(ring.writerState(60_000), "alive");
  writer.heartbeat(Date.now() - 120_000);
  const late = new MarketRing(writer.bytes.buffer);
  assert.equal(late.writerState(60_000), "silent");
  writer.heartbeat(Date.now());
  assert.equal(late.writerState(60_000), "alive");
  writer.state(1);
  assert.equal(ring.writerState(), "closed");
  writer.state(2);
  assert.equal(ring.writerState(), "superseded");
  ring.close();
  assert.equal(ring.poll(NOTHING), 0);
});

test(
  "MarketData reads a ring in shared memory, notices its end and continues with the next",
  { skip: addon },
  async () => {
    const name = `node-test-${process.pid}`;
    const path = `/dev/shm/millpond.${name}`;
    const writer = new RingWriter(64, 2);
    writer.name(0, "AAPL");
    writer.name(1, "MSFT");
    writer.quote(0, 1_892_400, 1_892_600, 0, 2 | 4);
    writer.status(1, 2);
    writer.state(1);
    writeFileSync(path, writer.bytes);
    try {
      using market = new MarketData({ ring: name, subscribe: ["AAPL"], reconnectMs: 1, wake: "immediate" });
      const events: MarketEvent[] = [];
      for await (const event of market) {
        events.push(event);
        if (events.length === 2) {
          // The next writer's ring: another epoch, under the same name.
          writer.u64(32, 78);
          writeFileSync(`${path}.next`, writer.bytes);
          renameSync(`${path}.next`, path);
        }
        if (events.length === 4) break;
      }
      assert.deepEqual(
        events.map((event) => event.type),
        ["connected", "quote", "connected", "quote"],
      );
      assert.deepEqual(events[1], {
        type: "quote",
        symbol: "AAPL",
        timestamp: 1_580_398_200_000_000_001n,
        exchange_timestamp: 1_580_398_199_999_990_003n,
        sequence: 1,
        bid: { price: 189.24, shares: 300 },
        ask: { price: 189.26, shares: 200 },
        spread: { price: 0.02, percent: 0.0106 },
        incomplete: false,
        halted: true,
        firm: false,
      });
      assert.equal(market.account().by, "ring");
    } finally {
      rmSync(path);
    }
  },
);

test("a reader that waits for a notification reads what came before it", { skip: addon }, async () => {
  const name = `node-wake-${process.pid}`;
  const path = `/dev/shm/millpond.${name}`;
  const writer = new RingWriter(64, 1);
  writer.name(0, "AAPL");
  writeFileSync(path, writer.bytes);
  const wake = new Int32Array(new SharedArrayBuffer(4));
  try {
    using market = new MarketData({ ring: name, reconnectMs: 60_000, wake });
    while (market.account().connections === 0) await new Promise((resolve) => setImmediate(resolve));
    await new Promise((resolve) => setImmediate(resolve));
    writer.trade(0);
    writeFileSync(path, writer.bytes, { flag: "r+" });
    while (Atomics.notify(wake, 0) === 0) await new Promise((resolve) => setImmediate(resolve));
    while (market.account().received < 2) {
      Atomics.add(wake, 0, 1);
      Atomics.notify(wake, 0);
      await new Promise((resolve) => setImmediate(resolve));
    }
    const [connected, trade] = await (async () => {
      const events: MarketEvent[] = [];
      for await (const event of market) if (events.push(event) === 2) break;
      return events;
    })();
    assert.deepEqual([connected!.type, trade!.type], ["connected", "trade"]);
    market.close();
    Atomics.add(wake, 0, 1);
    Atomics.notify(wake, 0);
  } finally {
    rmSync(path);
  }
});

/** What MarketData delivers of a ring, looked at once after `write`. */
async function looked(
  options: Partial<MarketDataOptions>,
  prepare: (writer: RingWriter) => void,
  write: (writer: RingWriter, market: MarketData) => void,
  count: number,
): Promise<unknown[][]> {
  const name = `node-look-${process.pid}`;
  const path = `/dev/shm/millpond.${name}`;
  const writer = new RingWriter(64, 2);
  writer.name(0, "AAPL");
  writer.name(1, "MSFT");
  prepare(writer);
  writeFileSync(path, writer.bytes);
  const wake = new Int32Array(new SharedArrayBuffer(4));
  const seen: unknown[][] = [];
  try {
    using market = new MarketData({ ring: name, reconnectMs: 60_000, wake, ...options });
    for await (const event of market) {
      if (event.type !== "connected") seen.push([event.type, "symbol" in event ? event.symbol : null]);
      else {
        await new Promise((resolve) => setImmediate(resolve));
        write(writer, market);
        writeFileSync(path, writer.bytes, { flag: "r+" });
      }
      if (seen.length === count) break;
      Atomics.add(wake, 0, 1);
      Atomics.notify(wake, 0);
    }
  } finally {
    rmSync(path);
  }
  return seen;
}

test("a clear of one channel drops no newest quote of another one", { skip: addon }, async () => {
  const seen = await looked(
    { mode: "conflate" },
    () => {},
    (writer) => {
      writer.quote(0, 1, 2, 0);
      writer.quote(1, 1, 2, 1);
      writer.clear(0);
      writer.trade(1);
    },
    4,
  );
  assert.deepEqual(seen, [
    ["quote", "AAPL"],
    ["quote", "MSFT"],
    ["clear", null],
    ["trade", "MSFT"],
  ]);
});

test("who subscribes to more of a ring gets its states and quotes first, and none twice", { skip: addon }, async () => {
  const seen = await looked(
    { subscribe: ["AAPL"] },
    (writer) => {
      writer.quote(0, 1, 2);
      writer.quote(1, 1, 2);
      writer.status(1, 2);
    },
    (writer, market) => {
      market.subscribe("MSFT");
      writer.quote(0, 3, 4);
      writer.quote(1, 3, 4);
      writer.trade(0);
    },
    5,
  );
  assert.deepEqual(seen, [
    ["quote", "AAPL"],
    ["status", "MSFT"],
    ["quote", "AAPL"],
    ["quote", "MSFT"],
    ["trade", "AAPL"],
  ]);
  const alone = await looked(
    { subscribe: ["AAPL"] },
    (writer) => writer.quote(1, 1, 2),
    (writer, market) => {
      market.subscribe("MSFT");
      writer.trade(1);
    },
    2,
  );
  assert.deepEqual(alone, [
    ["quote", "MSFT"],
    ["trade", "MSFT"],
  ]);
});

test("where there is no ring, MarketData goes by TCP if it has a port, and keeps trying if not", async () => {
  using market = new MarketData({ ring: "no-such-ring", reconnectMs: 1 });
  while (market.account().lastError === undefined) await new Promise((resolve) => setImmediate(resolve));
  assert.match(market.account().lastError!, addon === undefined ? /not found/ : /not installed/);
  assert.equal(market.account().by, "ring");
  using other = new MarketData({ ring: "no-such-ring", port: 1, reconnectMs: 1 });
  while (other.account().by !== "tcp") await new Promise((resolve) => setImmediate(resolve));
  assert.throws(() => new MarketData({}), { code: "BAD_SETTING" });
});

for (const hours of [1, -1]) {
  test(`setting the clock by ${hours} h neither silences a writer nor revives it`, (t) => {
    const writer = new RingWriter(8, 1);
    const ring = new MarketRing(writer.bytes.buffer);
    let utc = 1_700_000_000_000;
    let monotonic = 5_000;
    t.mock.method(Date, "now", () => utc);
    t.mock.method(performance, "now", () => monotonic);
    const pass = (ms: number): void => {
      utc += ms;
      monotonic += ms;
    };
    writer.heartbeat(utc);
    assert.equal(ring.writerState(), "alive");
    utc += hours * 3_600_000;
    assert.equal(ring.writerState(), "alive");
    pass(999);
    assert.equal(ring.writerState(), "alive");
    pass(2);
    assert.equal(ring.writerState(), "silent");
    writer.heartbeat(utc);
    assert.equal(ring.writerState(), "alive");
  });
}

test("with a ring and a port, events come by the ring again once it is there", { skip: addon }, async () => {
  const name = `node-back-${process.pid}`;
  const path = `/dev/shm/millpond.${name}`;
  // A socket that is not read does not see its end, and keeps the process alive.
  const server = createServer((socket) => void socket.on("error", () => {}).resume()).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const writer = new RingWriter(64, 1);
  writer.name(0, "AAPL");
  try {
    using market = new MarketData({ ring: name, port, reconnectMs: 1 });
    while (market.account().connections === 0) await new Promise((resolve) => setImmediate(resolve));
    assert.equal(market.account().by, "tcp");
    writeFileSync(path, writer.bytes);
    while (market.account().connections === 1) await new Promise((resolve) => setImmediate(resolve));
    assert.equal(market.account().by, "ring");
  } finally {
    rmSync(path, { force: true });
    server.close();
  }
});
