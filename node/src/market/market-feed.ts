import type { MarketEvent } from "./market-event.js";

/** @internal What the user wants. A feed reads it whenever it connects. */
export interface MarketSelection {
  mode: "every" | "conflate";
  /** undefined: all symbols. */
  symbols: Set<string> | undefined;
  /** Levels of a side; 0: no level events. */
  readonly depth: number | "full";
  /** Whether order events are wanted. */
  readonly orders: boolean;
}

/** @internal Adds symbols; `*` means all. The first call replaces "all". */
export function addSymbols(selection: MarketSelection, symbols: readonly string[]): void {
  if (symbols.includes("*")) selection.symbols = undefined;
  else selection.symbols = new Set([...(selection.symbols ?? []), ...symbols]);
}

/** @internal Removes symbols; `*` means all. */
export function removeSymbols(selection: MarketSelection, symbols: readonly string[]): void {
  if (symbols.includes("*")) selection.symbols = new Set();
  else for (const symbol of symbols) selection.symbols?.delete(symbol);
}

/** @internal The client to which a feed reports. */
export interface MarketFeedOwner {
  connected(): void;
  receive(event: MarketEvent): void;
  badLine(): void;
  error(text: string): void;
  /**
   * The ring cannot be read, or has no writer. The owner closes the feed if it has a network address, or if there is a `fatal`
   * error: the ring will never be readable.
   */
  unreadable(why: string, fatal: Error | undefined): void;
}

/** @internal A source of a gateway's events. */
export interface MarketFeed {
  readonly by: "ring" | "tcp" | "web";
  subscribe(symbols: readonly string[]): void;
  unsubscribe(symbols: readonly string[]): void;
  setMode(mode: "every" | "conflate"): void;
  close(): void;
}
