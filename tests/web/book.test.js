// The open instrument's book and trades, and addresses of views, without a page.
import assert from "node:assert/strict";
import { test } from "node:test";

import { Book } from "../../web/book.js";
import { formatRoute, parseRoute } from "../../web/route.js";
import { Trades } from "../../web/trades.js";

const level = (price, size, count = 1) => ({ price, size, count });
const whole = (bids, asks, more = {}) => ({ type: "book", symbol: "A", channel: 1, timestamp: 5, bids, asks, incomplete: false, ...more });
const trade = (price, id, more = {}) => ({ type: "trade", symbol: "A", timestamp: 5, price, shares: 100, trade_id: id, ...more });

test("a book is replaced whole, and its imbalance is that of its sizes", () => {
  const book = new Book();
  assert.equal(book.state, "waiting");
  book.apply(whole([level(9, 10), level(8, 20)], [level(10, 10)]));
  assert.equal(book.state, "complete");
  assert.equal(book.imbalance, 0.5);
  assert.equal(book.largest, 20);
  book.apply(whole([], [level(11, 5)]));
  assert.deepEqual(book.bids, []);
  assert.equal(book.imbalance, -1);
});

test("an incomplete or crossed book has no imbalance", () => {
  const book = new Book();
  book.apply(whole([level(9, 10)], [level(10, 10)], { incomplete: true }));
  assert.deepEqual([book.state, book.imbalance], ["incomplete", null]);
  book.apply(whole([level(11, 10)], [level(10, 10)]));
  assert.deepEqual([book.state, book.imbalance], ["crossed", null]);
});

test("a gap of the book's channel, and a loss of a range, make it incomplete until the next book; others do not", () => {
  for (const [line, state] of [
    [{ type: "gap", channel: 1 }, "incomplete"], [{ type: "gap", channel: 2 }, "complete"],
    [{ type: "missed", count: 3, first: 7, last: 9 }, "incomplete"], [{ type: "missed", count: 3 }, "complete"],
  ]) {
    const book = new Book();
    book.apply(whole([level(9, 10)], [level(10, 10)]));
    book.apply(line);
    assert.equal(book.state, state, JSON.stringify(line));
    book.apply(whole([level(9, 10)], [level(10, 10)]));
    assert.equal(book.state, "complete");
  }
});

test("a clear empties the book; one with flag 1 leaves it incomplete", () => {
  const book = new Book();
  book.apply(whole([level(9, 10)], [level(10, 10)]));
  book.apply({ type: "clear", symbol: null, channel: 2 });
  assert.equal(book.bids.length, 1);
  book.apply({ type: "clear", symbol: null, channel: 1 });
  assert.deepEqual([book.state, book.bids, book.asks], ["complete", [], []]);
  book.apply({ type: "clear", symbol: null, channel: 1, flags: 1 });
  assert.equal(book.state, "incomplete");
});

test("trades are newest first, with their direction and marks, and a broken one stays visible", () => {
  const trades = new Trades();
  trades.apply(trade(10, 1));
  trades.apply(trade(11, 2, { flags: 8 }));
  trades.apply(trade(10.5, 3, { flags: 16 }));
  assert.deepEqual(trades.list.map(({ price, move, marks }) => [price, move, marks]), [[10.5, -1, ["auction"]], [11, 1, ["hidden"]], [10, 0, []]]);
  trades.apply({ type: "trade_break", trade_id: 3 });
  assert.equal(trades.list[0].broken, true);
  trades.apply(trade(11, 4));
  assert.equal(trades.list[0].move, 0, "compared with the last trade that is not broken");
});

test("a trade that another one includes does not make the last price", () => {
  const trades = new Trades();
  trades.apply(trade(12, 1, { flags: 64 }));
  assert.deepEqual([trades.last, trades.list[0].marks], [undefined, ["not printable"]]);
  trades.apply(trade(10, 2));
  trades.apply(trade(13, 3, { flags: 64 }));
  assert.deepEqual([trades.last.price, trades.list[0].move], [10, 0]);
  trades.apply(trade(11, 4));
  assert.deepEqual([trades.last.price, trades.last.move], [11, 1]);
});

test("a loss is marked once until the next trade, also before the first; silence is no loss", () => {
  const trades = new Trades();
  trades.apply({ type: "gap", timestamp: 1, reason: "silence" });
  assert.deepEqual(trades.list, []);
  trades.apply({ type: "missed", count: 1 });
  trades.apply(trade(10, 1));
  trades.apply({ type: "gap", timestamp: 6, reason: "sequence" });
  trades.apply({ type: "missed", count: 2 });
  assert.deepEqual(trades.list.map(({ lost }) => lost === true), [true, false, true]);
});

test("after a loss there is no last trade until the next one, whose direction is unknown", () => {
  const trades = new Trades();
  trades.apply(trade(10, 1));
  trades.apply({ type: "missed", count: 1 });
  assert.equal(trades.last, undefined);
  trades.apply(trade(12, 2, { flags: 64 }));
  assert.equal(trades.last, undefined);
  trades.apply(trade(11, 3));
  assert.deepEqual([trades.last.price, trades.last.move], [11, 0]);
});

test("the list of trades does not grow without bound", () => {
  const trades = new Trades();
  for (let i = 0; i < 1_000; i += 1) trades.apply(trade(i, i));
  assert.equal(trades.list.length, 200);
  assert.equal(trades.list[0].price, 999);
});

const ROUTE = { venue: "", symbol: "", search: "", watched: false, filter: "", bad: false };

test("an address survives formatting and parsing, whatever the names are", () => {
  for (const route of [
    { ...ROUTE, venue: "XNAS", symbol: "AAPL" }, { ...ROUTE, symbol: "A/B %?#", search: "a b&c", watched: true, filter: "é" },
    { ...ROUTE, search: "x", filter: "web", bad: true },
  ]) assert.deepEqual(parseRoute(formatRoute(route)), route);
  assert.equal(formatRoute({ venue: "XNAS", symbol: "AAPL" }), "#/XNAS/AAPL");
  assert.deepEqual(parseRoute(""), ROUTE);
  assert.equal(parseRoute("#/XNAS/100%").symbol, "100%");
});
