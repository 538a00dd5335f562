import { BEST_VENUES } from "./event-schema.js";
import { BOARD, RING } from "./market-layout.js";
import { MarketRingError } from "./ring-error.js";

/**
 * The memory of a ring and its board, with checked headers and the positions of their parts.
 *
 * Memory: refers to the buffer until `detach`.
 * Source: docs/internals/market.md and docs/internals/queue.md.
 *
 * @internal
 */
export class RingMemory {
  /** The whole memory; empty after `detach`. */
  words: Int32Array;
  readonly capacity: number;
  readonly slots: number;
  readonly channels: number;
  /** Positions of the board, its channel records and its slots, in 32-bit words. */
  readonly board: number;
  readonly channelsAt: number;
  readonly slotsAt: number;
  /** Levels of a side in each depth slot, the size of these slots in words, and the position of the first; 0: there are none. */
  readonly depth: number;
  readonly depthSlotWords: number;
  readonly depthSlotsAt: number;
  /** The size of each venue slot in words, and the position of the first; 0: there are none. */
  readonly venueSlotWords: number;
  readonly venueSlotsAt: number;
  #u64: BigUint64Array;

  /** Throws MarketRingError if the headers are not valid. */
  constructor(buffer: ArrayBufferLike, name: string) {
    if (buffer.byteLength < RING.headerBytes) throw new MarketRingError("foreign", `ring ${name}: not a ring`);
    const whole = buffer.byteLength & ~7;
    this.words = new Int32Array(buffer, 0, whole / 4);
    this.#u64 = new BigUint64Array(buffer, 0, whole / 8);
    const u32 = new Uint32Array(buffer, 0, whole / 4);
    const magic = Atomics.load(this.#u64, 0);
    if (magic === 0n) throw new MarketRingError("not_ready", `ring ${name}: not ready; try again`);
    if (magic !== RING.magic) throw new MarketRingError("foreign", `ring ${name}: not a ring (magic differs)`);
    const [version, content, entryBytes, offset] = [u32[2]!, u32[3]!, u32[6]!, u32[7]!];
    if (version !== RING.version || content !== RING.content || entryBytes !== RING.entryBytes || offset !== 256) {
      throw otherLayout(name, `ring version ${version}, content ${content}`);
    }
    this.capacity = Number(this.#u64[2]!);
    const boardAt = RING.headerBytes + this.capacity * RING.entryBytes;
    if (!Number.isInteger(Math.log2(this.capacity)) || boardAt + BOARD.headerBytes > whole) {
      throw otherLayout(name, `capacity ${this.capacity} in ${buffer.byteLength} bytes`);
    }
    this.board = boardAt / 4;
    const [boardVersion, slotBytes] = [u32[this.board + 2]!, u32[this.board + 3]!];
    this.slots = u32[this.board + 4]!;
    this.channels = u32[this.board + 5]!;
    if (Atomics.load(this.#u64, boardAt / 8) !== BOARD.magic || boardVersion !== BOARD.version) {
      throw otherLayout(name, `board version ${boardVersion}, not ${BOARD.version}`);
    }
    const channelsAt = boardAt + BOARD.headerBytes;
    const slotsAt = channelsAt + this.channels * BOARD.channelBytes;
    const fits = slotsAt + this.slots * BOARD.slotBytes <= whole;
    if (slotBytes !== BOARD.slotBytes || this.slots === 0 || this.channels === 0 || !fits) {
      throw otherLayout(name, `board of ${this.slots} slots of ${slotBytes} bytes, ${this.channels} channels`);
    }
    this.channelsAt = channelsAt / 4;
    this.slotsAt = slotsAt / 4;
    this.depth = u32[this.board + BOARD.depth]!;
    const depthSlotBytes = u32[this.board + BOARD.depthSlotBytes]!;
    const depthSlotsAt = slotsAt + this.slots * BOARD.slotBytes;
    const needed = this.depth === 0 ? 0 : 4 * (2 + BOARD.depthLevels + 2 * BOARD.depthLevelWords * this.depth);
    const isMultiple = depthSlotBytes % 64 === 0;
    if (depthSlotBytes < needed || !isMultiple || depthSlotsAt + this.slots * depthSlotBytes > whole) {
      throw otherLayout(name, `depth slots of ${depthSlotBytes} bytes for ${this.depth} levels`);
    }
    this.depthSlotWords = depthSlotBytes / 4;
    this.depthSlotsAt = depthSlotsAt / 4;
    const venueSlotBytes = u32[this.board + BOARD.venueSlotBytes]!;
    const venueSlotsAt = depthSlotsAt + this.slots * depthSlotBytes;
    const isSize = venueSlotBytes === 0 || (venueSlotBytes % 8 === 0 && venueSlotBytes >= 8 + BEST_VENUES.bytes);
    if (!isSize || venueSlotsAt + this.slots * venueSlotBytes > whole) {
      throw otherLayout(name, `venue slots of ${venueSlotBytes} bytes`);
    }
    this.venueSlotWords = venueSlotBytes / 4;
    this.venueSlotsAt = venueSlotsAt / 4;
  }

  /** The 64-bit integer at the 32-bit word `at`. */
  number(at: number): number {
    return Number(this.bits(at));
  }

  bits(at: number): bigint {
    return Atomics.load(this.#u64, at / 2);
  }

  /** Levels of a side that the channel's feed sends. */
  depthOf(channel: number): number | "full" {
    if (channel >= this.channels) return 0;
    const depth = this.words[this.channelsAt + channel * BOARD.channelWords + BOARD.channelDepth]!;
    return depth === -1 ? "full" : depth;
  }

  /** Number of the first entry of the writer that set the channel's depth. */
  depthSince(channel: number): number {
    if (channel >= this.channels) return 0;
    return this.number(this.channelsAt + channel * BOARD.channelWords + BOARD.channelDepthSince);
  }

  /** Whether the channel's feed sends levels or orders. */
  sendsBooks(channel: number): boolean {
    const record = this.channelsAt + channel * BOARD.channelWords;
    return (
      channel < this.channels &&
      (this.words[record + BOARD.channelDepth]! | this.words[record + BOARD.channelOrders]!) !== 0
    );
  }

  /** Position of an instrument's slot; undefined while the instrument has no name. */
  slotOf(instrument: number): number | undefined {
    const slot = this.slotsAt + instrument * BOARD.slotWords;
    return Number.isInteger(instrument) &&
      instrument >= 0 &&
      instrument < this.slots &&
      this.number(slot + BOARD.slotNamed) !== 0
      ? slot
      : undefined;
  }

  text(at: number, bytes: number): string {
    const characters = Buffer.from(this.words.buffer, at * 4, bytes);
    const end = characters.indexOf(0);
    return characters.toString("utf8", 0, end < 0 ? bytes : end);
  }

  /** Drops the reference to the memory. From then on every number is 0. */
  detach(): void {
    this.words = new Int32Array(0);
    this.#u64 = new BigUint64Array(RING.headerBytes / 8);
  }
}

function otherLayout(name: string, found: string): MarketRingError {
  return new MarketRingError(
    "other_layout",
    `ring ${name}: ${found}; this package reads ring version ${RING.version}, content ${RING.content}, board version ${BOARD.version}: ` +
      "install the package of the gateway's version",
  );
}
