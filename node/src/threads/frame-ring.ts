import { endNap, nap } from "./nap.js";
import { requireInteger } from "../pool/pool-error.js";

const CAPACITY = 0;
const TAIL = 32;
const HEAD = 64;
const ASLEEP = 96;
const JOINED = 1;
/** In the cache line of TAIL, which the same thread writes. */
const AHEAD = 33;
const HEADER_BYTES = 512;
/** Length of a frame that only fills the end of the ring. */
const SKIP = -1;

/**
 * First-in first-out ring of messages of any length from one thread to one other: a 32-bit length, then the bytes, each
 * frame at a multiple of 8 and in one piece.
 *
 * Threads: tryPush on one, poll and waitAsync on one other.
 * Memory:  the bytes asked for and 512, shared, taken once.
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
    requireInteger("ring bytes", bytes, 1_024, 2 ** 28);
    const size = 2 ** Math.ceil(Math.log2(bytes));
    const buffer = new SharedArrayBuffer(HEADER_BYTES + size);
    new Int32Array(buffer)[CAPACITY] = size;
    return new FrameRing(buffer);
  }

  constructor(readonly buffer: SharedArrayBuffer) {
    this.#words = new Int32Array(buffer);
    this.#bytes = new Uint8Array(buffer, HEADER_BYTES);
    this.#size = this.#words[CAPACITY]!;
    this.#tail = Atomics.load(this.#words, TAIL);
    this.#head = Atomics.load(this.#words, HEAD);
  }

  /** The longest message that ever fits. */
  get longest(): number {
    return this.#size / 2 - 8;
  }

  /** False when there is no room now. */
  tryPush(...parts: readonly Uint8Array[]): boolean {
    let length = 0;
    for (const part of parts) length += part.length;
    const needed = (length + 11) & ~7;
    const at = this.#tail & (this.#size - 1);
    const skipped = at + needed > this.#size ? this.#size - at : 0;
    const used = (this.#tail - Atomics.load(this.#words, HEAD)) | 0; // sync "frame read": the store in poll
    if (used + skipped + needed > this.#size) return false;
    if (skipped > 0) this.#words[(HEADER_BYTES + at) >> 2] = SKIP;
    let to = skipped > 0 ? 0 : at;
    this.#words[(HEADER_BYTES + to) >> 2] = length;
    to += 4;
    for (const part of parts) {
      this.#bytes.set(part, to);
      to += part.length;
    }
    this.#tail = (this.#tail + skipped + needed) | 0;
    Atomics.store(this.#words, TAIL, this.#tail); // sync "frame written": the load in poll
    if (Atomics.load(this.#words, ASLEEP) === 1) this.wake();
    return true;
  }

  /** Passes at most `most` frames to `handle`; their bytes are valid only during the call. Returns their number. */
  poll(handle: (frame: Uint8Array) => void, most: number): number {
    let count = 0;
    while (count < most && this.#head !== Atomics.load(this.#words, TAIL)) {
      const at = this.#head & (this.#size - 1);
      const length = this.#words[(HEADER_BYTES + at) >> 2]!;
      if (length === SKIP) this.#head = (this.#head + this.#size - at) | 0;
      else {
        handle(this.#bytes.subarray(at + 4, at + 4 + length));
        this.#head = (this.#head + ((length + 11) & ~7)) | 0;
        count++;
      }
      Atomics.store(this.#words, HEAD, this.#head); // sync "frame read": the load in tryPush
    }
    return count;
  }

  /** How many times the sender has said that something reached the other thread by another way. */
  get ahead(): number {
    return Atomics.load(this.#words, AHEAD); // sync "sent ahead": the add in countAhead
  }

  countAhead(): void {
    Atomics.add(this.#words, AHEAD, 1); // sync "sent ahead": the load in ahead
  }

  /** Set by the thread that did not make it. */
  get joined(): boolean {
    return Atomics.load(this.#words, JOINED) === 1;
  }

  join(): void {
    Atomics.store(this.#words, JOINED, 1);
  }

  get empty(): boolean {
    return this.#head === Atomics.load(this.#words, TAIL);
  }

  /** Settles when there is a frame, or after `timeoutMs`, or when woken. */
  async waitAsync(timeoutMs: number): Promise<void> {
    Atomics.store(this.#words, ASLEEP, 1);
    if (this.empty) await nap(this.#words, ASLEEP, timeoutMs);
    Atomics.store(this.#words, ASLEEP, 0);
  }

  wake(): void {
    endNap(this.#words, ASLEEP);
  }
}
