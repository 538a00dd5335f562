export { Book, type BookFaults, type BookHandler, type BookLevel, type BookOptions, type BookOrder } from "./book.js";
export type { MarketRingHandler } from "./entry-window.js";
export { MarketData } from "./market-data.js";
export type { MarketAccount, MarketDataOptions, MarketSystem } from "./market-options.js";
export type {
  BandView,
  BestVenuesView,
  ClearView,
  GapView,
  ImbalanceView,
  InstrumentView,
  LevelView,
  MarketClear,
  MarketGap,
  MarketLevel,
  MarketOrder,
  MarketStatus,
  MarketTrade,
  MarketTradeBreak,
  OrderView,
  QuoteView,
  StatusView,
  TradeBreakView,
  TradeView,
} from "./event-schema.js";
export type {
  MarketBook,
  MarketBookLevel,
  MarketConnected,
  MarketEvent,
  MarketMissed,
  MarketQuote,
  MarketSide,
} from "./market-event.js";
export { MarketRing, type MarketRingAccount, type WriterState } from "./market-ring.js";
export { MarketRingError } from "./ring-error.js";
export type { RingWake } from "./ring-feed.js";
