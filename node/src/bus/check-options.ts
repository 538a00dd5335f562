import { MessagePool } from "../pool/message-pool.js";
import { requireDuration, requireFunction, requireInteger, requireKnown, SettingError } from "../pool/pool-error.js";
import { LANES } from "./queue-options.js";
import type { MessageSystemOptions, SendOptions } from "./system-options.js";

const OF_SYSTEMS = [
  "pool",
  "warmup",
  "checked",
  "statistics",
  "tracing",
  "asyncContext",
  "timeoutMs",
  "onError",
  "onDeadLetter",
];
const STATISTICS = ["counters", "latency", "diagnostics"];

const KNOWN = new Set(["meta", "priority", "signal", "traceparent", "timeoutMs"]);
/** Of any version, which may have more behind the flags. */
const TRACEPARENT = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}(?:-|$)/;

/** @internal Throws SettingError; the size of a pool is left to the pool. */
export function checkSystemOptions(options: MessageSystemOptions): void {
  requireKnown("system options", options, OF_SYSTEMS);
  const { pool, statistics = "counters", timeoutMs, onError, onDeadLetter } = options;
  if (!STATISTICS.includes(statistics)) throw new SettingError("statistics", statistics, STATISTICS.join(", "));
  for (const name of ["checked", "tracing", "asyncContext"] as const) {
    const value: unknown = options[name];
    if (value !== undefined && typeof value !== "boolean") throw new SettingError(name, value, "true or false");
  }
  if (onError !== undefined) requireFunction("onError", onError);
  if (onDeadLetter !== undefined) requireFunction("onDeadLetter", onDeadLetter);
  if (timeoutMs !== undefined) requireDuration("timeoutMs", timeoutMs);
  if (options.warmup !== undefined) requireInteger("warmup", options.warmup, 0, 2 ** 20);
  if (pool instanceof MessagePool && pool._ofObjects)
    throw new SettingError("pool", "one with a factory", "a pool of messages");
}

/** @internal Throws SettingError at the call, before anything is sent. */
export function checkSendOptions(options: SendOptions): void {
  if (typeof options !== "object" || options === null || Array.isArray(options))
    throw new SettingError("options", options, "an object");
  for (const name in options) {
    if (!KNOWN.has(name)) throw new SettingError("option", name, `one of ${[...KNOWN].join(", ")}`);
  }
  const { priority, signal, timeoutMs, traceparent } = options;
  if (priority !== undefined && LANES[priority] === undefined) {
    throw new SettingError("priority", priority, `one of ${Object.keys(LANES).join(", ")}`);
  }
  if (timeoutMs !== undefined) requireDuration("timeoutMs", timeoutMs);
  if (signal !== undefined) requireSignal(signal);
  if (traceparent !== undefined && (typeof traceparent !== "string" || !TRACEPARENT.test(traceparent))) {
    throw new SettingError("traceparent", traceparent, "of the form 00-<32 hex digits>-<16 hex digits>-<2 hex digits>");
  }
}

/** @internal */
export function requireSignal(signal: AbortSignal): void {
  if (typeof signal?.addEventListener !== "function") throw new SettingError("signal", signal, "an AbortSignal");
}
