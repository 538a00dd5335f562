import type {
  ClearView,
  GapView,
  LevelView,
  MarketClear,
  MarketGap,
  MarketLevel,
  MarketOrder,
  OrderView,
  QuoteView,
  TradeView,
} from "./event-schema.js";
import type { MarketBook, MarketEvent } from "./market-event.js";
import { FLAGS, NO_INSTRUMENT } from "./market-layout.js";
import { priceOf } from "./price.js";
import { limitArguments } from "../pool/argument-limits.js";
import * as check from "../pool/checks.js";

const { incomplete: INCOMPLETE, last: LAST, priorityLost: PRIORITY_LOST } = FLAGS;

const BID = 1;
const ASK = 2;

const ADD = 1;
const MODIFY = 2;
const CANCEL = 3;
const EXECUTE = 4;
const REMOVE = 5;
const CLEAR = 6;
const ACTIONS = new Map(
  Object.entries({ add: ADD, modify: MODIFY, cancel: CANCEL, execute: EXECUTE, remove: REMOVE, clear: CLEAR }),
);

const MAX_CAPACITY = 2 ** 28;
/** Levels at the best end that are searched one by one: most changes are there. */
const NEAR = 8;

export interface BookOptions {
  /** Levels of a side that the feed sends, or that `bids` and `asks` show of orders; 10 by default. */
  readonly depth?: number | "full";
  /** Capacity of a side in levels, 64 by default: `depth`, and what a group may add before it removes. */
  readonly levels?: number;
  /** Capacity for live orders, 0 by default. If it is not 0, the book is made of order events, and level events are not read. */
  readonly orders?: number;
  /**
   * The channel of the instrument, by default that of the first event that names both. Until it is known, a Clear of a whole channel
   * leaves the book empty and incomplete, because it may be that of another channel.
   */
  readonly channel?: number;
}

/** A price level of a book. */
export interface BookLevel {
  /** The nearest number in whole units. */
  readonly price: number;
  readonly priceNanos: bigint;
  readonly size: number;
  /** Number of orders; 0 if the feed does not say. */
  readonly orders: number;
}

/** An order of a book. */
export interface BookOrder {
  readonly side: "bid" | "ask";
  readonly orderIdExact: bigint;
  /** The nearest number in whole units. */
  readonly price: number;
  readonly priceNanos: bigint;
  readonly size: number;
}

/** Counts the causes that made a book incomplete. `crossed` counts groups after which a bid was not below all asks. */
export interface BookFaults {
  /** Events marked incomplete. */
  readonly marked: number;
  /** Gaps of the channel. */
  readonly gaps: number;
  /** Losses of the ring's reader or of the client's buffer. */
  readonly missed: number;
  /** Levels that did not fit. */
  readonly refusedLevels: number;
  /** Orders that did not fit. */
  readonly refusedOrders: number;
  /** Changes of orders that are not in the book. */
  readonly unknownOrders: number;
  /** Orders added twice, without a side or size, with another size left, or with a size or sum that is not below 2^53. */
  readonly wrongOrders: number;
  readonly crossed: number;
}

/** Functions of a book for the views of a ring. The result is that of `apply`. */
export interface BookHandler {
  level(level: LevelView): boolean;
  order(order: OrderView): boolean;
  quote(quote: QuoteView): boolean;
  trade(trade: TradeView): boolean;
  clear(clear: ClearView): boolean;
  gap(gap: GapView): boolean;
  missed(): boolean;
}

/** An order id: a number if it is exact as one, else a bigint. */
type Id = number | bigint;

class Level {
  priceNanos = 0n;
  size = 0;
  orders = 0;
  /** The order with the highest priority. */
  first: Order | undefined;
  last: Order | undefined;
}

class Order {
  id: Id = 0;
  side: Side | undefined;
  level: Level | undefined;
  size = 0;
  /** At the same level, the order with the next higher priority. */
  before: Order | undefined;
  /** The one with the next lower priority; of a free order, the next free one. */
  behind: Order | undefined;
}

/** Levels from the worst to the best, so that what happens near the best one moves little. */
class Side {
  readonly levels: Level[] = [];
  readonly #spare: Level[] = [];

  constructor(
    readonly number: typeof BID | typeof ASK,
    readonly capacity: number,
  ) {}

  isBetter(price: bigint, than: bigint): boolean {
    return this.number === BID ? price > than : price < than;
  }

  /** Index of the level, or of the one before which it would be inserted. */
  placeOf(price: bigint): number {
    const { levels } = this;
    let place = levels.length;
    const far = Math.max(0, place - NEAR);
    while (place > far && !this.isBetter(price, levels[place - 1]!.priceNanos)) place--;
    if (place > far || far === 0) return place;
    let low = 0;
    let high = far;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.isBetter(price, levels[middle]!.priceNanos)) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  at(place: number, price: bigint): Level | undefined {
    const level = this.levels[place];
    return level !== undefined && level.priceNanos === price ? level : undefined;
  }

  find(price: bigint): Level | undefined {
    return this.at(this.placeOf(price), price);
  }

  /** undefined if it does not fit. */
  insert(place: number, price: bigint): Level | undefined {
    if (this.levels.length === this.capacity) return undefined;
    const level = this.#spare.pop() ?? new Level();
    level.priceNanos = price;
    level.size = level.orders = 0;
    level.first = level.last = undefined;
    if (place === this.levels.length) this.levels.push(level);
    else this.levels.splice(place, 0, level);
    return level;
  }

  erase(place: number): void {
    const { levels } = this;
    this.#spare.push(levels[place]!);
    if (place === levels.length - 1) levels.pop();
    else levels.splice(place, 1);
  }

  /** Keeps the best `depth` levels. */
  trim(depth: number): void {
    if (this.levels.length <= depth) return;
    for (const level of this.levels.splice(0, this.levels.length - depth)) this.#spare.push(level);
  }

  shown(depth: number): BookLevel[] {
    const shown: BookLevel[] = [];
    for (let place = this.levels.length - 1; place >= 0 && shown.length < depth; place--) {
      const { priceNanos, size, orders } = this.levels[place]!;
      shown.push({ price: priceOf(priceNanos), priceNanos, size, orders });
    }
    return shown;
  }
}

/**
 * The order book of one instrument, made of its events: price levels, and their orders in the order of their priority if the feed
 * sends orders. It is exact or says that it is not.
 *
 * Give it every event of the instrument and of its channel, and those without a symbol. Events of other channels are ignored. A book
 * is incomplete until it has seen a Clear of the session or a snapshot, and again after each loss, each event marked incomplete, each
 * contradiction and each new connection, until the next Clear or snapshot.
 *
 * Memory: an object per level and per live order, reused.
 */
export class Book {
  readonly #depth: number;
  readonly #maxOrders: number;
  readonly #bids: Side;
  readonly #asks: Side;
  readonly #orders = new Map<Id, Order>();
  readonly #faults = {
    marked: 0,
    gaps: 0,
    missed: 0,
    refusedLevels: 0,
    refusedOrders: 0,
    unknownOrders: 0,
    wrongOrders: 0,
    crossed: 0,
  };
  /** Like `apply`, for MarketRing: call its functions with the views of the instrument and of its channel. */
  readonly handler: BookHandler = {
    level: (level) => {
      this.#channel ??= level.channel;
      return this.#changeLevel(level.side, level.priceNanos, level.size, level.orders, level.flags);
    },
    order: (order) => {
      this.#channel ??= order.channel;
      const id = Number.isSafeInteger(order.orderId) ? order.orderId : order.orderIdExact;
      return this.#changeOrder(order.action, order.side, id, order.priceNanos, order.size, order.sizeLeft, order.flags);
    },
    quote: (quote) => {
      this.#channel ??= quote.channel;
      return this.#endOfEvent(quote.flags);
    },
    trade: (trade) => {
      this.#channel ??= trade.channel;
      return this.#endOfEvent(trade.flags);
    },
    clear: (clear) => this.#applyClear(clear, clear.instrument === NO_INSTRUMENT),
    gap: (gap) => this.#applyGap(gap.channel),
    missed: () => this.#miss(),
  };
  #free: Order | undefined;
  #channel: number | undefined;
  #open = false;
  #incomplete = true;

  /** Throws SettingError for an option out of its range. */
  constructor(options: BookOptions = {}) {
    check.argumentCount("new Book", arguments.length, 1);
    const isDepth = check.integerFrom(1, MAX_CAPACITY);
    check.options("book options", options, {
      depth: (setting, value) => value === "full" || isDepth(setting, value),
      levels: check.integerFrom(1, MAX_CAPACITY),
      orders: check.integerFrom(0, MAX_CAPACITY),
      channel: check.integerFrom(0, 65_535),
    });
    const { depth = 10, levels = 64, orders = 0, channel } = options;
    this.#depth = depth === "full" ? Number.POSITIVE_INFINITY : depth;
    check.integer("levels", levels, depth === "full" ? 1 : depth, MAX_CAPACITY);
    this.#maxOrders = orders;
    this.#bids = new Side(BID, levels);
    this.#asks = new Side(ASK, levels);
    this.#channel = channel;
  }

  /** True if no group is open and nothing is missing. */
  get complete(): boolean {
    return !this.#open && !this.#incomplete;
  }

  /** @internal True if something is missing, also while a group is open. */
  get incomplete(): boolean {
    return this.#incomplete;
  }

  /** True between the first event of a group and its last one. */
  get isOpen(): boolean {
    return this.#open;
  }

  get faults(): BookFaults {
    return { ...this.#faults };
  }

  get liveOrders(): number {
    return this.#orders.size;
  }

  /** The bids, the best one first; at most `depth`. */
  bids(): BookLevel[] {
    return this.#bids.shown(this.#depth);
  }

  /** The asks, the best one first; at most `depth`. */
  asks(): BookLevel[] {
    return this.#asks.shown(this.#depth);
  }

  /** The order with this number; undefined if there is none. */
  order(orderIdExact: bigint): BookOrder | undefined {
    const order = this.#orders.get(keyOf(orderIdExact));
    return order === undefined ? undefined : shownOrder(order);
  }

  /** The orders at a price, from the highest priority to the lowest. */
  ordersAt(side: "bid" | "ask", priceNanos: bigint): BookOrder[] {
    const shown: BookOrder[] = [];
    const { first } = this.#sideOf(side === "bid" ? BID : ASK).find(priceNanos) ?? {};
    for (let order = first; order !== undefined; order = order.behind) shown.push(shownOrder(order));
    return shown;
  }

  /**
   * Applies an event of MarketData. True if a group ends with it, or it voids the book or makes it incomplete: only then do `bids` and
   * `asks` fit together.
   */
  apply(event: MarketEvent): boolean {
    switch (event.type) {
      case "level":
        return this.#applyLevel(event);
      case "order":
        return this.#applyOrder(event);
      case "book":
        return this.#replace(event);
      case "quote":
        // The last order or level before it has ended the group.
        if (event.incomplete) this.#lose("marked");
        return event.incomplete;
      case "clear":
        return this.#applyClear(event, event.symbol === null);
      case "gap":
        return this.#applyGap(event.channel);
      case "missed":
        // Without a range of the ring, the books that miss something follow as snapshots.
        return event.here || event.first !== undefined ? this.#miss() : false;
      case "status":
        if (event.symbol !== null) this.#channel ??= event.channel;
        return false;
      case "connected":
        this.#restart(true);
        this.#open = false;
        return true;
      default:
        return false;
    }
  }

  #replace({ channel, bids, asks, incomplete }: MarketBook): boolean {
    this.#channel ??= channel;
    if (this.#maxOrders > 0) return false;
    this.#restart(false);
    for (const [number, levels] of [
      [BID, bids],
      [ASK, asks],
    ] as const) {
      for (const { price_nanos, size, count } of levels) this.#setLevel(number, price_nanos, size, count);
    }
    return this.#endOfEvent(LAST | (incomplete ? INCOMPLETE : 0));
  }

  #miss(): boolean {
    this.#lose("missed");
    this.#open = false;
    return true;
  }

  #applyLevel({ channel, side, price_nanos, size, count, flags }: MarketLevel): boolean {
    this.#channel ??= channel;
    const number = side === "bid" ? BID : side === "ask" ? ASK : 0;
    return this.#changeLevel(number, price_nanos, size, count, flags ?? 0);
  }

  #applyOrder(order: MarketOrder): boolean {
    const { channel, action, side, price_nanos, size, size_left, flags } = order;
    this.#channel ??= channel;
    const id = Number.isSafeInteger(order.order_id) ? order.order_id : order.order_id_exact;
    const number = side === "bid" ? BID : side === "ask" ? ASK : 0;
    return this.#changeOrder(ACTIONS.get(action) ?? 0, number, id, price_nanos, size, size_left, flags ?? 0);
  }

  #applyClear({ channel, flags = 0 }: Pick<MarketClear, "channel" | "flags">, isOfChannel: boolean): boolean {
    if (!isOfChannel) this.#channel ??= channel;
    else if (this.#channel !== undefined && this.#channel !== channel) return false;
    this.#restart((flags & INCOMPLETE) !== 0 || this.#channel === undefined);
    this.#open = false;
    return true;
  }

  #applyGap(channel: MarketGap["channel"]): boolean {
    if (this.#channel !== undefined && this.#channel !== channel) return false;
    this.#lose("gaps");
    this.#open = false;
    return true;
  }

  #changeLevel(sideNumber: number, price: bigint, size: number, orders: number, flags: number): boolean {
    if (this.#maxOrders > 0) return this.#endOfEvent(flags);
    if (sideNumber !== BID && sideNumber !== ASK) {
      this.#restart(false);
      return this.#endOfEvent(flags);
    }
    this.#setLevel(sideNumber, price, size, orders);
    return this.#endOfEvent(flags);
  }

  #setLevel(sideNumber: typeof BID | typeof ASK, price: bigint, size: number, orders: number): void {
    const side = this.#sideOf(sideNumber);
    const place = side.placeOf(price);
    const known = side.at(place, price);
    if (size === 0) {
      if (known !== undefined) side.erase(place);
      return;
    }
    const level = Number.isSafeInteger(size) ? (known ?? side.insert(place, price)) : undefined;
    if (level === undefined) return this.#lose("refusedLevels");
    level.size = size;
    level.orders = orders;
  }

  /** Handles the flags of an event, after its change. */
  #endOfEvent(flags: number): boolean {
    if ((flags & INCOMPLETE) !== 0) this.#lose("marked");
    this.#open = (flags & LAST) === 0;
    if (this.#open) return false;
    if (this.#maxOrders === 0) {
      this.#bids.trim(this.#depth);
      this.#asks.trim(this.#depth);
    }
    const bid = this.#bids.levels.at(-1);
    const ask = this.#asks.levels.at(-1);
    if (bid !== undefined && ask !== undefined && bid.priceNanos >= ask.priceNanos) this.#faults.crossed++;
    return true;
  }

  #lose(cause: keyof BookFaults): void {
    this.#faults[cause]++;
    this.#incomplete = true;
  }

  /** Empties the book. incomplete: more than the following events say may exist. */
  #restart(incomplete: boolean): void {
    this.#bids.trim(0);
    this.#asks.trim(0);
    for (const order of this.#orders.values()) this.#release(order);
    this.#orders.clear();
    this.#incomplete = incomplete;
  }

  #sideOf(side: typeof BID | typeof ASK): Side {
    return side === BID ? this.#bids : this.#asks;
  }

  #changeOrder(
    action: number,
    side: number,
    id: Id,
    price: bigint,
    size: number,
    sizeLeft: number,
    flags: number,
  ): boolean {
    if (this.#maxOrders > 0) this.#change(action, side, id, price, size, sizeLeft, flags);
    return this.#endOfEvent(flags);
  }

  #change(action: number, side: number, id: Id, price: bigint, size: number, sizeLeft: number, flags: number): void {
    if (action === CLEAR) return this.#restart(false);
    const order = this.#orders.get(id);
    if (action === ADD) return this.#add(order, side, id, price, size);
    if (order === undefined) return this.#lose("unknownOrders");
    if (action === MODIFY) this.#modify(order, side, price, sizeLeft, (flags & PRIORITY_LOST) !== 0);
    else if (action === CANCEL || action === EXECUTE) this.#reduce(order, size, sizeLeft);
    else if (action === REMOVE) this.#remove(order);
    else this.#lose("wrongOrders");
  }

  #add(known: Order | undefined, side: number, id: Id, price: bigint, size: number): void {
    if ((side !== BID && side !== ASK) || size === 0 || known !== undefined) return this.#lose("wrongOrders");
    if (this.#orders.size === this.#maxOrders) return this.#lose("refusedOrders");
    const order = this.#free ?? new Order();
    this.#free = order.behind;
    order.id = id;
    order.side = this.#sideOf(side);
    order.size = size;
    if (this.#append(order, price)) this.#orders.set(id, order);
    else this.#release(order);
  }

  #modify(order: Order, side: number, price: bigint, size: number, losesPriority: boolean): void {
    if (size === 0 || side !== order.side!.number) return this.#lose("wrongOrders");
    const level = order.level!;
    if (price === level.priceNanos && !losesPriority) {
      const total = level.size - order.size + size;
      if (!Number.isSafeInteger(total)) return this.#lose("wrongOrders");
      level.size = total;
      order.size = size;
      return;
    }
    this.#unlink(order);
    order.size = size;
    if (this.#append(order, price)) return;
    this.#orders.delete(order.id);
    this.#release(order);
  }

  #reduce(order: Order, size: number, sizeLeft: number): void {
    if (size > order.size || order.size - size !== sizeLeft) this.#lose("wrongOrders");
    const left = Math.min(sizeLeft, order.size);
    if (left === 0) return this.#remove(order);
    order.level!.size -= order.size - left;
    order.size = left;
  }

  /** Puts an order behind the others at its price. False if a new level or its total does not fit. */
  #append(order: Order, price: bigint): boolean {
    const side = order.side!;
    const place = side.placeOf(price);
    const known = side.at(place, price);
    const total = (known?.size ?? 0) + order.size;
    if (!Number.isSafeInteger(total)) {
      this.#lose("wrongOrders");
      return false;
    }
    const level = known ?? side.insert(place, price);
    if (level === undefined) {
      this.#lose("refusedLevels");
      return false;
    }
    level.size = total;
    level.orders++;
    order.level = level;
    order.before = level.last;
    order.behind = undefined;
    if (level.last === undefined) level.first = order;
    else level.last.behind = order;
    level.last = order;
    return true;
  }

  /** Removes an order from its level. */
  #unlink(order: Order): void {
    const level = order.level!;
    if (order.before === undefined) level.first = order.behind;
    else order.before.behind = order.behind;
    if (order.behind === undefined) level.last = order.before;
    else order.behind.before = order.before;
    level.size -= order.size;
    level.orders--;
    const side = order.side!;
    if (level.orders === 0) side.erase(side.placeOf(level.priceNanos));
  }

  /** Removes an order from the book. */
  #remove(order: Order): void {
    this.#unlink(order);
    this.#orders.delete(order.id);
    this.#release(order);
  }

  #release(order: Order): void {
    order.side = order.level = order.before = undefined;
    order.behind = this.#free;
    this.#free = order;
  }
}

limitArguments(Book.prototype, { order: 1, ordersAt: 2, bids: 0, asks: 0 });

function keyOf(id: bigint): Id {
  return id <= Number.MAX_SAFE_INTEGER ? Number(id) : id;
}

function shownOrder({ id, side, level, size }: Order): BookOrder {
  const { priceNanos } = level!;
  return {
    side: side!.number === BID ? "bid" : "ask",
    orderIdExact: BigInt(id),
    price: priceOf(priceNanos),
    priceNanos,
    size,
  };
}
