// The book of one instrument, from `book` lines. Independent of the page and the network.

export class Book {
  #channel = null;
  #complete = false;
  #known = false;
  bids = [];
  asks = [];
  /** UTC nanoseconds of the newest change. */
  time = 0;

  /** Forgets everything, as for another instrument or on a new connection. */
  forget() {
    this.#channel = null;
    this.#complete = false;
    this.#known = false;
    this.bids = [];
    this.asks = [];
    this.time = 0;
  }

  /** Applies one parsed line about the instrument or its channel; returns whether the book has changed. */
  apply(line) {
    switch (line.type) {
      case "book":
        this.#channel = line.channel;
        this.#complete = !line.incomplete;
        this.#known = true;
        this.bids = line.bids;
        this.asks = line.asks;
        this.time = line.timestamp;
        return true;
      case "gap": return this.#concerns(line) && this.#doubt();
      // Without the range, only books that follow have lost something.
      case "missed": return line.first !== undefined && this.#doubt();
      case "clear":
        if (!this.#concerns(line)) return false;
        [this.bids, this.asks, this.#complete] = [[], [], (line.flags & 1) === 0];
        return true;
      default: return false;
    }
  }

  /** "waiting" before the first book, "incomplete" if levels may be missing, "crossed", or "complete". */
  get state() {
    if (!this.#known) return "waiting";
    if (!this.#complete) return "incomplete";
    return this.bids.length > 0 && this.asks.length > 0 && this.bids[0].price >= this.asks[0].price ? "crossed" : "complete";
  }

  /** Size of the bids less that of the asks, as a share of both, from -1 to 1; null if the book cannot say. */
  get imbalance() {
    const sum = (levels) => levels.reduce((total, { size }) => total + size, 0);
    const [bid, ask] = [sum(this.bids), sum(this.asks)];
    return this.state === "complete" && bid + ask > 0 ? (bid - ask) / (bid + ask) : null;
  }

  /** The largest size of a level; 0 without any. */
  get largest() {
    return [...this.bids, ...this.asks].reduce((most, { size }) => Math.max(most, size), 0);
  }

  #concerns(line) {
    return this.#channel === null || line.channel === undefined || line.channel === this.#channel;
  }

  /** After a lost event the book is incomplete until the gateway sends it again. */
  #doubt() {
    const was = this.#complete;
    this.#complete = false;
    return was;
  }
}
