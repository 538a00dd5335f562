import type { MarketEvent } from "./market-event.js";

/** @internal What the user wants of the events; read by the feed whenever it connects. */
export interface MarketWishes {
  mode: "every" | "conflate";
  /** undefined: everything. */
  symbols: Set<string> | undefined;
}

/** @internal These too; the first such wish ends "everything", `*` is everything. */
export function want(wishes: MarketWishes, symbols: readonly string[]): void {
  if (symbols.includes("*")) wishes.symbols = undefined;
  else wishes.symbols = new Set([...(wishes.symbols ?? []), ...symbols]);
}

/** @internal These no more; `*` is nothing. */
export function unwant(wishes: MarketWishes, symbols: readonly string[]): void {
  if (symbols.includes("*")) wishes.symbols = new Set();
  else for (const symbol of symbols) wishes.symbols?.delete(symbol);
}

/** @internal What a feed does with what it finds. */
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
