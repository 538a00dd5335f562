// The newest quote of every symbol, with filter and order. Independent of the page and the network.

import { isOf } from "./composite.js";

const EMPTY = { price: null, shares: 0 };

/** A symbol's record. `version` grows with each visible change. */
function recordOf(symbol) {
  return {
    symbol, bid: null, bidShares: 0, ask: null, askShares: 0, spread: null, time: 0, incomplete: false, halted: false, firm: true,
    state: "", version: 0, bidMove: 0, askMove: 0, venue: "", namesakes: 0, composite: "",
  };
}

const move = (from, to) => (from === null || to === null || from === to ? 0 : Math.sign(to - from));

/** Keys that quotes do not change. */
const NAMES = new Set(["symbol", "venue"]);

/** States in which an instrument does not trade. */
const HALTED = new Set(["halted", "paused", "quotation_only", "operational_halt"]);

export class Quotes {
  #records = new Map();
  #shown = [];
  #key = "symbol";
  #descending = false;
  #search = "";
  #watched = null; // shows only what it has
  #stale = true;
  #venues = new Set(); // of the named instruments
  /** The channel of each composite, by venue: the record of a symbol in one has its quotes. */
  composites = new Map();

  get size() {
    return this.#records.size;
  }

  find(symbol) {
    return this.#records.get(symbol);
  }

  /**
   * Adds instruments without a quote. Those of several venues with one symbol share a record: it is that of a composite
   * or, without one, their quotes mix.
   */
  name(symbols, venues = []) {
    symbols.forEach((symbol, index) => {
      const record = this.#record(symbol);
      const venue = venues[index] ?? "";
      this.#venues.add(venue);
      record.namesakes += 1;
      this.#join(record, venue);
      if (record.namesakes === 1) record.venue = venue;
      else if (!record.venue.split(", ").includes(venue)) record.venue += `, ${venue}`;
      record.version += 1;
    });
  }

  /** Whether the instruments have more than one venue, or will have. */
  get areMixed() {
    return this.#venues.size > 1 || this.composites.size > 0;
  }

  /** Applies one parsed line; returns the record that it changed, or undefined. */
  apply(line) {
    if (line.type === "quote") this.#join(this.#record(line.symbol), line.venue);
    if (!this.isShown(line)) return undefined;
    switch (line.type) {
      case "quote": return this.#quote(line);
      case "status": return this.#status(line);
      case "clear": return this.#clear(line);
      default: return undefined;
    }
  }

  /** Removes all symbols. */
  forget() {
    this.#records.clear();
    this.#venues.clear();
    this.#stale = true;
  }

  /** Clears the values of these symbols (default: all), which are no longer subscribed to or no longer valid. */
  blank(symbols = [...this.#records.keys()]) {
    for (const symbol of symbols) {
      const record = this.#records.get(symbol);
      if (!record) continue;
      const { venue, namesakes, composite, version } = record;
      Object.assign(record, recordOf(symbol), { venue, namesakes, composite, version: version + 1 });
    }
  }

  /** The venue of the record's values; the first one of those that mix. */
  venueOf(symbol) {
    const record = this.#records.get(symbol);
    return record?.composite || (record?.venue.split(", ")[0] ?? "");
  }

  /** Whether the line is of the instrument whose values the record of its symbol has. */
  isShown(line) {
    const composite = this.#records.get(line.symbol)?.composite ?? "";
    return composite === "" || isOf(line, composite, this.composites.get(composite));
  }

  /** The state in which the instrument does not trade; empty when it does. */
  haltOf(record) {
    if (HALTED.has(record.state)) return record.state.replace("_", " ");
    return record.halted ? "halted" : "";
  }

  /** Shows only symbols that contain the text, in any case. */
  search(text) {
    this.#search = text.trim().toUpperCase();
    this.#stale = true;
  }

  /** Shows only the symbols of a list with has(symbol); null: all. Call it again when the list has changed. */
  watch(list) {
    this.#watched = list;
    this.#stale = true;
  }

  sortBy(key, descending) {
    this.#key = key;
    this.#descending = descending;
    this.#stale = true;
  }

  get sorting() {
    return { key: this.#key, descending: this.#descending };
  }

  get searched() {
    return this.#search;
  }

  /** Whether quotes change the order. */
  get sortedByValue() {
    return !NAMES.has(this.#key);
  }

  /** Returns the records to show, in order. resort: sort again even if only values have changed. */
  shown(resort = false) {
    if (!this.#stale && !(resort && this.sortedByValue)) return this.#shown;
    this.#stale = false;
    const all = [...this.#records.values()];
    const watched = this.#watched === null ? all : all.filter(({ symbol }) => this.#watched.has(symbol));
    this.#shown = this.#search === "" ? watched : watched.filter((record) => record.symbol.toUpperCase().includes(this.#search));
    this.#shown.sort(this.#compare());
    return this.#shown;
  }

  #compare() {
    const sign = this.#descending ? -1 : 1;
    const bySymbol = (a, b) => (a.symbol < b.symbol ? -1 : a.symbol > b.symbol ? 1 : 0);
    if (this.#key === "symbol") return (a, b) => sign * bySymbol(a, b);
    const value = this.#key === "state" ? (record) => this.#rank(record) : (record) => record[this.#key];
    return (a, b) => {
      const left = value(a);
      const right = value(b);
      if (left === right) return bySymbol(a, b);
      if (left === null) return 1; // rows without a value come last in either direction
      if (right === null) return -1;
      return left < right ? -sign : sign;
    };
  }

  #rank(record) {
    return (this.haltOf(record) === "" ? 0 : 4) + (record.incomplete ? 2 : 0) + (record.firm ? 0 : 1);
  }

  #record(symbol) {
    let record = this.#records.get(symbol);
    if (record === undefined) {
      record = recordOf(symbol);
      this.#records.set(symbol, record);
      this.#stale = true;
    }
    return record;
  }

  /** Notes that an instrument of this venue has the record's symbol: from a composite's on the values are its own. */
  #join(record, venue) {
    if (record.composite !== "" || !this.composites.has(venue)) return;
    this.blank([record.symbol]);
    record.composite = venue;
  }

  #quote(line) {
    const record = this.#record(line.symbol);
    const { bid = EMPTY, ask = EMPTY } = line;
    record.bidMove = move(record.bid, bid.price);
    record.askMove = move(record.ask, ask.price);
    record.bid = bid.price;
    record.bidShares = bid.shares;
    record.ask = ask.price;
    record.askShares = ask.shares;
    record.spread = line.spread ? line.spread.price : null;
    record.time = line.timestamp;
    record.incomplete = line.incomplete;
    record.halted = line.halted === true;
    record.firm = line.firm !== false;
    record.version += 1;
    return record;
  }

  #status(line) {
    if (line.symbol === null) return undefined;
    const record = this.#record(line.symbol);
    record.state = line.state;
    record.version += 1;
    return record;
  }

  #clear(line) {
    if (line.symbol === null) return undefined;
    const record = this.#record(line.symbol);
    Object.assign(record, { bid: null, bidShares: 0, ask: null, askShares: 0, spread: null, bidMove: 0, askMove: 0 });
    record.version += 1;
    return record;
  }
}
