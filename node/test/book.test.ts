import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { Book, type BookOptions, type MarketEvent, type MarketLevel, SettingError } from "millpond";

type Rung = [price: string, size: number, orders: number, queue: [id: string, size: number][]];
interface Expected {
  complete: boolean;
  live: number;
  bids: Rung[];
  asks: Rung[];
  faults: Record<string, number>;
}
type Line = Partial<Record<string, unknown[]>> & { book?: BookOptions; is?: Expected };

const COMMON = { symbol: "S", timestamp: 1n, exchange_timestamp: 1n, sequence: 1 };
const HEAD = { instrument: 0, channel: 0, exchangeTime: 1n, receiveTime: 1n, receiveTicks: 1n, feedSequence: 1 };
const SIDES = ["none", "bid", "ask"];
const ACTIONS = ["", "add", "modify", "cancel", "execute", "remove", "clear"];

/** MarketData ends a group with its last order or level, because quotes have no flags. */
function endedByBooks(lines: readonly Line[]): Line[] {
  const ended = structuredClone(lines) as Line[];
  let open: number[] | undefined;
  for (const { quote, trade, order, level, is } of ended) {
    const flags = (order ?? level) as number[] | undefined;
    if (flags !== undefined) open = flags;
    else if (is !== undefined) open = undefined;
    const follower = (quote ?? trade) as [number] | undefined;
    if (follower === undefined || (follower[0] & 128) === 0) continue;
    follower[0] &= ~128;
    if (open !== undefined) open[open.length - 1]! |= 128;
  }
  return ended;
}

/** Applies an event of the golden file as MarketData delivers it. */
function applyEvent(book: Book, line: Line): boolean {
  const [kind, fields] = Object.entries(line)[0] as [string, never[]];
  const apply = (event: object): boolean => book.apply({ ...COMMON, type: kind, ...event } as unknown as MarketEvent);
  switch (kind) {
    case "order": {
      const [action, side, id, price, size, size_left, flags] = fields;
      const price_nanos = BigInt(price!);
      const order = { order_id: Number(id), order_id_exact: BigInt(id!), price: 0, price_nanos, size, size_left };
      return apply({ action, side, ...order, ...(flags !== 0 && { flags }) });
    }
    case "level": {
      const [side, price, size, count, flags] = fields;
      return apply({ side, price: 0, price_nanos: BigInt(price!), size, count, ...(flags !== 0 && { flags }) });
    }
    case "quote":
      return apply({ incomplete: (fields[0]! & 1) !== 0 });
    case "trade":
      return apply({ flags: fields[0] });
    case "clear":
      return apply({ symbol: null, channel: 0, flags: fields[0] });
    case "gap":
      return apply({ channel: 0, first: 1, last: 2, reason: "sequence" });
    default:
      return apply({ count: fields[1]! - fields[0]! + 1, first: fields[0], last: fields[1], here: false });
  }
}

/** Applies it as MarketRing delivers it. */
function applyView(book: Book, line: Line): boolean {
  const [kind, fields] = Object.entries(line)[0] as [string, never[]];
  const { handler } = book;
  const view = (event: object): never => ({ ...HEAD, ...event }) as never;
  switch (kind) {
    case "order": {
      const [action, side, id, price, size, sizeLeft, flags] = fields;
      const ids = { orderId: Number(id), orderIdExact: BigInt(id!) };
      const numbers = { action: ACTIONS.indexOf(action!), side: SIDES.indexOf(side!) };
      return handler.order(view({ ...numbers, ...ids, priceNanos: BigInt(price!), size, sizeLeft, flags }));
    }
    case "level": {
      const [side, price, size, orders, flags] = fields;
      return handler.level(view({ side: SIDES.indexOf(side!), priceNanos: BigInt(price!), size, orders, flags }));
    }
    case "quote":
      return handler.quote(view({ flags: fields[0] }));
    case "trade":
      return handler.trade(view({ flags: fields[0] }));
    case "clear":
      return handler.clear(view({ instrument: 0xffff_ffff, flags: fields[0] }));
    case "gap":
      return handler.gap(view({}));
    default:
      return handler.missed();
  }
}

function shown(book: Book): Expected {
  const ladder = (side: "bid" | "ask"): Rung[] =>
    (side === "bid" ? book.bids() : book.asks()).map(({ priceNanos, size, orders }) => {
      const queue = book.ordersAt(side, priceNanos).map((order): [string, number] => {
        assert.deepEqual(book.order(order.orderIdExact), order);
        assert.deepEqual([order.side, order.priceNanos], [side, priceNanos]);
        return [String(order.orderIdExact), order.size];
      });
      return [String(priceNanos), size, orders, queue];
    });
  const faults: Record<string, number> = {};
  for (const [name, count] of Object.entries(book.faults)) {
    if (count !== 0) faults[name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)] = count as number;
  }
  return { complete: book.complete, live: book.liveOrders, bids: ladder("bid"), asks: ladder("ask"), faults };
}

const GOLDEN = readFileSync(new URL("../../../tests/golden/books.jsonl", import.meta.url), "utf8")
  .trimEnd()
  .split("\n")
  .map((line) => JSON.parse(line) as Line);

/** Compares the book with the golden one after each group. */
function checkGolden(lines: readonly Line[], apply: (book: Book, line: Line) => void): void {
  let book = new Book();
  let groups = 0;
  for (const [index, line] of lines.entries()) {
    if (line.book !== undefined) book = new Book({ ...line.book, channel: 0 });
    else if (line.is === undefined) apply(book, line);
    else {
      assert.deepEqual(shown(book), line.is, `line ${index + 1}`);
      groups++;
    }
  }
  assert.ok(groups > 300);
}

test("a book made of events equals the golden one after each group, also when something is wrong or lost", () => {
  checkGolden(endedByBooks(GOLDEN), applyEvent);
});

test("a book made of a ring's views equals the golden one too, and says where a group ends", () => {
  const ends: boolean[] = [];
  checkGolden(GOLDEN, (book, line) => ends.push(applyView(book, line)));
  const events = [...GOLDEN.entries()].filter(([, line]) => line.book === undefined && line.is === undefined);
  assert.deepEqual(
    ends,
    events.map(([index]) => GOLDEN[index + 1]!.is !== undefined),
  );
});

function level(side: string, price: bigint, size: number, flags = 128): MarketLevel {
  const channel = 0;
  return {
    ...COMMON,
    channel,
    type: "level",
    side,
    price: Number(price) / 1e9,
    price_nanos: price,
    size,
    count: 1,
    flags,
  };
}
const clear = (channel: number, symbol: string | null = null): MarketEvent => ({
  type: "clear",
  symbol,
  channel,
  timestamp: 1n,
  sequence: 1,
  reason: "new_session",
});
const order: MarketEvent = {
  ...COMMON,
  type: "order",
  channel: 0,
  action: "clear",
  side: "none",
  order_id: 0,
  order_id_exact: 0n,
  price: 0,
  price_nanos: 0n,
  size: 0,
  size_left: 0,
  trade_id: 0,
  trade_id_exact: 0n,
  flags: 32 | 128,
};
const gap = (channel: number): MarketEvent => ({
  type: "gap",
  channel,
  timestamp: 1n,
  sequence: 1,
  first: 1,
  last: 2,
  reason: "sequence",
});

test("a Clear of a channel completes a book only if it is known to be the book's own", () => {
  const unknown = new Book();
  assert.equal(unknown.apply(clear(0)), true);
  assert.equal(unknown.complete, false);
  const given = new Book({ channel: 1 });
  assert.equal(given.apply(clear(0)), false);
  assert.equal(given.complete, false);
  given.apply(clear(1));
  assert.equal(given.complete, true);
  given.apply(level("bid", 5n, 1));
  for (const other of [clear(0), gap(0)]) assert.equal(given.apply(other), false);
  assert.equal(given.complete, true);
  assert.equal(given.bids().length, 1);
  const learnt = new Book();
  learnt.apply({ ...COMMON, type: "status", channel: 1, state: "trading", reason: "" });
  learnt.apply(clear(0));
  assert.equal(learnt.complete, false);
  learnt.apply(clear(1));
  assert.equal(learnt.complete, true);
  const named = new Book();
  named.apply(clear(1, "S"));
  assert.equal(named.complete, true);
  named.apply(gap(0));
  assert.equal(named.complete, true);
  named.apply(gap(1));
  assert.deepEqual([named.complete, named.faults.gaps], [false, 1]);
});

test("levels, orders and books name their channel, so that a book ignores gaps and Clears of other channels", () => {
  const whole: MarketEvent = { ...COMMON, type: "book", channel: 0, bids: [], asks: [], incomplete: false };
  for (const [event, options] of [
    [level("none", 0n, 0, 32 | 128), {}],
    [order, { orders: 8 }],
    [whole, {}],
  ] as const) {
    const book = new Book(options);
    book.apply(event);
    for (const other of [clear(1), gap(1)]) assert.equal(book.apply(other), false);
    assert.deepEqual([book.complete, book.faults.gaps], [true, 0]);
    assert.equal(book.apply(gap(0)), true);
    assert.equal(book.complete, false);
  }
});

test("a new connection and missed events void a book until the next snapshot", () => {
  const book = new Book();
  const snapshot = (): void => {
    book.apply(level("none", 0n, 0, 32));
    assert.equal(book.complete, false);
    book.apply(level("bid", 5n, 1, 32 | 128));
    assert.equal(book.complete, true);
  };
  snapshot();
  assert.equal(book.apply({ type: "connected", connections: 2 }), true);
  assert.deepEqual([book.complete, book.bids()], [false, []]);
  book.apply(level("bid", 5n, 1));
  assert.equal(book.complete, false);
  snapshot();
  book.apply({ type: "missed", count: 3, here: true });
  assert.deepEqual([book.complete, book.faults.missed], [false, 1]);
  snapshot();
  assert.equal(book.apply({ type: "missed", count: 3, here: false }), false); // the books that it affects follow
  assert.equal(book.complete, true);
  book.apply({ type: "missed", count: 3, first: 7, last: 9, here: false });
  assert.deepEqual([book.complete, book.faults.missed], [false, 2]);
  snapshot();
});

test("the levels of a book are copies, and their prices exact", () => {
  const book = new Book({ channel: 0 });
  book.apply(clear(0));
  book.apply(level("ask", 2n ** 62n + 1n, 7));
  const before = book.asks();
  book.apply(level("ask", 2n ** 62n + 1n, 8));
  assert.deepEqual(before, [{ price: 4_611_686_018.427388, priceNanos: 2n ** 62n + 1n, size: 7, orders: 1 }]);
});

test("a size or sum of sizes that a number cannot hold exactly is refused", () => {
  const levels = new Book({ channel: 0 });
  levels.apply(clear(0));
  levels.apply(level("ask", 1n, 2 ** 53));
  assert.deepEqual([levels.complete, levels.faults.refusedLevels, levels.asks()], [false, 1, []]);
});

test("options of a book out of their range are refused", () => {
  for (const options of [
    { depth: 0 },
    { depth: "all" },
    { depth: 65 },
    { levels: 0 },
    { depth: "full", levels: 0 },
    { orders: -1 },
    { orders: 2 ** 29 },
    { channel: 65_536 },
    { sides: 2 },
  ]) {
    assert.throws(() => new Book(options as never), SettingError, JSON.stringify(options));
  }
  assert.equal(new Book({ depth: "full", levels: 1, orders: 1 }).complete, false);
});
