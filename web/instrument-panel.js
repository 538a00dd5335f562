// The panel of the open instrument: statistics, state, ladder and tape.

import { count, price, short, timeOfDay } from "./format.js";
import { Ladder } from "./ladder.js";
import { make, morph, setText } from "./morph.js";
import { showTape } from "./tape.js";

const NONE = "–";

const signed = (value, text) => `${value > 0 ? "▲ +" : value < 0 ? "▼ −" : ""}${text}`;

/** Returns the change from the first trade as text, and its direction. */
function changeOf({ first, last }) {
  const change = last - first;
  const percent = first === 0 ? "" : ` (${Math.abs((100 * change) / first).toFixed(2)} %)`;
  return [signed(change, `${price(Math.round(Math.abs(change) * 1e9) / 1e9)}${percent}`), change > 0 ? "up" : change < 0 ? "down" : ""];
}

const STATES = { trading: "trading", halted: "halted", paused: "paused", quotation_only: "quotation only", operational_halt: "operational halt" };
const SHORT_SALE = { allowed: "short sale allowed", restricted_now: "short sale restricted", restricted_earlier: "short sale restricted since an earlier day" };

function stateOf(status, halted) {
  if (status === null || !(status.state in STATES)) return halted ? ["halted", "error"] : [NONE, ""];
  const reason = status.reason ? ` (${status.reason})` : "";
  return [`${STATES[status.state]}${reason}`, status.state === "trading" ? "" : "error"];
}

function auctionOf(line) {
  if (line === null) return NONE;
  const at = line.near_price ?? line.reference_price;
  const left = line.imbalance_size === 0 ? "balanced" : `${short(line.imbalance_size)} to ${line.side === "bid" ? "buy" : "sell"}`;
  return `${line.auction}: ${short(line.paired_size)} paired, ${left}${at === null ? "" : ` at ${price(at)}`}`;
}

function bandsOf(collar, shortSale) {
  const parts = [];
  if (collar !== null && collar.lower_price !== null) parts.push(`${price(collar.lower_price)} to ${price(collar.upper_price)}`);
  if (shortSale !== null) parts.push(SHORT_SALE[shortSale.short_sale] ?? shortSale.short_sale);
  return parts.join(", ") || NONE;
}

/** Why the book must not be trusted, besides its own state; empty otherwise. */
function problemOf(instrument) {
  if (instrument.facts === undefined) return instrument.namesakes === 0 ? `No instrument ${instrument.symbol} yet` : `${instrument.symbol} has another venue`;
  if (instrument.facts === null) return "";
  if (!instrument.current) return "Not current: the connection is late or lost";
  if (instrument.refusal !== "") return instrument.refusal;
  if (instrument.namesakes > 1) return `${count(instrument.namesakes)} instruments of this ring are called ${instrument.symbol}: their events are mixed here`;
  const [state, bad] = stateOf(instrument.status, instrument.halted);
  return bad === "" ? "" : `Not trading: ${state}`;
}

export class InstrumentPanel {
  #place;
  #ladder;

  /** place: the elements facts, ladder, tape, book, note. */
  constructor(place) {
    this.#place = place;
    this.#ladder = new Ladder(place.ladder, place.book);
  }

  draw(instrument) {
    if (instrument.symbol === "") return;
    const { facts } = instrument;
    this.#ladder.draw(instrument.book, problemOf(instrument));
    showTape(instrument.trades, instrument.since, this.#place.tape);
    morph(this.#place.facts, ...this.#facts(instrument).map(([title, value, mark, meaning]) => make("div", { title: meaning },
      make("dt", {}, title), make("dd", mark === "" ? {} : { "data-mark": mark }, value))));
    setText(this.#place.note, InstrumentPanel.#note(facts, instrument));
  }

  #facts(instrument) {
    const trades = instrument.facts?.trades ?? null;
    const newest = instrument.trades.list.find((one) => !one.lost && !one.broken);
    const last = newest ?? (trades === null ? null : { price: trades.last, move: 0 });
    const [change, direction] = trades === null ? [NONE, ""] : changeOf({ first: trades.first, last: last.price });
    const [state, bad] = stateOf(instrument.status, instrument.halted);
    const of = (value) => (trades === null ? NONE : price(value));
    return [
      ["Last", last === null ? NONE : `${last.move > 0 ? "▲ " : last.move < 0 ? "▼ " : ""}${price(last.price)}`, last?.move > 0 ? "up" : last?.move < 0 ? "down" : "", "Price of the newest trade; the arrow shows the move from the one before"],
      ["Change", change, direction, "From the first trade that the gateway has seen in this session"],
      ["First", of(trades?.first), "", "The first trade that the gateway has seen in this session"],
      ["High", of(trades?.high), "", "Highest trade of the session"],
      ["Low", of(trades?.low), "", "Lowest trade of the session"],
      ["Volume", trades === null ? NONE : short(trades.volume), "", "Shares or contracts traded in the session"],
      ["State", state, bad, "Trading state, with the venue's reason"],
      ["Bands", bandsOf(instrument.collar, instrument.shortSale), "", "Prices between which the instrument may trade, and the short sale restriction"],
      ["Auction", auctionOf(instrument.auction), "", "The newest auction imbalance"],
    ];
  }

  /** What the statistics do and do not cover. */
  static #note(facts, instrument) {
    if (!facts) return "";
    const parts = [];
    if (facts.trades === null) parts.push("No trade yet");
    else {
      parts.push(`${count(facts.trades.count)} ${facts.trades.count === 1 ? "trade" : "trades"} since ${timeOfDay(facts.trades.since).slice(0, 8)}`);
      if (facts.trades.broken > 0) parts.push(`${count(facts.trades.broken)} of them broken, but still counted`);
    }
    if (facts.trades !== null && !facts.trades.complete) parts.push("incomplete: trades were lost in a gap");
    if (!instrument.hasLevels && facts.depth === 0) parts.push("best prices only: the feed sends no levels (its key depth)");
    return parts.join(", ");
  }
}
