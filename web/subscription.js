// Subscribes to the symbols that the view needs, or to all.

const SETTLE_MS = 150;
const IN_VIEW_EVERY_MS = 250;
const ALL_EVERY_MS = 1_000;

export class Subscription {
  #link;
  #quotes;
  #followed = new Set();
  #all = false;
  #timer = 0;
  #wanted = () => ({ all: false, symbols: [] });

  /** wanted(): returns {all, symbols}; called when the view may have changed. */
  constructor(link, quotes, wanted) {
    this.#link = link;
    this.#quotes = quotes;
    this.#wanted = wanted;
  }

  /** Subscribes on a new WebSocket, on which the gateway sends all symbols until the first request. */
  restart() {
    this.#followed.clear();
    this.#all = false;
    this.#link.send({ unsubscribe: ["*"] });
    this.#link.send({ mode: "conflate", interval_ms: IN_VIEW_EVERY_MS });
    this.#apply();
  }

  /** Called when the view may have changed. Sends requests at most every SETTLE_MS. */
  update() {
    if (this.#timer === 0) {
      this.#timer = setTimeout(() => {
        this.#timer = 0;
        this.#apply();
      }, SETTLE_MS);
    }
  }

  /** Requests the current quote of every subscribed symbol again, as after a gap or a new session of the feed. */
  refresh() {
    if (this.#all) {
      this.#link.send({ unsubscribe: ["*"] });
      this.#link.send({ subscribe: ["*"] });
      return;
    }
    const symbols = [...this.#followed];
    this.#link.sendSymbols("unsubscribe", symbols);
    this.#link.sendSymbols("subscribe", symbols);
  }

  #apply() {
    const { all, symbols } = this.#wanted();
    if (all !== this.#all) {
      this.#link.send({ unsubscribe: ["*"] });
      this.#quotes.blank([...this.#followed]);
      this.#followed.clear();
      this.#all = all;
      this.#link.send({ interval_ms: all ? ALL_EVERY_MS : IN_VIEW_EVERY_MS });
      if (all) this.#link.send({ subscribe: ["*"] });
      else this.#quotes.blank();
    }
    if (all) return;
    const wanted = new Set(symbols);
    const gone = [...this.#followed].filter((symbol) => !wanted.has(symbol));
    const come = symbols.filter((symbol) => !this.#followed.has(symbol));
    this.#link.sendSymbols("unsubscribe", gone);
    this.#quotes.blank(gone);
    this.#link.sendSymbols("subscribe", come);
    this.#followed = wanted;
  }
}
