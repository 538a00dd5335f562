// The open instrument: its book, trades and statistics over a WebSocket of its own, so that the ladder keeps its pace
// whatever the list of quotes is subscribed to.

import { compositesOf, isOf, VenueQuotes } from "./composite.js";
import { ask } from "./connection.js";
import { Book } from "./book.js";
import { DEPTH } from "./ladder.js";
import { Socket } from "./socket.js";
import { Trades } from "./trades.js";

const INTERVAL_MS = 100;
const FACTS_EVERY_MS = 1_000;
/** Age from which facts are not current. */
const FACTS_LATE_MS = 3_000;
/** Time for which a channel that sent the instrument counts as one of its sources. */
const SOURCE_MS = 10_000;
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
  #opened = 0; // counts instruments and connections: answers to questions of an earlier one are void
  #lostAt = 0; // sequence of the newest event that was lost
  #phases = new Map(); // the newest state of each channel, by channel
  #sources = new Map(); // Date.now() of the newest event of the instrument, by channel
  #quote = new Book(); // the best prices, for a feed without levels
  #levelBook = new Book();
  trades = new Trades();
  /** With a composite: of all venues of the symbol. */
  venueQuotes = new VenueQuotes();
  symbol = "";
  venue = "";
  /** The element of `api/instruments`; null until it is known, undefined if there is no such instrument. */
  facts = null;
  /** Date.now() of the newest facts; 0 before the first. */
  factsAt = 0;
  /** Whether the connection has failed, until there is another one. */
  lost = false;
  /** The venues of the instruments with this symbol. */
  venues = [];
  /** The newest health report; null before the first. */
  report = null;
  /** Of the report: the channel of each composite, by venue. */
  composites = new Map();
  /** UTC nanoseconds from which on `trades` has them. */
  since = 0;
  /** The newest line of each of these types. */
  status = null;
  collar = null;
  shortSale = null;
  auction = null;
  /** Whether the newest quote says that the instrument does not trade, and whether its prices are firm. */
  halted = false;
  firm = true;
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
        this.lost = false;
        this.#phases.clear();
        this.#restart();
        this.#socket.send({ unsubscribe: ["*"] });
        this.#socket.send({ mode: "conflate", interval_ms: INTERVAL_MS });
      },
      lines: (lines) => {
        this.#pause = FIRST_PAUSE_MS;
        for (const line of lines) this.#apply(line);
        changed();
      },
      close: () => {
        this.lost = true;
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

  /** Levels of a side that the ladder has; 0: only the best prices. */
  get levels() {
    return this.#levels ?? 0;
  }

  /** Whether it is a composite's, with the trades and quotes of its venues. */
  get isComposite() {
    return this.composites.has(this.venue);
  }

  /** Whether the connection works. */
  get live() {
    return this.#socket.live;
  }

  /** Milliseconds by which the data is late; 0 if it is not. */
  get late() {
    return this.#socket.late ? this.#socket.lag : 0;
  }

  /** Whether the connection works and its data is not late. */
  get current() {
    return this.live && this.late === 0;
  }

  /** Whether a newer line than this one may have been lost. */
  isOutdated(line) {
    return line !== null && (line.sequence < this.#lostAt || this.book.state === "incomplete");
  }

  /** The newest state of the instrument's channel, such as the end of market hours; null if none is known. */
  get phase() {
    return this.#phases.get(this.facts?.channel) ?? null;
  }

  /** The channels that send the instrument. */
  get sources() {
    return [...this.#sources].filter(([, at]) => Date.now() - at <= SOURCE_MS).map(([channel]) => channel).sort((a, b) => a - b);
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
    this.#retryAt = 0;
    this.#restart();
    if (symbol === "") this.#socket.close();
    this.#changed();
  }

  /** Takes a new health report, and connects when something is open. */
  tend(report) {
    this.report = report;
    this.composites = compositesOf(report);
    if (this.symbol !== "" && this.#socket.closed && Date.now() >= this.#retryAt) this.#socket.connect();
  }

  /** Begins with an instrument that nothing is known of, which another gateway may send. */
  #restart() {
    this.#opened += 1;
    this.#levels = null;
    this.#sources.clear();
    this.#quote.forget();
    this.#levelBook.forget();
    this.venueQuotes.forget();
    this.#forgetSession(0);
    [this.facts, this.factsAt, this.refusal] = [null, 0, ""];
    this.#lostAt = 0;
    if (this.symbol !== "") this.#askFacts();
  }

  /** Forgets what a session of the venue has said. */
  #forgetSession(since) {
    this.trades.forget();
    this.since = since;
    [this.status, this.collar, this.shortSale, this.auction] = [null, null, null, null];
    [this.halted, this.firm] = [false, true];
    if (this.facts) this.facts = { ...this.facts, trades: null };
  }

  /** Whether an event of a whole channel concerns the instrument; its channel is not known before its first event. */
  #concerns(line) {
    return line.channel === undefined || line.channel === (this.facts?.channel ?? line.channel);
  }

  /** Whether a line with this symbol is of another venue's instrument, which a ring with a composite tells apart. */
  #isOfAnother(line) {
    return this.composites.size > 0 && !isOf(line, this.venue, this.composites.get(this.venue) ?? this.facts?.channel);
  }

  #apply(line) {
    const named = line.symbol !== undefined && line.symbol !== null;
    if (named && (line.symbol !== this.symbol || this.#levels === null)) return; // of the last one opened, or before the subscription
    if (line.type === "quote") this.venueQuotes.apply(line);
    else if (line.type === "clear") this.venueQuotes.forget();
    if (this.#levels !== null && (this.isComposite || this.#concerns(line))) this.trades.apply(line);
    if (named && this.#isOfAnother(line)) {
      if (line.type === "clear" && this.isComposite) this.#refresh();
      return;
    }
    this.#levelBook.apply(line);
    switch (line.type) {
      case "quote":
        this.#quote.apply(Instrument.#bookOf(line));
        this.halted = line.halted === true;
        this.firm = line.firm !== false;
        break;
      case "book": this.#sources.set(line.channel, Date.now()); break;
      case "status":
        if (line.symbol === null) this.#phases.set(line.channel, line);
        else this.status = line;
        break;
      case "gap":
        if (line.reason !== "silence" && this.#concerns(line)) this.#lostAt = line.sequence;
        break;
      case "missed":
        if (line.last !== undefined) {
          this.#lostAt = line.last;
          break;
        }
        // Of what this page has missed, a new subscription brings the state, quote and book.
        [this.status, this.collar, this.shortSale, this.auction] = [null, null, null, null];
        this.since = Date.now() * 1e6;
        this.#refresh();
        break;
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
    const opened = this.#opened;
    try {
      const { instruments } = await ask(`api/instruments?symbol=${encodeURIComponent(symbol)}`);
      if (opened !== this.#opened || venue !== this.venue) return;
      this.venues = instruments.map((one) => one.venue);
      const adopts = venue === "" && instruments.length === 1 && instruments[0].venue !== "";
      if (adopts) this.venue = instruments[0].venue;
      this.facts = instruments.find((one) => one.venue === this.venue);
      this.factsAt = Date.now();
      if (typeof this.facts?.channel === "number") this.#sources.set(this.facts.channel, this.factsAt);
      if (adopts) this.#adopted();
      if (this.refusal !== "") this.#levels = null; // asks again for what the gateway has refused
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
