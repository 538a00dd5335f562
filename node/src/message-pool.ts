import { Hold } from "./hold.js";
import {
  countOf,
  DISCARD,
  END,
  LAST_STAMP,
  type Lease,
  type Lender,
  LOOK_CLOSER,
  ObjectLease,
  PLAIN,
  PLAIN_OVER,
  placeOf,
  rememberPlace,
  RESERVED,
} from "./lease.js";
import { Message, PooledMessage } from "./message.js";
import {
  DoubleReleaseError,
  MessageInUseError,
  PoolExhaustedError,
  requireInteger,
  SettingError,
  UseAfterReleaseError,
  WrongPoolError,
} from "./pool-error.js";
import type { Leak, MessagePoolOptions, Pooled, PoolStats } from "./pool-options.js";
import { SlotTable } from "./slot-table.js";

const LEASE = Symbol("millpond.lease");
const MOST = 2 ** 20;
/** `auto` keeps at most this many messages for reuse. */
const AUTO_MOST = 65_536;
/** Of a stamp: lent, and nothing but to be cleared when it comes back. */
const SIMPLY_LENT = LOOK_CLOSER + 1;

type Leased = object & { [LEASE]?: Lease };
const NOBODYS = new ObjectLease(undefined, -1, 0, {});

/**
 * Lends messages and takes them back, last in, first out.
 *
 * Threads: one; each worker has pools of its own.
 * Memory:  grows to the number of messages in flight, at most `size`; in steady state nothing.
 * Source:  the free list linked by slot number and the stamp of each slot follow the generational index of slot maps.
 *
 * @example
 * ```js
 * import { MessagePool } from "millpond";
 * class Order { id = 0; }
 * const orders = new MessagePool(100, { factory: () => new Order(), reset: (order, _path, id) => { order.id = id; } });
 * const order = orders.acquire("new", 7);
 * console.log(order.id, orders.stats().inUse); // 7 1
 * orders.release(order);
 * ```
 */
export class MessagePool<T extends object = Message, Body = unknown, Meta = unknown> implements Lender {
  // Fields of the hot path are set in the constructor and not before, so that the compiler knows what they hold.
  private head: number;
  private readonly leases: (Lease | undefined)[];
  private readonly sampleMask: number;
  /** Where the free list is empty: make a message that nobody uses again. */
  private plain: boolean;
  private plainLoans: number;
  /** Released, or kept. */
  private plainEnds: number;
  /** Messages lent out that are not plain, when the pool is full. */
  private others: number;
  private highWater: number;
  readonly #table = new SlotTable();
  readonly #options: MessagePoolOptions<T, Body, Meta>;
  /** Checked, or of the user's own class: each loan needs a closer look. */
  readonly #special: boolean;
  #capacity: number;
  #size = 0;
  #created = 0;
  #createdByAcquire = 0;
  #discarded = 0;
  #kept = 0;
  #plainKept = 0;
  /** Loans that no stamp of a seated object counts; negative by those that it counts of its predecessors. */
  #otherLoans = 0;
  /** Lent out, and dropped when they come back; plain ones are counted for themselves. */
  #straysInUse = 0;
  /** The free list of a pool that has to look closer at each loan. */
  #parked = END;

  /** size: most messages kept for reuse, 0 to 1,048,576, or "auto" for as many as are in flight together, up to 65,536. */
  constructor(size: number | "auto" = 2_000, options: MessagePoolOptions<T, Body, Meta> = {}) {
    this.#capacity = size === "auto" ? AUTO_MOST : requireInteger("pool size", size, 0, MOST);
    const sample = options.samplePlaces ?? 65_536;
    if (sample !== 0) requireInteger("samplePlaces", sample, 1, 2 ** 28);
    if ((sample & (sample - 1)) !== 0) throw new SettingError("samplePlaces", sample, "a power of two, or 0");
    this.#options = options;
    this.#special = options.factory !== undefined || options.checked === true;
    this.head = END;
    this.leases = this.#table.leases;
    this.sampleMask = options.checked === true ? 1 : sample === 0 ? LAST_STAMP : 2 * sample - 1;
    this.plain = false;
    this.plainLoans = 0;
    this.plainEnds = 0;
    this.others = 0;
    this.highWater = 0;
    this.#look();
    this.warmup(options.warmup ?? 0);
  }

  /** Lends a message. It is the caller's until `release`, `keep` or the end of its `using` block. */
  acquire<B extends Body, M extends Meta>(path: string, body?: B, meta?: M): Pooled<T, B, M> {
    const { head } = this;
    if (head < 0) {
      if (!this.plain) return this.#acquireAnew(path, body as Body, meta as Meta) as Pooled<T, B, M>;
      const loans = this.plainLoans + 1;
      this.plainLoans = loans;
      const out = loans - this.plainEnds + this.others;
      if (out > this.highWater) this.highWater = out;
      return new Message(this, PLAIN, path, body, meta) as Pooled<T, B, M>;
    }
    const lease = this.leases[head]!;
    this.head = lease._link;
    const stamp = lease._stamp + 1;
    lease._stamp = stamp;
    if ((stamp & this.sampleMask) === this.sampleMask) this.#sample(lease);
    const message = lease as Message;
    message._path = path;
    message._body = body;
    message._meta = meta;
    return message as Pooled<T, B, M>;
  }

  /** Takes back a message or a handle. Body and meta are cleared at once. Throws when it is not on loan from here. */
  release(message: T | number): void {
    const lease = message as unknown as Message;
    const stamp = lease._stamp;
    if (lease._lender === this && (stamp & SIMPLY_LENT) === 1) {
      lease._stamp = stamp + 1;
      lease._path = "";
      lease._body = undefined;
      lease._meta = undefined;
      lease._link = this.head;
      this.head = lease._slot;
    } else if (lease._lender === this && stamp === PLAIN) {
      lease._stamp = PLAIN_OVER;
      lease._body = undefined;
      lease._meta = undefined;
      this.plainEnds++;
    } else this.#releaseSpecial(message);
  }

  /** The object of a loan, by handle. Throws UseAfterReleaseError when that loan is over, whoever has the object now. */
  at(handle: number): Pooled<T, Body, Meta> {
    return this.#objectOf(this.#leaseOf(handle)) as Pooled<T, Body, Meta>;
  }

  /** The handle of an object on loan, for those who pool their own class (`message.handle` otherwise). */
  handleOf(object: T): number {
    const lease = this.#leaseOf(object);
    if (lease._lender !== this || (lease._stamp & 1) === 0) this.#refuse(lease);
    return this._handleOf(lease);
  }

  /** Lends a message to `use` and takes it back when `use`, or the promise that it gives, is done, however it ends. */
  withMessage<B extends Body, Result, M extends Meta = Meta>(
    path: string,
    body: B,
    use: (message: Pooled<T, B, M>) => Result,
    meta?: M,
  ): Result {
    const message = this.acquire<B, M>(path, body, meta);
    const lease = this.#leaseOf(message as T);
    let result: Result;
    try {
      result = use(message);
    } catch (error) {
      this._giveBack(lease);
      throw error;
    }
    if (isThenable(result)) return Promise.resolve(result).finally(() => this._giveBack(lease)) as Result;
    this._giveBack(lease);
    return result;
  }

  /** Makes messages ahead, until `count` exist. Returns how many exist. */
  warmup(count: number): number {
    requireInteger("warmup", count, 0, MOST);
    while (this.#size < Math.min(count, this.#capacity)) this.#pushFree(this.#construct());
    this.#look();
    return this.#size;
  }

  /** Sets how many messages are kept. Free ones beyond are dropped now, lent ones when they come back. */
  resize(size: number): void {
    this.#capacity = requireInteger("pool size", size, 0, MOST);
    this.highWater = this.#highest();
    while (this.#size > size && this.#firstFree >= 0) this.#drop(this.#popFree());
    for (const lease of this.leases) {
      if (this.#size > size && lease !== undefined && lease._link !== RESERVED) this.#detach(lease);
    }
    this.#look();
  }

  /** Drops all free messages; those lent out are dropped when they come back. */
  clear(): void {
    const { capacity } = this;
    this.resize(0);
    this.#capacity = capacity;
    this.#look();
  }

  /** Drops the free messages that nobody used since the last `trim` or `leaks`. Returns how many. Cost: one look at each. */
  trim(): number {
    this.highWater = this.#highest();
    const before = this.#size;
    let next = this.#firstFree;
    this.#firstFree = END;
    while (next >= 0) {
      const lease = this.leases[next]!;
      next = lease._link;
      if (this.#table.unusedSince(lease)) this.#drop(lease);
      else this.#pushFree(lease);
    }
    this.#table.noteStamps();
    this.#look();
    return before - this.#size;
  }

  /**
   * The messages that have been out for longer than `longerThanMs`, as seen by earlier calls of `leaks` or `trim`: call it from
   * time to time. Plain messages are only counted, as `inUse`. Cost: one look at each message.
   */
  leaks(longerThanMs = 0): Leak[] {
    const found = this.#table.leaks(longerThanMs);
    this.#table.noteStamps();
    return found;
  }

  get capacity(): number {
    return this.#capacity;
  }

  /** Counted from the stamps when asked, so that acquire and release count nothing. Cost: one look at each message. */
  stats(): PoolStats {
    const seated = this.#table.loans();
    const inUse = seated.inUse + this.#straysInUse + this.plainLoans - this.plainEnds;
    const acquired = seated.acquired + this.#otherLoans + this.plainLoans;
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
      highWater: this.#highest(),
      reuseRate: acquired === 0 ? 1 : reused / acquired,
    };
  }

  /** @internal Every loan is of another object. */
  get _checked(): boolean {
    return this.#options.checked === true;
  }

  /** @internal */
  _handleOf(lease: Lease): number {
    if (lease._slot === undefined) this.#seat(lease);
    else if (lease._slot < 0) lease._slot = this.leases.push(lease) - 1;
    return this.#table.handleOf(lease);
  }

  /** @internal */
  _keep(lease: Lease): void {
    this.#kept++;
    if (lease._slot === undefined) {
      this.plainEnds++;
      this.#plainKept++;
    } else {
      this.#detach(lease);
      this.#straysInUse--;
      if (lease._slot >= 0) this.#table.vacate(lease._slot, countOf(lease) + 1);
      this.#look();
    }
    lease._lender = undefined;
  }

  /** @internal Release by whoever lent it out on the user's behalf: a kept one stays with its keeper. */
  _giveBack(lease: Lease): void {
    if (lease._lender !== undefined) this.release(this.#objectOf(lease));
  }

  /** @internal A message that is out of the free list without being lent, for who lends it over and over. */
  _reserve(): Message {
    const message = this.acquire("") as unknown as Message;
    if (message._stamp === PLAIN) {
      this.plainLoans--;
      message._stamp = 0;
    } else {
      if (message._link === DISCARD) this.#straysInUse--;
      else message._link = RESERVED;
      message._stamp = countOf(message) + 1;
    }
    this.#look();
    return message;
  }

  /** @internal What was reserved is on loan after all, and will be released. */
  _lendReserved(message: Lease): void {
    if (message._slot === undefined) {
      this.plainLoans++;
      message._stamp = PLAIN;
      return;
    }
    if (message._link === DISCARD) this.#straysInUse++;
    else message._link = END;
    if (this.#special || message._link === DISCARD) message._stamp |= LOOK_CLOSER;
    this.#look();
  }

  /** @internal The stamps of what was reserved are used up. */
  _retire(message: Message): void {
    if (message._slot === undefined) return;
    if (message._link !== DISCARD) {
      this.#size--;
      this.#otherLoans += LOOK_CLOSER >> 1;
    }
    this.#discarded++;
    this.leases[message._slot] = undefined;
    this.#look();
  }

  get #firstFree(): number {
    return this.#special ? this.#parked : this.head;
  }

  set #firstFree(slot: number) {
    if (this.#special) this.#parked = slot;
    else this.head = slot;
  }

  /** Brings up to date what `acquire` looks at when the free list is empty. */
  #look(): void {
    this.plain = this.#size >= this.#capacity && !this.#special && this.#options.overflow !== "refuse";
    this.others = this.#straysInUse + this.#size;
  }

  #acquireAnew(path: string, body: Body, meta: Meta): T {
    const lease = this.#parked >= 0 ? this.#popFree() : this.#takeNew();
    lease._stamp++;
    if ((lease._stamp & this.sampleMask) === this.sampleMask) this.#sample(lease);
    if (this.#special || lease._link === DISCARD) lease._stamp |= LOOK_CLOSER;
    if (lease instanceof Message) {
      lease._path = path;
      lease._body = body;
      lease._meta = meta;
    } else this.#options.reset?.(this.#objectOf(lease), path, body, meta);
    return this.#objectOf(lease);
  }

  #takeNew(): Lease {
    if (this.#size >= this.#capacity && this.#options.overflow === "refuse") {
      throw new PoolExhaustedError(this.#capacity);
    }
    const stray = this.#size >= this.#capacity;
    const lease = this.#construct(stray ? { slot: -1, stamp: 0 } : undefined);
    if (stray) {
      lease._link = DISCARD;
      this.#size--;
      this.#otherLoans++;
      this.#straysInUse++;
    }
    this.highWater = Math.max(this.highWater, this.#size + this.#straysInUse);
    this.#createdByAcquire++;
    this.#look();
    return lease;
  }

  #construct(place?: { readonly slot: number; readonly stamp: number }): Lease {
    const { slot, stamp } = place ?? this.#table.take();
    // What a predecessor's loans add to the stamp is counted already.
    if (place === undefined) this.#otherLoans -= stamp >> 1;
    const { factory } = this.#options;
    let lease: Lease;
    if (factory === undefined) lease = new PooledMessage(this, slot, stamp);
    else {
      const object = factory();
      lease = new ObjectLease(this, slot, stamp, object);
      (object as Leased)[LEASE] = lease;
    }
    if (slot >= 0) this.leases[slot] = lease;
    this.#size++;
    this.#created++;
    return lease;
  }

  /** A handle, an object of the user's own class, one that carries more than a body, or a mistake. */
  #releaseSpecial(message: T | number): void {
    const lease = this.#leaseOf(message);
    if (lease._lender !== this || (lease._stamp & 1) === 0) this.#refuse(lease);
    lease._stamp = countOf(lease) + 1;
    if (lease instanceof Message) lease._clear();
    else this.#options.clear?.(this.#objectOf(lease));
    if (lease._link === DISCARD) this.#discard(lease);
    else if (this._checked) {
      // A fresh object takes the slot over, so that whoever still holds this one is found out for ever.
      this.#size--;
      this.#created--;
      this.#pushFree(this.#construct({ slot: lease._slot, stamp: lease._stamp }));
    } else this.#pushFree(lease);
    this.#look();
  }

  #pushFree(lease: Lease): void {
    lease._link = this.#firstFree;
    this.#firstFree = lease._slot;
  }

  #popFree(): Lease {
    const lease = this.leases[this.#firstFree]!;
    this.#firstFree = lease._link;
    return lease;
  }

  #leaseOf(message: T | number): Lease {
    if (typeof message !== "number") {
      return message instanceof Message ? message : ((message as Leased)[LEASE] ?? NOBODYS);
    }
    const lease = this.#table.find(message);
    if (lease === undefined) throw new UseAfterReleaseError(this.#table.slotOf(message));
    return lease;
  }

  #objectOf(lease: Lease): T {
    return (lease instanceof ObjectLease ? lease._object : lease) as T;
  }

  #refuse(lease: Lease): never {
    if (lease._lender instanceof Hold) throw new MessageInUseError(lease._slot, placeOf(lease));
    if (lease._lender !== this) throw new WrongPoolError(placeOf(lease));
    throw new DoubleReleaseError(lease._slot, placeOf(lease));
  }

  #sample(lease: Lease): void {
    rememberPlace(lease, this.acquire);
    if (countOf(lease) === LAST_STAMP) this.#detach(lease);
  }

  /** A plain message on loan gets a number, because somebody wants to name it. */
  #seat(lease: Lease): void {
    if (lease._stamp === PLAIN) {
      lease._stamp = LOOK_CLOSER + 1;
      this.plainLoans--;
      this.#created++;
      this.#createdByAcquire++;
      this.#straysInUse++;
    }
    this.#otherLoans++;
    lease._link = DISCARD;
    lease._slot = this.leases.push(lease) - 1;
    this.#look();
  }

  /** A lent message loses its place in the pool: it goes when it comes back. */
  #detach(lease: Lease): void {
    if (lease._link === DISCARD) return;
    lease._link = DISCARD;
    this.#otherLoans += (countOf(lease) + 1) >> 1;
    lease._stamp |= LOOK_CLOSER;
    this.#size--;
    this.#straysInUse++;
    this.#look();
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

  /** Last in, first out: as many messages as were ever out together have been touched. */
  #highest(): number {
    return Math.max(this.highWater, this.#straysInUse + this.#table.touched());
  }
}

/** @internal */
export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === "object" && value !== null && typeof (value as { then?: unknown }).then === "function";
}
