// The ladder: the best levels of a book as rows around the spread, asks above, with sizes as bars.

import { count, price, short } from "./format.js";
import { make, setText } from "./morph.js";

/** Levels of each side. */
export const DEPTH = 10;

const COLUMNS = [
  ["Orders", "Number of orders that bid this price; empty if the feed does not say"], ["Bid size", "Total size of the bids at this price"],
  ["Price", "Price of the level"], ["Ask size", "Total size of the offers at this price"],
  ["Orders", "Number of orders that offer at this price; empty if the feed does not say"],
];

const WORDS = {
  waiting: "Waiting for the book",
  incomplete: "Incomplete: levels may be missing",
  crossed: "Crossed: the best bid is not below the best ask",
};

/** The words for a complete book with so many levels of a side; 0: only the best prices. */
const completeWords = (levels) => (levels === 0 ? "Best prices only" : `Complete: the best ${levels} levels`);

export class Ladder {
  #place;
  #status;
  #rows = []; // from the best level on: {ask, bid}, each {row, orders, size, price}
  #spread = make("td", { colspan: "5" });

  /** place: the element that holds the table. status: the element for the book's state. */
  constructor(place, status) {
    this.#place = place;
    this.#status = status;
    const asks = [];
    const bids = [];
    for (let i = 0; i < DEPTH; i += 1) {
      const ask = Ladder.#row("ask");
      const bid = Ladder.#row("bid");
      this.#rows.push({ ask, bid });
      asks.unshift(ask.row);
      bids.push(bid.row);
    }
    place.replaceChildren(make("table", { class: "ladder" },
      make("caption", { class: "hidden" }, "Levels of the book, asks above bids"),
      make("thead", {}, make("tr", {}, ...COLUMNS.map(([title, meaning]) => make("th", { scope: "col", title: meaning }, title)))),
      make("tbody", {}, ...asks, make("tr", { class: "spread" }, this.#spread), ...bids)));
  }

  static #row(side) {
    const [bidOrders, bidSize, level, askSize, askOrders] = [make("td"), make("td", { class: "size bid" }), make("td", { class: "level" }), make("td", { class: "size ask" }), make("td")];
    const mine = side === "bid" ? { orders: bidOrders, size: bidSize } : { orders: askOrders, size: askSize };
    return { row: make("tr", { "data-side": side }, bidOrders, bidSize, level, askSize, askOrders), price: level, ...mine };
  }

  /**
   * Draws a book. problem: why it is not to be trusted, if that is not its state; empty otherwise. levels: those of a
   * side that it has; 0: only the best prices.
   */
  draw(book, problem, levels) {
    const { state } = book;
    this.#place.dataset.book = problem === "" ? state : "problem";
    this.#status.dataset.state = problem === "" && state === "complete" ? "good" : state === "waiting" && problem === "" ? "waiting" : "warning";
    setText(this.#status, problem === "" ? WORDS[state] ?? completeWords(levels) : problem);
    const { largest } = book;
    this.#rows.forEach(({ ask, bid }, index) => {
      Ladder.#fill(ask, book.asks[index], largest);
      Ladder.#fill(bid, book.bids[index], largest);
    });
    const [best, offer] = [book.bids[0], book.asks[0]];
    const imbalance = problem === "" ? book.imbalance : null;
    const spread = best && offer ? `spread ${price(Math.round((offer.price - best.price) * 1e9) / 1e9)}` : "";
    const side = imbalance === null ? "" : `imbalance ${imbalance > 0 ? "▲ bids" : imbalance < 0 ? "▼ asks" : ""} ${Math.abs(imbalance * 100).toFixed(0)} %`;
    setText(this.#spread, [spread, side].filter(Boolean).join("   "));
    this.#spread.style.setProperty("--bids", imbalance === null ? "0%" : `${((imbalance + 1) * 50).toFixed(1)}%`);
  }

  static #fill(cells, level, largest) {
    setText(cells.orders, level === undefined || level.count === 0 ? "" : count(level.count));
    setText(cells.size, level === undefined ? "" : short(level.size));
    setText(cells.price, level === undefined ? "" : price(level.price));
    const share = level === undefined || largest === 0 ? 0 : (100 * level.size) / largest;
    cells.size.style.setProperty("--share", `${share.toFixed(1)}%`);
  }
}
