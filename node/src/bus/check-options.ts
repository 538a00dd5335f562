import { requireDuration, SettingError } from "../pool/pool-error.js";
import { LANES } from "./queue-options.js";
import type { SendOptions } from "./system-options.js";

const KNOWN = new Set(["meta", "priority", "signal", "traceparent", "timeoutMs"]);

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
  if (traceparent !== undefined && typeof traceparent !== "string") {
    throw new SettingError("traceparent", traceparent, "a text");
  }
}

/** @internal */
export function requireSignal(signal: AbortSignal): void {
  if (typeof signal?.addEventListener !== "function") throw new SettingError("signal", signal, "an AbortSignal");
}
