// The chosen symbol's bid and ask, or candles of its trades, and its spread over event time, from when it was chosen and,
// with a journal, before. A line ends where its quote may no longer be current; the next quote starts a new line.

import { CANDLE_MS, candlePlotter, Candles } from "./candles.js";
import { price } from "./format.js";

const MAX_POINTS = 6_000;
const REDRAW_MS = 250;
const TRADE_LINES = new Set(["trade", "trade_break", "gap", "missed"]);

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** Adds a point that extends the last quote by forMs: a quote is valid until the next one. */
function extended(rows, forMs) {
  if (rows.length === 0 || forMs <= 0) return rows;
  return [...rows, [new Date(rows.at(-1)[0].getTime() + forMs), ...rows.at(-1).slice(1)]];
}

/** Rows of prices and spreads of a replay's lines. */
function rowsOf(lines) {
  const prices = [];
  const spreads = [];
  let valid = true; // the last quote is, until the next line
  const end = () => {
    if (prices.length > 0 && valid) {
      prices.push([prices.at(-1)[0], null, null]);
      spreads.push([spreads.at(-1)[0], null]);
    }
    valid = false;
  };
  for (const line of lines) {
    if (line.type === "quote") {
      const time = new Date(Math.max(line.timestamp / 1e6, prices.at(-1)?.[0].getTime() ?? 0));
      prices.push([time, line.bid?.price ?? null, line.ask?.price ?? null]);
      spreads.push([time, line.spread?.price ?? null]);
      valid = true;
      if (line.incomplete) end();
    } else if (["clear", "missed", "restart"].includes(line.type)) {
      end();
    }
  }
  return [prices, spreads];
}

export class Chart {
  #candles = new Candles();
  #trades = []; // the newest lines since the symbol was chosen, until its past has arrived
  #kind = "quotes";
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
    this.#candles.forget();
    this.#trades = [];
    this.#valid = false;
    this.#validForMs = 0;
    this.recolour();
    if (record?.time) this.add(record);
  }

  /** kind: "quotes" or "candles". */
  show(kind) {
    this.#kind = kind;
    this.recolour();
  }

  /** Adds a line of a trade, of its break or of a loss. */
  addTrade(line) {
    if (!TRADE_LINES.has(line.type) || (line.symbol ?? this.#symbol) !== this.#symbol) return;
    this.#candles.apply(line);
    if (this.#trades?.push(line) > MAX_POINTS) this.#trades.shift();
  }

  /** Puts the lines of a replay before the live ones. sequence: of the replay's last event. */
  addPast(symbol, lines, sequence) {
    if (symbol !== this.#symbol || this.#trades === null) return;
    const first = this.#priceRows[0]?.[0] ?? new Date();
    const [prices, spreads] = rowsOf(lines).map((rows) => rows.filter(([time]) => time < first).slice(-MAX_POINTS / 2));
    this.#priceRows.unshift(...prices);
    this.#spreadRows.unshift(...spreads);
    const live = this.#trades.filter((line) => line.sequence > sequence);
    this.#trades = null;
    this.#candles.forget();
    for (const line of [...lines, ...live]) this.#candles.apply(line);
    this.#drawn = -REDRAW_MS;
  }

  /** Stops extending the last quote: it may have been replaced. */
  invalidate() {
    this.#valid = false;
    this.#now.textContent = "";
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
    this.#graphs[0].updateOptions(this.#kind === "candles" ? this.#candleOptions() : { file: extended(this.#priceRows, this.#validForMs) });
    this.#graphs[1].updateOptions({ file: extended(this.#spreadRows, this.#validForMs) });
  }

  /** The candles as dygraphs' options; it needs a row. */
  #candleOptions() {
    const { rows } = this.#candles;
    const file = rows.length > 0 ? rows : [[new Date(), null, null, null, null]];
    return { file, dateWindow: [file[0][0].getTime() - CANDLE_MS, file.at(-1)[0].getTime() + CANDLE_MS] };
  }

  #make() {
    const shared = {
      drawGrid: true, gridLineColor: colour("--line"), axisLineColor: colour("--line"), strokeWidth: 1.5,
      legend: "follow", interactionModel: {}, labelsKMB: false, rightGap: 8,
      axes: { y: { axisLabelWidth: 64 } },
    };
    const prices = this.#kind === "candles"
      ? new window.Dygraph(this.#prices, this.#candleOptions().file, {
        ...shared, labels: ["time", "open", "high", "low", "close"], colors: Array(4).fill(colour("--text")),
        plotter: candlePlotter(() => ({ up: colour("--up"), down: colour("--down") })),
      })
      : new window.Dygraph(this.#prices, this.#priceRows, {
        ...shared, stepPlot: true, labels: ["time", "bid", "ask"], colors: [colour("--bid"), colour("--ask")],
      });
    const spreads = new window.Dygraph(this.#spreads, this.#spreadRows, {
      ...shared, stepPlot: true, labels: ["time", "spread"], colors: [colour("--spread")], fillGraph: true, includeZero: true,
      axes: { y: { axisLabelWidth: 64, pixelsPerLabel: 24 } },
    });
    this.#graphs = [prices, spreads];
  }
}
