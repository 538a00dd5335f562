import { setTimeout as pause } from "node:timers/promises";
import type { MarketEvent, MarketQuote, MarketSide } from "./market-event.js";
import {
  type MarketFeed,
  type MarketFeedOwner,
  type MarketSelection,
  addSymbols,
  removeSymbols,
} from "./market-feed.js";
import type { ClearView, MarketLevel, MarketOrder, QuoteView, StatusView } from "./event-schema.js";
import { FLAGS, NO_INSTRUMENT } from "./market-layout.js";
import type { MarketRingHandler } from "./entry-window.js";
import { MarketRing } from "./market-ring.js";
import { priceOf } from "./price.js";
import { MarketRingError } from "./ring-error.js";
import { ShownLevels } from "./shown-levels.js";

/** Entries that one poll delivers before other work of the event loop gets a turn. */
const POLL_ENTRIES = 4_096;
/** Age of the heartbeat from which a writer counts as silent. */
const SILENT_AFTER_MS = 2_000;
/** Faults of a ring that will not end. */
const FATAL_FAULTS: ReadonlySet<string> = new Set(["no_addon", "foreign", "other_layout"]);

/**
 * When a ring is polled: with `"immediate"` in every turn of the event loop, which then never sleeps; with a number after that many
 * milliseconds; with a shared Int32Array when another thread has changed and notified its first element.
 */
export type RingWake = "immediate" | number | Int32Array;

const STATES: Record<number, string> = {
  0: "unknown",
  1: "trading",
  2: "halted",
  3: "paused",
  4: "quotation_only",
  5: "operational_halt",
  10: "start_of_messages",
  11: "start_of_system_hours",
  12: "start_of_market_hours",
  13: "end_of_market_hours",
  14: "end_of_system_hours",
  15: "end_of_messages",
  20: "circuit_breaker",
};
const GAP_REASONS = ["sequence", "rejected", "dropped", "silence", "venue"];
const REASONS: Record<number, string> = { 1: "new_session", 2: "end_of_session", 3: "sender_request" };
const SIDES = ["none", "bid", "ask"];
const { last: LAST } = FLAGS;
const ACTIONS = ["unknown", "add", "modify", "cancel", "execute", "remove", "clear"];

/** @internal Reads a gateway's ring in shared memory and makes the events that the tcp sink would send. */
export class RingFeed implements MarketFeed {
  readonly by = "ring";
  #closed = false;
  /** The newest quote of each instrument since the last flush, for `conflate`. */
  readonly #newest = new Map<number, MarketQuote>();
  /** By instrument. */
  readonly #shown = new Map<number, ShownLevels>();
  /** Channels that were cleared and have lost nothing since: the books of their new instruments are complete. */
  readonly #cleared = new Set<number>();
  /** By instrument, the newest order or level of a group that is open. */
  readonly #held = new Map<number, MarketOrder | MarketLevel>();
  /** By instrument, the trades of a group that is open, for `conflate`: the book after the group comes first. */
  readonly #trades = new Map<number, MarketEvent[]>();
  /** New symbols, whose statuses and quotes on the board must be delivered; `*` means all. */
  readonly #added = new Set<string>();
  /** Set when the ring is open, before the first event. */
  #ring!: MarketRing;
  readonly #handler: MarketRingHandler = {
    quote: (quote, number) => {
      if (!this.#wants(quote.instrument)) return;
      this.#shown.get(quote.instrument)?.book.handler.quote(quote);
      this.#endGroup(quote.instrument);
      this.#deliverTrades(quote.instrument);
      const event = this.#quote(quote, number);
      if (this.selection.mode === "every") this.owner.receive(event);
      else this.#newest.set(quote.instrument, event);
    },
    trade: (trade, number) => {
      if (!this.#wants(trade.instrument)) return;
      this.#endGroup(trade.instrument);
      const book = this.#shown.get(trade.instrument)?.book;
      book?.handler.trade(trade);
      this.#addTrade(trade.instrument, {
        type: "trade",
        symbol: this.#ring.symbol(trade.instrument)!,
        timestamp: trade.receiveTime,
        exchange_timestamp: trade.exchangeTime,
        sequence: number,
        price: trade.price,
        price_nanos: trade.priceNanos,
        shares: trade.size,
        trade_id: trade.tradeId,
        trade_id_exact: trade.tradeIdExact,
        ...((trade.flags & ~LAST) !== 0 && { flags: trade.flags & ~LAST }),
      });
      if (book?.isOpen !== true) this.#deliverTrades(trade.instrument);
    },
    tradeBreak: (broken, number) => {
      if (!this.#wants(broken.instrument)) return;
      this.#deliverBook(broken.instrument);
      this.owner.receive({
        type: "trade_break",
        symbol: this.#ring.symbol(broken.instrument)!,
        timestamp: broken.receiveTime,
        exchange_timestamp: broken.exchangeTime,
        sequence: number,
        trade_id: broken.tradeId,
        trade_id_exact: broken.tradeIdExact,
      });
    },
    status: (status, number) => {
      if (!this.#wants(status.instrument)) return;
      if (status.instrument === NO_INSTRUMENT) this.#deliverBooks();
      else this.#deliverBook(status.instrument);
      this.owner.receive({
        type: "status",
        symbol: this.#symbolOf(status),
        channel: status.channel,
        timestamp: status.receiveTime,
        exchange_timestamp: status.exchangeTime,
        sequence: number,
        state: STATES[status.state] ?? "unknown",
        reason: status.reason.trimEnd(),
      });
    },
    order: (order, number) => {
      if (!this.selection.orders || !this.#wants(order.instrument)) return;
      this.#deliverOfGroup(order.instrument, {
        type: "order",
        symbol: this.#ring.symbol(order.instrument)!,
        channel: order.channel,
        timestamp: order.receiveTime,
        exchange_timestamp: order.exchangeTime,
        sequence: number,
        action: ACTIONS[order.action] ?? "unknown",
        side: SIDES[order.side] ?? "unknown",
        order_id: order.orderId,
        order_id_exact: order.orderIdExact,
        price: order.price,
        price_nanos: order.priceNanos,
        size: order.size,
        size_left: order.sizeLeft,
        trade_id: order.tradeId,
        trade_id_exact: order.tradeIdExact,
        ...(order.flags !== 0 && { flags: order.flags }),
      });
    },
    level: (level, number) => {
      if (!this.#wants(level.instrument)) return;
      const { instrument, channel } = level;
      const shown = this.#shownOf(instrument, channel);
      if (shown !== undefined) {
        shown.apply(level, this.#ring.symbol(instrument)!, number);
        if (!shown.book.isOpen) {
          this.#endGroup(instrument);
          this.#deliverTrades(instrument);
        }
        return;
      }
      // Levels of an earlier writer, whose depth is unknown, end with the Clear of the next one.
      if (this.selection.depth !== this.#ring.depthOf(channel)) {
        if ((level.flags & LAST) !== 0) this.#endGroup(instrument);
        return;
      }
      this.#deliverOfGroup(instrument, {
        type: "level",
        symbol: this.#ring.symbol(instrument)!,
        channel,
        timestamp: level.receiveTime,
        exchange_timestamp: level.exchangeTime,
        sequence: number,
        side: SIDES[level.side] ?? "unknown",
        price: level.price,
        price_nanos: level.priceNanos,
        size: level.size,
        count: level.orders,
        ...(level.flags !== 0 && { flags: level.flags }),
      });
    },
    gap: (gap, number) => {
      this.#breakGroups();
      this.#cleared.delete(gap.channel);
      for (const { book } of this.#shown.values()) book.handler.gap(gap);
      this.#flush(); // conflated quotes are older
      const { channel, receiveTime: timestamp, first, last } = gap;
      const reason = GAP_REASONS[gap.reason] ?? "unknown";
      this.owner.receive({ type: "gap", channel, timestamp, sequence: number, first, last, reason });
    },
    clear: (clear, number) => {
      if (clear.instrument === NO_INSTRUMENT) {
        if ((clear.flags & FLAGS.incomplete) === 0) this.#cleared.add(clear.channel);
        else this.#cleared.delete(clear.channel);
      }
      if (!this.#wants(clear.instrument)) return;
      this.#breakGroups();
      const depth = this.#ring.depthOf(clear.channel);
      for (const [instrument, shown] of this.#shown) {
        if (shown.channel !== clear.channel) continue;
        if (clear.instrument !== NO_INSTRUMENT && clear.instrument !== instrument) continue;
        // The next writer of the ring may send another depth.
        if (shown.depth !== depth) this.#shown.delete(instrument);
        shown.book.handler.clear(clear);
        shown.clear();
      }
      this.#flush(); // conflated quotes are older, or of another channel
      this.owner.receive({
        type: "clear",
        symbol: this.#symbolOf(clear),
        channel: clear.channel,
        timestamp: clear.receiveTime,
        sequence: number,
        reason: REASONS[clear.reason] ?? "unknown",
        ...(clear.flags !== 0 && { flags: clear.flags }),
      });
    },
    missed: (first, last) => {
      this.#breakGroups();
      this.#cleared.clear();
      for (const { book } of this.#shown.values()) book.handler.missed();
      this.#flush(); // conflated quotes are older
      this.owner.receive({ type: "missed", count: last - first + 1, first, last, here: false });
    },
  };

  constructor(
    private readonly name: string,
    private readonly wake: RingWake,
    private readonly reconnectMs: number,
    private readonly selection: MarketSelection,
    private readonly owner: MarketFeedOwner,
  ) {
    void this.#run();
  }

  subscribe(symbols: readonly string[]): void {
    addSymbols(this.selection, symbols);
    for (const symbol of symbols) this.#added.add(symbol);
  }

  unsubscribe(symbols: readonly string[]): void {
    removeSymbols(this.selection, symbols);
  }

  setMode(): void {
    this.#deliverAllTrades();
    this.#flush();
    if (this.selection.depth === 0) return;
    // The levels change their form, so they start again from the board.
    this.#shown.clear();
    this.#added.add("*");
  }

  close(): void {
    this.#closed = true;
  }

  async #run(): Promise<void> {
    /** The epoch that was read to its end: entries left by a dead writer are read once. */
    let ended: bigint | undefined;
    while (!this.#closed) {
      let ring: MarketRing | undefined;
      try {
        ring = this.#ring = await MarketRing.open(this.name);
        const alive = ring.writerState(SILENT_AFTER_MS) === "alive";
        if (!alive) this.#reportUnreadable(`ring ${this.name}: its writer is gone`);
        if (!this.#closed && (alive || ring.epoch !== ended)) {
          ended = ring.epoch;
          await this.#read(ring);
        }
      } catch (error) {
        const fatal = error instanceof MarketRingError && FATAL_FAULTS.has(error.fault);
        this.#reportUnreadable((error as Error).message, fatal ? error : undefined);
      }
      ring?.close();
      if (!this.#closed) await pause(this.reconnectMs);
    }
  }

  /** The owner closes this feed if it can use another one. */
  #reportUnreadable(why: string, fatal?: Error): void {
    if (!this.#closed) this.owner.unreadable(why, fatal);
  }

  /** Reads until the stream ends or the feed is closed. */
  async #read(ring: MarketRing): Promise<void> {
    const { epoch } = ring;
    let starts = this.#join(ring);
    while (!this.#closed) {
      // Read before the entries: a closed ring is read to its end.
      const state = ring.writerState(SILENT_AFTER_MS);
      if (this.#added.size > 0) this.#deliverAdded(ring);
      const count = ring.poll(this.#handler, POLL_ENTRIES);
      this.#flush();
      if (count === 0) {
        if (state === "closed" || state === "superseded" || ring.epoch !== epoch) return;
        if (state === "silent") this.#reportUnreadable(`ring ${this.name}: its writer is silent`);
        else if (ring.writerStarts !== starts) starts = this.#join(ring);
      }
      await this.#pause(count === POLL_ENTRIES);
    }
  }

  /** Delivers the board. Returns `writerStarts` of the writer whose entries follow. */
  #join(ring: MarketRing): number {
    const starts = ring.writerStarts;
    this.#added.clear();
    this.#held.clear();
    this.#trades.clear();
    this.#shown.clear();
    this.#cleared.clear();
    this.owner.connected();
    ring.join(this.#handler);
    this.#flush();
    return starts;
  }

  #deliverAdded(ring: MarketRing): void {
    const added = new Set(this.#added);
    this.#added.clear();
    ring.deliverBoard(this.#handler, (instrument) => added.has("*") || added.has(ring.symbol(instrument) ?? ""));
    this.#flush();
  }

  async #pause(behind: boolean): Promise<void> {
    if (behind || this.wake === "immediate") return new Promise((resolve) => setImmediate(resolve));
    if (typeof this.wake === "number") return pause(this.wake);
    const changed = Atomics.waitAsync(this.wake, 0, Atomics.load(this.wake, 0), this.reconnectMs);
    if (!changed.async) return;
    // The timer keeps the thread alive, which the wait does not, and bounds the delay until an end of the stream is seen.
    const alarm = setTimeout(() => {}, this.reconnectMs);
    await changed.value;
    clearTimeout(alarm);
  }

  #flush(): void {
    this.#deliverBooks();
    for (const quote of this.#newest.values()) this.owner.receive(quote);
    this.#newest.clear();
  }

  #deliverBooks(): void {
    for (const instrument of this.#shown.keys()) this.#deliverBook(instrument);
  }

  /** Delivers the instrument's newest levels, for `conflate`: before an event that is not conflated. */
  #deliverBook(instrument: number): void {
    if (this.selection.mode !== "conflate") return;
    const shown = this.#shown.get(instrument);
    if (shown?.isChanged === true && !shown.book.isOpen) this.owner.receive(shown.toBook());
  }

  #addTrade(instrument: number, trade: MarketEvent): void {
    const trades = this.#trades.get(instrument);
    if (this.selection.mode === "every") this.owner.receive(trade);
    else if (trades !== undefined) trades.push(trade);
    else this.#trades.set(instrument, [trade]);
  }

  /** Delivers the instrument's trades, at the end of its group. */
  #deliverTrades(instrument: number): void {
    const trades = this.#trades.get(instrument);
    if (trades === undefined) return;
    this.#trades.delete(instrument);
    this.#deliverBook(instrument);
    for (const trade of trades) this.owner.receive(trade);
  }

  #deliverAllTrades(): void {
    for (const instrument of [...this.#trades.keys()]) this.#deliverTrades(instrument);
  }

  #wants(instrument: number): boolean {
    const { symbols } = this.selection;
    return symbols === undefined || instrument === NO_INSTRUMENT || symbols.has(this.#ring.symbol(instrument) ?? "");
  }

  /**
   * Delivers an order or level, or holds it while its group is open: the last one that is delivered ends the group, because quotes have
   * no flags.
   */
  #deliverOfGroup(instrument: number, event: MarketOrder | MarketLevel): void {
    const held = this.#held.get(instrument);
    if (held !== undefined) this.owner.receive(held);
    if (((event.flags ?? 0) & LAST) === 0) this.#held.set(instrument, event);
    else {
      this.#held.delete(instrument);
      this.owner.receive(event);
    }
  }

  /** The levels of an instrument of which the client gets fewer than the feed sends, or only the newest. */
  #shownOf(instrument: number, channel: number): ShownLevels | undefined {
    const { depth, mode } = this.selection;
    if (depth === 0) return undefined;
    const known = this.#shown.get(instrument);
    if (known !== undefined) return known;
    const sent = this.#ring.depthOf(channel);
    if (sent === undefined) return undefined;
    if (sent !== "full" && (depth === "full" || depth > sent)) {
      this.owner.error(`ring ${this.name}: 'depth': the feed of channel ${channel} sends ${sent} levels of a side`);
      return undefined;
    }
    if (mode === "every" && depth === sent) return undefined;
    const shown = new ShownLevels(channel, sent, depth, this.#cleared.has(channel));
    this.#shown.set(instrument, shown);
    return shown;
  }

  /** Ends the instrument's group before an event that follows its orders and levels, or without one that is not delivered. */
  #endGroup(instrument: number): void {
    const shown = this.#shown.get(instrument);
    if (shown?.isChanged === true && this.selection.mode === "every") {
      for (const change of shown.takeChanges()) this.#deliverOfGroup(instrument, change);
    }
    const held = this.#held.get(instrument);
    if (held === undefined) return;
    this.#held.delete(instrument);
    this.owner.receive({ ...held, flags: (held.flags ?? 0) | LAST });
  }

  /** Delivers what is held of groups that will not end. */
  #breakGroups(): void {
    for (const held of this.#held.values()) this.owner.receive(held);
    this.#held.clear();
    this.#deliverAllTrades();
  }

  #symbolOf({ instrument }: StatusView | ClearView): string | null {
    return instrument === NO_INSTRUMENT ? null : this.#ring.symbol(instrument)!;
  }

  #quote(quote: QuoteView, number: number): MarketQuote {
    const { bidPriceNanos: bid, askPriceNanos: ask, bidSize, askSize } = quote;
    const spread =
      bidSize === 0 || askSize === 0 ? null : { price: priceOf(ask - bid), percent: spreadPercent(bid, ask) };
    return {
      type: "quote",
      symbol: this.#ring.symbol(quote.instrument)!,
      timestamp: quote.receiveTime,
      exchange_timestamp: quote.exchangeTime,
      sequence: number,
      bid: sideOf(bid, bidSize),
      ask: sideOf(ask, askSize),
      spread,
      incomplete: (quote.flags & 1) !== 0,
      ...((quote.flags & 2) !== 0 && { halted: true as const }),
      ...((quote.flags & 4) !== 0 && { firm: false as const }),
    };
  }
}

function sideOf(nanos: bigint, shares: number): MarketSide {
  if (shares === 0) return { price: null, price_nanos: null, shares };
  return { price: priceOf(nanos), price_nanos: nanos, shares };
}

/** The spread in percent of the midpoint, rounded to four decimals, half away from zero, like feed/decimal.hpp. */
function spreadPercent(bid: bigint, ask: bigint): number | null {
  const middle = bid + ask;
  if (bid < 0n || ask < 0n || bid >= 1n << 61n || ask >= 1n << 61n || middle === 0n) return null;
  const width = ask < bid ? bid - ask : ask - bid;
  const percent = Number((width * 2_000_000n + middle / 2n) / middle) / 10_000;
  return ask < bid ? -percent : percent;
}
