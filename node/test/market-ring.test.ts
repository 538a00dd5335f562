import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import {
  Book,
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
    quote: (quote, number) =>
      seen.push(["quote", number, quote.instrument, Number(quote.bidPriceNanos / 100_000n), quote.askSize]),
    trade: (trade, number) =>
      seen.push(["trade", number, trade.instrument, Number(trade.priceNanos / 100_000n), trade.receiveTime]),
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

test("an entry that is being written is not read, and one that is overwritten during the copy counts as missed", () => {
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
  // The writer is in the middle of overwriting entry 2.
  writer.begin();
  seen.length = 0;
  assert.ok(ring.poll(handler) > 1);
  assert.deepEqual(seen[0], ["missed", 2, 3]);
  assert.deepEqual(seen[1]!.slice(0, 2), ["quote", 4]);
  balanced(ring);
  assert.equal(ring.account().missed, 2);
});

test("a lapped reader gets the exact range that it missed", () => {
  const writer = new RingWriter(64, 1);
  const ring = new MarketRing(writer.bytes.buffer);
  writer.name(0, "AAPL");
  let delivered = 0;
  let missed = 0;
  let last = 0;
  const handler: MarketRingHandler = {
    quote(quote, number) {
      assert.equal(number, last + 1);
      assert.equal(quote.bidPriceNanos, BigInt(number) * 100_000n);
      assert.equal(quote.bidPrice, number / 10_000);
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

test("reading continues beyond 2^31 and 2^32 of the halves of the sequence number", () => {
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
    // The test wrote the larger numbers of the previous round.
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

test("entries that the board's copy includes are not delivered again from the ring", () => {
  const writer = new RingWriter(64, 4);
  writer.name(0, "AAPL");
  writer.name(1, "MSFT");
  writer.quote(0, 10, 11);
  writer.quote(1, 20, 21);
  // The cursor of the join is older than the board, as if events were published between the two.
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
  const golden = new URL("../../../tests/golden/ring_v1_board_v3", import.meta.url);
  const latest = [
    ["AAPL", 189_220_000_000n, 1_500, 189_260_000_000n, 600, 1_795_404_483_541_638_187n],
    ["AMZN", 178_880_000_000n, 200, 178_930_000_000n, 1_400, 1_795_404_483_540_440_038n],
    ["GOOG", 141_190_000_000n, 1_700, 141_260_000_000n, 300, 1_795_404_483_541_837_864n],
    ["MSFT", 415_080_000_000n, 1_900, 415_110_000_000n, 1_500, 1_795_404_483_542_032_773n],
    ["NVDA", 875_360_000_000n, 1_600, 875_410_000_000n, 1_200, 1_795_404_483_541_432_311n],
  ];
  for (const start of ["board", "ring"]) {
    const ring = new MarketRing(Uint8Array.from(readFileSync(golden)).buffer);
    const seen = new Map<string, unknown[]>();
    let quotes = 0;
    const handler: MarketRingHandler = {
      quote: ({ instrument, bidPriceNanos, bidSize, askPriceNanos, askSize, receiveTime }) => {
        quotes++;
        const symbol = ring.symbol(instrument)!;
        seen.set(symbol, [symbol, bidPriceNanos, bidSize, askPriceNanos, askSize, receiveTime]);
      },
    };
    if (start === "board") ring.join(handler);
    else ring.seek(ring.newest - 62);
    while (ring.poll(handler) > 0);
    assert.deepEqual([...seen.values()].sort(), latest, start);
    assert.equal(quotes, start === "board" ? 5 : 63);
  }
});

test("a price is exact as a bigint, and as a number the nearest one", () => {
  const writer = new RingWriter(64, 1);
  writer.name(0, "AAPL");
  const ring = new MarketRing(writer.bytes.buffer);
  const prices: [bigint, number][] = [
    [0n, 0],
    [1n, 1e-9],
    [-10_000_000n, -0.01],
    [189_240_000_000n, 189.24],
    [2n ** 53n - 1n, 9007199.254740991],
    [2n ** 53n + 1n, 9007199.254740993],
    [-9_007_199_254_740_993n, -9007199.254740993],
    [9_223_372_036_854_775_806n, 9223372036.854776],
    [-9_223_372_036_854_775_808n, -9223372036.854776],
    [2n ** 63n - 1n, NaN],
  ];
  for (const [nanos] of prices) {
    writer.trade(0);
    writer.u64(writer.entry(writer.number) + 24, BigInt.asUintN(64, nanos));
  }
  const seen: [bigint, number][] = [];
  ring.seek(1);
  ring.poll({ trade: ({ priceNanos, price }) => seen.push([priceNanos, price]) });
  assert.deepEqual(seen, prices);
});

test("imbalances, bands and directory entries of a ring are read as they were written", () => {
  const writer = new RingWriter(8, 1);
  const ring = new MarketRing(writer.bytes.buffer);
  const times = [3, 1_580_398_200_000_000_001n, 0, 17] as const;
  const none = 2n ** 63n - 1n;
  writer.publish(9, 88, (at) => {
    writer.u32(at, 1, 4 | (2 << 16), 2 | (1 << 16));
    writer.u64(at + 16, 51_200, 700, 189_250_000_000n, 189_260_000_000n, none, ...times);
  });
  writer.publish(10, 72, (at) => {
    writer.u32(at, 1, 4 | (1 << 16), 2, 1);
    writer.u64(at + 16, 179_790_000_000n, 198_710_000_000n, 189_250_000_000n, ...times);
  });
  writer.publish(11, 64, (at) => {
    writer.u32(at, 1, 4 | (1 << 16), 4, 0x44_53_55);
    writer.u64(at + 16, 10_000_000, 100, ...times);
  });
  const seen: unknown[] = [];
  ring.seek(1);
  ring.poll({
    imbalance: (i, n) =>
      seen.push([
        n,
        i.instrument,
        i.channel,
        i.side,
        i.auction,
        i.state,
        i.pairedSize,
        i.imbalanceSize,
        i.nearPrice,
        i.farPrice,
      ]),
    band: (b, n) => seen.push([n, b.band, b.shortSale, b.extension, b.lowerPrice, b.upperPriceNanos, b.referencePrice]),
    instrument: (d, n) =>
      seen.push([
        n,
        d.instrumentClass,
        d.decimals,
        d.currency.slice(0, 3),
        d.tick,
        d.tickNanos,
        d.lot,
        d.exchangeTime,
        d.feedSequence,
      ]),
  });
  assert.deepEqual(seen, [
    [1, 1, 4, 2, 2, 1, 51_200, 700, 189.26, Number.NaN],
    [2, 1, 2, 1, 179.79, 198_710_000_000n, 189.25],
    [3, 1, 4, "USD", 0.01, 10_000_000n, 100, 3n, 17],
  ]);
  balanced(ring);
});

test("a gap makes older quotes of its channel incomplete for a late reader, from the board and from the ring", () => {
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
  // The cursor of the join is older than the gap: the gap in the ring is filtered.
  writer.u64(128, 2);
  assert.deepEqual(flags(new MarketRing(writer.bytes.buffer)), board);
  // The slot is older than the ring's entry, which the copied gap marks as incomplete.
  writer.u64(writer.slot(0), 0);
  writer.u64(128, 0);
  assert.deepEqual(flags(new MarketRing(writer.bytes.buffer)), [...board.slice(1), [0, 1]]);
});

test("a buffer without a ring, or with another layout, is refused by name", () => {
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
    faultOf((writer) => writer.u32(12, 1)),
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
    faultOf((writer) => writer.u32(board + 8, 2)),
    "other_layout",
  );
  // Depth slots that are too small for their levels, no multiple of 64 bytes, or beyond the memory.
  for (const [depth, bytes] of [
    [2, 128],
    [50, 64],
    [2 ** 32 - 1, 2 ** 32 - 64],
    [0, 64],
    [2, 161],
  ]) {
    assert.equal(
      faultOf((writer) => writer.u32(board + 24, depth!, bytes!)),
      "other_layout",
    );
  }
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
          // The next writer's ring: a new epoch under the same name.
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
        bid: { price: 189.24, price_nanos: 189_240_000_000n, shares: 300 },
        ask: { price: 189.26, price_nanos: 189_260_000_000n, shares: 200 },
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

test("a reader that waits for a notification reads earlier entries first", { skip: addon }, async () => {
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

/** The events that MarketData delivers from a ring after `write`. */
async function looked(
  options: Partial<MarketDataOptions>,
  prepare: (writer: RingWriter) => void,
  write: (writer: RingWriter, market: MarketData) => void,
  count: number,
  events: MarketEvent[] = [],
  depth = 2,
): Promise<unknown[][]> {
  const name = `node-look-${process.pid}`;
  const path = `/dev/shm/millpond.${name}`;
  const writer = ringWithDepth(depth);
  prepare(writer);
  writeFileSync(path, writer.bytes);
  const wake = new Int32Array(new SharedArrayBuffer(4));
  const seen: unknown[][] = [];
  try {
    using market = new MarketData({ ring: name, reconnectMs: 60_000, wake, ...options });
    for await (const event of market) {
      if (event.type !== "connected") {
        seen.push([event.type, "symbol" in event ? event.symbol : null]);
        events.push(event);
      } else {
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

test("a clear of one channel keeps conflated quotes of other channels", { skip: addon }, async () => {
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

test(
  "a new subscription to a ring delivers its statuses and quotes first, and none twice",
  { skip: addon },
  async () => {
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
  },
);

for (const mode of ["every", "conflate"] as const) {
  test(`books cross to a writer of the ring that sends another depth, with mode ${mode}`, { skip: addon }, async () => {
    const events: MarketEvent[] = [];
    const book = new Book({ depth: 3 });
    await looked(
      { mode, depth: 3 },
      (writer) => {
        writer.quote(0, 1, 2);
        writer.depthSlot(
          0,
          [
            [100, 1, 1],
            [99, 1, 1],
            [98, 1, 1],
            [97, 1, 1],
          ],
          [],
        );
      },
      (writer) => {
        writer.level(0, 1, 101, 1, 128); // the last of the writer with depth 4
        writer.u32(writer.channel(0) + 72, 3);
        writer.u64(writer.channel(0) + 88, writer.number + 1);
        writer.clear(0);
        for (const price of [100, 101, 102]) writer.level(0, 1, price, 1, 128);
        writer.level(0, 1, 103, 1, 128); // pushes 100 out
        writer.level(0, 1, 103, 0, 0);
        writer.level(0, 1, 99, 1, 128); // 100 was removed meanwhile
        writer.level(1, 1, 50, 1, 128);
        writer.status(1, 2);
      },
      mode === "every" ? 16 : 6,
      events,
      4,
    );
    for (const event of events) if (!("symbol" in event) || event.symbol !== "MSFT") book.apply(event);
    assert.deepEqual(
      book.bids().map(({ priceNanos }) => Number(priceNanos / 100_000n)),
      [102, 101, 99],
    );
    assert.equal(book.complete, true);
  });
}

test("a clear of one channel leaves the books of other channels", { skip: addon }, async () => {
  const events: MarketEvent[] = [];
  const book = new Book({ depth: 1 });
  await looked(
    { depth: 1 },
    (writer) => {
      writer.quote(0, 1, 2);
      writer.depthSlot(
        0,
        [
          [100, 1, 1],
          [99, 1, 1],
        ],
        [],
      );
    },
    (writer) => {
      writer.clear(1);
      writer.level(0, 1, 100, 0, 0);
      writer.level(0, 1, 98, 1, 128);
    },
    6,
    events,
  );
  for (const event of events) book.apply(event);
  assert.deepEqual(
    book.bids().map(({ priceNanos }) => Number(priceNanos / 100_000n)),
    [99],
  );
});

/** A ring with levels in the depth slots of AAPL and MSFT. */
function ringWithDepth(depth = 2, capacity = 64): RingWriter {
  const writer = new RingWriter(capacity, 2, 2, depth);
  writer.name(0, "AAPL");
  writer.name(1, "MSFT");
  return writer;
}

function levelRecorder() {
  const seen: unknown[][] = [];
  const handler: MarketRingHandler = {
    level: ({ instrument, side, price, size, orders, flags }, number) =>
      seen.push([number, instrument, side, price, size, orders, flags]),
    order: ({ action, flags }, number) => seen.push([number, `order ${action}`, flags]),
    quote: ({ bidSize, flags }, number) => seen.push([number, `quote ${bidSize}`, flags]),
  };
  return { seen, handler };
}

test("a join delivers the levels of the board as a snapshot, and no entry that they include", () => {
  const writer = ringWithDepth();
  writer.level(0, 1, 100, 5, 128);
  writer.level(0, 1, 101, 6, 0);
  writer.quote(0, 101, 0, 0, 128);
  writer.depthSlot(0, [[101, 6, 2], [100, 5, 1]], [[103, 7, 1]]); // prettier-ignore
  writer.u64(128, 1); // the cursor of the join is older than the board
  const ring = new MarketRing(writer.bytes.buffer);
  const { seen, handler } = levelRecorder();
  const times: bigint[] = [];
  ring.join({
    ...handler,
    level: (view, number) => {
      times.push(view.exchangeTime, view.receiveTime, view.receiveTicks, BigInt(view.feedSequence));
      handler.level!(view, number);
    },
  });
  assert.deepEqual(seen, [
    [3, "quote 300", 128],
    [3, 0, 0, 0, 0, 0, 32],
    [3, 0, 1, 0.01, 5, 1, 32],
    [3, 0, 1, 0.0101, 6, 2, 32],
    [3, 0, 2, 0.0103, 7, 1, 32 | 128],
  ]);
  assert.deepEqual(times.slice(0, 4), [21n, 22n, 23n, 24n]);
  writer.u64(128, 3);
  writer.level(0, 2, 102, 1, 128);
  seen.length = 0;
  assert.equal(ring.poll(handler), 3);
  assert.deepEqual(seen, [[4, 0, 2, 0.0102, 1, 2, 128]]);
  assert.deepEqual([ring.account().filtered, ring.account().fromBoard], [2, 5]);
  balanced(ring);
});

test("levels of the board that are being written, marked or older than a gap are incomplete, and void after a Clear", () => {
  const joined = (write: (writer: RingWriter) => void): unknown[][] => {
    const writer = ringWithDepth();
    writer.level(0, 1, 100, 5, 128);
    write(writer);
    const ring = new MarketRing(writer.bytes.buffer);
    const { seen, handler } = levelRecorder();
    ring.join(handler);
    return seen.map((event) => event.slice(2));
  };
  const levels = [[100, 5, 1]];
  const whole = (flag: number): unknown[][] => [
    [0, 0, 0, 0, 32 | flag],
    [1, 0.01, 5, 1, 32 | 128 | flag],
  ];
  assert.deepEqual(
    joined((writer) => writer.depthSlot(0, levels, [])),
    whole(0),
  );
  assert.deepEqual(
    joined((writer) => writer.depthSlot(0, levels, [], 3)),
    [[0, 0, 0, 0, 32 | 128 | 1]],
  );
  assert.deepEqual(
    joined((writer) => writer.depthSlot(0, levels, [], 2, 1)),
    whole(1),
  );
  const gapped = joined((writer) => {
    writer.depthSlot(0, levels, []);
    writer.gap(0, 1, 2);
  });
  assert.deepEqual(gapped, whole(1));
  const cleared = joined((writer) => {
    writer.depthSlot(0, levels, []);
    writer.clear(0);
  });
  assert.deepEqual(cleared, []);
  assert.deepEqual(
    joined(() => {}),
    [],
  );
});

test("entries before a Clear or a gap of the board have its effect", () => {
  const writer = ringWithDepth();
  writer.quote(1, 1, 2);
  writer.level(0, 1, 100, 5, 0);
  writer.trade(0);
  writer.order(0, 1, 1n, 1, 1, 128);
  writer.clear(0);
  writer.level(0, 1, 100, 5, 0);
  writer.gap(0, 1, 2);
  writer.u64(128, 0);
  const ring = new MarketRing(writer.bytes.buffer);
  const { seen, handler } = levelRecorder();
  const flags: number[] = [];
  ring.join({ level: () => {} });
  writer.u64(128, 7);
  while (ring.poll({ ...handler, trade: (trade) => flags.push(trade.flags) }) > 0);
  assert.deepEqual([seen, flags], [[[6, 0, 1, 0.01, 5, 2, 1]], [128]]);
});

test("a Clear of an instrument reaches its levels and its quote once, whichever the board includes", () => {
  for (const [included, expected] of [
    ["levels", [[2, "quote 0", 128]]],
    ["quote", [[2, "order 6", 160], [2, 0, 0, 0, 0, 0, 160]]], // prettier-ignore
  ] as const) {
    const writer = ringWithDepth();
    writer.quote(0, 1, 2);
    if (included === "quote") writer.u64(writer.slot(0), 4);
    else writer.depthSlot(0, [], [], 4);
    writer.clearOne(0);
    writer.u64(128, 1);
    const ring = new MarketRing(writer.bytes.buffer);
    const { seen, handler } = levelRecorder();
    ring.join(handler);
    writer.u64(128, 2);
    seen.length = 0;
    ring.poll(handler);
    assert.deepEqual(seen, expected);
    balanced(ring);
  }
});

/** Two groups of AAPL: one ends with its quote, one with a level. */
function writeGroups(writer: RingWriter): void {
  writer.order(0, 1, 2n ** 63n + 1n, 100, 100, 0);
  writer.level(0, 1, 100_000, 100, 0);
  writer.quote(0, 100_000, 0, 0, 128);
  writer.order(0, 3, 2n ** 63n + 1n, 40, 60, 0);
  writer.level(0, 1, 100_000, 60, 128);
  writer.trade(1);
}

for (const [wanted, options, expected] of [
  ["nothing of books", {}, ["quote", "trade"]],
  ["levels", { depth: 10 }, ["level 128", "quote", "level 128", "trade"]],
  ["orders", { orders: true }, ["order 128", "quote", "order 128", "trade"]],
  [
    "levels and orders",
    { depth: 10, orders: true },
    ["order 0", "level 128", "quote", "order 0", "level 128", "trade"],
  ],
] as const) {
  test(`the last event of a group says so to a client of a ring that wants ${wanted}`, { skip: addon }, async () => {
    const seen: MarketEvent[] = [];
    await looked(options, () => {}, writeGroups, expected.length, seen, 10);
    const flagsOf = (event: MarketEvent): string =>
      event.type === "level" || event.type === "order" ? ` ${event.flags ?? 0}` : "";
    assert.deepEqual(
      seen.map((event) => `${event.type}${flagsOf(event)}`),
      expected,
    );
  });
}

test(
  "a new subscription to a ring makes a complete book, of levels that it has not read yet too",
  { skip: addon },
  async () => {
    const seen: MarketEvent[] = [];
    await looked(
      { subscribe: ["AAPL"], depth: 2 },
      () => {},
      (writer, market) => {
        writer.level(1, 1, 100, 5, 128);
        writer.depthSlot(1, [[100, 5, 1]], []); // prettier-ignore
        market.subscribe("MSFT");
        writer.level(1, 1, 101, 6, 128);
        writer.trade(0);
      },
      4,
      seen,
    );
    const book = new Book({ depth: 2 });
    for (const event of seen.filter((each) => "symbol" in each && each.symbol === "MSFT")) book.apply(event);
    assert.deepEqual(
      [book.complete, book.bids().map(({ price, size }) => [price, size])],
      [
        true,
        [
          [0.0101, 6],
          [0.01, 5],
        ],
      ],
    );
  },
);

for (const mode of ["every", "conflate"] as const) {
  test(
    `a client of a ring that wants fewer levels than it has keeps their best ones: ${mode}`,
    { skip: addon },
    async () => {
      const name = `node-fewer-${process.pid}`;
      const path = `/dev/shm/millpond.${name}`;
      const writer = ringWithDepth(5, 4_096);
      writer.level(0, 0, 0, 0, 32);
      writer.level(0, 1, 100, 5, 128 | 32);
      writer.depthSlot(0, [[100, 5, 2]], []); // prettier-ignore
      writeFileSync(path, writer.bytes);
      const bids = new Map([[100, 5]]);
      let random = 7;
      const pick = (bound: number): number => {
        random = (Math.imul(random, 1_103_515_245) + 12_345) & 0x7fff_ffff;
        return (random >> 12) % bound;
      };
      const best = (): unknown[] => [...bids].sort(([a], [b]) => b - a).slice(0, 2);
      const book = new Book({ depth: 2 });
      try {
        using market = new MarketData({ ring: name, reconnectMs: 60_000, wake: "immediate", depth: 2, mode });
        const iterator = market[Symbol.asyncIterator]();
        const until = async (isLast: (event: MarketEvent) => boolean): Promise<void> => {
          for (;;) {
            const event = (await iterator.next()).value as MarketEvent;
            book.apply(event);
            if (isLast(event)) return;
          }
        };
        await until(({ type }) => type === "connected");
        for (let round = 0; round < 300; round++) {
          const hasQuote = pick(2) === 0;
          for (let changes = pick(3); changes >= 0; changes--) {
            const price = 100 + pick(6);
            const size = bids.size >= 5 && !bids.has(price) ? 0 : pick(4) * 10;
            if (size === 0) bids.delete(price);
            else bids.set(price, size);
            writer.level(0, 1, price, size, changes === 0 && !hasQuote ? 128 : 0);
          }
          const { number } = writer;
          if (hasQuote) {
            writer.trade(0);
            writer.quote(0, 1, 0, 0, 128);
          }
          writer.trade(1);
          writeFileSync(path, writer.bytes, { flag: "r+" });
          if (mode === "every") await until((event) => event.type === "trade" && event.symbol === "MSFT");
          else await until((event) => event.type === "book" && event.sequence === number);
          assert.equal(book.complete, true);
          assert.deepEqual(
            book.bids().map(({ priceNanos, size }) => [Number(priceNanos / 100_000n), size]),
            best(),
            `round ${round}`,
          );
        }
      } finally {
        rmSync(path);
      }
    },
  );
}

test("a trade follows the book of its group and of those before it, with mode conflate", { skip: addon }, async () => {
  const seen: MarketEvent[] = [];
  await looked(
    { depth: 2, mode: "conflate" },
    () => {},
    (writer) => {
      writer.clear(0);
      writer.level(0, 1, 100, 5, 128);
      writer.level(0, 1, 100, 3, 0); // the group of a trade
      writer.trade(0, 1);
      writer.quote(0, 100, 0, 0, 128);
      writer.level(0, 1, 100, 2, 128);
      writer.status(0, 2);
      writer.level(0, 1, 100, 1, 128);
    },
    7,
    seen,
  );
  const texts = seen.map((event) => (event.type === "book" ? `book ${event.bids[0]!.size}` : event.type));
  assert.deepEqual(texts, ["clear", "book 3", "trade", "book 2", "status", "book 1", "quote"]);
});

test("a depth that the feed of a ring does not send is an error", { skip: addon }, async () => {
  const seen: MarketEvent[] = [];
  let market: MarketData | undefined;
  await looked(
    { depth: 3 },
    () => {},
    (writer, client) => {
      market = client;
      writer.level(0, 1, 100, 5, 128);
      writer.trade(0);
      writer.trade(0);
    },
    2,
    seen,
  );
  assert.equal(seen[0]!.type, "trade");
  assert.match(market!.account().lastError!, /channel 0 sends 2 levels/);
});

test("orders and levels of a ring are those of its entries", { skip: addon }, async () => {
  const seen: MarketEvent[] = [];
  await looked({ depth: 10, orders: true }, () => {}, writeGroups, 6, seen, 10);
  const common = {
    symbol: "AAPL",
    channel: 0,
    timestamp: 1_580_398_200_000_000_001n,
    exchange_timestamp: 3n,
    side: "bid",
    price: 10,
    price_nanos: 10_000_000_000n,
  };
  assert.deepEqual(seen[3], {
    ...common,
    type: "order",
    sequence: 4,
    action: "cancel",
    order_id: 2 ** 63,
    order_id_exact: 2n ** 63n + 1n,
    size: 40,
    size_left: 60,
    trade_id: 0,
    trade_id_exact: 0n,
  });
  assert.deepEqual(seen[4], { ...common, type: "level", sequence: 5, size: 60, count: 2, flags: 128 });
});

test("without a ring MarketData uses TCP if it has a port, and otherwise keeps trying", async () => {
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

test("with a ring and a port, events come from the ring again once it exists", { skip: addon }, async () => {
  const name = `node-back-${process.pid}`;
  const path = `/dev/shm/millpond.${name}`;
  // A socket that is not read does not see the end, and keeps the process alive.
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

test("without the native package and a network address, a ring is an error, not a wait", () => {
  const folder = mkdtempSync(join(tmpdir(), "millpond-no-addon-"));
  try {
    // The folder has no packages.
    cpSync(join(dirname(fileURLToPath(import.meta.url)), "../../dist/node"), folder, { recursive: true });
    const script = join(folder, "use.mjs");
    writeFileSync(
      script,
      `import { MarketData, MessageSystem } from "./index.mjs";
      const said = [];
      const market = new MarketData({ ring: "demo" });
      const [first, second] = await Promise.allSettled([market[Symbol.asyncIterator]().next(), market[Symbol.asyncIterator]().next()]);
      said.push(first.reason?.name, first.reason?.fault, first.reason?.message === market.account().lastError, second.value?.done);
      try {
        for await (const event of new MarketData({ ring: "demo" })) said.push(event.type);
      } catch (error) {
        said.push(error.fault);
      }
      const errors = new Promise((resolve) => {
        const onError = (error, path) => resolve(error.fault + " " + path);
        new MarketData({ ring: "demo", system: new MessageSystem({ onError }) });
      });
      said.push(await errors);
      const warned = new Promise((resolve) => process.once("warning", resolve));
      new MarketData({ ring: "demo", system: new MessageSystem() });
      said.push((await warned).code);
      console.log(JSON.stringify(said));`,
    );
    const { stdout, stderr } = spawnSync(process.execPath, ["--no-warnings", script], {
      encoding: "utf8",
      timeout: 120_000,
    });
    assert.equal(stderr, "");
    assert.deepEqual(JSON.parse(stdout), [
      ...["MarketRingError", "no_addon", true, true],
      "no_addon",
      "no_addon connected://",
      "MILLPOND_UNHANDLED_ERROR",
    ]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test("a ring of another layout ends a client without a network address", { skip: addon }, async () => {
  const name = `other-layout-${process.pid}`;
  const path = `/dev/shm/millpond.${name}`;
  const writer = new RingWriter(64, 4);
  new Uint32Array(writer.bytes.buffer)[2] = 99;
  writeFileSync(path, writer.bytes);
  try {
    const market = new MarketData({ ring: name });
    await assert.rejects(market[Symbol.asyncIterator]().next(), { name: "MarketRingError", fault: "other_layout" });
    assert.deepEqual(await market[Symbol.asyncIterator]().next(), { value: undefined, done: true });
  } finally {
    rmSync(path, { force: true });
  }
});
