// The data that the chart passes to the graphs, without a page.
import assert from "node:assert/strict";
import { beforeEach, mock, test } from "node:test";

const drawn = [];
globalThis.window = {
  Dygraph: class {
    updateOptions({ file }) {
      drawn.push(file);
    }

    destroy() {}
  },
};
globalThis.document = { documentElement: {} };
globalThis.getComputedStyle = () => ({ getPropertyValue: () => "" });
const { Chart } = await import("../../web/chart.js");
const { CANDLE_MS } = await import("../../web/candles.js");

const START = 1_700_000_000_000;
const quote = (ms, bid, more = {}) => ({ symbol: "A", time: (START + ms) * 1e6, bid, ask: bid + 1, spread: 1, incomplete: false, ...more });

/** The drawn prices at `ms`, with times from the start: [ms, bid]. */
function bids(chart, ms) {
  drawn.length = 0;
  mock.timers.setTime(START + ms);
  chart.draw(ms + 1_000, START + ms);
  return drawn[0].map(([time, bid]) => [time.getTime() - START, bid]);
}

function chartAt(ms, first) {
  mock.timers.setTime(START + ms);
  const chart = new Chart({ prices: {}, spreads: {}, title: {}, now: {} });
  chart.choose("A", first);
  return chart;
}

function add(chart, record) {
  mock.timers.setTime(record.time / 1e6);
  chart.add(record);
}

beforeEach(() => {
  mock.timers.reset();
  mock.timers.enable({ apis: ["Date"], now: START });
});

test("a quote is drawn for as long as it is valid", () => {
  const chart = chartAt(0, quote(0, 5));
  assert.deepEqual(bids(chart, 400), [[0, 5], [400, 5]]);
  add(chart, quote(700, 6));
  assert.deepEqual(bids(chart, 1_000), [[0, 5], [700, 6], [1_000, 6]]);
});

test("no line is drawn across an outage", () => {
  const chart = chartAt(0, quote(0, 5));
  bids(chart, 400);
  chart.invalidate();
  assert.deepEqual(bids(chart, 900), [[0, 5], [400, 5]], "the old quote is drawn on");
  add(chart, quote(2_000, 9));
  assert.deepEqual(bids(chart, 2_500), [[0, 5], [400, 5], [400, null], [2_000, 9], [2_500, 9]]);
});

test("no line is drawn on from a quote that was incomplete or empty", () => {
  const chart = chartAt(0, quote(0, 5, { incomplete: true }));
  add(chart, quote(500, 6));
  assert.deepEqual(bids(chart, 800), [[0, 5], [0, 5], [0, null], [500, 6], [800, 6]]);
});

const line = (ms, bid, more = {}) => ({ type: "quote", symbol: "A", timestamp: (START + ms) * 1e6, bid: { price: bid }, ask: { price: bid + 1 }, spread: { price: 1 }, incomplete: false, ...more });

test("the past comes before the live quotes, with its own breaks and without what they repeat", () => {
  const chart = chartAt(0, quote(0, 5));
  chart.addPast("B", [line(-900, 1)], 9);
  chart.addPast("A", [line(-900, 1), line(-800, 2, { incomplete: true }), line(-500, 3), { type: "missed" }, line(-100, 4), line(0, 5)], 9);
  assert.deepEqual(bids(chart, 400), [[-900, 1], [-800, 2], [-800, null], [-500, 3], [-500, null], [-100, 4], [0, 5], [400, 5]]);
});

const trade = (ms, price, sequence, more = {}) => ({ type: "trade", symbol: "A", timestamp: (START + ms) * 1e6, price, trade_id: sequence, sequence, ...more });

let frame = 9_000;

/** The drawn candles: [seconds from the start of the first one, open, high, low, close]. */
function candles(chart) {
  drawn.length = 0;
  chart.draw(frame += 1_000, START);
  const first = Math.floor(START / CANDLE_MS) * CANDLE_MS;
  return drawn[0].map(([time, ...prices]) => [(time.getTime() - first) / CANDLE_MS, ...prices]);
}

test("candles are of printable trades, those of the past once, without broken ones, and none where trades were lost", () => {
  const chart = chartAt(0, quote(0, 5));
  chart.show("candles");
  const at = (index, ms = 0) => Math.floor(START / CANDLE_MS) * CANDLE_MS - START + index * CANDLE_MS + ms;
  const live = [trade(at(2, 1), 6, 4), trade(at(2, 2), 7, 5)];
  for (const one of live) chart.addTrade(one);
  chart.addTrade(trade(at(2), 99, 6, { symbol: "B" }));
  chart.addPast("A", [trade(at(0), 3, 1), trade(at(0, 1), 9, 2), trade(at(0, 2), 5, 3), trade(at(0, 3), 4, 8, { flags: 64 }), live[0]], 4);
  assert.deepEqual(candles(chart), [[0, 3, 9, 3, 5], [2, 6, 7, 6, 7]]);
  chart.addTrade({ type: "trade_break", symbol: "A", trade_id: 2 });
  assert.deepEqual(candles(chart), [[0, 3, 5, 3, 5], [2, 6, 7, 6, 7]]);
  chart.addTrade({ type: "gap", reason: "sequence", timestamp: (START + at(2)) * 1e6 });
  assert.deepEqual(candles(chart), [[0, 3, 5, 3, 5]]);
});
