import type { MarketEvent } from "./market-event.js";

/** @internal The mode and symbols that the user asked for; read by the feed whenever it connects. */
export interface MarketSelection {
  mode: "every" | "conflate";
  /** undefined: everything. */
  symbols: Set<string> | undefined;
}

/** @internal Adds these; the first call ends "everything", `*` is everything. */
export function want(selection: MarketSelection, symbols: readonly string[]): void {
  if (symbols.includes("*")) selection.symbols = undefined;
  else selection.symbols = new Set([...(selection.symbols ?? []), ...symbols]);
}

/** @internal Removes these; `*` is nothing. */
export function unwant(selection: MarketSelection, symbols: readonly string[]): void {
  if (symbols.includes("*")) selection.symbols = new Set();
  else for (const symbol of symbols) selection.symbols?.delete(symbol);
}

/** @internal Callbacks of a feed. */
export interface MarketFeedOwner {
  connected(): void;
  take(event: MarketEvent): void;
  badLine(): void;
  error(text: string): void;
  /** A ring cannot be read, or has no writer. Where the owner has another way it closes this one. */
  unreadable(): void;
}

/** @internal A way by which a gateway's events come. */
export interface MarketFeed {
  readonly by: "ring" | "tcp" | "web";
  subscribe(symbols: readonly string[]): void;
  unsubscribe(symbols: readonly string[]): void;
  setMode(mode: "every" | "conflate"): void;
  close(): void;
}
