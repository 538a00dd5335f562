import * as check from "./checks.js";
import {
  CALLER,
  countOf,
  DISCARD,
  END,
  HANDLER,
  LEASE,
  type Lease,
  type Leased,
  type Lender,
  SPECIAL,
  NO_POOL,
  ObjectLease,
  PLAIN,
  READY,
} from "./lease.js";
import { Message, PooledMessage } from "./message.js";
import { PoolExhaustedError } from "./pool-error.js";
import {
  FIRST_BLOCK,
  LARGEST_BLOCK,
  type Leak,
  MAX_POOL_SIZE,
  type MessagePoolOptions,
  type PoolStats,
} from "./pool-options.js";
import { PoolWatch } from "./pool-watch.js";
import { SlotTable } from "./slot-table.js";

/**
 * The messages of a pool: the free list, the slots, the limits of their number, and what is counted about them.
 *
 * A *seated* message has a slot and returns to the free list. A *stray* has lost its slot, or never had one, and is dropped when
 * it is released. A *plain* message is a stray without any bookkeeping.
 *
 * @internal
 */
export class PoolStock<T extends object, Body, Meta> {
  // Fields of the hot path are set in the constructor and not before, so that the compiler knows what they hold.
  /** Slot of the first free message, or END. Always END if `special`. */
  head: number;
  readonly leases: (Lease | undefined)[];
  /** With an empty free list, `acquire` makes a plain message. */
  plain: boolean;
  plainLoans: number;
  /** Plain messages that were released or kept. */
  plainEnds: number;
  /** Messages on loan other than plain ones, if the free list is empty. */
  othersInUse: number;
  highWater: number;
  /** Whether each loan needs more work: the pool is checked, or has a factory. */
  readonly special: boolean;
  readonly #table = new SlotTable();
  readonly #watch: PoolWatch;
  #capacity: number;
  /** Number of seated messages. */
  #size = 0;
  #created = 0;
  #createdByAcquire = 0;
  #discarded = 0;
  #kept = 0;
  #plainKept = 0;
  /** Loans that the stamps of seated messages do not count, less those that they inherit from earlier users of their slots. */
  #otherLoans = 0;
  #straysInUse = 0;
  /** The first free message of a special pool. */
  #parked = END;
  /** Number of messages made by `warmup`: automatic shrinking keeps as many. */
  #floor = 0;

  constructor(
    private readonly lender: Lender,
    size: number | "auto",
    private readonly options: MessagePoolOptions<T, Body, Meta>,
  ) {
    this.#capacity = check.integer("pool size", size === "auto" ? MAX_POOL_SIZE : size, 0, MAX_POOL_SIZE);
    this.special = options.factory !== undefined || options.checked === true;
    this.head = END;
    this.leases = this.#table.leases;
    this.plain = false;
    this.plainLoans = 0;
    this.plainEnds = 0;
    this.othersInUse = 0;
    this.highWater = 0;
    const { warnAfterMs = Number.POSITIVE_INFINITY, shrinkEveryMs = 10_000 } = options;
    this.#watch = new PoolWatch(this, warnAfterMs, size === "auto" ? shrinkEveryMs : 0);
    this.#refresh();
  }

  get capacity(): number {
    return this.#capacity;
  }

  warmup(count: number): number {
    this.#floor = Math.max(this.#floor, check.integer("warmup", count, 0, MAX_POOL_SIZE));
    this.#restartHighWater();
    return this.#grow(count);
  }

  resize(size: number): void {
    this.#capacity = check.integer("pool size", size, 0, MAX_POOL_SIZE);
    this.#restartHighWater();
    while (this.#size > size && this.#firstFree >= 0) this.#drop(this.popFree());
    for (const lease of this.leases) if (this.#size > size && lease !== undefined) this.detach(lease);
    this.#refresh();
  }

  clear(): void {
    const { capacity } = this;
    this.resize(0);
    this.#capacity = capacity;
    this.#refresh();
  }

  trim(atLeast: number): number {
    check.integer("atLeast", atLeast, 0, MAX_POOL_SIZE);
    this.#restartHighWater();
    const before = this.#size;
    let next = this.#firstFree;
    this.#firstFree = END;
    while (next >= 0) {
      const lease = this.leases[next]!;
      next = lease._link;
      if (this.#size > atLeast && this.#table.unusedSince(lease)) this.#drop(lease);
      else this.pushFree(lease);
    }
    this.#table.noteStamps();
    this.#refresh();
    return before - this.#size;
  }

  /** Trims, but keeps what `warmup` made. */
  shrink(): void {
    this.trim(this.#floor);
  }

  leaks(longerThanMs: number): Leak[] {
    return this.#table.leaks(longerThanMs, this.lender._id);
  }

  stats(): PoolStats {
    const seated = this.#table.loans();
    const inUse = seated.inUse + this.#straysInUse + this.plainLoans - this.plainEnds;
    const acquired = seated.acquired + this.#otherLoans + this.plainLoans;
    this.highWater = this.#highestUse();
    const reused = acquired - this.#createdByAcquire - this.plainLoans;
    return {
      size: this.#size,
      capacity: this.#capacity,
      created: this.#created + this.plainLoans,
      acquired,
      reused,
      released: acquired - inUse - this.#kept,
      discarded: this.#discarded + this.plainEnds - this.#plainKept,
      kept: this.#kept,
      inUse,
      highWater: this.highWater,
      reuseRate: acquired === 0 ? 1 : reused / acquired,
    };
  }

  handleOf(lease: Lease): number {
    if (lease._slot === undefined) this.#seat(lease);
    else if (lease._slot < 0) lease._slot = this.leases.push(lease) - 1;
    return this.#table.handleOf(lease, this.lender._id);
  }

  /** Undefined if the loan of the handle is over. Throws WrongPoolError for the handle of another pool. */
  find(handle: number): Lease | undefined {
    return this.#table.find(handle, this.lender._id);
  }

  /** A message of a special pool, or a new one. The arguments are for the factory. */
  parkedOrNew(path: string, body: Body, meta: Meta): Lease {
    return this.#parked >= 0 ? this.popFree() : this.#createForLoan(path, body, meta);
  }

  /** Ends the loan of a message that is not plain. */
  endLoan(lease: Lease): void {
    lease._stamp = countOf(lease) + 1;
    if (lease._link === DISCARD) this.#discard(lease);
    else if (this.options.checked === true) this.#replace(lease);
    else this.pushFree(lease);
    this.#refresh();
  }

  /** Removes a message on loan from the pool for good. */
  keep(lease: Lease): void {
    if (lease._owner === READY) this.countReady(lease);
    this.#kept++;
    if (lease._slot === undefined) {
      this.plainEnds++;
      this.#plainKept++;
    } else {
      this.detach(lease);
      this.#straysInUse--;
      if (lease._slot >= 0) this.#table.vacate(lease._slot, countOf(lease) + 1);
      this.#refresh();
    }
    // Until the handler or observer that keeps it has settled, no other may own it.
    if (lease._owner !== CALLER) lease._owner = HANDLER;
    // Ends the loan for the dispatcher, too: the stamp of its ready message has the bit.
    if (lease._stamp !== PLAIN) lease._stamp &= ~SPECIAL;
    if (lease instanceof Message) lease._leave();
    else lease._pool = NO_POOL;
  }

  /** Counts the loan of a dispatcher's ready message, which will be released or kept like others. */
  countReady(message: Lease): void {
    if (message._slot === undefined) {
      this.plainLoans++;
      message._stamp = PLAIN;
      return;
    }
    // It has a slot because its handle was read.
    this.#straysInUse++;
    this.#refresh();
  }

  pushFree(lease: Lease): void {
    lease._link = this.#firstFree;
    this.#firstFree = lease._slot;
  }

  popFree(): Lease {
    const lease = this.leases[this.#firstFree]!;
    this.#firstFree = lease._link;
    return lease;
  }

  /** Makes a seated message on loan a stray. */
  detach(lease: Lease): void {
    if (lease._link === DISCARD) return;
    lease._link = DISCARD;
    this.#otherLoans += (countOf(lease) + 1) >> 1;
    lease._stamp |= SPECIAL;
    this.#size--;
    this.#straysInUse++;
    this.#refresh();
  }

  get #firstFree(): number {
    return this.special ? this.#parked : this.head;
  }

  set #firstFree(slot: number) {
    if (this.special) this.#parked = slot;
    else this.head = slot;
  }

  /** Updates the fields that `acquire` reads if the free list is empty. */
  #refresh(): void {
    this.plain = this.#size >= this.#capacity && !this.special && this.options.overflow !== "refuse";
    this.othersInUse = this.#straysInUse + this.#size;
  }

  #grow(count: number): number {
    while (this.#size < Math.min(count, this.#capacity)) this.pushFree(this.#create());
    this.#refresh();
    return this.#size;
  }

  #createForLoan(path: string, body: Body, meta: Meta): Lease {
    const full = this.#size >= this.#capacity;
    if (full && this.options.overflow === "refuse") throw new PoolExhaustedError(this.#capacity);
    const lease = this.#create(full ? { slot: -1, stamp: 0 } : undefined, path, body, meta);
    this.#watch.grown(this.#size);
    if (full) {
      lease._link = DISCARD;
      this.#size--;
      this.#otherLoans++;
      this.#straysInUse++;
    }
    this.highWater = Math.max(this.highWater, this.#size + this.#straysInUse);
    this.#createdByAcquire++;
    if (!full && !this.special && this.#size >= FIRST_BLOCK) {
      this.#grow(this.#size + Math.min(this.#size >> 1, LARGEST_BLOCK));
    }
    this.#refresh();
    return lease;
  }

  /** Makes a message in a free slot, or in `place`. */
  #create(place?: { readonly slot: number; readonly stamp: number }, path = "", body?: Body, meta?: Meta): Lease {
    // The factory may throw.
    const object = this.options.factory?.(path, body as Body, meta as Meta);
    const { slot, stamp } = place ?? this.#table.claimSlot();
    this.#table.begin(slot, stamp);
    // The loans of the slot's previous users are in `#otherLoans`.
    if (place === undefined) this.#otherLoans -= stamp >> 1;
    let lease: Lease;
    if (object === undefined) lease = new PooledMessage(this.lender, slot, stamp);
    else {
      lease = new ObjectLease(this.lender._id, slot, stamp, object);
      (object as Leased)[LEASE] = lease;
    }
    if (slot >= 0) this.leases[slot] = lease;
    this.#size++;
    this.#created++;
    return lease;
  }

  /** Puts a new message in the slot, so that the pool detects each later use of the old one. */
  #replace(lease: Lease): void {
    this.#size--;
    this.#created--;
    this.pushFree(this.#create({ slot: lease._slot, stamp: lease._stamp }));
  }

  /** Gives a plain message a slot, for its handle. */
  #seat(lease: Lease): void {
    if (lease._stamp === PLAIN) {
      lease._stamp = SPECIAL + 1;
      this.plainLoans--;
      this.#created++;
      this.#createdByAcquire++;
      this.#straysInUse++;
    }
    this.#otherLoans++;
    lease._link = DISCARD;
    lease._slot = this.leases.push(lease) - 1;
    this.#refresh();
  }

  #discard(lease: Lease): void {
    this.#straysInUse--;
    this.#discarded++;
    if (lease._slot >= 0) this.#table.vacate(lease._slot, lease._stamp);
  }

  #drop(lease: Lease): void {
    this.#size--;
    this.#discarded++;
    this.#otherLoans += countOf(lease) >> 1;
    this.#table.vacate(lease._slot, lease._stamp);
  }

  /** Called before the order of the free list changes, on which counting touched messages depends. */
  #restartHighWater(): void {
    this.highWater = this.#highestUse();
    this.#table.restart();
  }

  /** The free list is last in, first out: the number of touched messages is the largest number on loan at once. */
  #highestUse(): number {
    const plain = this.plainLoans - this.plainEnds;
    return Math.max(this.highWater, this.#straysInUse + plain + this.#table.touched());
  }
}
