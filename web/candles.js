// Candles of one instrument's trades, from its lines. Independent of the page and the network.

import { isPrintable } from "./trades.js";

export const CANDLE_MS = 15_000;
const KEPT = 60;

export class Candles {
  #candles = []; // oldest first: {time, trades: [{id, price}], lost}

  /** [time, open, high, low, close] of each that is complete, oldest first. */
  get rows() {
    return this.#candles.filter(({ trades, lost }) => trades.length > 0 && !lost).map(({ time, trades }) => {
      const prices = trades.map(({ price }) => price);
      return [new Date(time), prices[0], prices.reduce((a, b) => Math.max(a, b)), prices.reduce((a, b) => Math.min(a, b)), prices.at(-1)];
    });
  }

  forget() {
    this.#candles = [];
  }

  /** Applies one parsed line. */
  apply(line) {
    switch (line.type) {
      case "trade":
        if (isPrintable(line)) this.#at(line.timestamp).trades.push({ id: line.trade_id, price: line.price });
        break;
      case "trade_break":
        if (line.trade_id === 0) break;
        for (const candle of this.#candles) candle.trades = candle.trades.filter(({ id }) => id !== line.trade_id);
        break;
      case "gap":
        if (line.reason !== "silence") this.#at(line.timestamp).lost = true;
        break;
      case "missed":
        if (this.#candles.length > 0) this.#candles.at(-1).lost = true;
        break;
      default: break;
    }
  }

  /** The candle of a time, or the newest one if that is later. */
  #at(nanos) {
    const time = Math.floor(nanos / 1e6 / CANDLE_MS) * CANDLE_MS;
    const newest = this.#candles.at(-1);
    if (newest !== undefined && newest.time >= time) return this.#candles.findLast((one) => one.time <= time) ?? this.#candles[0];
    this.#candles.push({ time, trades: [], lost: false });
    if (this.#candles.length > KEPT) this.#candles.shift();
    return this.#candles.at(-1);
  }
}

/** Draws them with dygraphs, whose four series are open, high, low and close. colours(): of rising and falling ones. */
export function candlePlotter(colours) {
  return ({ seriesIndex, allSeriesPoints: [opens, highs, lows, closes], drawingContext: context, plotArea, dygraph }) => {
    if (seriesIndex !== 0) return;
    const [from, to] = dygraph.xAxisRange();
    const width = Math.max(1, (plotArea.w * CANDLE_MS * 0.7) / (to - from));
    const { up, down } = colours();
    opens.forEach((open, i) => {
      if (open.yval === null || Number.isNaN(open.yval)) return;
      const close = closes[i];
      context.strokeStyle = context.fillStyle = close.yval >= open.yval ? up : down;
      context.beginPath();
      context.moveTo(open.canvasx, highs[i].canvasy);
      context.lineTo(open.canvasx, lows[i].canvasy);
      context.stroke();
      const top = Math.min(open.canvasy, close.canvasy);
      context.fillRect(open.canvasx - width / 2, top, width, Math.max(1, Math.abs(open.canvasy - close.canvasy)));
    });
  };
}
