// The quotes of a composite's venues, and which of them make its prices.

import { price, short } from "./format.js";
import { make } from "./morph.js";

const COLUMNS = [
  ["Venue", "Below it, why the composite leaves the venue out"],
  ["Bid", "The venue's best bid and its size; bold if it is the composite's"],
  ["Ask", "The venue's best offer and its size; bold if it is the composite's"],
];

const priceOf = (side, isBest) => make("td", isBest ? { class: "best" } : {}, price(side?.price));
const sizeOf = (side) => make("td", {}, side === null || side.price === null ? "" : short(side.shares));

function rowsOf({ venue, bid, ask, bestBid, bestAsk, left }) {
  const marks = left === "" ? {} : { class: "out" };
  return [
    make("tr", marks, make("th", { scope: "row" }, venue), priceOf(bid, bestBid), priceOf(ask, bestAsk)),
    make("tr", { ...marks, "data-of": venue }, make("td", {}, left), sizeOf(bid), sizeOf(ask)),
  ];
}

/** rows: of VenueQuotes. */
export const venueTable = (rows) => make("table", { class: "tape venues" },
  make("caption", { class: "hidden" }, "Quotes of the composite's venues"),
  make("thead", {}, make("tr", {}, ...COLUMNS.map(([title, meaning]) => make("th", { scope: "col", title: meaning }, title)))),
  make("tbody", {}, ...rows.flatMap(rowsOf)));
