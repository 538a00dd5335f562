import { limitArguments } from "./argument-limits.js";
import * as check from "./checks.js";
import {
  CALLER,
  countOf,
  DISCARD,
  LAST_STAMP,
  LEASE,
  type Leased,
  type Lease,
  type Lender,
  SPECIAL,
  ObjectLease,
  NO_POOL,
  PLAIN,
  PLAIN_OVER,
  placeOf,
  READY,
  rememberPlace,
} from "./lease.js";
import { Message } from "./message.js";
import { DoubleReleaseError, MessageInUseError, UseAfterReleaseError, WrongPoolError } from "./pool-error.js";
import { type Leak, type MessagePoolOptions, POOL_OPTIONS, type Pooled, type PoolStats } from "./pool-options.js";
import { PoolStock } from "./pool-stock.js";
import { isThenable } from "./thenable.js";

/** Mask of a stamp that is 1 for a message on loan whose release only clears it. */
const SIMPLE_LOAN = SPECIAL + 1;
/** One in this many loans of a slot records where it began. A power of two. */
const SAMPLE_EVERY = 65_536;
/** The lease of an object that belongs to no pool. */
const NO_LEASE = new ObjectLease(NO_POOL, -1, 0, {});

let ids = 0;

/**
 * Lends messages and reuses released ones, last in, first out.
 *
 * Threads: one; each worker has its own pools.
 * Memory:  grows to the number of messages in flight, from 256 on by half as many again and at most 4,096 at once, at most
 *          `size`; nothing in steady state.
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
  /** @internal */ readonly _id: number;
  private readonly stock: PoolStock<T, Body, Meta>;
  private readonly sampleMask: number;
  readonly #options: MessagePoolOptions<T, Body, Meta>;

  /** size: most messages kept for reuse, 0 to 1,048,576, or "auto" for as many as are in flight together. */
  constructor(size: number | "auto" = 2_000, options: MessagePoolOptions<T, Body, Meta> = {}) {
    check.argumentCount("new MessagePool", arguments.length, 2);
    check.options("pool options", options, POOL_OPTIONS);
    this._id = ++ids;
    this.stock = new PoolStock<T, Body, Meta>(this, size, options);
    this.sampleMask = 2 * (options.checked === true ? 1 : SAMPLE_EVERY) - 1;
    this.#options = options;
    this.warmup(options.warmup ?? 0);
  }

  /** Lends a message. The caller owns it until `release`, `keep`, `send` or the end of its `using` block. */
  acquire<B extends Body, M extends Meta>(path: string, body?: B, meta?: M): Pooled<T, B, M>;
  acquire<B extends Body, M extends Meta>(path: string, body?: B, meta?: M, more?: unknown): Pooled<T, B, M> {
    if (more !== undefined) check.argumentCount("acquire", 4, 3);
    const { stock } = this;
    const { head } = stock;
    if (head < 0) {
      if (!stock.plain) return this.#acquireParkedOrNew(path, body as Body, meta as Meta) as Pooled<T, B, M>;
      const loans = stock.plainLoans + 1;
      stock.plainLoans = loans;
      const inUse = loans - stock.plainEnds + stock.othersInUse;
      if (inUse > stock.highWater) stock.highWater = inUse;
      return new Message(this, PLAIN, path, body, meta) as Pooled<T, B, M>;
    }
    const lease = stock.leases[head]!;
    stock.head = lease._link;
    const stamp = lease._stamp + 1;
    lease._stamp = stamp;
    if ((stamp & this.sampleMask) === this.sampleMask) this.#sample(lease);
    const message = lease as Message;
    message._path = path;
    message._body = body;
    message._meta = meta;
    return message as Pooled<T, B, M>;
  }

  /** Releases a message or a handle, and clears body and meta. Throws if it is not on loan from this pool. */
  release(message: T | number): void {
    if (arguments.length > 1) check.argumentCount("release", arguments.length, 1);
    const lease = message as unknown as Message;
    const stamp = lease._stamp;
    if (lease._pool === this._id && (stamp & SIMPLE_LOAN) === 1) {
      const { stock } = this;
      lease._stamp = stamp + 1;
      lease._path = "";
      lease._body = undefined;
      lease._meta = undefined;
      lease._link = stock.head;
      stock.head = lease._slot;
    } else if (lease._pool === this._id && stamp === PLAIN && lease._owner === CALLER) {
      lease._stamp = PLAIN_OVER;
      lease._body = undefined;
      lease._meta = undefined;
      this.stock.plainEnds++;
    } else this.#releaseSpecial(message);
  }

  /** The object of a loan, by handle. Throws UseAfterReleaseError if that loan is over, WrongPoolError for another pool's handle. */
  at(handle: number): Pooled<T, Body, Meta> {
    check.argumentCount("at", arguments.length, 1);
    return this.#objectOf(this.#leaseOf(handle)) as Pooled<T, Body, Meta>;
  }

  /**
   * The messages on loan for longer than `longerThanMs`, measured from the call of `leaks` or `trim` that first saw the loan: call
   * it regularly. Does not list plain messages, which `inUse` counts. Cost: one step per message.
   */
  leaks(longerThanMs = 0): Leak[] {
    check.duration("longerThanMs", longerThanMs);
    return this.stock.leaks(longerThanMs);
  }

  /** The handle of an object on loan, for pools with a factory (`message.handle` otherwise). */
  handleOf(object: T): number {
    check.argumentCount("handleOf", arguments.length, 1);
    const lease = this.#leaseOf(object);
    if (lease._pool !== this._id || (lease._stamp & 1) === 0) this.#refuse(lease);
    return this._handleOf(lease);
  }

  /** Lends a message to `use` and releases it when `use`, or the promise that it returns, has settled. */
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

  get capacity(): number {
    return this.stock.capacity;
  }

  /** Makes messages in advance, until `count` exist. Returns the number of messages. */
  warmup(count: number): number {
    return this.stock.warmup(count);
  }

  /** Sets the capacity. Free messages beyond it are dropped now, those on loan at their release. */
  resize(size: number): void {
    this.stock.resize(size);
  }

  /** Drops all free messages now, and those on loan at their release. */
  clear(): void {
    this.stock.clear();
  }

  /**
   * Drops free messages that were not used since the last `trim` or `leaks`, while more than `atLeast` exist. Returns their number.
   * Cost: one step per message.
   */
  trim(atLeast = 0): number {
    return this.stock.trim(atLeast);
  }

  /** Computed from the stamps of the messages; acquire and release count nothing. Cost: one step per message. */
  stats(): PoolStats {
    return this.stock.stats();
  }

  /** @internal Whether the pool lends objects of a factory. */
  get _ofObjects(): boolean {
    return this.#options.factory !== undefined;
  }

  /** @internal Whether the pool counts or checks each loan, so that a dispatcher may not lend a ready message. */
  get _exact(): boolean {
    return this.#options.checked === true || this._refuses;
  }

  /** @internal Whether an exhausted pool throws. Observers take no messages of such a pool. */
  get _refuses(): boolean {
    return this.#options.overflow === "refuse";
  }

  /** @internal */
  _handleOf(lease: Lease): number {
    return this.stock.handleOf(lease);
  }

  /** @internal */
  _keep(lease: Lease): void {
    this.stock.keep(lease);
  }

  /** @internal Releases an object unless it was kept. */
  _giveBack(lease: Lease): void {
    if (lease._pool !== NO_POOL) this.release(this.#objectOf(lease));
  }

  /** @internal Releases a message that a queue or a handler had. */
  _endLoan(message: Message): void {
    const { stock } = this;
    if (message._slot === undefined || message._link === DISCARD || stock.special) {
      this.release(message as unknown as T);
      return;
    }
    message._clear();
    message._stamp = countOf(message) + 1;
    message._link = stock.head;
    stock.head = message._slot;
  }

  /** @internal A message that a dispatcher lends to one handler after another. It is not counted unless `_countReady` is called. */
  _newReady(): Message {
    const message = new Message(this, SPECIAL, "", undefined, undefined);
    message._owner = READY;
    return message;
  }

  /** @internal */
  _countReady(message: Message): void {
    this.stock.countReady(message);
  }

  #acquireParkedOrNew(path: string, body: Body, meta: Meta): T {
    const lease = this.stock.parkedOrNew(path, body, meta);
    lease._stamp++;
    if ((lease._stamp & this.sampleMask) === this.sampleMask) this.#sample(lease);
    if (this.stock.special || lease._link === DISCARD) lease._stamp |= SPECIAL;
    if (lease instanceof Message) {
      lease._path = path;
      lease._body = body;
      lease._meta = meta;
    } else if (this.#options.reset !== undefined) this.#reset(this.#objectOf(lease), path, body, meta);
    return this.#objectOf(lease);
  }

  /** Calls the user's `reset`, and releases the object if that throws. */
  #reset(object: T, path: string, body: Body, meta: Meta): void {
    try {
      this.#options.reset!(object, path, body, meta);
    } catch (error) {
      this.release(object);
      throw error;
    }
  }

  /** Releases a handle, an object of a factory, or a message whose stamp has SPECIAL. Throws if the caller may not release it. */
  #releaseSpecial(message: T | number): void {
    const lease = this.#leaseOf(message);
    if (lease._pool !== this._id || (lease._stamp & 1) === 0 || lease._owner !== CALLER) this.#refuse(lease);
    try {
      if (lease instanceof Message) lease._clear();
      else this.#options.clear?.(this.#objectOf(lease));
    } catch (error) {
      this.stock.detach(lease);
      throw error;
    } finally {
      this.stock.endLoan(lease);
    }
  }

  #leaseOf(message: T | number): Lease {
    if (typeof message !== "number") {
      return message instanceof Message ? message : ((message as Leased)[LEASE] ?? NO_LEASE);
    }
    const lease = this.stock.find(message);
    if (lease === undefined) throw new UseAfterReleaseError(undefined);
    return lease;
  }

  #objectOf(lease: Lease): T {
    return (lease instanceof ObjectLease ? lease._object : lease) as T;
  }

  #refuse(lease: Lease): never {
    if (lease._pool !== this._id) throw new WrongPoolError(placeOf(lease));
    if ((lease._stamp & 1) === 1) throw new MessageInUseError(lease._slot, placeOf(lease));
    throw new DoubleReleaseError(lease._slot, placeOf(lease));
  }

  /** Remembers the caller of `acquire`, and retires a slot whose stamps are used up. */
  #sample(lease: Lease): void {
    rememberPlace(lease, this.acquire);
    if (countOf(lease) === LAST_STAMP) this.stock.detach(lease);
  }
}

limitArguments(MessagePool.prototype, { leaks: 1, withMessage: 4, warmup: 1, resize: 1, clear: 0, trim: 1, stats: 0 });
