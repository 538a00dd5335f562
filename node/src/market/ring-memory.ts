import { BOARD, RING } from "./market-layout.js";
import { MarketRingError } from "./ring-error.js";

/**
 * The memory of a ring and its board: where everything lies in it, once its headers were found to be what they should.
 *
 * Memory: what the buffer has; `detach` lets it go.
 * Source: docs/internals/market.md and docs/internals/queue.md.
 *
 * @internal
 */
export class RingMemory {
  /** All of it; empty once detached. */
  words: Int32Array;
  readonly capacity: number;
  readonly slots: number;
  readonly channels: number;
  /** Where the board, its channel records and its slots begin, in words. */
  readonly board: number;
  readonly channelsAt: number;
  readonly slotsAt: number;
  #u64: BigUint64Array;

  /** Throws MarketRingError. */
  constructor(buffer: ArrayBufferLike, name: string) {
    if (buffer.byteLength < RING.headerBytes) throw new MarketRingError("foreign", `ring ${name}: no ring`);
    const whole = buffer.byteLength & ~7;
    this.words = new Int32Array(buffer, 0, whole / 4);
    this.#u64 = new BigUint64Array(buffer, 0, whole / 8);
    const u32 = new Uint32Array(buffer, 0, whole / 4);
    const magic = Atomics.load(this.#u64, 0);
    if (magic === 0n) throw new MarketRingError("not_ready", `ring ${name}: is being made; try again`);
    if (magic !== RING.magic) throw new MarketRingError("foreign", `ring ${name}: no ring (magic differs)`);
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
  }

  /** The 64-bit word that begins at word `at`. */
  number(at: number): number {
    return Number(this.bits(at));
  }

  bits(at: number): bigint {
    return Atomics.load(this.#u64, at / 2);
  }

  /** Where the slot of an instrument begins, undefined while it has no name. */
  slotOf(instrument: number): number | undefined {
    const slot = this.slotsAt + instrument * BOARD.slotWords;
    return instrument < this.slots && this.number(slot + BOARD.slotNamed) !== 0 ? slot : undefined;
  }

  text(at: number, bytes: number): string {
    const characters = Buffer.from(this.words.buffer, at * 4, bytes);
    const end = characters.indexOf(0);
    return characters.toString("utf8", 0, end < 0 ? bytes : end);
  }

  /** Lets the pages go; every number is 0 from here on. */
  detach(): void {
    this.words = new Int32Array(0);
    this.#u64 = new BigUint64Array(RING.headerBytes / 8);
  }
}

function otherLayout(name: string, found: string): MarketRingError {
  return new MarketRingError("other_layout", `ring ${name}: ${found}; this package reads another layout`);
}
