import { requireDuration, SettingError } from "../pool/pool-error.js";
import { LANES } from "./queue-options.js";
import type { SendOptions } from "./system-options.js";

const KNOWN = new Set(["meta", "priority", "signal", "traceparent", "timeoutMs"]);
/** Of any version, which may have more behind the flags. */
const TRACEPARENT = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}(?:-|$)/;

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
