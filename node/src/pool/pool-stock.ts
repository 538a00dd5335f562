import { PoolWatch } from "./pool-watch.js";
import {
  countOf,
  DISCARD,
  END,
  LEASE,
  type Lease,
  type Leased,
  type Lender,
  LOOK_CLOSER,
  ObjectLease,
  PLAIN,
  RESERVED,
} from "./lease.js";
import { PooledMessage } from "./message.js";
import { PoolExhaustedError, requireDuration, requireInteger } from "./pool-error.js";
import {
  FIRST_BLOCK,
  LARGEST_BLOCK,
  type Leak,
  type MessagePoolOptions,
  MOST,
  type PoolStats,
} from "./pool-options.js";
import { SlotTable } from "./slot-table.js";

let ids = 0;

/** The messages of a pool: how many there are, the place of each, and what they say when counted. */
export abstract class PoolStock<T extends object, Body, Meta> implements Lender {
  // Fields of the hot path are set in the constructor and not before, so that the compiler knows what they hold.
  /** @internal */ protected _head: number;
  /** @internal */ protected readonly _leases: (Lease | undefined)[];
  /** @internal */ readonly _id: number;
  /** @internal Where the free list is empty: make a message that is not used again. */
  protected _plain: boolean;
  /** @internal */ protected _plainLoans: number;
  /** @internal Released, or kept. */
  protected _plainEnds: number;
  /** @internal Messages lent out that are not plain, when the pool is full. */
  protected _others: number;
  /** @internal */ protected _highWater: number;
  /** @internal */ protected readonly _table = new SlotTable();
  /** @internal */ protected readonly _options: MessagePoolOptions<T, Body, Meta>;
  /** @internal Checked, or of the user's own class: each loan needs a closer look. */
  protected readonly _special: boolean;
  /** @internal */ protected _size = 0;
  /** @internal */ protected _discarded = 0;
  /** @internal */ protected _kept = 0;
  /** @internal */ protected _plainKept = 0;
  /** @internal Loans that no stamp of a seated object counts; negative by those that it counts of its predecessors. */
  protected _otherLoans = 0;
  /** @internal Lent out, and dropped when they come back; plain ones are counted for themselves. */
  protected _straysInUse = 0;
  /** @internal The free list of a pool that has to look closer at each loan. */
  protected _parked = END;
  #capacity: number;
  #created = 0;
  #createdByAcquire = 0;
  /** Made ahead on request: automatic shrinking leaves so many. */
  #floor = 0;
  readonly #watch: PoolWatch;

  /** @internal */ protected constructor(capacity: number, auto: boolean, options: MessagePoolOptions<T, Body, Meta>) {
    this._id = ++ids;
    this.#capacity = requireInteger("pool size", capacity, 0, MOST);
    this._options = options;
    this._special = options.factory !== undefined || options.checked === true;
    this._head = END;
    this._leases = this._table.leases;
    this._plain = false;
    this._plainLoans = 0;
    this._plainEnds = 0;
    this._others = 0;
    this._highWater = 0;
    const warnAfterMs = requireDuration("warnAfterMs", options.warnAfterMs ?? Number.POSITIVE_INFINITY);
    const shrinkEveryMs = requireDuration("shrinkEveryMs", options.shrinkEveryMs ?? 10_000);
    this.#watch = new PoolWatch(this, warnAfterMs, auto ? shrinkEveryMs : 0);
    this._look();
  }

  /** @internal */ abstract _handleOf(lease: Lease): number;
  /** @internal */ abstract _keep(lease: Lease): void;
  /** @internal */ abstract _giveBack(lease: Lease): void;
  /** @internal */ abstract leaks(longerThanMs?: number): Leak[];

  /** Makes messages ahead, until `count` exist. Returns how many exist. */
  warmup(count: number): number {
    this.#floor = Math.max(this.#floor, requireInteger("warmup", count, 0, MOST));
    return this.#makeAhead(count);
  }

  #makeAhead(count: number): number {
    while (this._size < Math.min(count, this.#capacity)) this._pushFree(this._construct());
    this._look();
    return this._size;
  }

  /** Sets how many messages are kept. Free ones beyond are dropped now, lent ones when they come back. */
  resize(size: number): void {
    this.#capacity = requireInteger("pool size", size, 0, MOST);
    this._highWater = this._highest();
    this._table.restart();
    while (this._size > size && this._firstFree >= 0) this._drop(this._popFree());
    for (const lease of this._leases) {
      if (this._size > size && lease !== undefined && lease._link !== RESERVED) this._detach(lease);
    }
    this._look();
  }

  /** Drops all free messages; those lent out are dropped when they come back. */
  clear(): void {
    const { capacity } = this;
    this.resize(0);
    this.#capacity = capacity;
    this._look();
  }

  /** @internal As `trim`, but leaves what `warmup` made. */
  _shrink(): void {
    this.trim(this.#floor);
  }

  /**
   * Drops free messages that were not used since the last `trim` or `leaks`, while more than `atLeast` exist. Returns how
   * many. Cost: one look at each.
   */
  trim(atLeast = 0): number {
    this._highWater = this._highest();
    this._table.restart();
    const before = this._size;
    let next = this._firstFree;
    this._firstFree = END;
    while (next >= 0) {
      const lease = this._leases[next]!;
      next = lease._link;
      if (this._size > atLeast && this._table.unusedSince(lease)) this._drop(lease);
      else this._pushFree(lease);
    }
    this._table.noteStamps();
    this._look();
    return before - this._size;
  }

  get capacity(): number {
    return this.#capacity;
  }

  /** Computed from the stamps on request, so acquire and release count nothing. Cost: reads each message once. */
  stats(): PoolStats {
    const seated = this._table.loans();
    const inUse = seated.inUse + this._straysInUse + this._plainLoans - this._plainEnds;
    const acquired = seated.acquired + this._otherLoans + this._plainLoans;
    const reused = acquired - this.#createdByAcquire - this._plainLoans;
    return {
      size: this._size,
      capacity: this.#capacity,
      created: this.#created + this._plainLoans,
      acquired,
      reused,
      released: acquired - inUse - this._kept,
      discarded: this._discarded + this._plainEnds - this._plainKept,
      kept: this._kept,
      inUse,
      highWater: this._highest(),
      reuseRate: acquired === 0 ? 1 : reused / acquired,
    };
  }

  /** @internal Every loan is of another object. */
  get _checked(): boolean {
    return this._options.checked === true;
  }

  /** @internal */ protected get _firstFree(): number {
    return this._special ? this._parked : this._head;
  }

  /** @internal */ protected set _firstFree(slot: number) {
    if (this._special) this._parked = slot;
    else this._head = slot;
  }

  /** @internal Brings up to date what `acquire` looks at when the free list is empty. */
  protected _look(): void {
    this._plain = this._size >= this.#capacity && !this._special && this._options.overflow !== "refuse";
    this._others = this._straysInUse + this._size;
  }

  /** @internal `path`, `body` and `meta` are for the factory. */
  protected _takeNew(path: string, body: Body, meta: Meta): Lease {
    if (this._size >= this.#capacity && this._options.overflow === "refuse") {
      throw new PoolExhaustedError(this.#capacity);
    }
    const stray = this._size >= this.#capacity;
    const lease = this._construct(stray ? { slot: -1, stamp: 0 } : undefined, path, body, meta);
    this.#watch.grown(this._size);
    if (stray) {
      lease._link = DISCARD;
      this._size--;
      this._otherLoans++;
      this._straysInUse++;
    }
    this._highWater = Math.max(this._highWater, this._size + this._straysInUse);
    this.#createdByAcquire++;
    if (!stray && !this._special && this._size >= FIRST_BLOCK) {
      this.#makeAhead(Math.min(this._size + Math.min(this._size >> 1, LARGEST_BLOCK), this.#capacity));
    }
    this._look();
    return lease;
  }

  /** @internal */ protected _construct(
    place?: { readonly slot: number; readonly stamp: number },
    path = "",
    body?: Body,
    meta?: Meta,
  ): Lease {
    const { factory } = this._options;
    // First, because it may throw.
    const object = factory?.(path, body as Body, meta as Meta);
    const { slot, stamp } = place ?? this._table.take();
    this._table.begin(slot, stamp);
    // What a predecessor's loans add to the stamp is counted already.
    if (place === undefined) this._otherLoans -= stamp >> 1;
    let lease: Lease;
    if (object === undefined) lease = new PooledMessage(this, slot, stamp);
    else {
      lease = new ObjectLease(this._id, slot, stamp, object);
      (object as Leased)[LEASE] = lease;
    }
    if (slot >= 0) this._leases[slot] = lease;
    this._size++;
    this.#created++;
    return lease;
  }

  /** @internal A fresh object takes the slot over, so that every later use of this one is found out. */
  protected _replace(lease: Lease): void {
    this._size--;
    this.#created--;
    this._pushFree(this._construct({ slot: lease._slot, stamp: lease._stamp }));
  }

  /** @internal */ protected _pushFree(lease: Lease): void {
    lease._link = this._firstFree;
    this._firstFree = lease._slot;
  }

  /** @internal */ protected _popFree(): Lease {
    const lease = this._leases[this._firstFree]!;
    this._firstFree = lease._link;
    return lease;
  }

  /** @internal A plain message on loan gets a number, because its handle is read. */
  protected _seat(lease: Lease): void {
    if (lease._stamp === PLAIN) {
      lease._stamp = LOOK_CLOSER + 1;
      this._plainLoans--;
      this.#created++;
      this.#createdByAcquire++;
      this._straysInUse++;
    }
    this._otherLoans++;
    lease._link = DISCARD;
    lease._slot = this._leases.push(lease) - 1;
    this._look();
  }

  /** @internal A lent message loses its place in the pool: it goes when it comes back. */
  protected _detach(lease: Lease): void {
    if (lease._link === DISCARD) return;
    lease._link = DISCARD;
    this._otherLoans += (countOf(lease) + 1) >> 1;
    lease._stamp |= LOOK_CLOSER;
    this._size--;
    this._straysInUse++;
    this._look();
  }

  /** @internal */ protected _discard(lease: Lease): void {
    this._straysInUse--;
    this._discarded++;
    if (lease._slot >= 0) this._table.vacate(lease._slot, lease._stamp);
  }

  /** @internal */ protected _drop(lease: Lease): void {
    this._size--;
    this._discarded++;
    this._otherLoans += countOf(lease) >> 1;
    this._table.vacate(lease._slot, lease._stamp);
  }

  /** @internal Last in, first out: as many messages as were ever out together have been touched. */
  protected _highest(): number {
    return Math.max(this._highWater, this._straysInUse + this._table.touched());
  }
}
