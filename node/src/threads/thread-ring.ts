import { types } from "node:util";
import { endNap, nap } from "./nap.js";
import { limitArguments } from "../pool/argument-limits.js";
import * as check from "../pool/checks.js";

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

/** The operations that are common to the kinds of rings. */
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
  /** Number of the consumer's next message, modulo 2^32. */
  protected head: number;

  protected constructor(buffer: SharedArrayBuffer, kind: number, first: number) {
    if (!types.isSharedArrayBuffer(buffer) || new Int32Array(buffer)[KIND] !== kind) {
      throw new check.SettingError("buffer", buffer, "the buffer of a ring of this kind");
    }
    this.buffer = buffer;
    this.words = new Int32Array(buffer);
    this.bytes = new Uint8Array(buffer);
    this.capacity = this.words[CAPACITY]!;
    this.slotBytes = this.words[SLOT_BYTES]!;
    this.mask = this.capacity - 1;
    this.first = HEADER_BYTES + first * this.capacity;
    this.head = Atomics.load(this.words, HEAD);
  }

  /** Byte offset of the slot that a producer may fill, or -1 if the ring is full. Call `publish` next. */
  abstract claim(): number;
  /** Makes the claimed slot visible, and wakes the consumer if it sleeps. */
  abstract publish(offset: number): void;
  /** Byte offset of the oldest message, or -1 if there is none. It belongs to the consumer until `release`. */
  abstract front(): number;
  /** Frees the slot of `front`. */
  abstract release(): void;

  /** Copies in a message of at most `slotBytes`. False if the ring is full. Throws SettingError for a longer one. */
  tryPush(message: Uint8Array): boolean {
    if (arguments.length > 1) check.argumentCount("tryPush", arguments.length, 1);
    this.#requireBytes(message);
    const offset = this.claim();
    if (offset < 0) return false;
    this.bytes.set(message, offset);
    this.publish(offset);
    return true;
  }

  /** Copies out the oldest message, or its start. False if there is none. Throws SettingError if `into` is longer than `slotBytes`. */
  tryPop(into: Uint8Array): boolean {
    if (arguments.length > 1) check.argumentCount("tryPop", arguments.length, 1);
    this.#requireBytes(into);
    const offset = this.front();
    if (offset < 0) return false;
    for (let at = 0; at < into.length; at++) into[at] = this.bytes[offset + at]!;
    this.release();
    return true;
  }

  /** Calls `handle` with the byte offset in `buffer` of at most `max` messages. Returns their number. */
  poll(handle: (offset: number) => void, max = 256): number {
    if (arguments.length > 2) check.argumentCount("poll", arguments.length, 2);
    check.callable("handle", handle);
    check.count("max", max);
    let count = 0;
    while (count < max) {
      const offset = this.front();
      if (offset < 0) break;
      handle(offset);
      this.release();
      count++;
    }
    return count;
  }

  /** Polls up to `times` times without yielding the processor. True if there is a message. */
  spin(times: number): boolean {
    check.count("times", times);
    for (let left = times; left > 0; left--) if (this.front() >= 0) return true;
    return false;
  }

  /** Sleeps until there is a message, at most `timeoutMs`. Blocks the thread and its event loop. */
  wait(timeoutMs: number): boolean {
    check.duration("timeoutMs", timeoutMs);
    if (!this.#announceSleep()) return true;
    Atomics.wait(this.words, ASLEEP, 1, timeoutMs);
    this.#endSleep();
    return this.front() >= 0;
  }

  /** Like `wait`, without blocking the event loop. */
  async waitAsync(timeoutMs: number): Promise<boolean> {
    check.duration("timeoutMs", timeoutMs);
    if (!this.#announceSleep()) return true;
    await nap(this.words, ASLEEP, timeoutMs, true);
    this.#endSleep();
    return this.front() >= 0;
  }

  /** Ends a sleep of the consumer without a message. */
  wake(): void {
    endNap(this.words, ASLEEP);
  }

  protected wakeIfAsleep(): void {
    if (Atomics.load(this.words, ASLEEP) === 1) this.wake();
  }

  #requireBytes(bytes: unknown): void {
    if (types.isUint8Array(bytes) && bytes.length <= this.slotBytes) return;
    const found = types.isUint8Array(bytes) ? `${bytes.length} bytes` : bytes;
    throw new check.SettingError("message", found, `a Uint8Array of at most ${this.slotBytes} bytes`);
  }

  /** False if a message has arrived. Atomics are sequentially consistent: the producer sees ASLEEP, or the consumer its message. */
  #announceSleep(): boolean {
    Atomics.store(this.words, ASLEEP, 1);
    if (this.front() < 0) return true;
    this.#endSleep();
    return false;
  }

  #endSleep(): void {
    Atomics.store(this.words, ASLEEP, 0);
  }
}

function makeBuffer(kind: number, capacity: number, slotBytes: number, lead: number): SharedArrayBuffer {
  check.powerOfTwo("ring capacity", capacity, 2 ** 24);
  check.multipleOf8("slot bytes", slotBytes, 8, 2 ** 16);
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
 * First-in, first-out ring of fixed slots from one thread to one other.
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
    check.argumentCount("SpscRing.create", arguments.length, 2);
    return new SpscRing(makeBuffer(SPSC, capacity, slotBytes, 0));
  }

  /** Attaches to a ring that another thread made. */
  constructor(buffer: SharedArrayBuffer) {
    check.argumentCount("new SpscRing", arguments.length, 1);
    super(buffer, SPSC, 0);
    this.#tail = this.#tailSeen = Atomics.load(this.words, TAIL);
    this.#headSeen = this.head;
  }

  override claim(): number {
    if (arguments.length > 0) check.argumentCount("claim", arguments.length, 0);
    const tail = this.#tail;
    if (((tail - this.#headSeen) | 0) === this.capacity) {
      this.#headSeen = Atomics.load(this.words, HEAD); // sync "slot freed": the store in release
      if (((tail - this.#headSeen) | 0) === this.capacity) return -1;
    }
    return this.first + (tail & this.mask) * this.slotBytes;
  }

  override publish(_offset: number): void {
    if (arguments.length > 1) check.argumentCount("publish", arguments.length, 1);
    this.#tail = (this.#tail + 1) | 0;
    Atomics.store(this.words, TAIL, this.#tail); // sync "slot filled": the load in front
    this.wakeIfAsleep();
  }

  override front(): number {
    if (arguments.length > 0) check.argumentCount("front", arguments.length, 0);
    if (this.head === this.#tailSeen) {
      this.#tailSeen = Atomics.load(this.words, TAIL); // sync "slot filled": the store in publish
      if (this.head === this.#tailSeen) return -1;
    }
    return this.first + (this.head & this.mask) * this.slotBytes;
  }

  override release(): void {
    if (arguments.length > 0) check.argumentCount("release", arguments.length, 0);
    this.head = (this.head + 1) | 0;
    Atomics.store(this.words, HEAD, this.head); // sync "slot freed": the load in claim
  }
}

/**
 * First-in, first-out ring of fixed slots from any number of threads to one.
 *
 * Threads: claim and publish on any, front and release on one. A producer that ends between claim and publish stops the ring.
 * Memory:  capacity * (slotBytes + 4) + 512 bytes, shared, taken once.
 * Source:  Vyukov, bounded MPMC queue: a sequence number in each slot.
 */
export class MpscRing extends ThreadRing {
  /** A new ring. capacity: slots, a power of two; slotBytes: a multiple of 8. */
  static create(capacity: number, slotBytes: number): MpscRing {
    check.argumentCount("MpscRing.create", arguments.length, 2);
    const buffer = makeBuffer(MPSC, Math.max(2, capacity), slotBytes, 8);
    const turns = new Int32Array(buffer, HEADER_BYTES);
    for (let slot = 0; slot < Math.max(2, capacity); slot++) turns[slot] = slot;
    return new MpscRing(buffer);
  }

  /** Attaches to a ring that another thread made. */
  constructor(buffer: SharedArrayBuffer) {
    check.argumentCount("new MpscRing", arguments.length, 1);
    super(buffer, MPSC, 8);
  }

  override claim(): number {
    if (arguments.length > 0) check.argumentCount("claim", arguments.length, 0);
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
    if (arguments.length > 1) check.argumentCount("publish", arguments.length, 1);
    const slot = (offset - this.first) / this.slotBytes;
    const word = this.#turnOf(slot);
    Atomics.store(this.words, word, (Atomics.load(this.words, word) + 1) | 0); // sync "slot filled": the load in front
    this.wakeIfAsleep();
  }

  override front(): number {
    if (arguments.length > 0) check.argumentCount("front", arguments.length, 0);
    const turn = Atomics.load(this.words, this.#turnOf(this.head)); // sync "slot filled": the store in publish
    return turn === ((this.head + 1) | 0) ? this.first + (this.head & this.mask) * this.slotBytes : -1;
  }

  override release(): void {
    if (arguments.length > 0) check.argumentCount("release", arguments.length, 0);
    // sync "slot freed": the load in claim
    Atomics.store(this.words, this.#turnOf(this.head), (this.head + this.capacity) | 0);
    this.head = (this.head + 1) | 0;
    Atomics.store(this.words, HEAD, this.head);
  }

  #turnOf(place: number): number {
    return HEADER_BYTES / 4 + (place & this.mask);
  }
}
