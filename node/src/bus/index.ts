export {
  BusError,
  CloseInHandlerError,
  HandlerExistsError,
  MessageDroppedError,
  NoHandlerError,
  PlaceExpiredError,
  QueueFullError,
  RegistrationRemovedError,
  RequestTimeoutError,
  RouteConflictError,
  SystemClosedError,
} from "./bus-error.js";
export { MessageStream } from "./message-stream.js";
export { MessageSystem } from "./message-system.js";
export type { Middleware } from "./middleware.js";
export { PathRouter } from "./path-router.js";
export type { AnyPath, BodyOf, PathsOf, ReplyOf, RouteMap, RouteTypes, Untyped } from "./path-types.js";
export type { Place } from "./place.js";
export type { Overflow, Priority, QueueOptions } from "./queue-options.js";
export type { RetryOptions } from "./retry.js";
export type {
  DeadLetter,
  Handler,
  HandlerOptions,
  MessageSystemOptions,
  Observer,
  ObserverOptions,
  ReadyOptions,
  ReceiverStats,
  RegistrationOptions,
  RequestOptions,
  SendOptions,
  Sent,
  StreamOptions,
  WaitOptions,
} from "./system-options.js";
export type { Target } from "./target.js";
export { LatencyHistogram, PrometheusText } from "./telemetry.js";
export { childTraceparent, type HandleTrace } from "./trace.js";
