import { CALLER, END, type Lease, type Lender, SPECIAL, NO_POOL, OBSERVER, placeOf, QUEUE } from "./lease.js";
import { shown } from "./checks.js";
import { MessageInUseError, UseAfterReleaseError } from "./pool-error.js";
import type { Route } from "./route.js";

function refuse(message: Lease): never {
  throw new UseAfterReleaseError(message._slot, placeOf(message));
}

function refuseWrite(message: Lease): never {
  if ((message._stamp & 1) === 0) refuse(message);
  throw new MessageInUseError(message._slot, placeOf(message));
}

/** Data that some messages have in addition to path, body and meta. */
export interface Envelope {
  readonly traceparent: string | undefined;
  readonly signal: AbortSignal | undefined;
  readonly correlationId: number | undefined;
  /** 1 for the first run of the handler, one more with each retry. */
  readonly attempt: number;
}

/**
 * A path, a body and metadata (`meta`), on loan from a MessagePool. Every read or write after the release throws
 * UseAfterReleaseError, until the pool lends the same object again; a `handle` is never used again. To send a message to a
 * worker, send its `toJSON()`.
 *
 * Threads: one.
 * Memory:  one object, allocated when its pool first needs it.
 */
export class Message<Body = unknown, Meta = unknown, Params extends string = string> {
  // Few fields and no base class, so that a plain message costs as much as any small object. The constructor sets the fields of
  // the hot path first and once, so that the compiler knows what they hold.
  /** @internal */ _stamp: number;
  /** @internal */ _slot!: number;
  /** @internal */ _link!: number;
  /** @internal */ _pool: number;
  /** @internal */ _owner: number;
  /** @internal */ _path: string;
  /** @internal */ _body: Body;
  /** @internal */ _meta: Meta;
  // Private fields, which structuredClone does not copy.
  #lender: Lender | undefined;
  #route: Route | undefined;
  #envelope: Envelope | undefined;

  /** @internal */
  constructor(lender: Lender | undefined, stamp: number, path: string, body: Body, meta: Meta) {
    this._stamp = stamp;
    this._pool = lender === undefined ? NO_POOL : lender._id;
    this._owner = CALLER;
    this._path = path;
    this._body = body;
    this._meta = meta;
    this.#lender = lender;
  }

  get path(): string {
    if ((this._stamp & 1) === 0) refuse(this);
    return this._path;
  }

  get body(): Body {
    if ((this._stamp & 1) === 0) refuse(this);
    return this._body;
  }
  set body(body: Body) {
    if ((this._stamp & 1) === 0 || this._owner === QUEUE || this._owner === OBSERVER) refuseWrite(this);
    this._body = body;
  }

  get meta(): Meta {
    if ((this._stamp & 1) === 0) refuse(this);
    return this._meta;
  }
  set meta(meta: Meta) {
    if ((this._stamp & 1) === 0 || this._owner === QUEUE || this._owner === OBSERVER) refuseWrite(this);
    this._meta = meta;
  }

  /** The W3C `traceparent`, if tracing is on or the sender passed one. */
  get traceparent(): string | undefined {
    if ((this._stamp & 1) === 0) refuse(this);
    return this.#envelope?.traceparent;
  }

  /** Aborted when the sender no longer waits, by its signal or its time limit. Long handlers should watch it. */
  get signal(): AbortSignal | undefined {
    if ((this._stamp & 1) === 0) refuse(this);
    return this.#envelope?.signal;
  }

  /** The number of the request; undefined for other messages. */
  get correlationId(): number | undefined {
    if ((this._stamp & 1) === 0) refuse(this);
    return this.#envelope?.correlationId;
  }

  /** 1 for the first run of the handler, one more with each retry. */
  get attempt(): number {
    if ((this._stamp & 1) === 0) refuse(this);
    return this.#envelope?.attempt ?? 1;
  }

  /** @internal Sets the route from which `param` reads. */
  _address(route: Route): void {
    if (this.#route !== route) this.#route = route;
  }

  /** @internal Changes the owner. */
  _own(owner: number, envelope: Envelope | undefined): void {
    this._owner = owner;
    this.#envelope = envelope;
    if (owner !== CALLER) this._stamp |= SPECIAL;
  }

  /** @internal Clears what a release clears. */
  _clear(): void {
    this._path = "";
    this._body = this._meta = undefined as Body & Meta;
    this.#envelope = undefined;
  }

  /** @internal Removes the reference to the pool, when the message is kept. */
  _leave(): void {
    this._pool = NO_POOL;
    this.#lender = undefined;
  }

  /** True from `acquire` until `release`. */
  get onLoan(): boolean {
    return (this._stamp & 1) === 1;
  }

  /** Identifies this loan in its pool and, unlike the object, is never used again. NaN for a kept message. */
  get handle(): number {
    if ((this._stamp & 1) === 0) refuse(this);
    return this.#lender === undefined ? Number.NaN : this.#lender._handleOf(this);
  }

  /** The text of parameter `{name}` of the receiver's template; `"*"` is the rest that a wildcard matched. */
  param(name: Params): string {
    if ((this._stamp & 1) === 0) refuse(this);
    const route = this.#route;
    const index = route === undefined ? -1 : route.indexOf(name);
    if (index < 0) throw new RangeError(`path ${shown(this._path)} has no parameter ${shown(name)}`);
    return route!.text(this._path, index);
  }

  /** A parameter of at most 15 decimal digits as a number, without making a string; undefined for any other text. */
  paramInt(name: Params): number | undefined {
    if ((this._stamp & 1) === 0) refuse(this);
    const route = this.#route;
    const index = route === undefined ? -1 : route.indexOf(name);
    if (index < 0) return undefined;
    const path = this._path;
    const start = route!.start(path, index);
    const end = route!.end(path, index, start);
    if (end === start || end - start > 15) return undefined;
    let value = 0;
    for (let at = start; at < end; at++) {
      const digit = path.charCodeAt(at) - 48;
      if (digit < 0 || digit > 9) return undefined;
      value = value * 10 + digit;
    }
    return value;
  }

  /**
   * Removes this object from its pool, so that it may be stored; it needs no release. For the owner: the caller of `acquire`, a
   * handler or an observer. Throws MessageInUseError while another owns the message.
   */
  keep(): this {
    if ((this._stamp & 1) === 0) refuse(this);
    if (this._owner === QUEUE) refuseWrite(this);
    this.#lender?._keep(this);
    return this;
  }

  /** Releases the message, for `using`, unless it was kept. */
  [Symbol.dispose](): void {
    this.#lender?._giveBack(this);
  }

  toJSON(): { path: string; body: Body; meta: Meta } {
    return { path: this.path, body: this.body, meta: this.meta };
  }

  /** For `console.log`. */
  [Symbol.for("nodejs.util.inspect.custom")](): unknown {
    if (!this.onLoan) return "Message <released>";
    return { path: this._path, body: this._body, meta: this._meta };
  }
}

/** The message of an observer, which may read, forward and keep it, and cannot change, send or release it. */
export type Observed<Body = unknown, Meta = unknown, Params extends string = string> = Readonly<
  Pick<
    Message<Body, Meta, Params>,
    "path" | "body" | "meta" | "traceparent" | "signal" | "param" | "paramInt" | "toJSON" | "onLoan"
  >
> & { keep(): Observed<Body, Meta, Params> };

/** @internal A message with a slot in a pool. */
export class PooledMessage extends Message {
  constructor(lender: Lender, slot: number, stamp: number) {
    super(lender, stamp, "", undefined, undefined);
    this._slot = slot;
    this._link = END;
  }
}
