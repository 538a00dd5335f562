// The chosen symbol's bid, ask and spread over event time, from when it was chosen. A line ends where its quote may no
// longer be current; the next quote starts a new line.

import { price } from "./format.js";

const MAX_POINTS = 6_000;
const REDRAW_MS = 250;

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** Adds a point that extends the last quote by forMs: a quote is valid until the next one. */
function extended(rows, forMs) {
  if (rows.length === 0 || forMs <= 0) return rows;
  return [...rows, [new Date(rows.at(-1)[0].getTime() + forMs), ...rows.at(-1).slice(1)]];
}

export class Chart {
  #prices;
  #spreads;
  #title;
  #now;
  #symbol = "";
  #priceRows = [];
  #spreadRows = [];
  #arrived = 0; // Date.now() of the last quote
  #valid = false; // the last quote is known to be current
  #validForMs = 0; // how long the last quote is drawn as valid
  #drawn = 0;
  #graphs = [];

  constructor({ prices, spreads, title, now }) {
    this.#prices = prices;
    this.#spreads = spreads;
    this.#title = title;
    this.#now = now;
  }

  choose(symbol, record) {
    if (symbol === this.#symbol) return;
    this.#symbol = symbol;
    this.#title.textContent = symbol;
    this.#now.textContent = "";
    this.#priceRows = [];
    this.#spreadRows = [];
    this.#valid = false;
    this.#validForMs = 0;
    this.recolour();
    if (record?.time) this.add(record);
  }

  /** Stops extending the last quote: it may have been replaced. */
  invalidate() {
    this.#valid = false;
  }

  /** Adds the chosen symbol's current quote, or its removal. record.time: event time in UTC nanoseconds. */
  add(record) {
    if (record.symbol !== this.#symbol) return;
    this.#arrived = Date.now();
    const wasValid = this.#valid;
    this.#valid = !record.incomplete && (record.bid !== null || record.ask !== null);
    const last = this.#priceRows.at(-1);
    const time = new Date(Math.max(record.time / 1e6, last ? last[0].getTime() : 0));
    if (last && !wasValid) this.#breakLines(time);
    this.#validForMs = 0;
    this.#priceRows.push([time, record.bid, record.ask]);
    this.#spreadRows.push([time, record.spread]);
    if (this.#priceRows.length > MAX_POINTS) {
      this.#priceRows.splice(0, MAX_POINTS / 10);
      this.#spreadRows.splice(0, MAX_POINTS / 10);
    }
    this.#now.textContent = `bid ${price(record.bid)}  ask ${price(record.ask)}  spread ${price(record.spread)}`;
  }

  /** Ends the lines where they were last known to be valid, at the latest at `time`. */
  #breakLines(time) {
    const end = new Date(Math.min(time.getTime(), this.#priceRows.at(-1)[0].getTime() + this.#validForMs));
    for (const rows of [this.#priceRows, this.#spreadRows]) {
      const values = rows.at(-1).slice(1);
      rows.push([end, ...values], [end, ...values.map(() => null)]);
    }
  }

  /** Removes the graphs, so that the next frame makes them in the current colours. */
  recolour() {
    for (const graph of this.#graphs) graph.destroy();
    this.#graphs = [];
    this.#drawn = -REDRAW_MS;
  }

  /** Draws. now: the frame's time; asOf: Date.now() up to which every quote has arrived, 0 if unknown. */
  draw(now, asOf) {
    if (this.#priceRows.length === 0 || now - this.#drawn < REDRAW_MS) return;
    this.#drawn = now;
    if (this.#graphs.length === 0) this.#make();
    if (this.#valid) this.#validForMs = Math.max(this.#validForMs, asOf - this.#arrived);
    this.#graphs[0].updateOptions({ file: extended(this.#priceRows, this.#validForMs) });
    this.#graphs[1].updateOptions({ file: extended(this.#spreadRows, this.#validForMs) });
  }

  #make() {
    const shared = {
      stepPlot: true, drawGrid: true, gridLineColor: colour("--line"), axisLineColor: colour("--line"), strokeWidth: 1.5,
      legend: "follow", interactionModel: {}, labelsKMB: false, rightGap: 8,
      axes: { y: { axisLabelWidth: 64 } },
    };
    this.#graphs = [
      new window.Dygraph(this.#prices, this.#priceRows, {
        ...shared, labels: ["time", "bid", "ask"], colors: [colour("--bid"), colour("--ask")],
      }),
      new window.Dygraph(this.#spreads, this.#spreadRows, {
        ...shared, labels: ["time", "spread"], colors: [colour("--spread")], fillGraph: true, includeZero: true,
        axes: { y: { axisLabelWidth: 64, pixelsPerLabel: 24 } },
      }),
    ];
  }
}
