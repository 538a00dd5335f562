// The open instrument: its book, trades and statistics over a WebSocket of its own, so that the ladder keeps its pace
// whatever the list of quotes is subscribed to.

import { ask } from "./connection.js";
import { Book } from "./book.js";
import { DEPTH } from "./ladder.js";
import { Socket } from "./socket.js";
import { Trades } from "./trades.js";

const INTERVAL_MS = 100;
const FACTS_EVERY_MS = 1_000;
/** Age from which facts are not current. */
const FACTS_LATE_MS = 3_000;
const FIRST_PAUSE_MS = 250;
const MAX_PAUSE_MS = 5_000;

/** Returns the levels to request of a feed that sends `depth` of them. */
const levelsOf = (depth) => (depth === "full" ? DEPTH : Math.min(DEPTH, depth));

export class Instrument {
  #socket;
  #changed;
  #adopted;
  #pause = FIRST_PAUSE_MS;
  #retryAt = 0; // Date.now() of the next attempt after the socket has closed by itself
  #levels = null; // of the subscription; null without one
  #quote = new Book(); // the best prices, for a feed without levels
  #levelBook = new Book();
  trades = new Trades();
  symbol = "";
  venue = "";
  /** The element of `api/instruments`; null until it is known, undefined if there is no such instrument. */
  facts = null;
  /** Date.now() of the newest facts; 0 before the first. */
  factsAt = 0;
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

  /**
   * changed(): called when something to be drawn has changed. adopted(): called when an instrument that was opened
   * without a venue has got the only one of its symbol.
   */
  constructor(changed, adopted = () => {}) {
    this.#changed = changed;
    this.#adopted = adopted;
    this.#socket = new Socket({
      open: () => {
        this.#forget();
        this.#socket.send({ unsubscribe: ["*"] });
        this.#socket.send({ mode: "conflate", interval_ms: INTERVAL_MS });
        this.#levels = null;
        this.#subscribe();
      },
      lines: (lines) => {
        this.#pause = FIRST_PAUSE_MS;
        for (const line of lines) this.#apply(line);
        changed();
      },
      close: () => {
        this.#retryAt = Date.now() + this.#pause;
        this.#pause = Math.min(this.#pause * 2, MAX_PAUSE_MS);
      },
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

  /** Whether the facts are as new as they should be. */
  get factsCurrent() {
    return this.current && Date.now() - this.factsAt <= FACTS_LATE_MS;
  }

  /** Opens an instrument; closes it if the symbol is empty. */
  open(venue, symbol) {
    if (venue === this.venue && symbol === this.symbol) return;
    if (this.#levels !== null) this.#socket.send({ unsubscribe: [this.symbol] });
    this.symbol = symbol;
    this.venue = venue;
    this.facts = null;
    this.factsAt = 0;
    this.#levels = null;
    this.#retryAt = 0;
    this.#forget();
    if (symbol === "") this.#socket.close();
    else this.#askFacts();
    this.#changed();
  }

  /** Connects when something is open; called while the gateway answers. */
  tend() {
    if (this.symbol !== "" && this.#socket.closed && Date.now() >= this.#retryAt) this.#socket.connect();
  }

  #forget() {
    this.#quote.forget();
    this.#levelBook.forget();
    this.#forgetSession(0);
    this.refusal = "";
  }

  /** Forgets what a session of the venue has said. */
  #forgetSession(since) {
    this.trades.forget();
    this.since = since;
    [this.status, this.collar, this.shortSale, this.auction] = [null, null, null, null];
    this.halted = false;
  }

  /** Whether an event of a whole channel concerns the instrument; its channel is not known before its first event. */
  #concerns(line) {
    return line.channel === undefined || line.channel === (this.facts?.channel ?? line.channel);
  }

  #apply(line) {
    if (line.symbol !== undefined && line.symbol !== null && line.symbol !== this.symbol) return; // of the last one opened
    this.#levelBook.apply(line);
    if (this.#levels !== null && this.#concerns(line)) this.trades.apply(line);
    switch (line.type) {
      case "quote":
        this.#quote.apply(Instrument.#bookOf(line));
        this.halted = line.halted === true;
        break;
      case "status":
        if (line.symbol !== null) this.status = line; // else of the channel: the venue halts instruments one by one
        break;
      case "missed": this.status = null; break;
      case "imbalance": this.auction = line; break;
      case "band":
        if (line.band === "collar") this.collar = line;
        else this.shortSale = line;
        break;
      case "error": this.refusal = line.text; break;
      // Quotes do not name their channel: a clear without a symbol may concern this one.
      case "clear":
        if (line.symbol === null) {
          if (line.reason === "new_session" && this.#concerns(line)) this.#forgetSession(line.timestamp);
          this.#refresh();
        } else this.#quote.forget();
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
      const adopts = venue === "" && instruments.length === 1 && instruments[0].venue !== "";
      if (adopts) this.venue = instruments[0].venue;
      this.facts = instruments.find((one) => one.venue === this.venue);
      this.factsAt = Date.now();
      if (adopts) this.#adopted();
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
