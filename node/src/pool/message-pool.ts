import { limitArguments } from "./argument-limits.js";
import {
  CALLER,
  countOf,
  DISCARD,
  HANDLER,
  LAST_STAMP,
  LEASE,
  type Leased,
  type Lease,
  LOOK_CLOSER,
  ObjectLease,
  PLAIN,
  NO_POOL,
  PLAIN_OVER,
  placeOf,
  rememberPlace,
  READY,
  RESERVED,
} from "./lease.js";
import { Message } from "./message.js";
import {
  DoubleReleaseError,
  MessageInUseError,
  requireArguments,
  requireFunction,
  requireInteger,
  requireKnown,
  SettingError,
  UseAfterReleaseError,
  WrongPoolError,
} from "./pool-error.js";
import { type Leak, type MessagePoolOptions, MOST, POOL_OPTIONS, type Pooled } from "./pool-options.js";
import { ReadyStock } from "./ready-stock.js";
import { isThenable } from "./thenable.js";

/** Of a stamp: lent, and nothing but to be cleared when it comes back. */
const SIMPLY_LENT = LOOK_CLOSER + 1;
const STRANGER = new ObjectLease(NO_POOL, -1, 0, {});

/**
 * Lends messages and takes them back, last in, first out.
 *
 * Threads: one; each worker has its own pools.
 * Memory:  grows to the number of messages in flight, from 256 on by half as many again and at most 4,096 at once, at most
 *          `size`; in steady state nothing.
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
export class MessagePool<T extends object = Message, Body = unknown, Meta = unknown> extends ReadyStock<T, Body, Meta> {
  private readonly sampleMask: number;

  /** size: most messages kept for reuse, 0 to 1,048,576, or "auto" for as many as are in flight together. */
  constructor(size: number | "auto" = 2_000, options: MessagePoolOptions<T, Body, Meta> = {}) {
    requireArguments("new MessagePool", arguments.length, 2);
    requireKnown("pool options", options, POOL_OPTIONS);
    for (const name of ["factory", "reset", "clear"] as const) {
      if (options[name] !== undefined) requireFunction(name, options[name]);
    }
    const { overflow = "allocate" } = options;
    if (overflow !== "allocate" && overflow !== "refuse")
      throw new SettingError("overflow", overflow, "allocate or refuse");
    super(size === "auto" ? MOST : size, size === "auto", options);
    const sample = options.samplePlaces ?? 65_536;
    if (sample !== 0) requireInteger("samplePlaces", sample, 1, 2 ** 28);
    if ((sample & (sample - 1)) !== 0) throw new SettingError("samplePlaces", sample, "a power of two, or 0");
    this.sampleMask = options.checked === true ? 1 : sample === 0 ? LAST_STAMP : 2 * sample - 1;
    this.warmup(options.warmup ?? 0);
  }

  /** Lends a message. It is the caller's until `release`, `keep`, `send` or the end of its `using` block. */
  acquire<B extends Body, M extends Meta>(path: string, body?: B, meta?: M): Pooled<T, B, M>;
  acquire<B extends Body, M extends Meta>(path: string, body?: B, meta?: M, more?: unknown): Pooled<T, B, M> {
    if (more !== undefined) requireArguments("acquire", 4, 3);
    const head = this._head;
    if (head < 0) {
      if (!this._plain) return this.#acquireParkedOrNew(path, body as Body, meta as Meta) as Pooled<T, B, M>;
      const loans = this._plainLoans + 1;
      this._plainLoans = loans;
      const out = loans - this._plainEnds + this._others;
      if (out > this._highWater) this._highWater = out;
      return new Message(this, PLAIN, path, body, meta) as Pooled<T, B, M>;
    }
    const lease = this._leases[head]!;
    this._head = lease._link;
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
    if (arguments.length > 1) requireArguments("release", arguments.length, 1);
    const lease = message as unknown as Message;
    const stamp = lease._stamp;
    if (lease._pool === this._id && (stamp & SIMPLY_LENT) === 1) {
      lease._stamp = stamp + 1;
      lease._path = "";
      lease._body = undefined;
      lease._meta = undefined;
      lease._link = this._head;
      this._head = lease._slot;
    } else if (lease._pool === this._id && stamp === PLAIN && lease._owner === CALLER) {
      lease._stamp = PLAIN_OVER;
      lease._body = undefined;
      lease._meta = undefined;
      this._plainEnds++;
    } else this.#releaseSpecial(message);
  }

  /** The object of a loan, by handle. Throws UseAfterReleaseError when that loan is over, WrongPoolError for another pool's. */
  at(handle: number): Pooled<T, Body, Meta> {
    requireArguments("at", arguments.length, 1);
    return this.#objectOf(this.#leaseOf(handle)) as Pooled<T, Body, Meta>;
  }

  /**
   * The messages that have been out for longer than `longerThanMs`, as seen by earlier calls of `leaks` or `trim`: call it from
   * time to time. Plain messages are only counted, as `inUse`. Cost: one look at each message.
   */
  leaks(longerThanMs = 0): Leak[] {
    return this._table.leaks(longerThanMs, this._id);
  }

  /** The handle of an object on loan, for pools of a user's class (`message.handle` otherwise). */
  handleOf(object: T): number {
    requireArguments("handleOf", arguments.length, 1);
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

  /** @internal */
  _handleOf(lease: Lease): number {
    if (lease._slot === undefined) this._seat(lease);
    else if (lease._slot < 0) lease._slot = this._leases.push(lease) - 1;
    return this._table.handleOf(lease, this._id);
  }

  /** @internal */
  _keep(lease: Lease): void {
    if (lease._owner === READY) this._lendReserved(lease);
    this._kept++;
    if (lease._slot === undefined) {
      this._plainEnds++;
      this._plainKept++;
    } else {
      this._detach(lease);
      this._straysInUse--;
      if (lease._slot >= 0) this._table.vacate(lease._slot, countOf(lease) + 1);
      this._look();
    }
    // Until the handler or observer that keeps it has settled, nothing else may have it.
    if (lease._owner !== CALLER) lease._owner = HANDLER;
    // Ends what a dispatcher knows of this loan, too: the stamp of the message that it holds ready has the bit.
    if (lease._stamp !== PLAIN) lease._stamp &= ~LOOK_CLOSER;
    if (lease instanceof Message) lease._leave();
    else lease._pool = NO_POOL;
  }

  /** @internal Release on the user's behalf: a kept one stays with its keeper. */
  _giveBack(lease: Lease): void {
    if (lease._pool !== NO_POOL) this.release(this.#objectOf(lease));
  }

  /** @internal Release of a message that a queue or a handler had. */
  _takeBack(message: Message): void {
    if (message._slot === undefined || message._link === DISCARD || this._special) {
      this.release(message as unknown as T);
      return;
    }
    message._clear();
    message._stamp = countOf(message) + 1;
    message._link = this._head;
    this._head = message._slot;
  }

  /** @internal A message that is out of the free list without being lent, for a dispatcher that lends it over and over. */
  _reserve(): Message {
    const message = this.acquire("") as unknown as Message;
    message._owner = READY;
    if (message._stamp === PLAIN) {
      this._plainLoans--;
      message._stamp = LOOK_CLOSER;
    } else {
      if (message._link === DISCARD) this._straysInUse--;
      else message._link = RESERVED;
      message._stamp = (countOf(message) + 1) | LOOK_CLOSER;
    }
    this._look();
    return message;
  }

  #acquireParkedOrNew(path: string, body: Body, meta: Meta): T {
    const lease = this._parked >= 0 ? this._popFree() : this._takeNew(path, body, meta);
    lease._stamp++;
    if ((lease._stamp & this.sampleMask) === this.sampleMask) this.#sample(lease);
    if (this._special || lease._link === DISCARD) lease._stamp |= LOOK_CLOSER;
    if (lease instanceof Message) {
      lease._path = path;
      lease._body = body;
      lease._meta = meta;
    } else if (this._options.reset !== undefined) this.#reset(this.#objectOf(lease), path, body, meta);
    return this.#objectOf(lease);
  }

  /** An object that cannot be filled goes back before the caller sees the error. */
  #reset(object: T, path: string, body: Body, meta: Meta): void {
    try {
      this._options.reset!(object, path, body, meta);
    } catch (error) {
      this.release(object);
      throw error;
    }
  }

  /** A handle, an object of the user's class, one that carries more than a body, or a mistake. */
  #releaseSpecial(message: T | number): void {
    const lease = this.#leaseOf(message);
    if (lease._pool !== this._id || (lease._stamp & 1) === 0 || lease._owner !== CALLER) this.#refuse(lease);
    if (lease instanceof Message) lease._clear();
    else if (this._options.clear !== undefined) {
      try {
        this._options.clear(this.#objectOf(lease));
      } catch (error) {
        this._detach(lease);
        lease._stamp = countOf(lease) + 1;
        this._discard(lease);
        this._look();
        throw error;
      }
    }
    lease._stamp = countOf(lease) + 1;
    if (lease._link === DISCARD) this._discard(lease);
    else if (this._checked) this._replace(lease);
    else this._pushFree(lease);
    this._look();
  }

  #leaseOf(message: T | number): Lease {
    if (typeof message !== "number") {
      return message instanceof Message ? message : ((message as Leased)[LEASE] ?? STRANGER);
    }
    const lease = this._table.find(message, this._id);
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

  #sample(lease: Lease): void {
    rememberPlace(lease, this.acquire);
    if (countOf(lease) === LAST_STAMP) this._detach(lease);
  }
}

limitArguments(MessagePool.prototype, { leaks: 1, withMessage: 4, warmup: 1, resize: 1, clear: 0, trim: 1, stats: 0 });
