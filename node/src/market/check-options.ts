import { types } from "node:util";
import * as check from "../pool/checks.js";
import type { MarketDataOptions, MarketSystem } from "./market-options.js";
import { requireRingName } from "./shared-memory.js";

const MAX_PAUSE_MS = 2 ** 31 - 1;
/** Levels of a side that a feed sends, unless it sends all. */
const MAX_DEPTH = 50;

const requireTls: check.Check = (setting, value) => {
  if (typeof value === "boolean" || typeof value === "object") return;
  throw new check.SettingError(setting, value, "true, false, or options of tls.connect");
};
const requireSystem: check.Check = (_setting, value) => {
  for (const name of ["has", "handles", "emit", "send"] as const) {
    check.callable(`system.${name}`, (value as Partial<MarketSystem>)[name]);
  }
};
const requireUrl: check.Check = (setting, value) => {
  check.text(setting, value);
  if (/^wss?:\/\/[^/]/.test(value as string) && URL.canParse(value as string)) return;
  throw new check.SettingError(setting, value, "ws://host:port/ws");
};
/** A token is sent in one line: of a request header, or of JSON. */
const requireToken: check.Check = (setting, value) => {
  check.text(setting, value);
  if (/[^\x20-\x7e]/.test(value as string))
    throw new check.SettingError(setting, "a string", "of printable ASCII characters");
};
const requireDepth: check.Check = (setting, value) => value === "full" || check.integer(setting, value, 0, MAX_DEPTH);
const requireWake: check.Check = (setting, value) => {
  if (typeof value === "number") check.integer(setting, value, 0, MAX_PAUSE_MS);
  else if (value !== "immediate" && !(types.isInt32Array(value) && types.isSharedArrayBuffer(value.buffer))) {
    throw new check.SettingError(setting, value, "immediate, milliseconds, or an Int32Array on a SharedArrayBuffer");
  }
};

/** @internal Throws SettingError. */
export const requireMode: check.Check = check.oneOf("every", "conflate");

/** @internal Throws SettingError. */
export function requireSymbols(setting: string, symbols: unknown): void {
  if (Array.isArray(symbols) && symbols.every((symbol) => typeof symbol === "string")) return;
  throw new check.SettingError(setting, symbols, "an array of strings");
}

const MARKET_DATA_OPTIONS = {
  ring: requireRingName,
  host: check.text,
  port: check.integerFrom(1, 65_535),
  url: requireUrl,
  token: requireToken,
  tls: requireTls,
  subscribe: requireSymbols,
  depth: requireDepth,
  orders: check.boolean,
  mode: requireMode,
  system: requireSystem,
  buffer: check.integerFrom(1, 2 ** 24),
  reconnectMs: check.numberFrom(0, MAX_PAUSE_MS),
  wake: requireWake,
};

/** @internal Throws SettingError. */
export function checkMarketOptions(options: MarketDataOptions = {}): void {
  check.options("market data options", options, MARKET_DATA_OPTIONS);
  const { port, ring, tls, url, mode, orders } = options;
  if (orders === true && mode === "conflate")
    throw new check.SettingError("orders", orders, "false in the mode conflate");
  if (port !== undefined && url !== undefined) throw new check.SettingError("url", url, "absent where there is a port");
  if (port === undefined && url === undefined && ring === undefined) {
    throw new check.SettingError("port", port, "given, or a url, or the name of a ring");
  }
  if (tls !== undefined && url !== undefined)
    throw new check.SettingError("tls", tls, "absent where there is a url: use wss");
}
