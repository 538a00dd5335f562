import { limitArguments } from "./argument-limits.js";
import {
  DoubleReleaseError,
  PoolExhaustedError,
  requireArguments,
  requireInteger,
  requireKnown,
  SettingError,
  UseAfterReleaseError,
  WrongPoolError,
} from "./pool-error.js";
import { RecordLayout, type RecordView, type Schema } from "./record.js";

export interface SlotPoolOptions {
  /** Slots in a SharedArrayBuffer, which other threads may read and write by a view of the same layout. */
  readonly shared?: boolean;
  /** Bytes from one slot to the next, a multiple of 8; 128 for the entries of a BroadcastRing. */
  readonly stride?: number;
  /** Bytes of each slot before the record; 16 in the entries of a BroadcastRing. */
  readonly lead?: number;
}

export interface SlotPoolStats {
  readonly capacity: number;
  readonly inUse: number;
  readonly acquired: number;
  readonly highWater: number;
}

let pools = 0;
/** Far apart for any two pools, so that one's handles are not another's; and too large to be taken for an index. */
function firstHandle(): number {
  pools++;
  return 2 ** 32 + ((pools * 0.618_033_988_749_894_9) % 1) * 2 ** 51;
}

/**
 * Messages without objects: records of one layout in fixed slots of a buffer, lent by handle. A handle is a number that
 * is never used again, so a stale one is always detected.
 *
 * Threads: acquire and release on one; the records where the buffer is.
 * Memory:  capacity * stride bytes and 16 per slot, taken once; nothing per message. A handle is above 2^32: it costs nothing
 *          where it is a local variable or lies in a Float64Array.
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
  /** The pool's only view: it is on the slot of the last `acquire` or `at`. */
  readonly record: RecordView<Fields>;
  // Fields of the hot path are set once and before anything else, so that the compiler may treat them as constants.
  /** Of each slot the handle of its present loan, or of its next one. */
  private readonly handles: Float64Array;
  /** The handles of the free slots, last in, first out. */
  private readonly free: Float64Array;
  private left: number;
  private readonly mask: number;
  /** From one handle of a slot to its next. */
  private readonly step: number;
  /** The first handle of slot 0. */
  private readonly first: number;
  private readonly stride: number;
  private readonly lead: number;

  /** capacity: slots, 1 to 1,048,576. Throws SettingError otherwise. */
  constructor(schema: Fields | RecordLayout<Fields>, capacity: number, options: SlotPoolOptions = {}) {
    requireArguments("new SlotPool", arguments.length, 3);
    requireKnown("slot pool options", options, ["shared", "stride", "lead"]);
    this.layout = schema instanceof RecordLayout ? schema : new RecordLayout(schema);
    this.capacity = requireInteger("slot pool capacity", capacity, 1, 2 ** 20);
    this.lead = requireInteger("lead", options.lead ?? 0, 0, 4_096);
    const least = Math.ceil((this.lead + this.layout.bytes) / 8) * 8;
    this.stride = requireInteger("stride", options.stride ?? least, least, 2 ** 16);
    if (this.stride % 8 !== 0) throw new SettingError("stride", this.stride, "a multiple of 8");
    if (this.lead % 8 !== 0) throw new SettingError("lead", this.lead, "a multiple of 8");
    const bytes = capacity * this.stride;
    this.buffer = options.shared === true ? new SharedArrayBuffer(bytes) : new ArrayBuffer(bytes);
    this.step = 2 ** Math.ceil(Math.log2(capacity));
    this.mask = this.step - 1;
    this.first = Math.floor(firstHandle() / this.step) * this.step;
    this.handles = Float64Array.from({ length: capacity }, (_, slot) => this.first + slot);
    this.free = this.handles.slice().reverse();
    this.record = this.layout.view(this.buffer);
    this.left = capacity;
  }

  /** Lends a slot, with the contents left by its last user; `record` is on it. Throws PoolExhaustedError when all are lent out. */
  acquire(): number {
    if (arguments.length > 0) requireArguments("acquire", arguments.length, 0);
    const left = this.left - 1;
    if (left < 0) throw new PoolExhaustedError(this.capacity);
    this.left = left;
    const handle = this.free[left]!;
    this.record.at((handle & this.mask) * this.stride + this.lead);
    return handle;
  }

  /** As `acquire`, but undefined when all are lent out. */
  tryAcquire(): number | undefined {
    if (arguments.length > 0) requireArguments("tryAcquire", arguments.length, 0);
    return this.left === 0 ? undefined : this.acquire();
  }

  /** Takes a slot back. Throws DoubleReleaseError when that loan is over, WrongPoolError for another pool's handle. */
  release(handle: number): void {
    if (arguments.length > 1) requireArguments("release", arguments.length, 1);
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
   * The record of a loan, through the pool's one window: it moves with the next call, so copy what must last, or take a
   * `view`. Throws UseAfterReleaseError when that loan is over.
   */
  at(handle: number): RecordView<Fields> {
    if (arguments.length > 1) requireArguments("at", arguments.length, 1);
    const slot = handle & this.mask;
    if (this.handles[slot] !== handle) {
      this.#requireOwn(handle, slot);
      throw new UseAfterReleaseError(slot);
    }
    return this.record.at(slot * this.stride + this.lead);
  }

  /** Throws unless the handle is one that this pool has given out. */
  #requireOwn(handle: number, slot: number): void {
    const step = handle - this.first - slot;
    if (!(step >= 0 && step % this.step === 0 && handle < (this.handles[slot] ?? 0))) throw new WrongPoolError();
  }

  /** Byte offset of a loan's record in the buffer, for other threads and for `view().at(offset)`. */
  offsetOf(handle: number): number {
    if (arguments.length > 1) requireArguments("offsetOf", arguments.length, 1);
    return this.at(handle).offset;
  }

  /** Another window on the records. */
  view(): RecordView<Fields> {
    return this.layout.view(this.buffer);
  }

  /** Cost: one look at each slot. */
  stats(): SlotPoolStats {
    let acquired = this.capacity - this.left;
    for (const handle of this.handles) acquired += Math.floor((handle - this.first) / this.step);
    // Last in, first out: as many slots as were ever out together have been lent, and no more.
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
