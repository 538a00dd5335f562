// Tables of things with a state: feeds, sinks, clients.

import { count } from "./format.js";
import { make } from "./morph.js";
import { Order } from "./order.js";

/** Rows that a table has room for before it scrolls. */
const MAX_ROWS = 6;

const WORDS = { error: "error", warning: "warning", waiting: "waiting", info: "notice", good: "healthy" };

const order = new Order();

/**
 * Describes a table.
 *   first     title of the first column
 *   columns   [title, meaning] of the others
 *   items     what it shows
 *   key       unique text of an item
 *   state     state of an item: a severity, "waiting" or "good"
 *   row       (item) => {name, more, values, below}; a value may be [text, state], a node, or a text; below: texts of
 *             rows that belong to it
 *   filter    {text, bad}: shows only rows with the text in their names, and only those that are not healthy
 * Returns the element. place: the element that holds it.
 */
export function statusTable(place, { first, columns, items, key, state, row, filter }) {
  const described = order.apply(place, items, key, state).map((item) => ({ item, ...row(item), state: state(item), key: key(item) }));
  const wanted = filter.text.toLowerCase();
  const shown = described.filter((one) => (!filter.bad || one.state !== "good") && `${one.name} ${one.more}`.toLowerCase().includes(wanted));
  const lines = described.reduce((sum, { below = [] }) => sum + 1 + below.length, 0);
  place.style.setProperty("--rows", String(Math.min(MAX_ROWS, Math.max(1, lines))));
  const head = (title, meaning) => make("th", { scope: "col", title: meaning }, title);
  const hidden = described.length - shown.length;
  const note = hidden > 0 ? `The filter hides ${count(hidden)}.` : shown.length === 0 ? "None." : "";
  const last = note === "" ? [] : [make("tr", { class: "note" }, make("td", { colspan: columns.length + 1 }, note))];
  return make("table", { class: "plain" },
    make("thead", {}, make("tr", {}, head(first, `${count(items.length)} in total; bad rows first`), ...columns.map(([title, meaning]) => head(title, meaning)))),
    make("tbody", {}, ...shown.flatMap((one) => rows(one, columns)), ...last));
}

function rows({ key, name, more, state, values, below = [] }, columns) {
  const cells = values.map((value, index) => {
    const [content, mark] = Array.isArray(value) ? value : [value, ""];
    const [title] = columns[index];
    const text = typeof content === "string" ? content : "";
    return make("td", { "data-label": title, ...(mark === "" ? {} : { "data-state": mark }), ...(text.length > 24 ? { class: "long", title: text } : {}) }, content);
  });
  return [
    make("tr", { "data-name": key },
      make("th", { scope: "row", "data-state": state, title: `${name} ${more}` },
        make("span", { class: "dot", "aria-hidden": "true" }), make("span", { class: "hidden" }, `${WORDS[state]}: `), name, make("small", {}, more)), ...cells),
    ...below.map((text) => make("tr", { class: "note" }, make("td", { colspan: columns.length + 1, title: text }, text))),
  ];
}
