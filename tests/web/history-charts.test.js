// The data and marks that the small charts pass to the graphs, without a page.
import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

let graphs = [];
globalThis.window = {
  Dygraph: class {
    constructor(place, rows, options) {
      Object.assign(this, { place, rows, options, updates: 0 });
      graphs.push(this);
    }

    updateOptions(options) {
      this.rows = options.file ?? this.rows;
      Object.assign(this.options, options);
      this.updates += 1;
    }

    destroy() {
      graphs = graphs.filter((one) => one !== this);
    }

    toDomXCoord(time) {
      return time - START;
    }
  },
};
globalThis.document = { documentElement: {} };
globalThis.getComputedStyle = () => ({ getPropertyValue: () => "" });
const { CHARTS } = await import("../../web/gateway-history.js");
const { HistoryCharts } = await import("../../web/history-charts.js");
const { History } = await import("../../web/history.js");

const START = 1_700_000_000_000; // milliseconds
const range = [START, START + 5_000];
const draw = (charts, history, more = {}) => charts.draw(history, { range, events: [], utc: false, now: true, ...more });

function history() {
  return new History().apply({
    from: START * 1e6, step: 1, samples: 4, sources: [
      { kind: "feed", name: "f", of: null, series: { packets_per_second: [5, null, 7, 8], missing: [0, null, 3, 0], kernel_drops: [1, null, 1, 0], undecodable: [0, null, 0, 0] } },
      { kind: "ring", name: "r", of: null, series: { wire_p50_ns: [100, null, null, 120], wire_p99_ns: [900, null, null, 950] } },
      { kind: "sink", name: "s", of: null, series: { missed: [0, null, 2, 0], lag_ns: [10, null, 20, 30] } },
    ],
  }, 0);
}

beforeEach(() => { graphs = []; });

test("each chart has the lines of its sources, and a hole where there is no sample", () => {
  draw(new HistoryCharts(CHARTS, {}, () => {}), history());
  const of = (index) => [graphs[index].options.labels.slice(1), graphs[index].rows.map(([, ...values]) => values)];
  assert.deepEqual(of(0), [["f"], [[5], [null], [7], [8]]]);
  assert.deepEqual(of(1), [["f", "s missed"], [[1, 0], [null, null], [4, 2], [0, 0]]]);
  assert.deepEqual(of(2), [["r p50", "r p99"], [[100, 900], [null, null], [null, null], [120, 950]]]);
  assert.deepEqual(of(3), [["s"], [[10], [null], [20], [30]]]);
  assert.deepEqual(graphs[0].rows.map(([time]) => time.getTime() - START), [0, 1_000, 2_000, 3_000]);
});

test("a graph is kept while its lines are the same, and made again in another time zone", () => {
  const charts = new HistoryCharts(CHARTS, {}, () => {});
  draw(charts, history());
  const [first] = graphs;
  draw(charts, history());
  assert.equal(graphs[0], first);
  assert.equal(first.updates, 1);
  draw(charts, history(), { utc: true });
  assert.notEqual(graphs[0], first);
  assert.equal(graphs.length, 4);
  assert.equal(graphs[0].options.labelsUTC, true);
  charts.draw(new History(), { range, events: [], utc: true, now: true });
  assert.equal(graphs.length, 0, "old lines stay without samples");
});

test("events in the range are marked, and only a horizontal drag zooms", () => {
  const zooms = [];
  const charts = new HistoryCharts(CHARTS, {}, (...zoomed) => zooms.push(zoomed));
  const at = (ms, kind) => ({ time: (START + ms) * 1e6, kind, severity: "warning" });
  draw(charts, history(), { events: [at(2_000, "gap"), at(3_000, "start"), at(-1, "gap"), at(9_000, "gap")] });
  const marks = [];
  const dashes = [];
  const context = { setLineDash: (dash) => dashes.push(dash.length), beginPath() {}, moveTo: (x) => marks.push(x), lineTo() {}, stroke() {} };
  graphs[0].options.underlayCallback(context, { x: 0, w: 5_000, y: 0, h: 10 }, graphs[0]);
  assert.deepEqual(marks, [2_000, 3_000]);
  assert.deepEqual(dashes, [2, 0, 0]);
  graphs[0].options.zoomCallback(...range);
  graphs[0].options.zoomCallback(START + 1_000, START + 2_000);
  assert.deepEqual(zooms, [[START + 1_000, START + 2_000]]);
});
