import { Book, type BookLevel } from "./book.js";
import type { LevelView, MarketLevel } from "./event-schema.js";
import type { MarketBook, MarketBookLevel } from "./market-event.js";
import { FLAGS } from "./market-layout.js";

/** Levels that a group may add to a side before it removes others. */
const MAX_ADDED = 64;
/** Capacity of a side of a feed that sends all levels. */
const MAX_LEVELS = 2 ** 20;

type Head = Pick<MarketLevel, "symbol" | "channel" | "timestamp" | "exchange_timestamp" | "sequence">;

/**
 * The levels of an instrument of a ring, for a client that gets fewer levels than the feed sends, or only the newest ones: after each
 * group, the changes of its best levels, or the best levels as they are.
 *
 * @internal
 */
export class ShownLevels {
  readonly book: Book;
  /** Whether the levels have changed since `takeChanges` or `toBook`. */
  isChanged = false;
  #head: Head | undefined;
  /** The levels that the client has; undefined: it needs all. */
  #shown: Record<"bid" | "ask", BookLevel[]> | undefined;

  /** depth: of the channel's feed. shown: of the client. isCleared: nothing of the channel is lost since its Clear. */
  constructor(
    readonly channel: number,
    readonly depth: number | "full",
    private readonly shown: number | "full",
    isCleared: boolean,
  ) {
    this.book = new Book({ depth, channel, levels: depth === "full" ? MAX_LEVELS : depth + MAX_ADDED });
    if (!isCleared) return;
    this.book.apply({ type: "clear", symbol: null, channel, timestamp: 0n, sequence: 0, reason: "unknown" });
  }

  apply(level: LevelView, symbol: string, number: number): void {
    if (level.side === 0) this.#shown = undefined;
    const { channel, receiveTime: timestamp, exchangeTime: exchange_timestamp } = level;
    this.#head = { symbol, channel, timestamp, exchange_timestamp, sequence: number };
    this.isChanged = true;
    this.book.handler.level(level);
  }

  /** Called after a Clear, which the client gets too. */
  clear(): void {
    this.#shown = { bid: [], ask: [] };
    this.isChanged = false;
  }

  /** The changes of the client's levels, as a group. Empty if they are outside its depth. */
  takeChanges(): MarketLevel[] {
    this.isChanged = false;
    const now = this.#best();
    const before = this.#shown;
    this.#shown = now;
    const changes: Pick<MarketLevel, "side" | "price" | "price_nanos" | "size" | "count">[] = [];
    if (before === undefined) changes.push({ side: "none", price: 0, price_nanos: 0n, size: 0, count: 0 });
    for (const side of ["bid", "ask"] as const) {
      const old = new Map(before?.[side].map((level) => [level.priceNanos, level]));
      for (const { price, priceNanos: price_nanos, size, orders: count } of now[side]) {
        const known = old.get(price_nanos);
        old.delete(price_nanos);
        if (known?.size !== size || known.orders !== count) changes.push({ side, price, price_nanos, size, count });
      }
      for (const { price, priceNanos } of old.values()) {
        changes.push({ side, price, price_nanos: priceNanos, size: 0, count: 0 });
      }
    }
    const flags = (before === undefined ? FLAGS.snapshot : 0) | (this.book.incomplete ? FLAGS.incomplete : 0); // a trade or quote may follow
    return changes.map((change, index) => {
      const shown = flags | (index === changes.length - 1 ? FLAGS.last : 0);
      return { type: "level", ...this.#head!, ...change, ...(shown !== 0 && { flags: shown }) };
    });
  }

  /** The client's levels as they are. */
  toBook(): MarketBook {
    this.isChanged = false;
    const { bid, ask } = this.#best();
    const { incomplete } = this.book;
    return { type: "book", ...this.#head!, bids: bid.map(levelOf), asks: ask.map(levelOf), incomplete };
  }

  #best(): Record<"bid" | "ask", BookLevel[]> {
    const count = this.shown === "full" ? undefined : this.shown;
    return { bid: this.book.bids().slice(0, count), ask: this.book.asks().slice(0, count) };
  }
}

function levelOf({ price, priceNanos: price_nanos, size, orders: count }: BookLevel): MarketBookLevel {
  return { price, price_nanos, size, count };
}
