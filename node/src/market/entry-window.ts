import {
  CLEAR,
  type ClearView,
  GAP,
  type GapView,
  KIND,
  QUOTE,
  type QuoteView,
  RING,
  STATUS,
  type StatusView,
  TRADE,
  TRADE_BREAK,
  type TradeBreakView,
  type TradeView,
} from "./market-layout.js";
import type { RecordLayout, RecordView, Schema } from "../pool/record.js";

/** What a ring hands its events to. A view is good until the function returns; numbers are the ring's. */
export interface MarketRingHandler {
  quote?(quote: QuoteView, number: number): void;
  trade?(trade: TradeView, number: number): void;
  tradeBreak?(broken: TradeBreakView, number: number): void;
  status?(status: StatusView, number: number): void;
  gap?(gap: GapView, number: number): void;
  clear?(clear: ClearView, number: number): void;
  /** Entries first..last were overwritten before they were read. */
  missed?(first: number, last: number): void;
}

/**
 * The copy of one entry, and a view on it for each kind of event.
 *
 * @internal
 */
export class EntryWindow {
  readonly words = new Int32Array(RING.payloadWords);
  readonly quote: QuoteView = QUOTE.view(this.words.buffer);
  readonly trade: TradeView = this.#withExactId(TRADE);
  readonly tradeBreak: TradeBreakView = this.#withExactId(TRADE_BREAK);
  readonly status: StatusView = STATUS.view(this.words.buffer);
  readonly gap: GapView = GAP.view(this.words.buffer);
  readonly clear: ClearView = CLEAR.view(this.words.buffer);

  /** False when the kind, or its size, is not known. */
  deliver(kind: number, bytes: number, number: number, handler: MarketRingHandler): boolean {
    if (kind === KIND.quote && bytes === QUOTE.bytes) handler.quote?.(this.quote, number);
    else if (kind === KIND.trade && bytes === TRADE.bytes) handler.trade?.(this.trade, number);
    else if (kind === KIND.tradeBreak && bytes === TRADE_BREAK.bytes) handler.tradeBreak?.(this.tradeBreak, number);
    else if (kind === KIND.status && bytes === STATUS.bytes) handler.status?.(this.status, number);
    else if (kind === KIND.gap && bytes === GAP.bytes) handler.gap?.(this.gap, number);
    else if (kind === KIND.clear && bytes === CLEAR.bytes) handler.clear?.(this.clear, number);
    else return false;
    return true;
  }

  #withExactId<Fields extends Schema>(layout: RecordLayout<Fields>): RecordView<Fields> & { tradeIdExact: bigint } {
    const numbers = new BigUint64Array(this.words.buffer);
    const place = layout.fields.find(({ name }) => name === "tradeId")!.offset >> 3;
    const exact = { get: () => numbers[place]!, enumerable: true };
    return Object.defineProperty(layout.view(this.words.buffer), "tradeIdExact", exact) as never;
  }

  /** The quote in the copy becomes one of no prices. */
  emptyQuote(): void {
    const { quote } = this;
    quote.flags = quote.bidPrice = quote.askPrice = quote.bidSize = quote.askSize = quote.feedSequence = 0;
    quote.exchangeTime = 0n;
  }
}
