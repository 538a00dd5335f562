// The panel of the open instrument: statistics, state, ladder and tape.

import { count, price, short, timeOfDay } from "./format.js";
import { problemOf, stateOf } from "./instrument-state.js";
import { Ladder } from "./ladder.js";
import { make, morph, setText } from "./morph.js";
import { tapeOf } from "./tape.js";
import { venueTable } from "./venue-table.js";

const NONE = "–";

/** The time of day in whole seconds. */
const clock = (nanos) => timeOfDay(nanos).slice(0, 8);

const signed = (value, text) => `${value > 0 ? "▲ +" : value < 0 ? "▼ −" : ""}${text}`;

/** Returns the change from the first trade as text, and its direction. */
function changeOf({ first, last }) {
  const change = last - first;
  const percent = first === 0 ? "" : ` (${Math.abs((100 * change) / first).toFixed(2)} %)`;
  return [signed(change, `${price(Math.round(Math.abs(change) * 1e9) / 1e9)}${percent}`), change > 0 ? "up" : change < 0 ? "down" : ""];
}

const MOVES = { "-1": "▼ ", 0: "", 1: "▲ " };
const MARKS = { "-1": "down", 0: "", 1: "up" };
const AUCTION_STATES = { insufficient: "too few orders for a price", paused: "paused" };
const SHORT_SALE = { allowed: "short sale allowed", restricted_now: "short sale restricted", restricted_earlier: "short sale restricted since an earlier day" };

/** What is shown instead of a line that has not come: those before `since` are unknown. */
const noneSince = (since) => (since === 0 ? NONE : `none since ${clock(since)}`);

function auctionOf(line) {
  const side = line.imbalance_size === 0 ? "balanced" : `${short(line.imbalance_size)} to ${line.side === "bid" ? "buy" : "sell"}`;
  const at = line.near_price ?? line.reference_price;
  const left = line.state === "indicative" ? `${short(line.paired_size)} paired, ${side}${at === null ? "" : ` at ${price(at)}`}` : AUCTION_STATES[line.state] ?? line.state;
  return `${line.auction}: ${left}, ${clock(line.timestamp)}`;
}

function bandsOf({ collar, shortSale }) {
  const parts = [];
  if (collar !== null && collar.lower_price !== null) parts.push(`${price(collar.lower_price)} to ${price(collar.upper_price)}`);
  if (shortSale !== null) parts.push(SHORT_SALE[shortSale.short_sale] ?? shortSale.short_sale);
  return parts.join(", ");
}

export class InstrumentPanel {
  #place;
  #ladder;

  /** place: the elements facts, ladder, tape, book, time, note. */
  constructor(place) {
    this.#place = place;
    this.#ladder = new Ladder(place.ladder, place.book);
  }

  draw(instrument) {
    if (instrument.symbol === "") return;
    const { facts } = instrument;
    this.#ladder.draw(instrument.book, problemOf(instrument), instrument.levels);
    setText(this.#place.time, timeOfDay(instrument.book.time));
    const known = facts !== null;
    const venues = instrument.isComposite ? [venueTable(instrument.venueQuotes.rows(instrument.venue, instrument.venues))] : [];
    morph(this.#place.tape, ...(known ? [...venues, tapeOf(instrument.trades, instrument.since)] : []));
    this.#place.tape.dataset.stale = known && !instrument.current;
    this.#place.facts.dataset.stale = known && !instrument.factsCurrent;
    morph(this.#place.facts, ...this.#facts(instrument).map(([title, value, mark, meaning]) => make("div", { title: meaning },
      make("dt", {}, title), make("dd", { title: value, ...(mark === "" ? {} : { "data-mark": mark }) }, value))));
    setText(this.#place.note, InstrumentPanel.#note(facts, instrument));
  }

  #facts(instrument) {
    const { auction, collar, shortSale, since } = instrument;
    const trades = instrument.facts?.trades ?? null;
    const last = instrument.trades.last ?? (trades === null ? null : { price: trades.last, move: 0, doubt: trades.broken > 0 });
    const [change, direction] = trades === null || last.doubt ? [NONE, ""] : changeOf({ first: trades.first, last: last.price });
    const of = (value) => (trades === null ? NONE : price(value));
    /** A value of lines, with the reason for doubt; of none, since when there was none. */
    const known = (lines, text) => {
      const outdated = lines.some((line) => instrument.isOutdated(line));
      return text === "" ? [noneSince(since), ""] : [`${text}${outdated ? ", may be outdated" : ""}`, outdated ? "warning" : ""];
    };
    return [
      ["Last", last === null ? NONE : `${MOVES[last.move]}${price(last.price)}${last.doubt ? " broken?" : ""}`, last?.doubt ? "warning" : MARKS[last?.move ?? 0], "Price of the newest trade; the arrow shows the move from the one before. With “broken?” the venue may have cancelled it"],
      ["Change", change, direction, "From the first trade that the gateway has seen in this session"],
      ["First", of(trades?.first), "", "The first trade that the gateway has seen in this session"],
      ["High", of(trades?.high), "", "Highest trade of the session"],
      ["Low", of(trades?.low), "", "Lowest trade of the session"],
      ["Volume", trades === null ? NONE : short(trades.volume), "", "Shares or contracts traded in the session"],
      ["State", ...stateOf(instrument), "Trading state of the instrument, with the venue's reason, and of its market"],
      ["Bands", ...known([collar, shortSale], bandsOf(instrument)), "Prices between which the instrument may trade, and the short sale restriction"],
      ["Auction", ...known([auction], auction === null ? "" : auctionOf(auction)), "The newest auction imbalance and its time"],
    ];
  }

  /** What the statistics do and do not cover. */
  static #note(facts, instrument) {
    if (!facts) return "";
    if (!instrument.factsCurrent) {
      const what = instrument.current ? "Statistics" : "Statistics and trades";
      return `${what} are not current: as of ${clock(instrument.factsAt * 1e6)}`;
    }
    const parts = [];
    if (instrument.isComposite) parts.push("Trades are those of its venues, which have the statistics");
    else if (facts.trades === null) parts.push("No trade seen yet");
    else {
      parts.push(`${count(facts.trades.count)} ${facts.trades.count === 1 ? "trade" : "trades"} since ${clock(facts.trades.since)}`);
      if (facts.trades.broken > 0) parts.push(`${count(facts.trades.broken)} of them broken, but still counted`);
    }
    if (facts.trades !== null && !facts.trades.complete) parts.push("incomplete: trades were lost in a gap");
    if (facts.depth === 0) parts.push("the feed sends no levels (its key depth)");
    return parts.join(", ");
  }
}
