import { types } from "node:util";
import { BoardCopy } from "./board-copy.js";
import { EntryWindow, type MarketRingHandler } from "./entry-window.js";
import { HeartbeatWatch } from "./heartbeat-watch.js";
import { KIND } from "./event-schema.js";
import { BOARD, FLAGS, NO_INSTRUMENT, RING } from "./market-layout.js";
import { RingMemory } from "./ring-memory.js";
import { mapRing } from "./shared-memory.js";
import { limitArguments } from "../pool/argument-limits.js";
import * as check from "../pool/checks.js";

const HIGH = 2 ** 32;
/** Action of an order event: all orders are void. */
const CLEAR_ORDERS = 6;
/** Most copies of the board per join, if the writer laps the reader meanwhile. */
const MAX_COPIES = 4;

/** published = delivered + filtered + missed + queued, in entries since the join. */
export interface MarketRingAccount {
  /** Number of the first entry after the join. */
  readonly since: number;
  readonly published: number;
  readonly delivered: number;
  /** Entries that the board of the join includes, or of an unknown kind. */
  readonly filtered: number;
  readonly missed: number;
  readonly queued: number;
  /** Events that the join delivered from the board, which are not in the sum. */
  readonly fromBoard: number;
}

export type WriterState = "alive" | "silent" | "superseded" | "closed";

/**
 * Reads a gateway's market ring in shared memory of the same machine. The writer does not know its readers.
 *
 * Threads: one.
 * Memory:  the ring's pages, mapped read-only; the join copies the board; nothing per event, unless a 64-bit time is read.
 * Source:  docs/internals/market.md and docs/internals/queue.md: an entry is copied between two reads of its sequence number. Relies
 *          on the order of plain reads of x86-64.
 */
export class MarketRing {
  readonly #memory: RingMemory;
  readonly #mask: number;
  readonly #window = new EntryWindow();
  readonly #heartbeat = new HeartbeatWatch();
  readonly #symbols: (string | undefined)[] = [];
  /** Number of the next entry, and the halves of its sequence number when it is complete. */
  #next = 1;
  #low = 2;
  #high = 0;
  #since = 1;
  #missed = 0;
  #filtered = 0;
  #fromBoard = 0;
  #copy: BoardCopy | undefined;
  #coveredUntil = 0;

  /** Opens a ring by name. Reading starts at the next published entry unless `join` or `seek` is called. */
  static async open(name: string): Promise<MarketRing> {
    check.argumentCount("MarketRing.open", arguments.length, 1);
    return new MarketRing(await mapRing(name), name);
  }

  /** buffer: a ring and its board, as include/millpond/market/board_layout.hpp lays them out. Throws MarketRingError. */
  constructor(buffer: ArrayBufferLike, name = "in a buffer") {
    check.argumentCount("new MarketRing", arguments.length, 2);
    if (!types.isAnyArrayBuffer(buffer)) {
      throw new check.SettingError("buffer", buffer, "an ArrayBuffer or SharedArrayBuffer");
    }
    check.text("name", name);
    this.#memory = new RingMemory(buffer, name);
    this.#mask = this.#memory.capacity - 1;
    this.seek(this.newest + 1);
  }

  /**
   * Delivers the board and makes `poll` continue after it: no event is lost or delivered twice. Levels come as a snapshot for each
   * instrument, if the handler has a function for them. A handler that joins again must discard its state first.
   */
  join(handler: MarketRingHandler): void {
    requireHandler(handler);
    let copy: BoardCopy;
    let attempt = 0;
    do {
      this.seek(this.newest + 1);
      copy = new BoardCopy(
        this.#memory,
        this.instruments,
        handler.level !== undefined,
        handler.bestVenues !== undefined,
      );
      attempt++;
    } while (this.#overrun && attempt < MAX_COPIES);
    this.#copy = copy;
    this.#coveredUntil = copy.coveredUntil;
    this.#fromBoard = copy.deliver(this.#window, handler, this.#memory);
  }

  /**
   * @internal Delivers the board's quotes and statuses of instruments for which `wanted` is true, except those that `poll` has yet
   * to deliver, and their levels, after which `poll` continues.
   */
  deliverBoard(handler: MarketRingHandler, wanted: (instrument: number) => boolean): void {
    const end = Math.max(this.#next, this.#coveredUntil + 1);
    const filter: MarketRingHandler = {
      quote: (quote, number) => {
        if (number < end && wanted(quote.instrument)) handler.quote?.(quote, number);
      },
      status: (status, number) => {
        if (number < end && wanted(status.instrument)) handler.status?.(status, number);
      },
      level: (level, number) => {
        if (wanted(level.instrument)) handler.level?.(level, number);
      },
    };
    const copy = new BoardCopy(this.#memory, this.instruments, handler.level !== undefined, false);
    this.#copy?.adoptLevels(copy, wanted);
    this.#coveredUntil = Math.max(this.#coveredUntil, copy.coveredUntil);
    copy.deliver(this.#window, filter, this.#memory);
  }

  /** Delivers up to `max` complete entries; a missed range counts as one. Returns the number of entries and ranges. */
  poll(handler: MarketRingHandler, max = 1_024): number {
    if (arguments.length > 2) check.argumentCount("poll", arguments.length, 2);
    requireHandler(handler);
    check.count("max", max);
    const { words } = this.#memory;
    const copy = this.#window.words;
    if (words.length === 0) return 0;
    let count = 0;
    // Stops if a handler closes the ring.
    for (; count < max && words === this.#memory.words; count++) {
      const at = RING.headerBytes / 4 + (this.#next & this.#mask) * RING.entryWords;
      const low = Atomics.load(words, at); // sync "n complete": the writer's last store of an entry
      if (low !== this.#low || words[at + 1] !== this.#high) {
        if (!this.#isNewer(at)) break;
        this.#skipLapped(handler);
        continue;
      }
      const kind = words[at + 2]!;
      const bytes = words[at + 3]!;
      const end = Math.min(RING.payloadWords, bytes >>> 2);
      for (let word = 0; word < end; word++) copy[word] = words[at + 4 + word]!;
      if (Atomics.load(words, at) !== low) {
        this.#skipLapped(handler);
        continue;
      }
      const number = this.#next;
      this.#advance();
      const isCovered = number <= this.#coveredUntil;
      if (isCovered && kind === KIND.clear && this.#deliverInPart(number, handler)) continue;
      if (isCovered && this.#isIncluded(kind, number)) this.#filtered++;
      else if (!this.#window.deliver(kind, bytes, number, handler)) this.#filtered++;
    }
    return count;
  }

  /** Makes `poll` continue at entry `number`, without the board, and restarts the account. Overwritten entries are missed. */
  seek(number: number): void {
    this.#moveTo(Math.max(1, check.integer("entry", number, 0, Number.MAX_SAFE_INTEGER)));
    this.#since = this.#next;
    this.#missed = this.#filtered = this.#fromBoard = this.#coveredUntil = 0;
  }

  account(): MarketRingAccount {
    const end = Math.max(this.newest + 1, this.#next);
    // Overwritten entries count as missed before `poll` reaches them.
    const readable = Math.max(this.#next, end - this.#memory.capacity);
    return {
      since: this.#since,
      published: end - this.#since,
      delivered: this.#next - this.#since - this.#missed - this.#filtered,
      filtered: this.#filtered,
      missed: this.#missed + readable - this.#next,
      queued: end - readable,
      fromBoard: this.#fromBoard,
    };
  }

  /** `silent`: no heartbeat for `silentAfterMs`. `superseded`, `closed`: read the remaining entries, then open the name again. */
  writerState(silentAfterMs = 1_000): WriterState {
    check.duration("silentAfterMs", silentAfterMs);
    const state = this.#memory.number(RING.state);
    if (state !== 0) return state === 1 ? "closed" : "superseded";
    return this.#heartbeat.ageMs(this.#memory.number(RING.heartbeat) / 1e6) > silentAfterMs ? "silent" : "alive";
  }

  /** The instrument's symbol; undefined while it has no name. Instruments of delivered events have one. */
  symbol(instrument: number): string | undefined {
    if (arguments.length > 1) check.argumentCount("symbol", arguments.length, 1);
    const known = this.#symbols[instrument];
    if (known !== undefined) return known;
    const slot = this.#memory.slotOf(instrument);
    if (slot === undefined) return undefined;
    const text = this.#memory.text(slot + BOARD.slotSymbol, 32);
    this.#symbols[instrument] = text;
    return text;
  }

  /** The name of the instrument's venue; undefined while the instrument has no name. */
  venue(instrument: number): string | undefined {
    if (arguments.length > 1) check.argumentCount("venue", arguments.length, 1);
    const slot = this.#memory.slotOf(instrument);
    return slot === undefined ? undefined : this.#memory.text(slot + BOARD.slotVenue, 8);
  }

  /**
   * @internal Levels of a side that the channel's feed sends; undefined for entries of an earlier writer after another continued the
   * ring. For use inside a handler.
   */
  depthOf(channel: number): number | "full" | undefined {
    return this.#next > this.#memory.depthSince(channel) ? this.#memory.depthOf(channel) : undefined;
  }

  /** Number of the newest complete entry; 0 if there is none. */
  get newest(): number {
    return this.#memory.number(RING.cursor);
  }

  /** Instruments below this number may have a name. */
  get instruments(): number {
    return Math.min(this.#memory.slots, this.#memory.number(this.#memory.board + BOARD.named));
  }

  get capacity(): number {
    return this.#memory.capacity;
  }

  /** Identifies the stream: entries of different epochs are numbered independently. */
  get epoch(): bigint {
    return this.#memory.bits(RING.epoch);
  }

  /** Incremented when a new writer continues the ring. */
  get writerStarts(): number {
    return this.#memory.number(RING.writerStarts);
  }

  /** Unmaps the ring. A `poll` or `join` whose handler calls this delivers nothing more. */
  close(): void {
    this.#memory.detach();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  #advance(): void {
    this.#next++;
    this.#low = (this.#low + 2) | 0;
    if (this.#low === 0) this.#high = (this.#high + 1) | 0;
  }

  #moveTo(number: number): void {
    this.#next = number;
    this.#low = (2 * number) | 0;
    this.#high = Math.floor((2 * number) / HIGH) | 0;
  }

  /** Whether the entry at `at` is newer than the next entry to read. */
  #isNewer(at: number): boolean {
    const { words } = this.#memory;
    if (words[at + 1] === this.#high) return words[at]! >>> 0 > this.#low >>> 0;
    return this.#memory.number(at) > 2 * this.#next;
  }

  /** Whether the writer has overwritten the next entry. */
  get #overrun(): boolean {
    return this.#isNewer(RING.headerBytes / 4 + (this.#next & this.#mask) * RING.entryWords);
  }

  /** Skips overwritten entries, and an eighth of the ring beyond them, so that the reader is not lapped again at once. */
  #skipLapped(handler: MarketRingHandler): void {
    const first = this.#next;
    const oldest = Math.max(1, this.newest + 2 - this.capacity);
    const resume = Math.max(oldest + Math.floor(this.capacity / 8), first + 1);
    this.#missed += resume - first;
    this.#moveTo(resume);
    handler.missed?.(first, resume - 1);
  }

  /**
   * Whether the copy of the board includes the entry in the window. Otherwise gives the entry the effects of the copy's Clears and gaps
   * that are newer: voids a quote, or marks the event as incomplete or as the last of its group.
   */
  #isIncluded(kind: number, number: number): boolean {
    const copy = this.#copy!;
    if (copy.covers(kind, number, this.#window)) return true;
    const { quote, trade, order, level, clear } = this.#window;
    if (kind === KIND.quote) {
      if (copy.voids(quote.channel, number)) this.#window.emptyQuote();
      copy.markGapped(quote, number);
      copy.markLast(quote, number);
    } else if (kind === KIND.trade) copy.markLast(trade, number);
    else if (kind === KIND.order) copy.markGapped(order, number);
    else if (kind === KIND.level) copy.markGapped(level, number);
    else if (kind === KIND.clear) {
      copy.markGapped(clear, number);
      if (copy.voids(clear.channel, number)) clear.flags |= FLAGS.incomplete; // the Clear of the channel may be
    }
    return false;
  }

  /**
   * Delivers a Clear of an instrument of which the copy of the board includes only the effect on the quote, or only that on the levels.
   * Returns false if it is to be delivered, or filtered, as any other.
   */
  #deliverInPart(number: number, handler: MarketRingHandler): boolean {
    const copy = this.#copy!;
    const { instrument, channel, flags, receiveTime, receiveTicks } = this.#window.clear;
    const head = { instrument, channel, receiveTime, receiveTicks };
    if (instrument === NO_INSTRUMENT) return false;
    const areLevelsIncluded = copy.includesLevels(instrument, number);
    if (copy.covers(KIND.clear, number, this.#window) === areLevelsIncluded) return false;
    if (areLevelsIncluded) {
      handler.quote?.(this.#window.restart(this.#window.quote, head, FLAGS.last), number);
      return true;
    }
    if (copy.voids(channel, number) || !this.#memory.sendsBooks(channel)) return false;
    if (handler.order === undefined && handler.level === undefined) return false;
    const ofBooks = FLAGS.snapshot | FLAGS.last | (flags & FLAGS.incomplete);
    const order = this.#window.restart(this.#window.order, head, ofBooks);
    order.action = CLEAR_ORDERS;
    copy.markGapped(order, number);
    handler.order?.(order, number);
    const level = this.#window.restart(this.#window.level, head, ofBooks);
    copy.markGapped(level, number);
    handler.level?.(level, number);
    return true;
  }
}

function requireHandler(handler: unknown): void {
  if (typeof handler !== "object" || handler === null) throw new check.SettingError("handler", handler, "an object");
}

limitArguments(MarketRing.prototype, { join: 1, seek: 1, account: 0, writerState: 1, close: 0 });
