import { Hold } from "./hold.js";
import { DISCARD, END, Lease, type Lender, LOOK_CLOSER, ObjectLease, placeOf, rememberPlace } from "./lease.js";
import { Message } from "./message.js";
import {
  DoubleReleaseError,
  MessageInUseError,
  PoolExhaustedError,
  requireInteger,
  SettingError,
  UseAfterReleaseError,
  WrongPoolError,
} from "./pool-error.js";

const LEASE = Symbol("millpond.lease");
/** The stamp at which a slot number is given up, so that no handle ever comes again. */
const LAST_STAMP = 2 ** 30 - 1;
const STAMPS = 2 ** 31;
const MOST = 2 ** 20;
/** `auto` keeps at most this many messages for reuse. */
const AUTO_MOST = 65_536;

type Leased = object & { [LEASE]?: Lease };
const NOBODYS = new Lease(undefined, -1, 0, END);

export interface PoolStats {
  /** Messages that exist and will be used again: free ones and lent ones. */
  readonly size: number;
  readonly capacity: number;
  /** Objects constructed, the plain ones of a full pool included. */
  readonly created: number;
  readonly acquired: number;
  /** Acquisitions that constructed nothing. */
  readonly reused: number;
  readonly released: number;
  /** Objects dropped at their release: the pool was full, shrunk or cleared. */
  readonly discarded: number;
  readonly kept: number;
  readonly inUse: number;
  readonly highWater: number;
  /** reused / acquired, 1 where nothing was acquired. */
  readonly reuseRate: number;
}

export interface Leak {
  readonly handle: number;
  readonly path: string | undefined;
  /** Line of the caller of `acquire`, for checked pools and sampled messages. */
  readonly acquiredAt: string | undefined;
  /** At least so long; its loan began before that. */
  readonly outForMs: number;
}

export interface MessagePoolOptions<T extends object, Body, Meta> {
  /** Makes one object of the user's own class, which must be extensible. */
  readonly factory?: () => T;
  /** Fills an object at `acquire`. */
  readonly reset?: (object: T, path: string, body: Body, meta: Meta) => void;
  /** Empties an object at `release`. */
  readonly clear?: (object: T) => void;
  /** When all `size` messages are lent out: `allocate` (default) makes plain ones, `refuse` throws PoolExhaustedError. */
  readonly overflow?: "allocate" | "refuse";
  /** Never lends one object twice and keeps where each loan began: every stale use throws. Costs an allocation a message. */
  readonly checked?: boolean;
  /** Keeps where a loan began once in so many loans of a slot (a power of two; 0, never). */
  readonly samplePlaces?: number;
  /** Messages to make at construction. */
  readonly warmup?: number;
}

/** What `acquire` gives: a Message of that body and meta, or the user's own class. */
export type Pooled<T, Body, Meta> = Message extends T ? Message<Body, Meta> : T;

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
  #head = END;
  readonly #leases: (Lease | undefined)[] = [];
  // Set once in the constructor and not before, so that the compiler may treat them as constants.
  private readonly sampleMask: number;
  /** Checked, or of the user's own class. */
  readonly #special: boolean;
  readonly #options: MessagePoolOptions<T, Body, Meta>;
  readonly #spareSlots: number[] = [];
  readonly #spareStamps: number[] = [];
  #capacity: number;
  #size = 0;
  #created = 0;
  #createdByAcquire = 0;
  #discarded = 0;
  #kept = 0;
  #pastLoans = 0;
  #strayLoans = 0;
  /** Of `#makePlain`: constructed, acquired, and discarded once released. */
  #plainLoans = 0;
  /** Lent out, and dropped when they come back. */
  #straysInUse = 0;
  #highWater = 0;
  /** The free list of a pool that has to look closer at each loan. */
  #parked = END;
  /** The stamp of each slot at the last look, and when that stamp was first seen. */
  #seen = new Map<number, { readonly stamp: number; readonly atMs: number }>();

  /** size: most messages kept for reuse, 0 to 1,048,576, or "auto" for as many as are in flight together, up to 65,536. */
  constructor(size: number | "auto" = 2_000, options: MessagePoolOptions<T, Body, Meta> = {}) {
    this.#capacity = size === "auto" ? AUTO_MOST : requireInteger("pool size", size, 0, MOST);
    const sample = options.samplePlaces ?? 65_536;
    if (sample !== 0) requireInteger("samplePlaces", sample, 1, 2 ** 28);
    if ((sample & (sample - 1)) !== 0) throw new SettingError("samplePlaces", sample, "a power of two, or 0");
    this.sampleMask = options.checked === true ? 1 : sample === 0 ? LAST_STAMP : 2 * sample - 1;
    this.#options = options;
    this.#special = options.factory !== undefined || options.checked === true;
    this.warmup(options.warmup ?? 0);
  }

  /** Lends a message. It is the caller's until `release`, `keep` or the end of its `using` block. */
  acquire<B extends Body, M extends Meta>(path: string, body?: B, meta?: M): Pooled<T, B, M> {
    const head = this.#head;
    if (head < 0) return this.#acquireAnew(path, body as Body, meta as Meta) as Pooled<T, B, M>;
    const lease = this.#leases[head]!;
    this.#head = lease._link;
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
    if (lease._lender !== this || (stamp & 1) === 0) {
      this.#releaseSpecial(message);
      return;
    }
    lease._stamp = stamp + 1;
    lease._path = "";
    lease._body = undefined;
    lease._meta = undefined;
    if (lease._link < END) {
      if (lease._link === DISCARD && lease._slot < 0) {
        lease._envelope = undefined;
        this.#straysInUse--;
        this.#discarded++;
      } else this.#putAside(lease);
    } else {
      lease._link = this.#head;
      this.#head = lease._slot;
    }
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
    while (this.#size < Math.min(count, this.#capacity)) this.#pushFree(this.#construct(this.#leases.length, 0));
    return this.#size;
  }

  /** Sets how many messages are kept. Free ones beyond are dropped now, lent ones when they come back. */
  resize(size: number): void {
    this.#capacity = requireInteger("pool size", size, 0, MOST);
    this.#highWater = this.#highest();
    while (this.#size > size && this.#firstFree >= 0) {
      const lease = this.#leases[this.#firstFree]!;
      this.#firstFree = lease._link;
      this.#drop(lease);
    }
    for (const lease of this.#leases) {
      if (this.#size <= size) return;
      if (lease !== undefined && lease._link !== DISCARD) this.#detach(lease);
    }
  }

  /** Drops all free messages; those lent out are dropped when they come back. */
  clear(): void {
    const { capacity } = this;
    this.resize(0);
    this.#capacity = capacity;
  }

  /** Drops the free messages that nobody used since the last `trim` or `leaks`. Returns how many. Cost: one look at each. */
  trim(): number {
    this.#highWater = this.#highest();
    const before = this.#size;
    let next = this.#firstFree;
    this.#firstFree = END;
    while (next >= 0) {
      const lease = this.#leases[next]!;
      next = lease._link;
      if (this.#seen.get(lease._slot)?.stamp === lease._stamp) this.#drop(lease);
      else this.#pushFree(lease);
    }
    this.#noteStamps();
    return before - this.#size;
  }

  /**
   * The messages that have been out for longer than `longerThanMs`, as seen by earlier calls of `leaks` or `trim`: call it from
   * time to time. Plain messages of a full pool are only counted, as `inUse`. Cost: one look at each message.
   */
  leaks(longerThanMs = 0): Leak[] {
    const found: Leak[] = [];
    const now = performance.now();
    for (const lease of this.#leases) {
      if (lease === undefined || (lease._stamp & 1) === 0) continue;
      const seen = this.#seen.get(lease._slot);
      if (seen === undefined || seen.stamp !== lease._stamp || now - seen.atMs < longerThanMs) continue;
      const path = lease instanceof Message ? lease._path : undefined;
      const handle = this._handleOf(lease);
      found.push({ handle, path, acquiredAt: placeOf(lease), outForMs: now - seen.atMs });
    }
    this.#noteStamps();
    return found;
  }

  get capacity(): number {
    return this.#capacity;
  }

  /** Counted from the stamps when asked, so that acquire and release count nothing. Cost: one look at each message. */
  stats(): PoolStats {
    let acquired = this.#pastLoans + this.#strayLoans + this.#plainLoans;
    let inUse = this.#straysInUse;
    for (const stamp of this.#spareStamps) acquired += stamp >> 1;
    for (const lease of this.#leases) {
      if (lease === undefined || lease._link === DISCARD) continue;
      acquired += (lease._stamp + 1) >> 1;
      inUse += lease._stamp & 1;
    }
    const reused = acquired - this.#createdByAcquire - this.#plainLoans;
    return {
      size: this.#size,
      capacity: this.#capacity,
      created: this.#created + this.#plainLoans,
      acquired,
      reused,
      released: acquired - inUse - this.#kept,
      discarded: this.#discarded,
      kept: this.#kept,
      inUse,
      highWater: this.#highest(),
      reuseRate: acquired === 0 ? 1 : reused / acquired,
    };
  }

  /** @internal */
  _handleOf(lease: Lease): number {
    if (lease._slot < 0) lease._slot = this.#leases.push(lease) - 1;
    return lease._slot * STAMPS + lease._stamp;
  }

  /** @internal */
  _keep(lease: Lease): void {
    this.#detach(lease);
    this.#straysInUse--;
    this.#kept++;
    if (lease._slot >= 0) this.#vacate(lease, lease._stamp + 1);
    lease._lender = undefined;
  }

  /** @internal Release by whoever lent it out on the user's behalf: a kept one stays with its keeper. */
  _giveBack(lease: Lease): void {
    if (lease._lender !== undefined) this.release(this.#objectOf(lease));
  }

  /** @internal A message that is out of the free list without being lent, for who lends it over and over. */
  _reserve(): Message {
    const message = this.acquire("") as unknown as Message;
    message._stamp++;
    if (message._link === DISCARD) this.#straysInUse--;
    return message;
  }

  /** @internal What was reserved is on loan after all, and will be released. `stray` is what it was when it was reserved. */
  _lendReserved(stray: boolean): void {
    if (stray) this.#straysInUse++;
  }

  get #firstFree(): number {
    return this.#special ? this.#parked : this.#head;
  }

  set #firstFree(slot: number) {
    if (this.#special) this.#parked = slot;
    else this.#head = slot;
  }

  #acquireAnew(path: string, body: Body, meta: Meta): T {
    if (!this.#special && this.#size >= this.#capacity && this.#options.overflow !== "refuse") {
      return this.#makePlain(path, body, meta) as unknown as T;
    }
    const lease = this.#parked >= 0 ? this.#takeParked() : this.#takeNew();
    lease._stamp++;
    if ((lease._stamp & this.sampleMask) === this.sampleMask) this.#sample(lease);
    if (lease instanceof Message) {
      lease._path = path;
      lease._body = body;
      lease._meta = meta;
      if (this.#special && lease._link !== DISCARD) lease._link = LOOK_CLOSER;
    } else this.#options.reset?.(this.#objectOf(lease), path, body, meta);
    return this.#objectOf(lease);
  }

  /** A message that nobody will use again, because the pool is full. */
  #makePlain(path: string, body: Body, meta: Meta): Message {
    const message = new Message(this, -1, 1, DISCARD);
    message._path = path;
    message._body = body;
    message._meta = meta;
    this.#plainLoans++;
    const out = ++this.#straysInUse + this.#size;
    if (out > this.#highWater) this.#highWater = out;
    return message;
  }

  #takeParked(): Lease {
    const lease = this.#leases[this.#parked]!;
    this.#parked = lease._link;
    return lease;
  }

  #takeNew(): Lease {
    let lease: Lease;
    if (this.#size >= this.#capacity) {
      if (this.#options.overflow === "refuse") throw new PoolExhaustedError(this.#capacity);
      lease = this.#construct(-1, 0);
      lease._link = DISCARD;
      this.#size--;
      this.#strayLoans++;
      this.#straysInUse++;
    } else {
      lease = this.#construct(this.#spareSlots.pop() ?? this.#leases.length, this.#spareStamps.pop() ?? 0);
    }
    this.#highWater = Math.max(this.#highWater, this.#size + this.#straysInUse);
    this.#createdByAcquire++;
    return lease;
  }

  #construct(slot: number, stamp: number): Lease {
    const { factory } = this.#options;
    let lease: Lease;
    if (factory === undefined) lease = new Message(this, slot, stamp, END);
    else {
      const object = factory();
      lease = new ObjectLease(this, slot, stamp, END, object);
      (object as Leased)[LEASE] = lease;
    }
    if (slot >= 0) this.#leases[slot] = lease;
    this.#size++;
    this.#created++;
    return lease;
  }

  /** A handle, an object of the user's own class, or a mistake. */
  #releaseSpecial(message: T | number): void {
    const lease = this.#leaseOf(message);
    if (lease._lender !== this || (lease._stamp & 1) === 0) this.#refuse(lease);
    if (lease instanceof Message) {
      this.release(lease as unknown as T);
      return;
    }
    this.#options.clear?.(this.#objectOf(lease));
    lease._stamp++;
    this.#putAside(lease);
  }

  /** Where a released object goes if it is not a plain Message on its way back to the free list. */
  #putAside(lease: Lease): void {
    if (lease instanceof Message) lease._envelope = undefined;
    if (lease._link === DISCARD) this.#discard(lease);
    else if (this.#options.checked === true) {
      // A fresh object takes the slot over, so that whoever still holds this one is found out for ever.
      this.#size--;
      this.#created--;
      this.#pushFree(this.#construct(lease._slot, lease._stamp));
    } else this.#pushFree(lease);
  }

  #pushFree(lease: Lease): void {
    lease._link = this.#firstFree;
    this.#firstFree = lease._slot;
  }

  #leaseOf(message: T | number): Lease {
    if (typeof message !== "number") {
      return message instanceof Message ? message : ((message as Leased)[LEASE] ?? NOBODYS);
    }
    const lease = this.#leases[Math.floor(message / STAMPS)];
    const stamp = message % STAMPS;
    if (lease === undefined || lease._stamp !== stamp) throw new UseAfterReleaseError(Math.floor(message / STAMPS));
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
    if (lease._stamp === LAST_STAMP) this.#detach(lease);
  }

  /** A lent message loses its place in the pool: it goes when it comes back. */
  #detach(lease: Lease): void {
    if (lease._link === DISCARD) return;
    lease._link = DISCARD;
    this.#size--;
    this.#straysInUse++;
    this.#strayLoans += (lease._stamp + 1) >> 1;
  }

  #discard(lease: Lease): void {
    this.#straysInUse--;
    this.#discarded++;
    if (lease._slot >= 0) this.#vacate(lease, lease._stamp);
  }

  #drop(lease: Lease): void {
    this.#size--;
    this.#discarded++;
    this.#strayLoans += lease._stamp >> 1;
    this.#vacate(lease, lease._stamp);
  }

  /** The number of an object that is gone may be used again, with stamps that go on after its last. */
  #vacate(lease: Lease, stamp: number): void {
    this.#leases[lease._slot] = undefined;
    if (stamp > LAST_STAMP) return;
    this.#spareSlots.push(lease._slot);
    this.#spareStamps.push(stamp);
    // stats() counts a spare number's stamp as loans, which are in strayLoans already.
    this.#pastLoans -= stamp >> 1;
  }

  /** Last in, first out: as many messages as were ever out together have been touched, and no more. */
  #highest(): number {
    let touched = this.#straysInUse;
    for (const lease of this.#leases) if (lease !== undefined && lease._link !== DISCARD && lease._stamp > 0) touched++;
    return Math.max(this.#highWater, touched);
  }

  #noteStamps(): void {
    const before = this.#seen;
    const now = performance.now();
    this.#seen = new Map();
    for (const lease of this.#leases) {
      if (lease === undefined) continue;
      const seen = before.get(lease._slot);
      this.#seen.set(lease._slot, seen?.stamp === lease._stamp ? seen : { stamp: lease._stamp, atMs: now });
    }
  }
}

/** @internal */
export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === "object" && value !== null && typeof (value as { then?: unknown }).then === "function";
}
