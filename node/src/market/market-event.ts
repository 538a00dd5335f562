import {
  ID_KEYS,
  type MarketClear,
  type MarketGap,
  type MarketLevel,
  type MarketOrder,
  type MarketStatus,
  type MarketTrade,
  type MarketTradeBreak,
  TIME_KEYS,
} from "./event-schema.js";
import { nanosOf, priceOf } from "./price.js";

/** One side of a quote. Without a price, `price` and `price_nanos` are null and `shares` is 0. */
export interface MarketSide {
  /** The nearest number in whole units. */
  readonly price: number | null;
  /** In 1/1,000,000,000, exactly. */
  readonly price_nanos: bigint | null;
  readonly shares: number;
}

/** UTC times in nanoseconds: `timestamp` of the receipt by the gateway, `exchange_timestamp` of the venue, 0n if unknown. */
export interface MarketQuote {
  readonly type: "quote";
  readonly symbol: string;
  readonly timestamp: bigint;
  readonly exchange_timestamp: bigint;
  readonly sequence: number;
  readonly bid: MarketSide;
  readonly ask: MarketSide;
  readonly spread: { readonly price: number; readonly percent: number | null } | null;
  /** The book has a gap: a better price may exist. */
  readonly incomplete: boolean;
  /** Present, and true, while the instrument does not trade. */
  readonly halted?: true;
  /** Present, and false, while the venue does not guarantee a trade at these prices. */
  readonly firm?: false;
}

/** The best levels of a book, the best one first, in the mode `conflate` with `depth`: they replace earlier ones. */
export interface MarketBook {
  readonly type: "book";
  readonly symbol: string;
  readonly channel: number;
  readonly timestamp: bigint;
  readonly exchange_timestamp: bigint;
  readonly sequence: number;
  readonly bids: readonly MarketBookLevel[];
  readonly asks: readonly MarketBookLevel[];
  /** Something was lost: other levels may exist. */
  readonly incomplete: boolean;
}

export interface MarketBookLevel {
  /** The nearest number in whole units. */
  readonly price: number;
  /** In 1/1,000,000,000, exactly. */
  readonly price_nanos: bigint;
  readonly size: number;
  /** Number of orders; 0 if the feed does not say. */
  readonly count: number;
}

/**
 * Events that this client has missed. With `first` and `last` they are entries of the ring, whose reader was slow: every book misses
 * something. `here`: the buffer was full, and books are incomplete until `subscribe` is called again. Otherwise the client was slow, and
 * the gateway sends the books that it affects again.
 */
export interface MarketMissed {
  readonly type: "missed";
  readonly count: number;
  readonly first?: number;
  readonly last?: number;
  readonly here: boolean;
}

/** A new connection: earlier data is void, and the board follows. Over TCP with a token it precedes the first event. */
export interface MarketConnected {
  readonly type: "connected";
  readonly connections: number;
}

export type MarketEvent =
  | MarketQuote
  | MarketTrade
  | MarketTradeBreak
  | MarketStatus
  | MarketGap
  | MarketClear
  | MarketOrder
  | MarketLevel
  | MarketBook
  | MarketMissed
  | MarketConnected;

/** @internal The scheme of the path of each type of event. */
export const MARKET_ROUTES = new Map([
  ["quote", "bbo"],
  ["trade", "trade"],
  ["trade_break", "trade_break"],
  ["status", "status"],
  ["gap", "gap"],
  ["clear", "clear"],
  ["order", "order"],
  ["level", "level"],
  ["book", "book"],
  ["missed", "missed"],
  ["connected", "connected"],
]);

/** Times and ids, which doubles cannot hold: they pass JSON.parse as text. */
const LONG_NUMBER = new RegExp(`("(?:${[...TIME_KEYS, ...ID_KEYS].join("|")})":)(\\d+)`, "g");

/** Prices likewise. The ones of a quote are in the objects of its sides and its spread, those of a book in its levels. */
const PRICE = /("price":)(-?[0-9.]+)(?=[,}])/g;

interface WithPrice {
  price?: unknown;
  price_nanos?: bigint | null;
}

/** Replaces the text of a price. False: not a price. */
function readPrice(holder: WithPrice | null | undefined, isSpread = false): boolean {
  if (holder === null || holder === undefined || !("price" in holder)) return true;
  const { price } = holder;
  const nanos = price === null ? null : typeof price === "string" ? nanosOf(price) : undefined;
  if (isSpread) {
    // The difference may exceed the range of a price.
    if (typeof price === "string") holder.price = Number(price);
    return typeof holder.price === "number" && Number.isFinite(holder.price);
  }
  if (nanos === undefined) return false;
  holder.price = nanos === null ? null : priceOf(nanos);
  holder.price_nanos = nanos;
  return true;
}

function readLevels(levels: unknown): boolean {
  return (
    Array.isArray(levels) &&
    levels.every((level) => readPrice(level as WithPrice) && typeof level.price_nanos === "bigint")
  );
}

/** @internal Parses a line of the gateway. undefined: not a JSON object with a type, an event without its symbol, channel or count, or a price that is none. */
export function parseMarketLine(
  line: string,
): (MarketEvent | { readonly type: string; readonly text?: string }) | undefined {
  let parsed: Record<string, unknown>;
  try {
    parsed = JSON.parse(line.replace(LONG_NUMBER, '$1"$2"').replace(PRICE, '$1"$2"'));
  } catch {
    return undefined;
  }
  if (typeof parsed !== "object" || parsed === null || typeof parsed["type"] !== "string") return undefined;
  for (const name of TIME_KEYS) {
    const time = parsed[name];
    if (typeof time === "string" && /^\d+$/.test(time)) parsed[name] = BigInt(time);
  }
  for (const name of ID_KEYS) {
    const id = parsed[name];
    if (typeof id !== "string" || !/^\d+$/.test(id)) continue;
    parsed[name] = Number(id);
    parsed[`${name}_exact`] = BigInt(id);
  }
  const { bid, ask, spread } = parsed as Record<string, WithPrice>;
  if (!readPrice(parsed) || !readPrice(bid) || !readPrice(ask) || !readPrice(spread, true)) return undefined;
  if (parsed["type"] === "book" && !(readLevels(parsed["bids"]) && readLevels(parsed["asks"]))) return undefined;
  if (parsed["type"] === "missed") parsed["here"] = false;
  if (!isAddressed(parsed)) return undefined;
  return parsed as unknown as MarketEvent;
}

/** Whether the event has the symbol, channel or count that its type requires. */
function isAddressed({ type, symbol, channel, count }: Record<string, unknown>): boolean {
  if (type === "missed") return Number.isInteger(count);
  if (!MARKET_ROUTES.has(type as string)) return true;
  const isOfBook = type === "level" || type === "order" || type === "book";
  if ((isOfBook || type === "gap" || symbol === null) && !Number.isInteger(channel)) return false;
  return type === "gap" || (symbol === null && !isOfBook) || (typeof symbol === "string" && symbol !== "");
}

/** @internal The path to which an event is sent. */
export function pathOf(event: MarketEvent): string {
  const scheme = MARKET_ROUTES.get(event.type);
  if (event.type === "missed" || event.type === "connected") return `${scheme}://`;
  const symbol = event.type === "gap" ? null : event.symbol;
  if (symbol === null) return `${scheme}://${(event as { channel: number }).channel}`;
  return `${scheme}://${/[%/]/.test(symbol) ? symbol.replace(/[%/]/g, encodeURIComponent) : symbol}`;
}
