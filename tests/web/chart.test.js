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
