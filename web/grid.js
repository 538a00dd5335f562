// A table of any length; only the rows in view are in the document.

import { price, short, timeOfDay } from "./format.js";
import { setText } from "./morph.js";

const COLUMNS = [
  { key: "symbol", title: "Symbol", meaning: "Symbol of the instrument; ★ if it is on the watch list", text: (record) => record.symbol },
  { key: "venue", title: "Venue", meaning: "Venue of the instrument", text: (record) => record.composite || record.venue },
  { key: "bidShares", title: "Bid size", meaning: "Size at the best bid", text: (record) => (record.bid === null ? "" : short(record.bidShares)) },
  { key: "bid", meaning: "Highest price that somebody bids", title: "Bid", text: (record) => price(record.bid), move: "bidMove" },
  { key: "ask", meaning: "Lowest price at which somebody offers", title: "Ask", text: (record) => price(record.ask), move: "askMove" },
  { key: "askShares", meaning: "Size at the best offer", title: "Ask size", text: (record) => (record.ask === null ? "" : short(record.askShares)) },
  { key: "spread", meaning: "Ask less bid", title: "Spread", text: (record) => price(record.spread) },
  { key: "time", meaning: "Local time at which the gateway received the quote", title: "Time", text: (record) => timeOfDay(record.time) },
  { key: "state", meaning: "Halted, incomplete or not firm; empty if nothing is wrong", title: "State" },
];
const SPARE_ROWS = 4;

function element(tag, attributes = {}, text = "") {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.textContent = text;
  return made;
}

export class Grid {
  #root;
  #quotes;
  #onChoose;
  #onView;
  #onOpen;
  #isWatched;
  #body = element("div", { role: "rowgroup", class: "body" });
  #rows = [];
  #chosen = "";
  #heads = [];

  /**
   * onChoose(symbol): called when a row is chosen; onOpen(symbol): on Enter and double click; onView(): when other rows
   * may be in view. isWatched(symbol): whether it is on the watch list.
   */
  constructor(root, quotes, { onChoose, onOpen, onView, isWatched }) {
    this.#root = root;
    this.#onOpen = onOpen;
    this.#isWatched = isWatched;
    this.#quotes = quotes;
    this.#onChoose = onChoose;
    this.#onView = onView;
    root.setAttribute("aria-colcount", COLUMNS.length);
    root.append(this.#makeHead(), this.#body);
    root.addEventListener("scroll", () => this.#onView(), { passive: true });
    root.addEventListener("keydown", (event) => this.#onKey(event));
    this.#body.addEventListener("click", (event) => {
      const row = event.target.closest("[role=row]");
      if (row) this.choose(row.dataset.symbol);
    });
    this.#body.addEventListener("dblclick", (event) => {
      const row = event.target.closest("[role=row]");
      if (row) this.#onOpen(row.dataset.symbol);
    });
    new ResizeObserver(() => this.#onView()).observe(root);
  }

  get chosen() {
    return this.#chosen;
  }

  choose(symbol) {
    this.#chosen = symbol;
    this.#onChoose(symbol);
    this.draw();
  }

  /** Sorts by a column, as if its head had been clicked until it has this direction. */
  sort(key, descending) {
    this.#quotes.sortBy(key, descending);
    for (const head of this.#heads) {
      const sorted = head.dataset.key === key;
      head.setAttribute("aria-sort", sorted ? (descending ? "descending" : "ascending") : "none");
    }
    this.#root.scrollTop = 0;
    this.#onView();
  }

  /** Scrolls to the symbol's row, if it is shown. */
  reveal(symbol) {
    const index = this.#quotes.shown().findIndex((record) => record.symbol === symbol);
    if (index >= 0) this.#scrollTo(index);
  }

  /** The symbols whose rows are visible. */
  inView() {
    const height = this.#rowHeight();
    const first = Math.floor(this.#root.scrollTop / height);
    const rows = Math.ceil(this.#root.clientHeight / height);
    return this.#quotes.shown().slice(first, first + rows).map(({ symbol }) => symbol);
  }

  /** Brings the rows in view and their order up to date. */
  draw() {
    const shown = this.#quotes.shown(true);
    const height = this.#rowHeight();
    const first = Math.max(0, Math.floor(this.#root.scrollTop / height) - SPARE_ROWS);
    const rows = Math.ceil(this.#root.clientHeight / height) + 2 * SPARE_ROWS;
    const last = Math.min(shown.length, first + rows);
    this.#body.style.height = `${shown.length * height}px`;
    this.#root.setAttribute("aria-rowcount", shown.length + 1);
    while (this.#rows.length < last - first) this.#rows.push(this.#makeRow());
    for (let i = 0; i < this.#rows.length; i += 1) {
      const row = this.#rows[i];
      const index = first + i;
      row.element.hidden = index >= last;
      if (index < last) this.#fill(row, shown[index], index, height);
    }
    const chosen = this.#rows.find((row) => !row.element.hidden && row.symbol === this.#chosen);
    if (chosen) this.#root.setAttribute("aria-activedescendant", chosen.element.id);
    else this.#root.removeAttribute("aria-activedescendant");
  }

  #rowHeight() {
    return this.#heads[0].parentElement.offsetHeight || 28;
  }

  #makeHead() {
    const group = element("div", { role: "rowgroup", class: "head" });
    const row = element("div", { role: "row", "aria-rowindex": "1" });
    for (const column of COLUMNS) {
      const head = element("div", { role: "columnheader", "data-key": column.key, "aria-sort": "none", title: column.meaning });
      const button = element("button", { type: "button" }, column.title);
      button.addEventListener("click", () => this.#sortBy(column.key));
      head.append(button);
      row.append(head);
      this.#heads.push(head);
    }
    this.#heads[0].setAttribute("aria-sort", "ascending");
    group.append(row);
    return group;
  }

  #sortBy(key) {
    const { key: before, descending } = this.#quotes.sorting;
    const isName = key === "symbol" || key === "venue";
    this.sort(key, key === before ? !descending : !isName);
  }

  #makeRow() {
    const row = { element: element("div", { role: "row", id: `row-${this.#rows.length}` }), symbol: "", version: -1, cells: [] };
    for (const column of COLUMNS) {
      const cell = element("div", { role: "gridcell", "data-key": column.key });
      if (column.move) cell.className = "price";
      row.element.append(cell);
      row.cells.push(cell);
    }
    this.#body.append(row.element);
    return row;
  }

  #fill(row, record, index, height) {
    row.element.style.transform = `translateY(${index * height}px)`;
    row.element.setAttribute("aria-rowindex", index + 2);
    row.element.setAttribute("aria-selected", record.symbol === this.#chosen);
    row.element.dataset.watched = this.#isWatched(record.symbol);
    const same = row.symbol === record.symbol;
    if (same && row.version === record.version) return;
    for (let i = 0; i < COLUMNS.length; i += 1) {
      const { text, move } = COLUMNS[i];
      if (!text) continue; // #mark fills it
      const cell = row.cells[i];
      const now = text(record);
      const changed = cell.textContent !== now;
      if (changed) setText(cell, now);
      if (!move) continue;
      if (!same) cell.removeAttribute("data-flash");
      else if (changed && record[move] !== 0) this.#flash(cell, record[move]);
    }
    this.#mark(row, record);
    row.symbol = record.symbol;
    row.version = record.version;
    row.element.dataset.symbol = record.symbol;
  }

  // The animation has two names, since a change of name restarts it.
  #flash(cell, direction) {
    const letter = direction > 0 ? "u" : "d";
    cell.dataset.flash = cell.dataset.flash === `${letter}0` ? `${letter}1` : `${letter}0`;
  }

  #mark(row, record) {
    const halt = this.#quotes.haltOf(record);
    const mixed = record.namesakes > 1 && record.composite === "";
    const wanted = `${halt}|${record.incomplete}|${record.firm}|${mixed}`;
    row.element.dataset.doubt = halt !== "" || record.incomplete || !record.firm || mixed;
    const cell = row.cells[COLUMNS.length - 1];
    if (cell.dataset.marks === wanted) return;
    cell.dataset.marks = wanted;
    cell.replaceChildren();
    if (halt !== "") cell.append(element("span", { class: "mark halted" }, halt));
    if (record.incomplete) cell.append(element("span", { class: "mark" }, "incomplete"));
    if (!record.firm) cell.append(element("span", { class: "mark" }, "not firm"));
    if (mixed) cell.append(element("span", { class: "mark", title: "Instruments of several venues have this symbol: their quotes mix here" }, "mixed"));
  }

  #onKey(event) {
    if (event.target !== this.#root) return;
    const shown = this.#quotes.shown();
    if (shown.length === 0) return;
    if (event.key === "Enter" && this.#chosen !== "") {
      this.#onOpen(this.#chosen);
      return;
    }
    const page = Math.max(1, Math.floor(this.#root.clientHeight / this.#rowHeight()) - 2);
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -shown.length, End: shown.length };
    const step = steps[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const at = shown.findIndex((record) => record.symbol === this.#chosen);
    const next = Math.min(shown.length - 1, Math.max(0, at < 0 ? 0 : at + step));
    this.#scrollTo(next);
    this.choose(shown[next].symbol);
  }

  #scrollTo(index) {
    const height = this.#rowHeight();
    const top = index * height;
    const visible = this.#root.clientHeight - 2 * height;
    if (top < this.#root.scrollTop) this.#root.scrollTop = top;
    else if (top > this.#root.scrollTop + visible) this.#root.scrollTop = top - visible;
  }
}
