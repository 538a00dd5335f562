export type { MarketRingHandler } from "./entry-window.js";
export { type MarketAccount, MarketData, type MarketDataOptions } from "./market-data.js";
export type {
  MarketClear,
  MarketConnected,
  MarketEvent,
  MarketGap,
  MarketMissed,
  MarketQuote,
  MarketSide,
  MarketStatus,
  MarketTrade,
  MarketTradeBreak,
} from "./market-event.js";
export type { ClearView, GapView, QuoteView, StatusView, TradeBreakView, TradeView } from "./market-layout.js";
export { MarketRing, type MarketRingAccount, type WriterState } from "./market-ring.js";
export { MarketRingError } from "./ring-error.js";
export type { RingWake } from "./ring-feed.js";
