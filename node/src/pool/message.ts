import { CALLER, END, type Lease, type Lender, LOOK_CLOSER, NO_POOL, OBSERVER, placeOf, QUEUE } from "./lease.js";
import { MessageInUseError, UseAfterReleaseError } from "./pool-error.js";
import type { Route } from "./route.js";

function refuse(message: Lease): never {
  throw new UseAfterReleaseError(message._slot, placeOf(message));
}

function refuseWrite(message: Lease): never {
  if ((message._stamp & 1) === 0) refuse(message);
  throw new MessageInUseError(message._slot, placeOf(message));
}

/** Data that only some messages have in addition to path, body and meta. */
export interface Envelope {
  readonly traceparent: string | undefined;
  readonly signal: AbortSignal | undefined;
  readonly correlationId: number | undefined;
  /** 1 for the first run of the handler, one more with each retry. */
  readonly attempt: number;
}

/**
 * A path, a body and metadata (`meta`), on loan from a MessagePool. Every read or write after the release throws
 * UseAfterReleaseError, until the pool lends the same object again; a `handle` is never used again. `structuredClone`
 * copies no pool with it; a worker is better sent `toJSON()`.
 *
 * Threads: one thread; nothing is shared.
 * Memory:  one object, allocated when its pool first needs it.
 */
export class Message<Body = unknown, Meta = unknown, Params extends string = string> {
  // Few fields and no base class: a plain message costs no more than any other small object. Fields of the hot path are set
  // once and first in the constructor, so that the compiler knows what they hold.
  /** @internal */ _stamp: number;
  /** @internal */ _slot!: number;
  /** @internal */ _link!: number;
  /** @internal */ _pool: number;
  /** @internal */ _owner: number;
  /** @internal */ _path: string;
  /** @internal */ _body: Body;
  /** @internal */ _meta: Meta;
  // Private, so that structuredClone does not follow them.
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

  /** W3C `traceparent` of this message, where tracing is on or the sender gave one. */
  get traceparent(): string | undefined {
    if ((this._stamp & 1) === 0) refuse(this);
    return this.#envelope?.traceparent;
  }

  /** Aborted when the sender no longer waits: its signal, or its time limit. Long handlers watch it. */
  get signal(): AbortSignal | undefined {
    if ((this._stamp & 1) === 0) refuse(this);
    return this.#envelope?.signal;
  }

  /** The number of the request that this message carries. */
  get correlationId(): number | undefined {
    if ((this._stamp & 1) === 0) refuse(this);
    return this.#envelope?.correlationId;
  }

  /** 1 for the first run of the handler, one more with each retry. */
  get attempt(): number {
    if ((this._stamp & 1) === 0) refuse(this);
    return this.#envelope?.attempt ?? 1;
  }

  /** @internal The route whose parameters this message has. */
  _address(route: Route): void {
    if (this.#route !== route) this.#route = route;
  }

  /** @internal A queue or handler takes the message over; CALLER gives it back. */
  _own(owner: number, envelope: Envelope | undefined): void {
    this._owner = owner;
    this.#envelope = envelope;
    if (owner !== CALLER) this._stamp |= LOOK_CLOSER;
  }

  /** @internal */
  _clear(): void {
    this._path = "";
    this._body = this._meta = undefined as Body & Meta;
    this.#envelope = undefined;
  }

  /** @internal */
  _leave(): void {
    this._pool = NO_POOL;
    this.#lender = undefined;
  }

  /** True from `acquire` until `release`. */
  get lent(): boolean {
    return (this._stamp & 1) === 1;
  }

  /** Names this loan in its pool: unlike the object, it is never used again. NaN once kept. */
  get handle(): number {
    if ((this._stamp & 1) === 0) refuse(this);
    return this.#lender === undefined ? Number.NaN : this.#lender._handleOf(this);
  }

  /** The text in the path where the receiver's template has `{name}`; `"*"` names the rest that a wildcard matched. */
  param(name: Params): string {
    if ((this._stamp & 1) === 0) refuse(this);
    const route = this.#route;
    const index = route === undefined ? -1 : route.indexOf(name);
    if (index < 0) throw new RangeError(`path ${this._path} has no parameter ${name}`);
    return route!.text(this._path, index);
  }

  /** A parameter of at most 15 decimal digits as a number, without making a string; undefined if it is anything else. */
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
   * Takes this object out of its pool, so that it may be stored; it needs no release and its pool makes a new one. The owner
   * may do so: the caller of `acquire`, a handler, an observer. Throws MessageInUseError while another owns the message.
   */
  keep(): this {
    if ((this._stamp & 1) === 0) refuse(this);
    if (this._owner === QUEUE) refuseWrite(this);
    this.#lender?._keep(this);
    return this;
  }

  /** Releases to the pool that lent it, for `using`. Nothing happens to a message that was kept. */
  [Symbol.dispose](): void {
    this.#lender?._giveBack(this);
  }

  toJSON(): { path: string; body: Body; meta: Meta } {
    return { path: this.path, body: this.body, meta: this.meta };
  }

  /** What `console.log` shows. */
  [Symbol.for("nodejs.util.inspect.custom")](): unknown {
    if (!this.lent) return "Message <released>";
    return { path: this._path, body: this._body, meta: this._meta };
  }
}

/** What an observer gets: a message that it may read, forward and keep, and that it cannot change, send or release. */
export type Observed<Body = unknown, Meta = unknown, Params extends string = string> = Readonly<
  Pick<
    Message<Body, Meta, Params>,
    "path" | "body" | "meta" | "traceparent" | "signal" | "param" | "paramInt" | "toJSON" | "lent"
  >
> & { keep(): Observed<Body, Meta, Params> };

/** @internal A message with a place in a pool, where it is lent again. */
export class PooledMessage extends Message {
  constructor(lender: Lender, slot: number, stamp: number) {
    super(lender, stamp, "", undefined, undefined);
    this._slot = slot;
    this._link = END;
  }
}
