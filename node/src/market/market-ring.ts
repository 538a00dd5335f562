import { BoardCopy } from "./board-copy.js";
import { EntryWindow, type MarketRingHandler } from "./entry-window.js";
import { HeartbeatWatch } from "./heartbeat-watch.js";
import { BOARD, KIND, RING } from "./market-layout.js";
import { RingMemory } from "./ring-memory.js";
import { mapRing } from "./shared-memory.js";
import { limitArguments } from "../pool/argument-limits.js";
import { requireArguments } from "../pool/pool-error.js";

const HIGH = 2 ** 32;
/** Copies of the board, before a ring that always goes round faster is taken as it is. */
const JOINS = 16;

/** published = delivered + filtered + missed + queued, in entries since the join. */
export interface MarketRingAccount {
  /** Number of the first entry after the join. */
  readonly since: number;
  readonly published: number;
  readonly delivered: number;
  /** Not newer than what the join took from the board, or of a kind that is not known. */
  readonly filtered: number;
  readonly missed: number;
  readonly queued: number;
  /** Events that the join delivered from the board; not part of the sum. */
  readonly fromBoard: number;
}

export type WriterState = "alive" | "silent" | "superseded" | "closed";

/**
 * Reads a gateway's market ring in place, in shared memory of the same machine, without the writer's knowledge.
 *
 * Threads: one.
 * Memory:  the ring's pages, mapped read-only; the join copies the board; nothing per event, unless a 64-bit time is read.
 * Source:  docs/internals/market.md and docs/internals/queue.md: an entry is copied between two looks at its sequence. The order of plain reads
 *          is the processor's: x86-64.
 */
export class MarketRing {
  readonly #memory: RingMemory;
  readonly #mask: number;
  readonly #window = new EntryWindow();
  readonly #heartbeat = new HeartbeatWatch();
  readonly #symbols: (string | undefined)[] = [];
  /** Number of the next entry, and the low and high half of its sequence when it is complete. */
  #next = 1;
  #low = 2;
  #high = 0;
  #since = 1;
  #missed = 0;
  #filtered = 0;
  #fromBoard = 0;
  #copy: BoardCopy | undefined;
  #coveredUntil = 0;

  /** Opens the ring of that name. Reading starts at the next published entry, or where `join` or `seek` set it. */
  static async open(name: string): Promise<MarketRing> {
    requireArguments("MarketRing.open", arguments.length, 1);
    return new MarketRing(await mapRing(name), name);
  }

  /** buffer: a ring and its board, as docs/internals/market.md lays them out. Throws MarketRingError. */
  constructor(buffer: ArrayBufferLike, name = "in a buffer") {
    requireArguments("new MarketRing", arguments.length, 2);
    this.#memory = new RingMemory(buffer, name);
    this.#mask = this.#memory.capacity - 1;
    this.seek(this.newest + 1);
  }

  /**
   * Delivers the board and makes `poll` continue where the board ends: no event is lost or delivered twice. A
   * handler that joins again must discard its state first.
   */
  join(handler: MarketRingHandler): void {
    let copy: BoardCopy;
    let attempt = 0;
    do {
      this.seek(this.newest + 1);
      copy = new BoardCopy(this.#memory, this.instruments);
      attempt++;
    } while (this.#overrun && attempt < JOINS);
    this.#copy = copy;
    this.#coveredUntil = copy.coveredUntil;
    this.#fromBoard = copy.deliver(this.#window, handler);
  }

  /**
   * @internal Delivers the quotes and statuses that the board has of instruments for which `asked` is true, except those that
   * `poll` has not reached yet.
   */
  look(handler: MarketRingHandler, asked: (instrument: number) => boolean): void {
    const end = Math.max(this.#next, this.#coveredUntil + 1);
    new BoardCopy(this.#memory, this.instruments).deliver(this.#window, {
      quote: (quote, number) => {
        if (number < end && asked(quote.instrument)) handler.quote?.(quote, number);
      },
      status: (status, number) => {
        if (number < end && asked(status.instrument)) handler.status?.(status, number);
      },
    });
  }

  /** Delivers up to `max` entries that are ready; a lost range counts as one. Returns how many it took from the ring. */
  poll(handler: MarketRingHandler, max = 1_024): number {
    if (arguments.length > 2) requireArguments("poll", arguments.length, 2);
    const { words } = this.#memory;
    const copy = this.#window.words;
    if (words.length === 0) return 0;
    let taken = 0;
    for (; taken < max; taken++) {
      const at = RING.headerBytes / 4 + (this.#next & this.#mask) * RING.entryWords;
      const low = Atomics.load(words, at); // sync "n complete": the writer's last store of an entry
      if (low !== this.#low || words[at + 1] !== this.#high) {
        if (!this.#isBeyond(at)) break;
        this.#lapped(handler);
        continue;
      }
      const kind = words[at + 2]!;
      const bytes = words[at + 3]!;
      const end = Math.min(RING.payloadWords, bytes >>> 2);
      for (let word = 0; word < end; word++) copy[word] = words[at + 4 + word]!;
      if (Atomics.load(words, at) !== low) {
        this.#lapped(handler);
        continue;
      }
      const number = this.#next;
      this.#advance();
      if (number <= this.#coveredUntil && this.#isOld(kind, number)) this.#filtered++;
      else if (!this.#window.deliver(kind, bytes, number, handler)) this.#filtered++;
    }
    return taken;
  }

  /** Makes `poll` continue at entry `number`, without the board, and restarts the account. Overwritten entries are missed. */
  seek(number: number): void {
    this.#moveTo(Math.max(1, number));
    this.#since = this.#next;
    this.#missed = this.#filtered = this.#fromBoard = this.#coveredUntil = 0;
  }

  account(): MarketRingAccount {
    const end = Math.max(this.newest + 1, this.#next);
    // What was overwritten is missed at once, before `poll` comes to it.
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

  /** `silent`: no heartbeat for longer than that; `superseded`, `closed`: read the rest, then open the name again. */
  writerState(silentAfterMs = 1_000): WriterState {
    const state = this.#memory.number(RING.state);
    if (state !== 0) return state === 1 ? "closed" : "superseded";
    return this.#heartbeat.ageMs(this.#memory.number(RING.heartbeat) / 1e6) > silentAfterMs ? "silent" : "alive";
  }

  /** The instrument's symbol, undefined while it has no name, which no delivered event's has. */
  symbol(instrument: number): string | undefined {
    if (arguments.length > 1) requireArguments("symbol", arguments.length, 1);
    const known = this.#symbols[instrument];
    if (known !== undefined) return known;
    const slot = this.#memory.slotOf(instrument);
    if (slot === undefined) return undefined;
    const text = this.#memory.text(slot + BOARD.slotSymbol, 32);
    this.#symbols[instrument] = text;
    return text;
  }

  /** The venue's name, as `symbol`. */
  venue(instrument: number): string | undefined {
    if (arguments.length > 1) requireArguments("venue", arguments.length, 1);
    const slot = this.#memory.slotOf(instrument);
    return slot === undefined ? undefined : this.#memory.text(slot + BOARD.slotVenue, 8);
  }

  /** Number of the newest complete entry, 0 before the first. */
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

  /** Names this numbering; another epoch is another stream. */
  get epoch(): bigint {
    return this.#memory.bits(RING.epoch);
  }

  /** Incremented when a new writer continues this ring. */
  get writerStarts(): number {
    return this.#memory.number(RING.writerStarts);
  }

  /** Lets the pages go; `poll` finds nothing from here on. */
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

  /** True when the entry at `at` is later than the one to come. */
  #isBeyond(at: number): boolean {
    const { words } = this.#memory;
    if (words[at + 1] === this.#high) return words[at]! >>> 0 > this.#low >>> 0;
    return this.#memory.number(at) > 2 * this.#next;
  }

  get #overrun(): boolean {
    return this.#isBeyond(RING.headerBytes / 4 + (this.#next & this.#mask) * RING.entryWords);
  }

  /** Goes on an eighth of the ring behind the oldest entry, so that it is not lapped again at once. */
  #lapped(handler: MarketRingHandler): void {
    const first = this.#next;
    const oldest = Math.max(1, this.newest + 2 - this.capacity);
    const resume = Math.max(oldest + Math.floor(this.capacity / 8), first + 1);
    this.#missed += resume - first;
    this.#moveTo(resume);
    handler.missed?.(first, resume - 1);
  }

  /**
   * Whether the board's copy stands for the entry in the window; empties a quote that a Clear in the copy voids, and marks
   * one that is older than a gap in the copy.
   */
  #isOld(kind: number, number: number): boolean {
    const copy = this.#copy!;
    if (copy.covers(kind, number, this.#window)) return true;
    if (kind === KIND.quote) {
      if (copy.voids(this.#window.quote.channel, number)) this.#window.emptyQuote();
      copy.markGapped(this.#window, number);
    }
    return false;
  }
}

limitArguments(MarketRing.prototype, { join: 1, seek: 1, account: 0, writerState: 1, close: 0 });
