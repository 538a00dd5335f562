import { limitArguments } from "./argument-limits.js";
import * as check from "./checks.js";
import { DoubleReleaseError, PoolExhaustedError, UseAfterReleaseError, WrongPoolError } from "./pool-error.js";
import { RecordLayout, type RecordView, type Schema } from "./record.js";

export interface SlotPoolOptions {
  /** Puts the slots in a SharedArrayBuffer, which other threads may read and write through a view of the same layout. */
  readonly shared?: boolean;
}

export interface SlotPoolStats {
  readonly capacity: number;
  readonly inUse: number;
  readonly acquired: number;
  readonly highWater: number;
}

const SLOT_POOL_OPTIONS = { shared: check.boolean };

let pools = 0;
/** The first handle of a pool: far from those of other pools, and too large to be an index. */
function firstHandle(): number {
  pools++;
  return 2 ** 32 + ((pools * 0.618_033_988_749_894_9) % 1) * 2 ** 51;
}

/**
 * Lends records of one layout in fixed slots of a buffer, by handle. A handle is a number that is never used again, so a stale
 * one is always detected.
 *
 * Threads: acquire and release on one; records on any, in a shared buffer.
 * Memory:  capacity * layout.bytes and 16 bytes per slot, taken once; nothing per record. Handles are above 2^32: keep them in local
 *          variables or in a Float64Array, which allocates nothing.
 *
 * @example
 * ```js
 * import { SlotPool } from "millpond";
 * const slots = new SlotPool({ price: "f64", size: "u32" }, 16);
 * const handle = slots.acquire();
 * slots.at(handle).price = 1.5;
 * console.log(slots.at(handle).toJSON()); // { price: 1.5, size: 0 }
 * slots.release(handle);
 * ```
 */
export class SlotPool<const Fields extends Schema> {
  readonly layout: RecordLayout<Fields>;
  readonly buffer: ArrayBuffer | SharedArrayBuffer;
  readonly capacity: number;
  /** The view that `acquire` and `at` move. */
  readonly record: RecordView<Fields>;
  // Fields of the hot path are set once, so that the compiler may treat them as constants.
  /** The handle of each slot's present loan, or of its next one. */
  private readonly handles: Float64Array;
  /** The handles of the free slots, last in, first out. */
  private readonly free: Float64Array;
  private left: number;
  private readonly mask: number;
  /** Distance between successive handles of a slot. */
  private readonly step: number;
  /** The first handle of slot 0. */
  private readonly first: number;
  private readonly recordBytes: number;

  /** capacity: slots, 1 to 1,048,576. Throws SettingError otherwise. */
  constructor(schema: Fields | RecordLayout<Fields>, capacity: number, options: SlotPoolOptions = {}) {
    check.argumentCount("new SlotPool", arguments.length, 3);
    check.options("slot pool options", options, SLOT_POOL_OPTIONS);
    this.layout = schema instanceof RecordLayout ? schema : new RecordLayout(schema);
    this.capacity = check.integer("slot pool capacity", capacity, 1, 2 ** 20);
    this.recordBytes = check.integer("record bytes", this.layout.bytes, 8, 2 ** 16);
    const bytes = capacity * this.recordBytes;
    this.buffer = options.shared === true ? new SharedArrayBuffer(bytes) : new ArrayBuffer(bytes);
    this.step = 2 ** Math.ceil(Math.log2(capacity));
    this.mask = this.step - 1;
    this.first = Math.floor(firstHandle() / this.step) * this.step;
    this.handles = Float64Array.from({ length: capacity }, (_, slot) => this.first + slot);
    this.free = this.handles.slice().reverse();
    this.record = this.layout.view(this.buffer);
    this.left = capacity;
  }

  /** Lends a slot with its previous contents, and moves `record` to it. Throws PoolExhaustedError if all slots are on loan. */
  acquire(): number {
    if (arguments.length > 0) check.argumentCount("acquire", arguments.length, 0);
    const left = this.left - 1;
    if (left < 0) throw new PoolExhaustedError(this.capacity);
    this.left = left;
    const handle = this.free[left]!;
    this.record.at((handle & this.mask) * this.recordBytes);
    return handle;
  }

  /** Like `acquire`, but returns undefined if all slots are on loan. */
  tryAcquire(): number | undefined {
    if (arguments.length > 0) check.argumentCount("tryAcquire", arguments.length, 0);
    return this.left === 0 ? undefined : this.acquire();
  }

  /** Releases a slot. Throws DoubleReleaseError if that loan is over, WrongPoolError for another pool's handle. */
  release(handle: number): void {
    if (arguments.length > 1) check.argumentCount("release", arguments.length, 1);
    const slot = handle & this.mask;
    if (this.handles[slot] !== handle) {
      this.#requireOwn(handle, slot);
      throw new DoubleReleaseError(slot);
    }
    const next = handle + this.step;
    this.handles[slot] = next;
    const { left } = this;
    this.free[left] = next;
    this.left = left + 1;
  }

  /**
   * Moves `record` to a loan and returns it. The next call moves it again: copy values, or use a `view`. Throws
   * UseAfterReleaseError if that loan is over.
   */
  at(handle: number): RecordView<Fields> {
    if (arguments.length > 1) check.argumentCount("at", arguments.length, 1);
    const slot = handle & this.mask;
    if (this.handles[slot] !== handle) {
      this.#requireOwn(handle, slot);
      throw new UseAfterReleaseError(slot);
    }
    return this.record.at(slot * this.recordBytes);
  }

  /** Throws unless this pool has issued the handle. */
  #requireOwn(handle: number, slot: number): void {
    const step = handle - this.first - slot;
    if (!(step >= 0 && step % this.step === 0 && handle < (this.handles[slot] ?? 0))) throw new WrongPoolError();
  }

  /** Byte offset of a loan's record in the buffer, for other threads and for `view().at(offset)`. */
  offsetOf(handle: number): number {
    if (arguments.length > 1) check.argumentCount("offsetOf", arguments.length, 1);
    return this.at(handle).offset;
  }

  /** A new view of the records. */
  view(): RecordView<Fields> {
    return this.layout.view(this.buffer);
  }

  /** Cost: one step per slot. */
  stats(): SlotPoolStats {
    let acquired = this.capacity - this.left;
    for (const handle of this.handles) acquired += Math.floor((handle - this.first) / this.step);
    // Last in, first out: the number of slots used so far is the largest number on loan at once.
    let untouched = 0;
    for (const handle of this.free.subarray(0, this.left)) if (handle < this.first + this.step) untouched++;
    return {
      capacity: this.capacity,
      inUse: this.capacity - this.left,
      acquired,
      highWater: this.capacity - untouched,
    };
  }
}

limitArguments(SlotPool.prototype, { view: 0, stats: 0 });
