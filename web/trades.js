// The newest trades of one instrument, from its lines. Independent of the page and the network.

const KEPT = 200;

const HIDDEN = 8;
const CROSS = 16;
const NOT_PRINTABLE = 64;
const MARKS = [[HIDDEN, "hidden"], [CROSS, "auction"], [NOT_PRINTABLE, "not printable"]];

/** Whether a line of a trade makes the last price. */
export const isPrintable = ({ flags = 0 }) => (flags & NOT_PRINTABLE) === 0;

export class Trades {
  /** Newest first: {time, price, size, id, move, marks, printable, broken}, and {time, lost} where trades may be missing. */
  list = [];

  /** The newest trade that makes the last price; undefined without any, or if a newer one may have been lost. */
  get last() {
    const newest = this.list.find((one) => one.lost || (!one.broken && one.printable));
    return newest?.lost ? undefined : newest;
  }

  forget() {
    this.list = [];
  }

  /** Applies one parsed line; returns whether the list has changed. */
  apply(line) {
    switch (line.type) {
      case "trade": return this.#add(line);
      case "trade_break": return this.#break(line.trade_id);
      // A gap by silence alone has lost nothing: if it has, a gap in the sequence follows.
      case "gap": return line.reason !== "silence" && this.#lose(line.timestamp);
      case "missed": return this.#lose(0);
      default: return false;
    }
  }

  #add(line) {
    const { timestamp, price, shares, trade_id: id, flags = 0 } = line;
    const before = this.last;
    const printable = isPrintable(line);
    const move = before === undefined || !printable ? 0 : Math.sign(price - before.price);
    const marks = MARKS.filter(([flag]) => (flags & flag) !== 0).map(([, word]) => word);
    return this.#keep({ time: timestamp, price, size: shares, id, move, marks, printable, broken: false });
  }

  #break(id) {
    const trade = this.list.find((one) => one.id === id && id !== 0);
    if (trade === undefined) return false;
    trade.broken = true;
    return true;
  }

  /** Marks a loss, once for several in a row. */
  #lose(time) {
    return !this.list[0]?.lost && this.#keep({ time, lost: true });
  }

  #keep(one) {
    this.list.unshift(one);
    if (this.list.length > KEPT) this.list.pop();
    return true;
  }
}
