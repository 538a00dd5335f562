import {
  BOARD,
  CLEAR,
  type ClearView,
  GAP,
  type GapView,
  KIND,
  NO_INSTRUMENT,
  QUOTE,
  type QuoteView,
  RING,
  STATUS,
  type StatusView,
  TRADE,
  type TradeView,
} from "./market-layout.js";
import { MarketRingError } from "./ring-error.js";
import { mapRing } from "./shared-memory.js";

const HIGH = 2 ** 32;
/** Looks at a record that is being written, before its writer counts as paused or dead. */
const LOOKS = 1_000;
/** Copies of the board, before a ring that always goes round faster is taken as it is. */
const JOINS = 16;
const EMPTY = new Int32Array(0);

/** What a ring hands its events to. A view is good until the function returns; numbers are the ring's. */
export interface MarketRingHandler {
  quote?(quote: QuoteView, number: number): void;
  trade?(trade: TradeView, number: number): void;
  status?(status: StatusView, number: number): void;
  gap?(gap: GapView, number: number): void;
  clear?(clear: ClearView, number: number): void;
  /** Entries first..last were overwritten before they were read. */
  missed?(first: number, last: number): void;
}

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

/** Of a copy of the board: numbers up to which it stands for the ring's entries, and records where they were whole. */
interface Records {
  readonly words: Int32Array;
  readonly numbers: Float64Array;
  readonly whole: Uint8Array;
}

/**
 * Reads a gateway's market ring in place, in shared memory of the same machine, without the writer's knowledge.
 *
 * Threads: one.
 * Memory:  the ring's pages, mapped read-only; the join copies the board; nothing an event, unless a 64-bit time is read.
 * Source:  docs/market.md and docs/queue.md: an entry is copied between two looks at its sequence. The order of plain reads
 *          is the processor's: x86-64.
 */
export class MarketRing {
  #i32: Int32Array;
  #u64: BigUint64Array;
  readonly #capacity: number;
  readonly #mask: number;
  readonly #slots: number;
  readonly #channels: number;
  /** Where channel records and slots begin, and the board, in words. */
  readonly #board: number;
  readonly #channelsAt: number;
  readonly #slotsAt: number;
  readonly #scratch = new Int32Array(RING.payloadWords);
  readonly #quote: QuoteView;
  readonly #trade: TradeView;
  readonly #status: StatusView;
  readonly #gap: GapView;
  readonly #clear: ClearView;
  readonly #symbols: (string | undefined)[] = [];
  /** Number of the next entry, and the low and high half of its sequence when it is complete. */
  #next = 1;
  #low = 2;
  #high = 0;
  #since = 1;
  #missed = 0;
  #filtered = 0;
  #fromBoard = 0;
  #coveredUntil = 0;
  #quotes: Records;
  #statuses: Records;
  #channelStatuses: Records;
  #cleared: Float64Array;

  /** Opens the ring of that name. Its first entry is the next one published, unless `join` or `seek` say otherwise. */
  static async open(name: string): Promise<MarketRing> {
    return new MarketRing(await mapRing(name), name);
  }

  /** buffer: a ring and its board, as docs/market.md lays them out. */
  constructor(buffer: ArrayBufferLike, name = "in a buffer") {
    if (buffer.byteLength < RING.headerBytes) throw new MarketRingError("foreign", `ring ${name}: no ring`);
    const whole = buffer.byteLength & ~7;
    this.#i32 = new Int32Array(buffer, 0, whole / 4);
    this.#u64 = new BigUint64Array(buffer, 0, whole / 8);
    const u32 = new Uint32Array(buffer, 0, whole / 4);
    const magic = Atomics.load(this.#u64, 0);
    if (magic === 0n) throw new MarketRingError("not_ready", `ring ${name}: is being made; try again`);
    if (magic !== RING.magic) throw new MarketRingError("foreign", `ring ${name}: no ring (magic differs)`);
    const [version, content, entryBytes, offset] = [u32[2]!, u32[3]!, u32[6]!, u32[7]!];
    if (version !== RING.version || content !== RING.content || entryBytes !== RING.entryBytes || offset !== 256) {
      throw otherLayout(name, `ring version ${version}, content ${content}`);
    }
    this.#capacity = Number(this.#u64[2]!);
    this.#mask = this.#capacity - 1;
    const boardAt = RING.headerBytes + this.#capacity * RING.entryBytes;
    if (!Number.isInteger(Math.log2(this.#capacity)) || boardAt + BOARD.headerBytes > whole) {
      throw otherLayout(name, `capacity ${this.#capacity} in ${buffer.byteLength} bytes`);
    }
    this.#board = boardAt / 4;
    const [boardVersion, slotBytes] = [u32[this.#board + 2]!, u32[this.#board + 3]!];
    this.#slots = u32[this.#board + 4]!;
    this.#channels = u32[this.#board + 5]!;
    if (Atomics.load(this.#u64, boardAt / 8) !== BOARD.magic || boardVersion !== BOARD.version) {
      throw otherLayout(name, `board version ${boardVersion}`);
    }
    const channelsAt = boardAt + BOARD.headerBytes;
    const slotsAt = channelsAt + this.#channels * BOARD.channelBytes;
    const fits = slotsAt + this.#slots * BOARD.slotBytes <= whole;
    if (slotBytes !== BOARD.slotBytes || this.#slots === 0 || this.#channels === 0 || !fits) {
      throw otherLayout(name, `board of ${this.#slots} slots of ${slotBytes} bytes, ${this.#channels} channels`);
    }
    this.#channelsAt = channelsAt / 4;
    this.#slotsAt = slotsAt / 4;
    const scratch = this.#scratch.buffer;
    this.#quote = QUOTE.view(scratch);
    this.#trade = TRADE.view(scratch);
    this.#status = STATUS.view(scratch);
    this.#gap = GAP.view(scratch);
    this.#clear = CLEAR.view(scratch);
    this.#quotes = recordsOf(0, 0);
    this.#statuses = this.#channelStatuses = this.#quotes;
    this.#cleared = new Float64Array(0);
    this.seek(this.newest + 1);
  }

  /**
   * Delivers the board, then makes `poll` go on where the board ends: no event is lost or delivered twice between them. A
   * handler that joins again forgets what it knew first.
   */
  join(handler: MarketRingHandler): void {
    for (let attempt = 0; attempt < JOINS; attempt++) {
      this.seek(this.newest + 1);
      this.#copyBoard();
      if (!this.#overrun) break;
    }
    for (let channel = 0; channel < this.#channels; channel++) {
      this.#deliverRecord(this.#channelStatuses, channel, KIND.status, handler);
    }
    for (let id = 0; id < this.#quotes.numbers.length; id++) {
      this.#deliverRecord(this.#statuses, id, KIND.status, handler);
      this.#deliverRecord(this.#quotes, id, KIND.quote, handler);
    }
  }

  /** Delivers up to `max` entries that are ready; a lost range counts as one. Returns how many it took from the ring. */
  poll(handler: MarketRingHandler, max = 1_024): number {
    const words = this.#i32;
    const scratch = this.#scratch;
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
      for (let word = 0; word < end; word++) scratch[word] = words[at + 4 + word]!;
      if (Atomics.load(words, at) !== low) {
        this.#lapped(handler);
        continue;
      }
      const number = this.#next;
      this.#advance();
      if (number <= this.#coveredUntil && this.#isCovered(kind, number)) this.#filtered++;
      else this.#deliver(kind, bytes, number, handler);
    }
    return taken;
  }

  /** Makes `poll` go on at entry `number`, without the board, and begins the account anew. What is gone is missed. */
  seek(number: number): void {
    this.#moveTo(Math.max(1, number));
    this.#since = this.#next;
    this.#missed = this.#filtered = this.#fromBoard = this.#coveredUntil = 0;
  }

  account(): MarketRingAccount {
    const end = Math.max(this.newest + 1, this.#next);
    return {
      since: this.#since,
      published: end - this.#since,
      delivered: this.#next - this.#since - this.#missed - this.#filtered,
      filtered: this.#filtered,
      missed: this.#missed,
      queued: end - this.#next,
      fromBoard: this.#fromBoard,
    };
  }

  /** `silent`: no heartbeat for longer than that; `superseded`, `closed`: read what is left, then open the name again. */
  writerState(silentAfterMs = 1_000): WriterState {
    const state = this.#number(RING.state);
    if (state !== 0) return state === 1 ? "closed" : "superseded";
    return Date.now() - this.#number(RING.heartbeat) / 1e6 > silentAfterMs ? "silent" : "alive";
  }

  /** The instrument's symbol, undefined while it has no name, which no delivered event's has. */
  symbol(instrument: number): string | undefined {
    const known = this.#symbols[instrument];
    if (known !== undefined || instrument >= this.#slots || !this.#isNamed(instrument)) return known;
    const text = this.#text(this.#slotsAt + instrument * BOARD.slotWords + BOARD.slotSymbol, 32);
    this.#symbols[instrument] = text;
    return text;
  }

  /** The venue's name, as `symbol`. */
  venue(instrument: number): string | undefined {
    if (instrument >= this.#slots || !this.#isNamed(instrument)) return undefined;
    return this.#text(this.#slotsAt + instrument * BOARD.slotWords + BOARD.slotVenue, 8);
  }

  /** Number of the newest complete entry, 0 before the first. */
  get newest(): number {
    return this.#number(RING.cursor);
  }

  /** Instruments below this number may have a name. */
  get instruments(): number {
    return Math.min(this.#slots, this.#number(this.#board + BOARD.named));
  }

  get capacity(): number {
    return this.#capacity;
  }

  /** Names this numbering; another epoch is another stream. */
  get epoch(): bigint {
    return this.#u64[RING.epoch / 2]!;
  }

  /** Grows by one when a new writer goes on with this ring. */
  get writerStarts(): number {
    return this.#number(RING.writerStarts);
  }

  /** Lets the pages go; `poll` finds nothing from here on. */
  close(): void {
    this.#i32 = EMPTY;
    this.#u64 = new BigUint64Array(RING.headerBytes / 8);
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
    if (this.#i32[at + 1] === this.#high) return this.#i32[at]! >>> 0 > this.#low >>> 0;
    return this.#number(at) > 2 * this.#next;
  }

  get #overrun(): boolean {
    return this.#isBeyond(RING.headerBytes / 4 + (this.#next & this.#mask) * RING.entryWords);
  }

  /** Goes on an eighth of the ring behind the oldest entry, so that it is not lapped again at once. */
  #lapped(handler: MarketRingHandler): void {
    const first = this.#next;
    const oldest = Math.max(1, this.newest + 2 - this.#capacity);
    const resume = Math.max(oldest + Math.floor(this.#capacity / 8), first + 1);
    this.#missed += resume - first;
    this.#moveTo(resume);
    handler.missed?.(first, resume - 1);
  }

  #deliver(kind: number, bytes: number, number: number, handler: MarketRingHandler): void {
    if (kind === KIND.quote && bytes === QUOTE.bytes) {
      if (number <= this.#coveredUntil && this.#isVoid(this.#quote.channel, number)) this.#empty();
      handler.quote?.(this.#quote, number);
    } else if (kind === KIND.trade && bytes === TRADE.bytes) handler.trade?.(this.#trade, number);
    else if (kind === KIND.status && bytes === STATUS.bytes) handler.status?.(this.#status, number);
    else if (kind === KIND.gap && bytes === GAP.bytes) handler.gap?.(this.#gap, number);
    else if (kind === KIND.clear && bytes === CLEAR.bytes) handler.clear?.(this.#clear, number);
    else this.#filtered++;
  }

  /** Whether the board's copy stands for the entry in the scratch. */
  #isCovered(kind: number, number: number): boolean {
    if (kind === KIND.quote) return covers(this.#quotes.numbers, this.#quote.instrument, number);
    if (kind === KIND.status) {
      const { instrument, channel } = this.#status;
      if (instrument === NO_INSTRUMENT) return covers(this.#channelStatuses.numbers, channel, number);
      return covers(this.#statuses.numbers, instrument, number);
    }
    if (kind !== KIND.clear) return false;
    const { instrument, channel } = this.#clear;
    return covers(
      instrument === NO_INSTRUMENT ? this.#cleared : this.#quotes.numbers,
      instrument === NO_INSTRUMENT ? channel : instrument,
      number,
    );
  }

  /** Whether a Clear behind the quote is in the copy already and will be filtered: what it leaves is no quote. */
  #isVoid(channel: number, number: number): boolean {
    return covers(this.#cleared, channel, number);
  }

  #empty(): void {
    const quote = this.#quote;
    quote.flags = quote.bidPrice = quote.askPrice = quote.bidSize = quote.askSize = quote.feedSequence = 0;
    quote.exchangeTime = 0n;
  }

  #copyBoard(): void {
    const instruments = this.instruments;
    this.#quotes = recordsOf(instruments, QUOTE.bytes / 4);
    this.#statuses = recordsOf(instruments, STATUS.bytes / 4);
    this.#channelStatuses = recordsOf(this.#channels, STATUS.bytes / 4);
    this.#cleared = new Float64Array(this.#channels);
    for (let id = 0; id < instruments; id++) {
      const slot = this.#slotsAt + id * BOARD.slotWords;
      this.#copyRecord(slot, this.#quotes, id);
      this.#copyRecord(slot + BOARD.slotStatus, this.#statuses, id);
    }
    for (let channel = 0; channel < this.#channels; channel++) {
      const record = this.#channelsAt + channel * BOARD.channelWords;
      this.#copyRecord(record + BOARD.channelStatus, this.#channelStatuses, channel);
      // After all quotes: what this Clear voids is void in the copy too, and a later one will be read from the ring.
      const cleared = this.#number(record);
      this.#cleared[channel] = cleared;
      this.#coveredUntil = Math.max(this.#coveredUntil, cleared);
    }
  }

  #copyRecord(at: number, { words, numbers, whole }: Records, index: number): void {
    const count = numbers.length === 0 ? 0 : words.length / numbers.length;
    let mark = this.#number(at);
    for (let look = 0; look < LOOKS && mark !== 0 && whole[index] === 0; look++) {
      if (mark % 2 === 0) {
        for (let word = 0; word < count; word++) words[index * count + word] = this.#i32[at + 2 + word]!;
        if (this.#number(at) === mark) whole[index] = 1;
      }
      if (whole[index] === 0) mark = this.#number(at);
    }
    // An event that is being written will be read from the ring; those before it are older news.
    const number = whole[index] === 1 ? mark / 2 : Math.max(0, Math.ceil(mark / 2) - 1);
    numbers[index] = number;
    this.#coveredUntil = Math.max(this.#coveredUntil, number);
  }

  #deliverRecord({ words, numbers, whole }: Records, index: number, kind: 1 | 3, handler: MarketRingHandler): void {
    if (whole[index] === 0) return;
    const count = words.length / numbers.length;
    for (let word = 0; word < count; word++) this.#scratch[word] = words[index * count + word]!;
    const number = numbers[index]!;
    if (kind === KIND.status) handler.status?.(this.#status, number);
    else {
      const { channel } = this.#quote;
      if (channel >= this.#cleared.length || number <= this.#cleared[channel]!) return;
      handler.quote?.(this.#quote, number);
    }
    this.#fromBoard++;
  }

  /** A 64-bit word. */
  #number(at: number): number {
    return Number(Atomics.load(this.#u64, at / 2));
  }

  #isNamed(instrument: number): boolean {
    return this.#number(this.#slotsAt + instrument * BOARD.slotWords + BOARD.slotNamed) !== 0;
  }

  #text(at: number, bytes: number): string {
    const characters = new Uint8Array(this.#i32.buffer, at * 4, bytes);
    const end = characters.indexOf(0);
    return String.fromCharCode(...characters.subarray(0, end < 0 ? bytes : end));
  }
}

function recordsOf(count: number, words: number): Records {
  return {
    words: new Int32Array(count * words),
    numbers: new Float64Array(count),
    whole: new Uint8Array(count),
  };
}

function covers(numbers: Float64Array, index: number, number: number): boolean {
  return index < numbers.length && number <= numbers[index]!;
}

function otherLayout(name: string, found: string): MarketRingError {
  return new MarketRingError("other_layout", `ring ${name}: ${found}; this package reads another layout`);
}
