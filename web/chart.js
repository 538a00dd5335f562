// The chosen symbol's bid, ask and spread, from the moment it was chosen.

import { price } from "./format.js";

const MOST_POINTS = 6_000;
const REDRAW_MS = 250;

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** A quote stands until the next one comes: one alone is a line too. */
const upToNow = (rows) => [...rows, [new Date(), ...rows.at(-1).slice(1)]];

export class Chart {
  #prices;
  #spreads;
  #title;
  #now;
  #symbol = "";
  #priceRows = [];
  #spreadRows = [];
  #drawn = 0;
  #graphs = [];

  constructor({ prices, spreads, title, now }) {
    this.#prices = prices;
    this.#spreads = spreads;
    this.#title = title;
    this.#now = now;
  }

  choose(record) {
    if (record === undefined || record.symbol === this.#symbol) return;
    this.#symbol = record.symbol;
    this.#title.textContent = record.symbol;
    this.#priceRows = [];
    this.#spreadRows = [];
    for (const graph of this.#graphs) graph.destroy();
    this.#graphs = [];
    this.#drawn = -REDRAW_MS;
    this.add(record);
  }

  /** A quote of the chosen symbol. */
  add(record) {
    if (record.symbol !== this.#symbol) return;
    const time = new Date();
    this.#priceRows.push([time, record.bid, record.ask]);
    this.#spreadRows.push([time, record.spread]);
    if (this.#priceRows.length > MOST_POINTS) {
      this.#priceRows.splice(0, MOST_POINTS / 10);
      this.#spreadRows.splice(0, MOST_POINTS / 10);
    }
    this.#now.textContent = `bid ${price(record.bid)}  ask ${price(record.ask)}  spread ${price(record.spread)}`;
  }

  draw(now, force = false) {
    if (this.#symbol === "" || (!force && now - this.#drawn < REDRAW_MS)) return;
    this.#drawn = now;
    if (this.#graphs.length === 0) this.#make();
    this.#graphs[0].updateOptions({ file: upToNow(this.#priceRows), colors: [colour("--bid"), colour("--ask")] });
    this.#graphs[1].updateOptions({ file: upToNow(this.#spreadRows), colors: [colour("--spread")] });
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
