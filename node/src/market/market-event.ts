/** One side of a quote. `price` is null and `shares` 0 without a quote. */
export interface MarketSide {
  readonly price: number | null;
  readonly shares: number;
}

/** Times are UTC nanoseconds: `timestamp` when the gateway received it, `exchange_timestamp` by the venue, 0n where unknown. */
interface Stamped {
  readonly symbol: string;
  readonly timestamp: bigint;
  readonly exchange_timestamp: bigint;
  readonly sequence: number;
}

export interface MarketQuote extends Stamped {
  readonly type: "quote";
  readonly bid: MarketSide;
  readonly ask: MarketSide;
  readonly spread: { readonly price: number; readonly percent: number | null } | null;
  /** Made from a book with a gap: a better price may exist. */
  readonly incomplete: boolean;
  /** There and true only while the instrument does not trade. */
  readonly halted?: true;
  /** There and false only while the venue does not guarantee a trade at these prices. */
  readonly firm?: false;
}

/** The venue's number of a trade, a whole number of 64 bits. */
interface Numbered {
  /** Rounded above 2^53, where two trades may have the same. */
  readonly trade_id: number;
  readonly trade_id_exact: bigint;
}

export interface MarketTrade extends Stamped, Numbered {
  readonly type: "trade";
  readonly price: number;
  readonly shares: number;
}

/** The trade with this number is void. */
export interface MarketTradeBreak extends Stamped, Numbered {
  readonly type: "trade_break";
}

/** `symbol` null: the whole channel. */
export interface MarketStatus extends Omit<Stamped, "symbol"> {
  readonly type: "status";
  readonly symbol: string | null;
  readonly channel: number;
  readonly state: string;
  readonly reason: string;
}

/**
 * Something of the channel did not arrive at the gateway: all its quotes are incomplete until newer ones come. `first` and
 * `last` are numbers of the feed, 0 where none are known.
 */
export interface MarketGap {
  readonly type: "gap";
  readonly channel: number;
  readonly timestamp: bigint;
  readonly sequence: number;
  readonly first: number;
  readonly last: number;
  readonly reason: string;
}

/** Quotes to be forgotten: one instrument's, or with `symbol` null the channel's. */
export interface MarketClear {
  readonly type: "clear";
  readonly symbol: string | null;
  readonly channel: number;
  readonly timestamp: bigint;
  readonly sequence: number;
  readonly reason: string;
}

/** Events that did not reach this client: it was too slow, or its own buffer was full (`here`). */
export interface MarketMissed {
  readonly type: "missed";
  readonly count: number;
  readonly here: boolean;
}

/** The connection is new: all that was known is void, and the board comes next. With a token for TCP, it comes with the first event. */
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
  | MarketMissed
  | MarketConnected;

/** @internal The scheme under which events of a type are emitted. */
export const MARKET_ROUTES = new Map([
  ["quote", "bbo"],
  ["trade", "trade"],
  ["trade_break", "trade_break"],
  ["status", "status"],
  ["gap", "gap"],
  ["clear", "clear"],
  ["missed", "missed"],
  ["connected", "connected"],
]);

/** Times and trade ids do not fit a double: they travel through JSON.parse as text. */
const LONG_NUMBER = /("(?:(?:exchange_)?timestamp|trade_id)":)(\d+)/g;

/** @internal A line of the gateway's TCP sink; undefined when it is no JSON object with a type, or an event without an address. */
export function parseMarketLine(
  line: string,
): (MarketEvent | { readonly type: string; readonly text?: string }) | undefined {
  let parsed: Record<string, unknown>;
  try {
    parsed = JSON.parse(line.replace(LONG_NUMBER, '$1"$2"'));
  } catch {
    return undefined;
  }
  if (typeof parsed !== "object" || parsed === null || typeof parsed["type"] !== "string") return undefined;
  for (const name of ["timestamp", "exchange_timestamp"]) {
    const time = parsed[name];
    if (typeof time === "string" && /^\d+$/.test(time)) parsed[name] = BigInt(time);
  }
  const id = parsed["trade_id"];
  if (typeof id === "string" && /^\d+$/.test(id)) {
    parsed["trade_id"] = Number(id);
    parsed["trade_id_exact"] = BigInt(id);
  }
  if (parsed["type"] === "missed") parsed["here"] = false;
  if (!isAddressed(parsed)) return undefined;
  return parsed as unknown as MarketEvent;
}

/** Of an event of an instrument its symbol, of one of a channel its number, of lost ones their number. */
function isAddressed({ type, symbol, channel, count }: Record<string, unknown>): boolean {
  if (type === "missed") return Number.isInteger(count);
  if (!MARKET_ROUTES.has(type as string)) return true;
  if (type === "gap" || symbol === null) return Number.isInteger(channel);
  return typeof symbol === "string" && symbol !== "";
}

/** @internal The path under which an event is emitted. */
export function pathOf(event: MarketEvent): string {
  const scheme = MARKET_ROUTES.get(event.type);
  if (event.type === "missed" || event.type === "connected") return `${scheme}://`;
  const symbol = event.type === "gap" ? null : event.symbol;
  if (symbol === null) return `${scheme}://${(event as { channel: number }).channel}`;
  return `${scheme}://${/[%/]/.test(symbol) ? symbol.replace(/[%/]/g, encodeURIComponent) : symbol}`;
}
