export {
  BusError,
  HandlerExistsError,
  MessageDroppedError,
  NoHandlerError,
  QueueFullError,
  RequestTimeoutError,
  RouteConflictError,
  SystemClosedError,
} from "./bus-error.js";
export { createMessage, globalPool, releaseMessage } from "./global-pool.js";
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
} from "./market-event.js";
export type { ClearView, GapView, QuoteView, StatusView, TradeView } from "./market-layout.js";
export { MarketRing, type MarketRingAccount, type WriterState } from "./market-ring.js";
export { type Envelope, Message } from "./message.js";
export { MessagePool } from "./message-pool.js";
export { MessageSystem } from "./message-system.js";
export { PathRouter } from "./path-router.js";
export type { AnyPath, BodyOf, PathsOf, ReplyOf, RouteMap, RouteTypes, Untyped } from "./path-types.js";
export type { Middleware } from "./plan.js";
export {
  DoubleReleaseError,
  MessageInUseError,
  PoolError,
  PoolExhaustedError,
  SettingError,
  UseAfterReleaseError,
  WrongPoolError,
} from "./pool-error.js";
export type { Leak, MessagePoolOptions, Pooled, PoolStats } from "./pool-options.js";
export type { MailboxStats, Overflow, Priority, QueueOptions } from "./queue-options.js";
export {
  type Cursor,
  type FieldType,
  RecordLayout,
  type RecordView,
  type ScalarType,
  type Schema,
  type TextType,
} from "./record.js";
export { MarketRingError } from "./ring-error.js";
export type { RingWake } from "./ring-feed.js";
export { type ParamsOf, Route } from "./route.js";
export { SlotPool, type SlotPoolOptions, type SlotPoolStats } from "./slot-pool.js";
export type {
  Handler,
  HandlerOptions,
  MessageSystemOptions,
  RequestOptions,
  RouteStats,
  SendOptions,
  Sent,
} from "./system-options.js";
export type { Target } from "./target.js";
export { LatencyHistogram, PrometheusText } from "./telemetry.js";
export { MpscRing, SpscRing } from "./thread-ring.js";
export { childTraceparent } from "./trace.js";
export { type BridgePort, RemoteError, WorkerBridge, type WorkerBridgeOptions } from "./worker-bridge.js";
