import type { EntryWindow, MarketRingHandler } from "./entry-window.js";
import { BEST_VENUES, KIND, LEVEL, QUOTE, STATUS } from "./event-schema.js";
import { BOARD, FLAGS, NO_INSTRUMENT } from "./market-layout.js";
import type { RingMemory } from "./ring-memory.js";

/** Attempts to read a record that is being written before its writer counts as stopped. */
const MAX_ATTEMPTS = 1_000;

const ABSENT = 0;
const WHOLE = 1;
const BEING_WRITTEN = 2;

/** Copied records: for each its words, its state, and the number of the newest entry that it includes. */
class Records {
  readonly words: Int32Array;
  readonly numbers: Float64Array;
  readonly states: Uint8Array;

  constructor(
    count: number,
    readonly wordsEach: number,
  ) {
    this.words = new Int32Array(count * wordsEach);
    this.numbers = new Float64Array(count);
    this.states = new Uint8Array(count);
  }

  /** Copies a record of the board. Returns the number of the newest entry that it includes. */
  copy(memory: RingMemory, at: number, index: number): number {
    const { words, states, wordsEach } = this;
    let mark = memory.number(at);
    for (let attempt = 0; attempt < MAX_ATTEMPTS && mark !== 0 && states[index] !== WHOLE; attempt++) {
      for (let word = 0; word < wordsEach; word++) words[index * wordsEach + word] = memory.words[at + 2 + word]!;
      states[index] = mark % 2 === 0 && memory.number(at) === mark ? WHOLE : BEING_WRITTEN;
      if (states[index] !== WHOLE) mark = memory.number(at);
    }
    // An entry that is being written will be read from the ring; the record includes those before it.
    const number = states[index] === WHOLE ? mark / 2 : Math.max(0, Math.ceil(mark / 2) - 1);
    this.numbers[index] = number;
    return number;
  }

  covers(index: number, number: number): boolean {
    return covers(this.numbers, index, number);
  }
}

/**
 * A copy of the board, with the number of the newest entry that each record includes.
 *
 * Memory: a quote, a status and, if wanted, a depth slot and the venues per instrument, a status per channel.
 *
 * @internal
 */
export class BoardCopy {
  /** The copy includes no entry with a higher number. */
  readonly coveredUntil: number;
  readonly #quotes: Records;
  readonly #statuses: Records;
  readonly #channelStatuses: Records;
  readonly #depths: Records | undefined;
  readonly #venues: Records | undefined;
  /** By instrument, the number of the newest entry that the delivered levels include. */
  #levelNumbers: Float64Array;
  readonly #memory: RingMemory;
  readonly #cleared: Float64Array;
  readonly #gapped: Float64Array;

  constructor(memory: RingMemory, instruments: number, withLevels: boolean, withVenues: boolean) {
    const { channels } = memory;
    this.#memory = memory;
    const hasDepths = withLevels && memory.depth > 0;
    this.#depths = hasDepths ? new Records(instruments, memory.depthSlotWords - 2) : undefined;
    this.#levelNumbers = this.#depths?.numbers ?? new Float64Array(0);
    const hasVenues = withVenues && memory.venueSlotWords > 0;
    this.#venues = hasVenues ? new Records(instruments, BEST_VENUES.bytes / 4) : undefined;
    this.#quotes = new Records(instruments, QUOTE.bytes / 4);
    this.#statuses = new Records(instruments, STATUS.bytes / 4);
    this.#channelStatuses = new Records(channels, STATUS.bytes / 4);
    this.#cleared = new Float64Array(channels);
    this.#gapped = new Float64Array(channels);
    let until = 0;
    for (let id = 0; id < instruments; id++) {
      const slot = memory.slotsAt + id * BOARD.slotWords;
      until = Math.max(until, this.#quotes.copy(memory, slot, id));
      // After the quote: a quote that is on the board already is then of a group in these levels.
      const depthSlot = memory.depthSlotsAt + id * memory.depthSlotWords;
      until = Math.max(until, this.#depths?.copy(memory, depthSlot, id) ?? 0);
      until = Math.max(until, this.#statuses.copy(memory, slot + BOARD.slotStatus, id));
      // After the quote too: venues that are newer than it are followed by theirs in the ring.
      const venueSlot = memory.venueSlotsAt + id * memory.venueSlotWords;
      until = Math.max(until, this.#venues?.copy(memory, venueSlot, id) ?? 0);
    }
    for (let channel = 0; channel < channels; channel++) {
      const record = memory.channelsAt + channel * BOARD.channelWords;
      until = Math.max(until, this.#channelStatuses.copy(memory, record + BOARD.channelStatus, channel));
      // Read after all quotes: the copy omits quotes that this Clear voids, and later ones will be read from the ring.
      const cleared = memory.number(record);
      this.#cleared[channel] = cleared;
      const gapped = memory.number(record + BOARD.channelGapped);
      this.#gapped[channel] = gapped;
      until = Math.max(until, cleared, gapped);
    }
    this.coveredUntil = until;
  }

  /** Delivers the copy and returns the number of events. Stops if a handler detaches the memory. */
  deliver(window: EntryWindow, handler: MarketRingHandler, memory: RingMemory): number {
    const open = (): boolean => memory.words.length > 0;
    let delivered = 0;
    for (let channel = 0; channel < this.#cleared.length && open(); channel++) {
      if (load(this.#channelStatuses, channel, window)) {
        handler.status?.(window.status, this.#channelStatuses.numbers[channel]!);
        delivered++;
      }
    }
    for (let id = 0; id < this.#quotes.numbers.length && open(); id++) {
      if (load(this.#statuses, id, window)) {
        handler.status?.(window.status, this.#statuses.numbers[id]!);
        delivered++;
      }
      if (open() && this.#venues && load(this.#venues, id, window)) {
        const number = this.#venues.numbers[id]!;
        if (this.#isValid(window.bestVenues.channel, number)) {
          handler.bestVenues?.(window.bestVenues, number);
          delivered++;
        }
      }
      const number = this.#quotes.numbers[id]!;
      if (open() && load(this.#quotes, id, window) && this.#isValid(window.quote.channel, number)) {
        this.markGapped(window.quote, number);
        if (memory.sendsBooks(window.quote.channel)) window.quote.flags |= FLAGS.last; // the levels have their own group
        handler.quote?.(window.quote, number);
        delivered++;
      }
      delivered += this.#deliverLevels(id, window, handler, open);
    }
    return delivered;
  }

  /** Delivers the levels of an instrument as a snapshot, from the worst to the best. Returns the number of events. */
  #deliverLevels(id: number, window: EntryWindow, handler: MarketRingHandler, open: () => boolean): number {
    const depths = this.#depths;
    if (depths === undefined || depths.states[id] === ABSENT) return 0;
    const { words, wordsEach } = depths;
    const isWhole = depths.states[id] === WHOLE;
    const number = depths.numbers[id]! + (isWhole ? 0 : 1);
    const start = id * wordsEach;
    const channel = words[start + BOARD.depthChannel]! & 0xffff;
    if (channel >= this.#cleared.length || this.voids(channel, number)) return 0;
    const isMarked = !isWhole || ((words[start + BOARD.depthChannel]! >>> 16) & FLAGS.incomplete) !== 0;
    const isIncomplete = isMarked || covers(this.#gapped, channel, number);
    const counts = isWhole ? words[start + BOARD.depthCounts]! : 0;
    const { depth } = this.#memory;
    const sizes = [Math.min(counts & 0xffff, depth), Math.min(counts >>> 16, depth)];
    let left = sizes[0]! + sizes[1]!;
    let delivered = 0;
    const deliver = (side: number, from: number): void => {
      if (!open()) return;
      const to = window.words;
      to.fill(0, 0, LEVEL.bytes / 4);
      to[0] = id;
      const flags = FLAGS.snapshot | (isIncomplete ? FLAGS.incomplete : 0) | (left === 0 ? FLAGS.last : 0);
      to[1] = channel | (flags << 16);
      to[2] = side;
      if (from >= 0) {
        to[3] = words[from + 4]!;
        for (let word = 0; word < 4; word++) to[4 + word] = words[from + word]!;
      }
      for (let word = 0; isWhole && word < 8; word++) to[8 + word] = words[start + BOARD.depthTimes + word]!;
      handler.level?.(window.level, number);
      delivered++;
    };
    deliver(0, -1);
    for (const [index, size] of sizes.entries()) {
      const first = start + BOARD.depthLevels + index * depth * BOARD.depthLevelWords;
      for (let place = size - 1; place >= 0; place--) {
        left--;
        deliver(index + 1, first + place * BOARD.depthLevelWords);
      }
    }
    return delivered;
  }

  /** From now on `covers` and `includesLevels` count the levels of these instruments that the newer copy has delivered. */
  adoptLevels(newer: BoardCopy, wanted: (instrument: number) => boolean): void {
    const numbers = new Float64Array(Math.max(this.#levelNumbers.length, newer.#levelNumbers.length));
    numbers.set(this.#levelNumbers);
    for (const [id, number] of newer.#levelNumbers.entries()) if (wanted(id)) numbers[id] = number;
    this.#levelNumbers = numbers;
  }

  /** Whether the levels that were delivered include the group of the entry. */
  includesLevels(instrument: number, number: number): boolean {
    return covers(this.#levelNumbers, instrument, number);
  }

  /** Whether the copy includes the entry in the window. */
  covers(kind: number, number: number, window: EntryWindow): boolean {
    if (kind === KIND.order || kind === KIND.level) {
      const { instrument, channel } = kind === KIND.order ? window.order : window.level;
      return this.includesLevels(instrument, number) || this.voids(channel, number);
    }
    if (kind === KIND.bestVenues) {
      const { instrument, channel } = window.bestVenues;
      return (this.#venues?.covers(instrument, number) ?? false) || this.voids(channel, number);
    }
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

  /** Whether the copy includes a Clear of the channel that is newer than the entry. */
  voids(channel: number, number: number): boolean {
    return covers(this.#cleared, channel, number);
  }

  /** Marks an event as incomplete if the copy includes a newer gap of its channel. */
  markGapped(event: { readonly channel: number; flags: number }, number: number): void {
    if (covers(this.#gapped, event.channel, number)) event.flags |= FLAGS.incomplete;
  }

  /** Marks an event as the last of its group if the copy includes the rest of it. */
  markLast(event: { readonly instrument: number; readonly channel: number; flags: number }, number: number): void {
    const { instrument, channel } = event;
    const isVoided = this.voids(channel, number) && this.#memory.sendsBooks(channel);
    if (isVoided || this.includesLevels(instrument, number)) event.flags |= FLAGS.last;
  }

  #isValid(channel: number, number: number): boolean {
    return channel < this.#cleared.length && number > this.#cleared[channel]!;
  }
}

function load(records: Records, index: number, window: EntryWindow): boolean {
  if (records.states[index] !== WHOLE) return false;
  const start = index * records.wordsEach;
  for (let word = 0; word < records.wordsEach; word++) window.words[word] = records.words[start + word]!;
  return true;
}

function covers(numbers: Float64Array, index: number, number: number): boolean {
  return index < numbers.length && number <= numbers[index]!;
}
