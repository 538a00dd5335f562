// The open instrument: its book, trades and statistics over a WebSocket of its own, so that the ladder keeps its pace
// whatever the list of quotes is subscribed to.

import { ask } from "./connection.js";
import { Book } from "./book.js";
import { DEPTH } from "./ladder.js";
import { Socket } from "./socket.js";
import { Trades } from "./trades.js";

const INTERVAL_MS = 100;
const FACTS_EVERY_MS = 1_000;

/** Returns the levels to request of a feed that sends `depth` of them. */
const levelsOf = (depth) => (depth === "full" ? DEPTH : Math.min(DEPTH, depth));

export class Instrument {
  #socket;
  #changed;
  #levels = null; // of the subscription; null without one
  #quote = new Book(); // the best prices, for a feed without levels
  #levelBook = new Book();
  trades = new Trades();
  symbol = "";
  venue = "";
  /** The element of `api/instruments`; null until it is known, undefined if there is no such instrument. */
  facts = null;
  /** Number of instruments with this symbol. */
  namesakes = 0;
  /** UTC nanoseconds from which on `trades` has them. */
  since = 0;
  /** The newest line of each of these types. */
  status = null;
  collar = null;
  shortSale = null;
  auction = null;
  /** Whether the newest quote says that the instrument does not trade. */
  halted = false;
  refusal = ""; // the gateway's error for the subscription

  /** changed(): called when something to be drawn has changed. */
  constructor(changed) {
    this.#changed = changed;
    this.#socket = new Socket({
      open: () => {
        this.#forget();
        this.#socket.send({ unsubscribe: ["*"] });
        this.#socket.send({ mode: "conflate", interval_ms: INTERVAL_MS, name: "page, instrument" });
        this.#levels = null;
        this.#subscribe();
      },
      lines: (lines) => {
        for (const line of lines) this.#apply(line);
        changed();
      },
      close: () => {},
      change: changed,
    });
    this.#pollFacts();
  }

  /** Whether the feed sends levels. */
  get hasLevels() {
    return this.#levels !== null && this.#levels > 0;
  }

  get book() {
    return this.hasLevels ? this.#levelBook : this.#quote;
  }

  /** Whether the connection works and its data is not late. */
  get current() {
    return this.#socket.live && !this.#socket.late;
  }

  /** Opens an instrument; closes it if the symbol is empty. */
  open(venue, symbol) {
    if (venue === this.venue && symbol === this.symbol) return;
    if (this.#levels !== null) this.#socket.send({ unsubscribe: [this.symbol] });
    this.symbol = symbol;
    this.venue = venue;
    this.facts = null;
    this.#levels = null;
    this.#forget();
    if (symbol === "") this.#socket.close();
    else this.#askFacts();
    this.#changed();
  }

  /** Connects when something is open; called while the gateway answers. */
  tend() {
    if (this.symbol !== "" && this.#socket.closed) this.#socket.connect();
  }

  #forget() {
    this.#quote.forget();
    this.#levelBook.forget();
    this.trades.forget();
    this.since = 0;
    [this.status, this.collar, this.shortSale, this.auction] = [null, null, null, null];
    this.halted = false;
    this.refusal = "";
  }

  #apply(line) {
    if (line.symbol !== undefined && line.symbol !== null && line.symbol !== this.symbol) return; // of the last one opened
    this.#levelBook.apply(line);
    this.trades.apply(line);
    switch (line.type) {
      case "quote":
        this.#quote.apply(Instrument.#bookOf(line));
        this.halted = line.halted === true;
        break;
      case "status": this.status = line; break;
      case "imbalance": this.auction = line; break;
      case "band":
        if (line.band === "collar") this.collar = line;
        else this.shortSale = line;
        break;
      case "error": this.refusal = line.text; break;
      // Quotes do not name their channel: a clear without a symbol may concern this one.
      case "clear":
        if (line.symbol === null) this.#refresh();
        else this.#quote.forget();
        break;
      default: break;
    }
  }

  /** A quote as a book of one level; sizes without a number of orders. */
  static #bookOf({ bid, ask: offer, incomplete, timestamp }) {
    const level = ({ price, shares }) => (price === null ? [] : [{ price, size: shares, count: 0 }]);
    return { type: "book", channel: undefined, bids: level(bid), asks: level(offer), incomplete, timestamp };
  }

  #refresh() {
    const levels = this.#levels;
    if (levels === null) return;
    this.#socket.send({ unsubscribe: [this.symbol] });
    this.#quote.forget();
    this.#levels = null;
    this.#subscribe();
  }

  /** Subscribes, or again with other levels, once the facts are known. */
  #subscribe() {
    if (!this.facts || !this.#socket.live) return;
    const levels = levelsOf(this.facts.depth);
    if (levels === this.#levels) return;
    this.#levels = levels;
    this.refusal = "";
    this.#levelBook.forget();
    if (this.since === 0) this.since = Date.now() * 1e6;
    this.#socket.send(levels > 0 ? { subscribe: [this.symbol], depth: levels } : { subscribe: [this.symbol] });
  }

  async #askFacts() {
    const { symbol, venue } = this;
    try {
      const { instruments } = await ask(`api/instruments?symbol=${encodeURIComponent(symbol)}`);
      if (symbol !== this.symbol || venue !== this.venue) return;
      this.namesakes = instruments.length;
      this.facts = instruments.find((one) => one.venue === venue);
      this.#subscribe();
      this.#changed();
    } catch {
      // The link reports a gateway that does not answer.
    }
  }

  async #pollFacts() {
    if (this.symbol !== "" && this.#socket.live) await this.#askFacts();
    setTimeout(() => this.#pollFacts(), FACTS_EVERY_MS);
  }
}
