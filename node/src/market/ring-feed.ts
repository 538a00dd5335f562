import { setTimeout as pause } from "node:timers/promises";
import type { MarketQuote } from "./market-event.js";
import { type MarketFeed, type MarketFeedOwner, type MarketSelection, unwant, want } from "./market-feed.js";
import { type ClearView, NO_INSTRUMENT, type QuoteView, type StatusView } from "./market-layout.js";
import type { MarketRingHandler } from "./entry-window.js";
import { MarketRing } from "./market-ring.js";

/** Entries that one look takes, before other work of the event loop has its turn. */
const LOOK = 4_096;
/** A writer that has not said for so long that it lives is taken for dead where there is another way. */
const SILENT_MS = 2_000;
const PRICE_SCALE = 10_000;

/**
 * When a ring is looked at: `"immediate"`, in every turn of the event loop, which then never sleeps; a number, after that many
 * milliseconds; a shared Int32Array, when another thread (a worker that watches) has changed and notified its first element.
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
const GAP_REASONS = ["sequence", "rejected", "dropped", "silence"];
const REASONS: Record<number, string> = { 1: "new_session", 2: "end_of_session", 3: "sender_request" };

/** @internal A gateway's ring in shared memory, as the events that its tcp sink would send. */
export class RingFeed implements MarketFeed {
  readonly by = "ring";
  #closed = false;
  /** Of each instrument the newest quote of this look, for `conflate`. */
  readonly #newest = new Map<number, MarketQuote>();
  /** Symbols whose states and quotes on the board are to be delivered; `*` is all. */
  readonly #asked = new Set<string>();
  /** Set before the first event. */
  #ring!: MarketRing;
  readonly #handler: MarketRingHandler = {
    quote: (quote, number) => {
      if (!this.#wants(quote.instrument)) return;
      const event = this.#quote(quote, number);
      if (this.selection.mode === "every") this.owner.take(event);
      else this.#newest.set(quote.instrument, event);
    },
    trade: (trade, number) => {
      if (!this.#wants(trade.instrument)) return;
      this.owner.take({
        type: "trade",
        symbol: this.#ring.symbol(trade.instrument)!,
        timestamp: trade.receiveTime,
        exchange_timestamp: trade.exchangeTime,
        sequence: number,
        price: trade.price / PRICE_SCALE,
        shares: trade.size,
        trade_id: trade.tradeId,
        trade_id_exact: trade.tradeIdExact,
      });
    },
    tradeBreak: (broken, number) => {
      if (!this.#wants(broken.instrument)) return;
      this.owner.take({
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
      this.owner.take({
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
    gap: (gap, number) => {
      this.#flush(); // what waits is older
      const { channel, receiveTime: timestamp, first, last } = gap;
      const reason = GAP_REASONS[gap.reason] ?? "unknown";
      this.owner.take({ type: "gap", channel, timestamp, sequence: number, first, last, reason });
    },
    clear: (clear, number) => {
      if (!this.#wants(clear.instrument)) return;
      this.#flush(); // what waits is older, or of another channel
      this.owner.take({
        type: "clear",
        symbol: this.#symbolOf(clear),
        channel: clear.channel,
        timestamp: clear.receiveTime,
        sequence: number,
        reason: REASONS[clear.reason] ?? "unknown",
      });
    },
    missed: (first, last) => {
      this.#flush(); // what waits is older
      this.owner.take({ type: "missed", count: last - first + 1, here: false });
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
    want(this.selection, symbols);
    for (const symbol of symbols) this.#asked.add(symbol);
  }

  unsubscribe(symbols: readonly string[]): void {
    unwant(this.selection, symbols);
  }

  setMode(): void {
    this.#flush();
  }

  close(): void {
    this.#closed = true;
  }

  async #run(): Promise<void> {
    /** The stream that was read to its end: what its writer left is read once. */
    let over: bigint | undefined;
    while (!this.#closed) {
      let ring: MarketRing | undefined;
      try {
        ring = this.#ring = await MarketRing.open(this.name);
        const alive = ring.writerState(SILENT_MS) === "alive";
        if (!alive) this.#giveWay(`ring ${this.name}: its writer is gone`);
        if (!this.#closed && (alive || ring.epoch !== over)) {
          over = ring.epoch;
          await this.#read(ring);
        }
      } catch (error) {
        this.#giveWay((error as Error).message);
      }
      ring?.close();
      if (!this.#closed) await pause(this.reconnectMs);
    }
  }

  /** Where there is another way, the owner takes it, and closes this one. */
  #giveWay(why: string): void {
    if (this.#closed) return;
    this.owner.error(why);
    this.owner.unreadable();
  }

  /** Until the stream is over, or the ring is another's. */
  async #read(ring: MarketRing): Promise<void> {
    const { epoch } = ring;
    let starts = this.#join(ring);
    while (!this.#closed) {
      // The state before the entries: what was published before the end is read before it ends.
      const state = ring.writerState(SILENT_MS);
      if (this.#asked.size > 0) this.#look(ring);
      const taken = ring.poll(this.#handler, LOOK);
      this.#flush();
      if (taken === 0) {
        if (state === "closed" || state === "superseded" || ring.epoch !== epoch) return;
        if (state === "silent") this.#giveWay(`ring ${this.name}: its writer is silent`);
        else if (ring.writerStarts !== starts) starts = this.#join(ring);
      }
      await this.#pause(taken === LOOK);
    }
  }

  /** The board, after which its writer's entries follow. Returns the number of that writer. */
  #join(ring: MarketRing): number {
    const starts = ring.writerStarts;
    this.#asked.clear();
    this.owner.connected();
    ring.join(this.#handler);
    this.#flush();
    return starts;
  }

  #look(ring: MarketRing): void {
    const asked = new Set(this.#asked);
    this.#asked.clear();
    ring.look(this.#handler, (instrument) => asked.has("*") || asked.has(ring.symbol(instrument) ?? ""));
    this.#flush();
  }

  async #pause(behind: boolean): Promise<void> {
    if (behind || this.wake === "immediate") return new Promise((resolve) => setImmediate(resolve));
    if (typeof this.wake === "number") return pause(this.wake);
    const changed = Atomics.waitAsync(this.wake, 0, Atomics.load(this.wake, 0), this.reconnectMs);
    if (!changed.async) return;
    // Keeps the thread alive, which the wait does not; its length bounds how late the end of the stream is seen.
    const alarm = setTimeout(() => {}, this.reconnectMs);
    await changed.value;
    clearTimeout(alarm);
  }

  #flush(): void {
    for (const quote of this.#newest.values()) this.owner.take(quote);
    this.#newest.clear();
  }

  #wants(instrument: number): boolean {
    const { symbols } = this.selection;
    return symbols === undefined || instrument === NO_INSTRUMENT || symbols.has(this.#ring.symbol(instrument) ?? "");
  }

  #symbolOf({ instrument }: StatusView | ClearView): string | null {
    return instrument === NO_INSTRUMENT ? null : this.#ring.symbol(instrument)!;
  }

  #quote(quote: QuoteView, number: number): MarketQuote {
    const { bidPrice, askPrice, bidSize, askSize } = quote;
    const spread =
      bidSize === 0 || askSize === 0
        ? null
        : { price: (askPrice - bidPrice) / PRICE_SCALE, percent: spreadPercent(bidPrice, askPrice) };
    return {
      type: "quote",
      symbol: this.#ring.symbol(quote.instrument)!,
      timestamp: quote.receiveTime,
      exchange_timestamp: quote.exchangeTime,
      sequence: number,
      bid: { price: bidSize === 0 ? null : bidPrice / PRICE_SCALE, shares: bidSize },
      ask: { price: askSize === 0 ? null : askPrice / PRICE_SCALE, shares: askSize },
      spread,
      incomplete: (quote.flags & 1) !== 0,
      ...((quote.flags & 2) !== 0 && { halted: true as const }),
      ...((quote.flags & 4) !== 0 && { firm: false as const }),
    };
  }
}

/** The spread in percent of the middle, to four decimals, half away from zero, as feed/decimal.hpp has it. */
function spreadPercent(bid: number, ask: number): number | null {
  const middle = bid + ask;
  if (bid < 0 || ask < 0 || bid >= 2 ** 40 || ask >= 2 ** 40 || middle === 0) return null;
  const spread = ask - bid;
  const scaled = BigInt(Math.abs(spread)) * 2_000_000n + BigInt(Math.floor(middle / 2));
  return (Math.sign(spread) * Number(scaled / BigInt(middle))) / PRICE_SCALE;
}
