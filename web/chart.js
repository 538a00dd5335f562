// The chosen symbol's bid, ask and spread over event time, from the moment it was chosen.

import { price } from "./format.js";

const MOST_POINTS = 6_000;
const REDRAW_MS = 250;

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** A quote is valid until the next one: a single quote is a line too. forMs: for how long the last one has been. */
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
  #valid = false; // whether the last quote is known to be the current one
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
    this.recolour();
    if (record?.time) this.add(record);
  }

  /** The last quote may have been replaced: it is not drawn any further. */
  doubt() {
    this.#valid = false;
  }

  /** A quote of the chosen symbol, or that it has none any more. record.time: its event time in UTC nanoseconds. */
  add(record) {
    if (record.symbol !== this.#symbol) return;
    this.#arrived = Date.now();
    this.#valid = !record.incomplete && (record.bid !== null || record.ask !== null);
    const last = this.#priceRows.at(-1);
    const time = new Date(Math.max(record.time / 1e6, last ? last[0].getTime() : 0));
    this.#priceRows.push([time, record.bid, record.ask]);
    this.#spreadRows.push([time, record.spread]);
    if (this.#priceRows.length > MOST_POINTS) {
      this.#priceRows.splice(0, MOST_POINTS / 10);
      this.#spreadRows.splice(0, MOST_POINTS / 10);
    }
    this.#now.textContent = `bid ${price(record.bid)}  ask ${price(record.ask)}  spread ${price(record.spread)}`;
  }

  /** The graphs take their colours when they are made. */
  recolour() {
    for (const graph of this.#graphs) graph.destroy();
    this.#graphs = [];
    this.#drawn = -REDRAW_MS;
  }

  /** now: the frame's time; asOf: Date.now() up to which every quote has arrived, 0 while that is unknown. */
  draw(now, asOf) {
    if (this.#priceRows.length === 0 || now - this.#drawn < REDRAW_MS) return;
    this.#drawn = now;
    if (this.#graphs.length === 0) this.#make();
    const validFor = this.#valid ? asOf - this.#arrived : 0;
    this.#graphs[0].updateOptions({ file: extended(this.#priceRows, validFor) });
    this.#graphs[1].updateOptions({ file: extended(this.#spreadRows, validFor) });
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
