import type { EntryWindow, MarketRingHandler } from "./entry-window.js";
import { BOARD, KIND, NO_INSTRUMENT, QUOTE, QUOTE_INCOMPLETE, STATUS } from "./market-layout.js";
import type { RingMemory } from "./ring-memory.js";

/** Looks at a record that is being written, before its writer counts as paused or dead. */
const LOOKS = 1_000;

/** Numbers up to which the records stand for the ring's entries, and the records where they were whole. */
class Records {
  readonly words: Int32Array;
  readonly numbers: Float64Array;
  readonly whole: Uint8Array;

  constructor(
    count: number,
    readonly wordsEach: number,
  ) {
    this.words = new Int32Array(count * wordsEach);
    this.numbers = new Float64Array(count);
    this.whole = new Uint8Array(count);
  }

  /** Returns the number up to which this record of the board stands for the ring's entries. */
  copy(memory: RingMemory, at: number, index: number): number {
    const { words, whole, wordsEach } = this;
    let mark = memory.number(at);
    for (let look = 0; look < LOOKS && mark !== 0 && whole[index] === 0; look++) {
      if (mark % 2 === 0) {
        for (let word = 0; word < wordsEach; word++) words[index * wordsEach + word] = memory.words[at + 2 + word]!;
        if (memory.number(at) === mark) whole[index] = 1;
      }
      if (whole[index] === 0) mark = memory.number(at);
    }
    // An event that is being written will be read from the ring; those before it are older news.
    const number = whole[index] === 1 ? mark / 2 : Math.max(0, Math.ceil(mark / 2) - 1);
    this.numbers[index] = number;
    return number;
  }

  covers(index: number, number: number): boolean {
    return covers(this.numbers, index, number);
  }
}

/**
 * A copy of the board, and the entries of the ring that it includes.
 *
 * Memory: a quote and a status per instrument, a status per channel.
 *
 * @internal
 */
export class BoardCopy {
  /** Entries beyond it are all newer. */
  readonly coveredUntil: number;
  readonly #quotes: Records;
  readonly #statuses: Records;
  readonly #channelStatuses: Records;
  readonly #cleared: Float64Array;
  readonly #gapped: Float64Array;

  constructor(memory: RingMemory, instruments: number) {
    const { channels } = memory;
    this.#quotes = new Records(instruments, QUOTE.bytes / 4);
    this.#statuses = new Records(instruments, STATUS.bytes / 4);
    this.#channelStatuses = new Records(channels, STATUS.bytes / 4);
    this.#cleared = new Float64Array(channels);
    this.#gapped = new Float64Array(channels);
    let until = 0;
    for (let id = 0; id < instruments; id++) {
      const slot = memory.slotsAt + id * BOARD.slotWords;
      until = Math.max(until, this.#quotes.copy(memory, slot, id));
      until = Math.max(until, this.#statuses.copy(memory, slot + BOARD.slotStatus, id));
    }
    for (let channel = 0; channel < channels; channel++) {
      const record = memory.channelsAt + channel * BOARD.channelWords;
      until = Math.max(until, this.#channelStatuses.copy(memory, record + BOARD.channelStatus, channel));
      // After all quotes: what this Clear voids is void in the copy too, and a later one will be read from the ring.
      const cleared = memory.number(record);
      this.#cleared[channel] = cleared;
      const gapped = memory.number(record + BOARD.channelGapped); // likewise
      this.#gapped[channel] = gapped;
      until = Math.max(until, cleared, gapped);
    }
    this.coveredUntil = until;
  }

  /** Returns how many events it delivered. */
  deliver(window: EntryWindow, handler: MarketRingHandler): number {
    let delivered = 0;
    for (let channel = 0; channel < this.#cleared.length; channel++) {
      if (load(this.#channelStatuses, channel, window)) {
        handler.status?.(window.status, this.#channelStatuses.numbers[channel]!);
        delivered++;
      }
    }
    for (let id = 0; id < this.#quotes.numbers.length; id++) {
      if (load(this.#statuses, id, window)) {
        handler.status?.(window.status, this.#statuses.numbers[id]!);
        delivered++;
      }
      const number = this.#quotes.numbers[id]!;
      if (load(this.#quotes, id, window) && this.#stands(window.quote.channel, number)) {
        this.markGapped(window, number);
        handler.quote?.(window.quote, number);
        delivered++;
      }
    }
    return delivered;
  }

  /** Whether the copy stands for the entry in the window. */
  covers(kind: number, number: number, window: EntryWindow): boolean {
    if (kind === KIND.quote) return this.#quotes.covers(window.quote.instrument, number);
    if (kind === KIND.status) {
      const { instrument, channel } = window.status;
      if (instrument === NO_INSTRUMENT) return this.#channelStatuses.covers(channel, number);
      return this.#statuses.covers(instrument, number);
    }
    if (kind === KIND.gap) return covers(this.#gapped, window.gap.channel, number);
    if (kind !== KIND.clear) return false;
    const { instrument, channel } = window.clear;
    return instrument === NO_INSTRUMENT ? this.voids(channel, number) : this.#quotes.covers(instrument, number);
  }

  /** Whether a Clear behind the quote is in the copy already and will be filtered: what it leaves is no quote. */
  voids(channel: number, number: number): boolean {
    return covers(this.#cleared, channel, number);
  }

  /** Sets the flag of the quote in the window when it is not newer than the copied gap of its channel. */
  markGapped(window: EntryWindow, number: number): void {
    if (covers(this.#gapped, window.quote.channel, number)) window.quote.flags |= QUOTE_INCOMPLETE;
  }

  #stands(channel: number, number: number): boolean {
    return channel < this.#cleared.length && number > this.#cleared[channel]!;
  }
}

function load(records: Records, index: number, window: EntryWindow): boolean {
  if (records.whole[index] === 0) return false;
  const start = index * records.wordsEach;
  for (let word = 0; word < records.wordsEach; word++) window.words[word] = records.words[start + word]!;
  return true;
}

function covers(numbers: Float64Array, index: number, number: number): boolean {
  return index < numbers.length && number <= numbers[index]!;
}
