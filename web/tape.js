// The tape: the newest trades of an instrument, newest first.

import { price, short, timeOfDay } from "./format.js";
import { make } from "./morph.js";

/** Rows in the document. */
const SHOWN = 60;

const ARROWS = { "-1": "▼", 0: "", 1: "▲" };

function row(trade) {
  if (trade.lost) return make("tr", { class: "lost" }, make("td", { colspan: "4" }, "Trades may be missing here"));
  const marks = trade.broken ? ["broken", ...trade.marks] : trade.marks;
  return make("tr", trade.broken ? { class: "broken" } : {},
    make("td", {}, timeOfDay(trade.time)),
    make("td", { "data-move": String(trade.move) }, `${ARROWS[trade.move]} ${price(trade.price)}`),
    make("td", {}, short(trade.size)),
    make("td", {}, marks.join(", ")));
}

/** The trades of the list as a table. since: UTC nanoseconds at which the list began. */
export function tapeOf(trades, since) {
  const rows = trades.list.slice(0, SHOWN).map(row);
  const none = rows.length === 0 ? [make("tr", { class: "none" }, make("td", { colspan: "4" }, since === 0 ? "" : `No trade since ${timeOfDay(since).slice(0, 8)}`))] : [];
  return make("table", { class: "tape" },
    make("caption", { class: "hidden" }, "Trades since the instrument was opened, newest first"),
    make("thead", {}, make("tr", {}, ...[["Time", "Receive time"], ["Price", "An arrow shows the move from the trade before"], ["Size", "Shares or contracts"], ["", ""]]
      .map(([title, meaning]) => (title === "" ? make("td") : make("th", { scope: "col", title: meaning }, title))))),
    make("tbody", {}, ...rows, ...none));
}
