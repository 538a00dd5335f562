import { endNap, nap } from "./nap.js";

const CAPACITY = 0;
const TAIL = 32;
const HEAD = 64;
const ASLEEP = 96;
const JOINED = 1;
/** In the cache line of TAIL, which has the same writer. */
const AHEAD = 33;
const HEADER_BYTES = 512;
/** Length of a frame that fills the end of the ring. */
const PADDING = -1;

/**
 * First-in, first-out ring of messages of any length between two threads. A frame is a 32-bit length and the bytes, contiguous
 * and aligned to 8.
 *
 * Threads: tryPush on one, poll and waitAsync on one other.
 * Memory:  `bytes` rounded up to a power of two and 512, shared, taken once.
 *
 * @internal
 */
export class FrameRing {
  readonly #words: Int32Array;
  readonly #bytes: Uint8Array;
  readonly #size: number;
  #tail: number;
  #head: number;

  static create(bytes: number): FrameRing {
    const size = 2 ** Math.ceil(Math.log2(bytes));
    const buffer = new SharedArrayBuffer(HEADER_BYTES + size);
    new Int32Array(buffer)[CAPACITY] = size;
    return new FrameRing(buffer);
  }

  /** True if the buffer has a ring made by `create`. */
  static fits(buffer: SharedArrayBuffer): boolean {
    return buffer.byteLength > HEADER_BYTES && new Int32Array(buffer)[CAPACITY] === buffer.byteLength - HEADER_BYTES;
  }

  constructor(readonly buffer: SharedArrayBuffer) {
    this.#words = new Int32Array(buffer);
    this.#bytes = new Uint8Array(buffer, HEADER_BYTES);
    this.#size = this.#words[CAPACITY]!;
    this.#tail = Atomics.load(this.#words, TAIL);
    this.#head = Atomics.load(this.#words, HEAD);
  }

  /** The longest message that fits in an empty ring. */
  get maxLength(): number {
    return this.#size / 2 - 8;
  }

  /** False if the ring has too little space. */
  tryPush(message: Uint8Array): boolean {
    const { length } = message;
    const needed = (length + 11) & ~7;
    const at = this.#tail & (this.#size - 1);
    const skipped = at + needed > this.#size ? this.#size - at : 0;
    const used = (this.#tail - Atomics.load(this.#words, HEAD)) | 0; // sync "frame read": the store in poll
    if (used + skipped + needed > this.#size) return false;
    if (skipped > 0) this.#words[(HEADER_BYTES + at) >> 2] = PADDING;
    const to = skipped > 0 ? 0 : at;
    this.#words[(HEADER_BYTES + to) >> 2] = length;
    this.#bytes.set(message, to + 4);
    this.#tail = (this.#tail + skipped + needed) | 0;
    Atomics.store(this.#words, TAIL, this.#tail); // sync "frame written": the load in poll
    if (Atomics.load(this.#words, ASLEEP) === 1) this.wake();
    return true;
  }

  /** Passes at most `max` messages to `handle`; their bytes are valid only during the call. Returns their number. */
  poll(handle: (frame: Uint8Array) => void, max: number): number {
    let count = 0;
    while (count < max && this.#head !== Atomics.load(this.#words, TAIL)) {
      const at = this.#head & (this.#size - 1);
      const length = this.#words[(HEADER_BYTES + at) >> 2]!;
      if (length === PADDING) this.#head = (this.#head + this.#size - at) | 0;
      else {
        handle(this.#bytes.subarray(at + 4, at + 4 + length));
        this.#head = (this.#head + ((length + 11) & ~7)) | 0;
        count++;
      }
      Atomics.store(this.#words, HEAD, this.#head); // sync "frame read": the load in tryPush
    }
    return count;
  }

  /** Number of calls of `countAhead`. */
  get ahead(): number {
    return Atomics.load(this.#words, AHEAD); // sync "sent ahead": the add in countAhead
  }

  /** Tells the receiver that a frame reached it outside the ring. */
  countAhead(): void {
    Atomics.add(this.#words, AHEAD, 1); // sync "sent ahead": the load in ahead
  }

  /** Whether `join` was called, by the thread that did not make the ring. */
  get joined(): boolean {
    return Atomics.load(this.#words, JOINED) === 1;
  }

  join(): void {
    Atomics.store(this.#words, JOINED, 1);
  }

  get empty(): boolean {
    return this.#head === Atomics.load(this.#words, TAIL);
  }

  /** Resolves when there is a message, after `timeoutMs`, or by `wake`. Does not keep its thread alive. */
  async waitAsync(timeoutMs: number): Promise<void> {
    Atomics.store(this.#words, ASLEEP, 1);
    if (this.empty) await nap(this.#words, ASLEEP, timeoutMs, false);
    Atomics.store(this.#words, ASLEEP, 0);
  }

  wake(): void {
    endNap(this.#words, ASLEEP);
  }
}
