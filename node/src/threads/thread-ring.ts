import { endNap, nap } from "./nap.js";
import { limitArguments } from "../pool/argument-limits.js";
import { requireArguments, requireInteger, SettingError } from "../pool/pool-error.js";

// Words of the header. Words written by different threads are 128 bytes apart.
const CAPACITY = 0;
const SLOT_BYTES = 1;
const KIND = 2;
const TAIL = 32;
const HEAD = 64;
const ASLEEP = 96;
const HEADER_BYTES = 512;
const SPSC = 0x53505343;
const MPSC = 0x4d505343;

/** How a consumer waits for the next message. */
abstract class ThreadRing {
  readonly capacity: number;
  /** Bytes of a slot, a multiple of 8. */
  readonly slotBytes: number;
  /** The memory of the records, for RecordLayout.view and typed arrays. */
  readonly buffer: SharedArrayBuffer;
  protected readonly words: Int32Array;
  protected readonly bytes: Uint8Array;
  protected readonly mask: number;
  protected readonly first: number;
  /** The consumer's place. */
  protected head: number;

  protected constructor(buffer: SharedArrayBuffer, kind: number, first: number) {
    this.buffer = buffer;
    this.words = new Int32Array(buffer);
    this.bytes = new Uint8Array(buffer);
    if (this.words[KIND] !== kind) throw new SettingError("buffer", this.words[KIND], "a ring of this kind");
    this.capacity = this.words[CAPACITY]!;
    this.slotBytes = this.words[SLOT_BYTES]!;
    this.mask = this.capacity - 1;
    this.first = HEADER_BYTES + first * this.capacity;
    this.head = Atomics.load(this.words, HEAD);
  }

  /** Byte offset of the slot that a producer may fill, or -1 when the ring is full. Followed by `publish`. */
  abstract claim(): number;
  /** Makes the claimed slot visible, and wakes the consumer if it sleeps. */
  abstract publish(offset: number): void;
  /** Byte offset of the oldest message, or -1 if there is none. It belongs to the consumer until `release`. */
  abstract front(): number;
  /** Gives the slot of `front` back to the producers. */
  abstract release(): void;

  /** Copies a message of at most `slotBytes` in. False when the ring is full. Throws SettingError for a longer one. */
  tryPush(message: Uint8Array): boolean {
    if (arguments.length > 1) requireArguments("tryPush", arguments.length, 1);
    if (message.length > this.slotBytes) {
      throw new SettingError("message", `${message.length} bytes`, `at most ${this.slotBytes} bytes`);
    }
    const offset = this.claim();
    if (offset < 0) return false;
    this.bytes.set(message, offset);
    this.publish(offset);
    return true;
  }

  /** Copies the oldest message. False if there is none. */
  tryPop(into: Uint8Array): boolean {
    if (arguments.length > 1) requireArguments("tryPop", arguments.length, 1);
    const offset = this.front();
    if (offset < 0) return false;
    for (let at = 0; at < into.length; at++) into[at] = this.bytes[offset + at]!;
    this.release();
    return true;
  }

  /** Hands at most `most` messages to `handle`, each as a byte offset in `buffer`. Returns how many. */
  poll(handle: (offset: number) => void, most = 256): number {
    if (arguments.length > 2) requireArguments("poll", arguments.length, 2);
    let count = 0;
    while (count < most) {
      const offset = this.front();
      if (offset < 0) break;
      handle(offset);
      this.release();
      count++;
    }
    return count;
  }

  /** Looks `times` times without giving the processor away. True when there is a message. */
  spin(times: number): boolean {
    for (let left = times; left > 0; left--) if (this.front() >= 0) return true;
    return false;
  }

  /** Sleeps until there is a message, at most `timeoutMs`. Stops the thread: not for one that serves an event loop. */
  wait(timeoutMs: number): boolean {
    if (!this.#lieDown()) return true;
    Atomics.wait(this.words, ASLEEP, 1, timeoutMs);
    this.#getUp();
    return this.front() >= 0;
  }

  /** Like `wait`, but the event loop continues. */
  async waitAsync(timeoutMs: number): Promise<boolean> {
    if (!this.#lieDown()) return true;
    await nap(this.words, ASLEEP, timeoutMs);
    this.#getUp();
    return this.front() >= 0;
  }

  /** Ends a sleep of the consumer without a message, so that it can look at something else. */
  wake(): void {
    endNap(this.words, ASLEEP);
  }

  protected wakeIfAsleep(): void {
    if (Atomics.load(this.words, ASLEEP) === 1) this.wake();
  }

  /** False when a message came meanwhile: all Atomics are sequentially consistent, so the producer sees the mark or we its message. */
  #lieDown(): boolean {
    Atomics.store(this.words, ASLEEP, 1);
    if (this.front() < 0) return true;
    this.#getUp();
    return false;
  }

  #getUp(): void {
    Atomics.store(this.words, ASLEEP, 0);
  }
}

function makeBuffer(kind: number, capacity: number, slotBytes: number, lead: number): SharedArrayBuffer {
  requireInteger("ring capacity", capacity, 1, 2 ** 24);
  if ((capacity & (capacity - 1)) !== 0) throw new SettingError("ring capacity", capacity, "a power of two");
  requireInteger("slot bytes", slotBytes, 8, 2 ** 16);
  if (slotBytes % 8 !== 0) throw new SettingError("slot bytes", slotBytes, "a multiple of 8");
  const buffer = new SharedArrayBuffer(HEADER_BYTES + capacity * (lead + slotBytes));
  const words = new Int32Array(buffer);
  words[CAPACITY] = capacity;
  words[SLOT_BYTES] = slotBytes;
  words[KIND] = kind;
  return buffer;
}

limitArguments(ThreadRing.prototype, { spin: 1, wait: 1, wake: 0 });
limitArguments(ThreadRing.prototype, { waitAsync: 1 }, true);

/**
 * First-in first-out ring of fixed slots from one thread to one other.
 *
 * Threads: claim and publish on one, front and release on one other; each makes its own SpscRing over the same buffer.
 * Memory:  capacity * slotBytes + 512 bytes, shared, taken once.
 * Source:  Lamport 1983; the cached opposite index follows rigtorp/SPSCQueue.
 *
 * @example
 * ```js
 * import { SpscRing } from "millpond";
 * const ring = SpscRing.create(1_024, 128); // its `buffer` goes to the other thread, which makes `new SpscRing(buffer)`
 * const words = new Int32Array(ring.buffer);
 * const place = ring.claim();
 * words[place >> 2] = 42;
 * ring.publish(place);
 * ring.poll((offset) => console.log(words[offset >> 2])); // 42
 * ```
 */
export class SpscRing extends ThreadRing {
  #tail: number;
  #headSeen: number;
  #tailSeen: number;

  /** A new ring. capacity: slots, a power of two; slotBytes: a multiple of 8. */
  static create(capacity: number, slotBytes: number): SpscRing {
    requireArguments("SpscRing.create", arguments.length, 2);
    return new SpscRing(makeBuffer(SPSC, capacity, slotBytes, 0));
  }

  /** The ring in a buffer that another thread made. */
  constructor(buffer: SharedArrayBuffer) {
    requireArguments("new SpscRing", arguments.length, 1);
    super(buffer, SPSC, 0);
    this.#tail = this.#tailSeen = Atomics.load(this.words, TAIL);
    this.#headSeen = this.head;
  }

  override claim(): number {
    if (arguments.length > 0) requireArguments("claim", arguments.length, 0);
    const tail = this.#tail;
    if (((tail - this.#headSeen) | 0) === this.capacity) {
      this.#headSeen = Atomics.load(this.words, HEAD); // sync "slot freed": the store in release
      if (((tail - this.#headSeen) | 0) === this.capacity) return -1;
    }
    return this.first + (tail & this.mask) * this.slotBytes;
  }

  override publish(_offset: number): void {
    if (arguments.length > 1) requireArguments("publish", arguments.length, 1);
    this.#tail = (this.#tail + 1) | 0;
    Atomics.store(this.words, TAIL, this.#tail); // sync "slot filled": the load in front
    this.wakeIfAsleep();
  }

  override front(): number {
    if (arguments.length > 0) requireArguments("front", arguments.length, 0);
    if (this.head === this.#tailSeen) {
      this.#tailSeen = Atomics.load(this.words, TAIL); // sync "slot filled": the store in publish
      if (this.head === this.#tailSeen) return -1;
    }
    return this.first + (this.head & this.mask) * this.slotBytes;
  }

  override release(): void {
    if (arguments.length > 0) requireArguments("release", arguments.length, 0);
    this.head = (this.head + 1) | 0;
    Atomics.store(this.words, HEAD, this.head); // sync "slot freed": the load in claim
  }
}

/**
 * First-in first-out ring of fixed slots from any number of threads to one.
 *
 * Threads: claim and publish on any, front and release on one. A producer that ends between claim and publish stops the ring.
 * Memory:  capacity * (slotBytes + 4) + 512 bytes, shared, taken once.
 * Source:  Vyukov, bounded MPMC queue: a sequence number a slot says whose turn it is.
 */
export class MpscRing extends ThreadRing {
  /** A new ring. capacity: slots, a power of two; slotBytes: a multiple of 8. */
  static create(capacity: number, slotBytes: number): MpscRing {
    requireArguments("MpscRing.create", arguments.length, 2);
    const buffer = makeBuffer(MPSC, Math.max(2, capacity), slotBytes, 8);
    const turns = new Int32Array(buffer, HEADER_BYTES);
    for (let slot = 0; slot < Math.max(2, capacity); slot++) turns[slot] = slot;
    return new MpscRing(buffer);
  }

  /** The ring in a buffer that another thread made. */
  constructor(buffer: SharedArrayBuffer) {
    requireArguments("new MpscRing", arguments.length, 1);
    super(buffer, MPSC, 8);
  }

  override claim(): number {
    if (arguments.length > 0) requireArguments("claim", arguments.length, 0);
    for (;;) {
      const tail = Atomics.load(this.words, TAIL);
      const turn = Atomics.load(this.words, this.#turnOf(tail)); // sync "slot freed": the store in release
      if (turn === tail) {
        const next = (tail + 1) | 0;
        if (Atomics.compareExchange(this.words, TAIL, tail, next) === tail) {
          return this.first + (tail & this.mask) * this.slotBytes;
        }
      } else if (((turn - tail) | 0) < 0) return -1;
    }
  }

  override publish(offset: number): void {
    if (arguments.length > 1) requireArguments("publish", arguments.length, 1);
    const slot = (offset - this.first) / this.slotBytes;
    const word = this.#turnOf(slot);
    Atomics.store(this.words, word, (Atomics.load(this.words, word) + 1) | 0); // sync "slot filled": the load in front
    this.wakeIfAsleep();
  }

  override front(): number {
    if (arguments.length > 0) requireArguments("front", arguments.length, 0);
    const turn = Atomics.load(this.words, this.#turnOf(this.head)); // sync "slot filled": the store in publish
    return turn === ((this.head + 1) | 0) ? this.first + (this.head & this.mask) * this.slotBytes : -1;
  }

  override release(): void {
    if (arguments.length > 0) requireArguments("release", arguments.length, 0);
    // sync "slot freed": the load in claim
    Atomics.store(this.words, this.#turnOf(this.head), (this.head + this.capacity) | 0);
    this.head = (this.head + 1) | 0;
    Atomics.store(this.words, HEAD, this.head);
  }

  #turnOf(place: number): number {
    return HEADER_BYTES / 4 + (place & this.mask);
  }
}
