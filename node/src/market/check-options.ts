import { requireDuration, requireInteger, requireKnown, SettingError } from "../pool/pool-error.js";
import type { MarketDataOptions } from "./market-data.js";

const KNOWN = [
  "ring",
  "host",
  "port",
  "url",
  "token",
  "tls",
  "subscribe",
  "mode",
  "system",
  "buffer",
  "reconnectMs",
  "wake",
];

/** @internal Throws SettingError at the call, before anything is connected. */
export function checkMarketOptions(options: MarketDataOptions): void {
  requireKnown("market data options", options, KNOWN);
  const { port, ring, url, tls, subscribe, mode, reconnectMs, wake } = options;
  for (const name of ["ring", "host", "token", "url"] as const) {
    const value: unknown = options[name];
    if (value !== undefined && typeof value !== "string") throw new SettingError(name, value, "a text");
  }
  if (port !== undefined) requireInteger("port", port, 1, 65_535);
  if (url !== undefined && !/^wss?:\/\/[^/]/.test(url)) throw new SettingError("url", url, "ws://host:port/ws");
  if (port !== undefined && url !== undefined) throw new SettingError("url", url, "absent where there is a port");
  if (port === undefined && url === undefined && ring === undefined) {
    throw new SettingError("port", port, "given, or a url, or the name of a ring");
  }
  if (tls !== undefined && typeof tls !== "boolean" && (typeof tls !== "object" || (tls as unknown) === null)) {
    throw new SettingError("tls", tls, "true, false, or options of tls.connect");
  }
  if (tls !== undefined && url !== undefined)
    throw new SettingError("tls", tls, "absent where there is a url: use wss");
  if (reconnectMs !== undefined && requireDuration("reconnectMs", reconnectMs) === Number.POSITIVE_INFINITY) {
    throw new SettingError("reconnectMs", reconnectMs, "finite");
  }
  if (subscribe !== undefined) requireSymbols(subscribe);
  if (mode !== undefined) requireMode(mode);
  if (wake !== undefined) requireWake(wake);
  if (options.system !== undefined && typeof (options.system as { send?: unknown } | null)?.send !== "function") {
    throw new SettingError("system", options.system, "a MessageSystem");
  }
}

/** @internal */
export function requireSymbols(symbols: readonly string[]): void {
  const all: unknown = symbols;
  if (!Array.isArray(all) || !all.every((symbol) => typeof symbol === "string")) {
    throw new SettingError("symbols", symbols, "an array of texts");
  }
}

/** @internal */
export function requireMode(mode: string): void {
  if (mode !== "every" && mode !== "conflate") throw new SettingError("mode", mode, "every or conflate");
}

function requireWake(wake: unknown): void {
  if (typeof wake === "number") requireInteger("wake", wake, 0, 2 ** 31 - 1);
  else if (wake !== "immediate" && !(wake instanceof Int32Array && wake.buffer instanceof SharedArrayBuffer)) {
    throw new SettingError("wake", wake, "immediate, milliseconds, or an Int32Array on a SharedArrayBuffer");
  }
}
