import {
  BAND,
  type BandView,
  BEST_VENUES,
  type BestVenuesView,
  CLEAR,
  type ClearView,
  GAP,
  type GapView,
  IMBALANCE,
  type ImbalanceView,
  INSTRUMENT,
  type InstrumentView,
  KIND,
  LEVEL,
  type LevelView,
  ORDER,
  type OrderView,
  QUOTE,
  type QuoteView,
  STATUS,
  type StatusView,
  TRADE,
  TRADE_BREAK,
  type TradeBreakView,
  type TradeView,
} from "./event-schema.js";
import { RING } from "./market-layout.js";
import { priceAt } from "./price.js";
import type { RecordLayout, RecordView, Schema } from "../pool/record.js";

/** Functions that a ring calls with its events. A view is valid until the function returns. number: the number of the entry. */
export interface MarketRingHandler {
  quote?(quote: QuoteView, number: number): void;
  trade?(trade: TradeView, number: number): void;
  tradeBreak?(broken: TradeBreakView, number: number): void;
  status?(status: StatusView, number: number): void;
  gap?(gap: GapView, number: number): void;
  clear?(clear: ClearView, number: number): void;
  order?(order: OrderView, number: number): void;
  level?(level: LevelView, number: number): void;
  imbalance?(imbalance: ImbalanceView, number: number): void;
  band?(band: BandView, number: number): void;
  instrument?(instrument: InstrumentView, number: number): void;
  /** The channels that make the next quote of a composite, and those that are left out; from the board too. */
  bestVenues?(venues: BestVenuesView, number: number): void;
  /** Entries first..last were overwritten before they were read. */
  missed?(first: number, last: number): void;
}

type Head = Pick<ClearView, "instrument" | "channel" | "receiveTime" | "receiveTicks">;

/**
 * The copy of one entry, and a view of it for each kind of event.
 *
 * @internal
 */
export class EntryWindow {
  readonly words = new Int32Array(RING.payloadWords);
  readonly quote: QuoteView = this.#withPrices(QUOTE, QUOTE.view(this.words.buffer));
  readonly trade: TradeView = this.#withPrices(TRADE, this.#withExactIds(TRADE, "tradeId"));
  readonly tradeBreak: TradeBreakView = this.#withExactIds(TRADE_BREAK, "tradeId");
  readonly status: StatusView = STATUS.view(this.words.buffer);
  readonly gap: GapView = GAP.view(this.words.buffer);
  readonly clear: ClearView = CLEAR.view(this.words.buffer);
  readonly order: OrderView = this.#withPrices(ORDER, this.#withExactIds(ORDER, "orderId", "tradeId"));
  readonly level: LevelView = this.#withPrices(LEVEL, LEVEL.view(this.words.buffer));
  readonly imbalance: ImbalanceView = this.#withPrices(IMBALANCE, IMBALANCE.view(this.words.buffer));
  readonly band: BandView = this.#withPrices(BAND, BAND.view(this.words.buffer));
  readonly instrument: InstrumentView = this.#withPrices(INSTRUMENT, INSTRUMENT.view(this.words.buffer));
  readonly bestVenues: BestVenuesView = this.#withExactIds(
    BEST_VENUES,
    "bidChannels",
    "askChannels",
    "incompleteChannels",
    "silentChannels",
    "haltedChannels",
    "notFirmChannels",
  );

  /** False if the kind, or its size, is unknown. */
  deliver(kind: number, bytes: number, number: number, handler: MarketRingHandler): boolean {
    if (kind === KIND.quote && bytes === QUOTE.bytes) handler.quote?.(this.quote, number);
    else if (kind === KIND.trade && bytes === TRADE.bytes) handler.trade?.(this.trade, number);
    else if (kind === KIND.tradeBreak && bytes === TRADE_BREAK.bytes) handler.tradeBreak?.(this.tradeBreak, number);
    else if (kind === KIND.status && bytes === STATUS.bytes) handler.status?.(this.status, number);
    else if (kind === KIND.gap && bytes === GAP.bytes) handler.gap?.(this.gap, number);
    else if (kind === KIND.clear && bytes === CLEAR.bytes) handler.clear?.(this.clear, number);
    else if (kind === KIND.order && bytes === ORDER.bytes) handler.order?.(this.order, number);
    else if (kind === KIND.level && bytes === LEVEL.bytes) handler.level?.(this.level, number);
    else if (kind === KIND.imbalance && bytes === IMBALANCE.bytes) handler.imbalance?.(this.imbalance, number);
    else if (kind === KIND.band && bytes === BAND.bytes) handler.band?.(this.band, number);
    else if (kind === KIND.instrument && bytes === INSTRUMENT.bytes) handler.instrument?.(this.instrument, number);
    else if (kind === KIND.bestVenues && bytes === BEST_VENUES.bytes) handler.bestVenues?.(this.bestVenues, number);
    else return false;
    return true;
  }

  #withExactIds<Fields extends Schema, Id extends string>(
    layout: RecordLayout<Fields>,
    ...ids: Id[]
  ): RecordView<Fields> & { readonly [Name in `${Id}Exact`]: bigint } {
    const numbers = new BigUint64Array(this.words.buffer);
    const view = layout.view(this.words.buffer);
    for (const id of ids) {
      const place = layout.fields.find(({ name }) => name === id)!.offset >> 3;
      Object.defineProperty(view, `${id}Exact`, { get: () => numbers[place]!, enumerable: true });
    }
    return view as never;
  }

  /** Adds each price as a number: `bidPrice` beside `bidPriceNanos`. */
  #withPrices<Fields extends Schema>(layout: RecordLayout<Fields>, view: object): never {
    const { words } = this;
    const numbers = new BigInt64Array(words.buffer);
    for (const { name, offset } of layout.fields) {
      if (!name.endsWith("Nanos")) continue;
      const number = { get: () => priceAt(words, numbers, offset >> 3), enumerable: true };
      Object.defineProperty(view, name.replace(/Nanos$/, ""), number);
    }
    return view as never;
  }

  /** Replaces the entry by an event of the instrument, channel and receive time of `clear`, which is otherwise empty. */
  restart<View extends QuoteView | OrderView | LevelView>(view: View, clear: Head, flags: number): View {
    const { instrument, channel, receiveTime, receiveTicks } = clear;
    this.words.fill(0);
    Object.assign(view, { instrument, channel, receiveTime, receiveTicks, flags });
    return view;
  }

  /** Removes the prices of the quote in the copy. */
  emptyQuote(): void {
    const { quote } = this;
    quote.flags = quote.bidSize = quote.askSize = quote.feedSequence = 0;
    quote.bidPriceNanos = quote.askPriceNanos = quote.exchangeTime = 0n;
  }
}
