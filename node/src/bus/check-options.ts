import * as check from "../pool/checks.js";
import { MessagePool } from "../pool/message-pool.js";
import { LANES, type QueueOptions } from "./queue-options.js";
import type { MessageSystemOptions, SendOptions } from "./system-options.js";

const SYSTEM_OPTIONS = {
  pool: check.anything,
  warmup: check.integerFrom(0, 2 ** 20),
  checked: check.boolean,
  statistics: check.oneOf("counters", "latency", "diagnostics"),
  tracing: check.boolean,
  asyncContext: check.boolean,
  timeoutMs: check.duration,
  onError: check.callable,
  onDeadLetter: check.callable,
};

const QUEUE_OPTIONS = {
  capacity: check.integerFrom(1, 2 ** 22),
  concurrency: check.integerFrom(1, 2 ** 20),
  overflow: check.oneOf("reject", "drop-oldest", "drop-newest", "coalesce", "wait"),
  key: check.callable,
};

/** A traceparent of any version; later versions may append fields to the flags. */
const TRACEPARENT = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}(?:-|$)/;

const SEND_OPTIONS = {
  meta: check.anything,
  priority: check.oneOf(...Object.keys(LANES)),
  signal: check.signal,
  traceparent: check.checkOf(
    (value) => typeof value === "string" && TRACEPARENT.test(value),
    "of the form 00-<32 hex digits>-<16 hex digits>-<2 hex digits>",
  ),
  timeoutMs: check.duration,
};

/** @internal Throws SettingError. The pool checks its size. */
export function checkSystemOptions(options: MessageSystemOptions): void {
  check.options("system options", options, SYSTEM_OPTIONS);
  const pool: unknown = options.pool;
  if (pool === null) throw new check.SettingError("pool", pool, "a value, or left out");
  if (pool instanceof MessagePool && pool._ofObjects)
    throw new check.SettingError("pool", "one with a factory", "a pool of messages");
}

/** @internal Throws SettingError. */
export function checkQueue(setting: string, queue: unknown): void {
  check.options(setting, queue, QUEUE_OPTIONS);
  const { capacity, overflow, key } = queue as QueueOptions;
  if (capacity === undefined) QUEUE_OPTIONS.capacity("capacity", capacity);
  if ((overflow === "coalesce") !== (key !== undefined)) {
    throw new check.SettingError("queue key", key, 'a function with overflow "coalesce" and absent otherwise');
  }
}

/** @internal Throws SettingError. */
export function checkSendOptions(options: SendOptions): void {
  check.options("options", options, SEND_OPTIONS);
}
