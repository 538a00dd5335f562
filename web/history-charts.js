// Small charts of the past on one time axis, with holes where nothing was sampled and a mark at each event.

import { linesOf } from "./history.js";

const REDRAW_MS = 1_000;

/** A series' value; null where it has none. */
export const of = (name) => (series, i) => series[name]?.[i] ?? null;
/** The sum of several. */
export const sum = (...names) => (series, i) => {
  const values = names.map((name) => of(name)(series, i));
  return values.every((value) => value === null) ? null : values.reduce((total, value) => total + (value ?? 0), 0);
};

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

export class HistoryCharts {
  #charts;
  #places;
  #onZoom;
  #graphs = new Map(); // by chart id: {graph, names}
  #drawn = -REDRAW_MS;
  #range = [0, 0];
  #utc = false;
  #events = [];

  /**
   * charts: id, lines and text of a value of each. places: the element of each by id. onZoom(from, to): called with milliseconds when the user has dragged.
   */
  constructor(charts, places, onZoom) {
    this.#charts = charts;
    this.#places = places;
    this.#onZoom = onZoom;
  }

  /** Removes the graphs, so that the next draw makes them in the current colours. */
  forget() {
    for (const { graph } of this.#graphs.values()) graph.destroy();
    this.#graphs.clear();
    this.#drawn = -REDRAW_MS;
  }

  /**
   * Draws, at most once a second unless `now`. range: milliseconds [from, to]. events: those to be marked. utc: whether
   * times are UTC.
   */
  draw(history, { range, events, utc, now }) {
    if (!now && performance.now() - this.#drawn < REDRAW_MS) return;
    if (utc !== this.#utc) this.forget();
    [this.#range, this.#events, this.#utc, this.#drawn] = [range, events, utc, performance.now()];
    const times = history.times.map((time) => new Date(time));
    for (const chart of this.#charts) {
      const lines = linesOf(history, chart.lines);
      const names = lines.map(({ name }) => name);
      const rows = times.map((time, i) => [time, ...lines.map(({ values }) => values[i])]);
      const known = this.#graphs.get(chart.id);
      if (known && known.names.join("\n") === names.join("\n") && rows.length > 0) {
        // Without a range of values a vertical drag lasts until here only.
        known.graph.updateOptions({ file: rows, dateWindow: range, valueRange: null });
        continue;
      }
      known?.graph.destroy();
      this.#graphs.delete(chart.id);
      if (rows.length > 0 && names.length > 0) this.#graphs.set(chart.id, { names, graph: this.#make(chart, names, rows) });
    }
  }

  #make(chart, names, rows) {
    return new window.Dygraph(this.#places[chart.id], rows, {
      labels: ["time", ...names], dateWindow: this.#range, labelsUTC: this.#utc, includeZero: true, strokeWidth: 1.5, drawPoints: false,
      drawIsolatedPoints: true, gridLineColor: colour("--line"), axisLineColor: colour("--line"), legend: "follow", rightGap: 8,
      colors: names.map((_, i) => colour(["--bid", "--ask", "--spread", "--good", "--warning"][i % 5])),
      axes: { y: { axisLabelWidth: 64, axisLabelFormatter: chart.text, valueFormatter: chart.text, pixelsPerLabel: 28 } },
      zoomCallback: (from, to) => {
        if (from !== this.#range[0] || to !== this.#range[1]) this.#onZoom(from, to);
      },
      underlayCallback: (context, area, graph) => this.#mark(context, area, graph),
    });
  }

  #mark(context, area, graph) {
    for (const { time, severity, kind } of this.#events) {
      const x = graph.toDomXCoord(time / 1e6);
      if (x < area.x || x > area.x + area.w) continue;
      context.strokeStyle = colour(severity === "error" ? "--error" : severity === "warning" ? "--warning" : "--quiet");
      context.setLineDash(kind === "start" || kind === "stop" ? [] : [3, 3]);
      context.beginPath();
      context.moveTo(x, area.y);
      context.lineTo(x, area.y + area.h);
      context.stroke();
    }
    context.setLineDash([]);
  }
}
