// The page's table of quotes, without a page.
import assert from "node:assert/strict";
import { test } from "node:test";

import { bytes, price, span } from "../../web/format.js";
import { Quotes } from "../../web/quotes.js";

const quote = (symbol, bid, ask, more = {}) => ({
  type: "quote", symbol, timestamp: 1e18, incomplete: false,
  bid: { price: bid, shares: bid === null ? 0 : 100 }, ask: { price: ask, shares: ask === null ? 0 : 100 },
  spread: bid === null || ask === null ? null : { price: ask - bid }, ...more,
});
const symbols = (quotes) => quotes.shown().map((record) => record.symbol);

test("symbols come in order, also those that come later", () => {
  const quotes = new Quotes();
  quotes.apply(quote("MSFT", 2, 3));
  quotes.apply(quote("AAPL", 1, 2));
  assert.deepEqual(symbols(quotes), ["AAPL", "MSFT"]);
  quotes.apply(quote("IBM", 1, 2));
  assert.deepEqual(symbols(quotes), ["AAPL", "IBM", "MSFT"]);
});

test("a search takes any part of a symbol in any case", () => {
  const quotes = new Quotes();
  for (const symbol of ["AAPL", "PLTR", "MSFT"]) quotes.apply(quote(symbol, 1, 2));
  quotes.search(" pl ");
  assert.deepEqual(symbols(quotes), ["AAPL", "PLTR"]);
  quotes.search("");
  assert.equal(symbols(quotes).length, 3);
});

test("values sort both ways, and what has none stands last", () => {
  const quotes = new Quotes();
  quotes.apply(quote("A", 5, 6));
  quotes.apply(quote("B", null, 6));
  quotes.apply(quote("C", 7, 9));
  quotes.sortBy("bid", true);
  assert.deepEqual(symbols(quotes), ["C", "A", "B"]);
  quotes.sortBy("bid", false);
  assert.deepEqual(symbols(quotes), ["A", "C", "B"]);
});

test("the order follows new values only when it is asked to", () => {
  const quotes = new Quotes();
  quotes.apply(quote("A", 1, 2));
  quotes.apply(quote("B", 2, 3));
  quotes.sortBy("bid", true);
  assert.deepEqual(symbols(quotes), ["B", "A"]);
  quotes.apply(quote("A", 9, 10));
  assert.deepEqual(symbols(quotes), ["B", "A"]);
  assert.deepEqual(quotes.shown(true).map((record) => record.symbol), ["A", "B"]);
});

test("halted and incomplete are told, and a clear leaves no price", () => {
  const quotes = new Quotes();
  const record = quotes.apply(quote("A", 1, 2, { incomplete: true }));
  assert.equal(record.incomplete, true);
  quotes.apply({ type: "status", symbol: "A", state: "halted" });
  assert.equal(quotes.haltOf(record), "halted");
  quotes.apply({ type: "status", symbol: "A", state: "trading" });
  assert.equal(quotes.haltOf(record), "");
  quotes.apply(quote("A", 1, 2, { halted: true }));
  assert.equal(quotes.haltOf(record), "halted");
  quotes.apply({ type: "clear", symbol: "A" });
  assert.equal(record.bid, null);
});

test("every halt and a quote that is not firm are marked until they end", () => {
  const quotes = new Quotes();
  const record = quotes.apply(quote("A", 1, 2, { firm: false }));
  assert.equal(record.firm, false);
  quotes.apply(quote("A", 1, 2));
  assert.equal(record.firm, true);
  for (const state of ["paused", "quotation_only", "operational_halt"]) {
    quotes.apply({ type: "status", symbol: "A", state });
    assert.equal(quotes.haltOf(record), state.replace("_", " "));
  }
  quotes.apply({ type: "status", symbol: "A", state: "unknown" });
  assert.equal(quotes.haltOf(record), "");
});

test("a named symbol has a row before its first quote, and a blanked one keeps its row without values", () => {
  const quotes = new Quotes();
  quotes.name(["B", "A"]);
  assert.deepEqual(symbols(quotes), ["A", "B"]);
  const record = quotes.apply(quote("A", 1, 2, { incomplete: true }));
  quotes.name(["A"]);
  assert.equal(record.bid, 1);
  const before = record.version;
  quotes.blank(["A", "unknown"]);
  assert.deepEqual([record.bid, record.ask, record.incomplete], [null, null, false]);
  assert.ok(record.version > before);
  assert.deepEqual(symbols(quotes), ["A", "B"]);
});

test("a price knows which way it moved", () => {
  const quotes = new Quotes();
  quotes.apply(quote("A", 1, 5));
  const record = quotes.apply(quote("A", 2, 4));
  assert.deepEqual([record.bidMove, record.askMove], [1, -1]);
});

test("numbers are written in units that suit them", () => {
  assert.equal(price(1.5), "1.5000");
  assert.equal(price(1.23456), "1.23456");
  assert.equal(price(1e-9), "0.000000001");
  assert.equal(price(429496.7295), "429496.7295");
  assert.equal(price(null), "");
  assert.equal(span(950), "950 ns");
  assert.equal(span(12_340), "12.3 µs");
  assert.equal(span(null), "–");
  assert.equal(bytes(8 * 1024 * 1024), "8.0 MiB");
});
