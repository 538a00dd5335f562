export { type Envelope, Message, type Observed } from "./message.js";
export { MessagePool } from "./message-pool.js";
export { SettingError } from "./checks.js";
export {
  DoubleReleaseError,
  MessageInUseError,
  PoolError,
  PoolExhaustedError,
  UseAfterReleaseError,
  WrongPoolError,
} from "./pool-error.js";
export type { Leak, MessagePoolOptions, Pooled, PoolStats } from "./pool-options.js";
export {
  type Cursor,
  type FieldType,
  RecordLayout,
  type RecordView,
  type ScalarType,
  type Schema,
  type TextType,
} from "./record.js";
export { type ParamsOf, Route } from "./route.js";
export { SlotPool, type SlotPoolOptions, type SlotPoolStats } from "./slot-pool.js";
