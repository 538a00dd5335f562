import { inspect } from "node:util";
import { END, type Lease, type Lender, LOOK_CLOSER, placeOf } from "./lease.js";
import { UseAfterReleaseError } from "./pool-error.js";
import { Route } from "./route.js";

function refuse(message: Lease): never {
  throw new UseAfterReleaseError(message._slot, placeOf(message));
}

/** What only some messages carry beside path, body and meta; made by the sender, read-only afterwards. */
export interface Envelope {
  readonly traceparent: string | undefined;
  readonly signal: AbortSignal | undefined;
  readonly correlationId: number | undefined;
  /** `performance.now()` at sending, 0 where latencies are not recorded. */
  readonly sentAtMs: number;
}

/** @internal An envelope, and the route beside it. */
export interface Sealed extends Envelope {
  readonly route: Route | undefined;
}

/**
 * A path, a body and a note beside it (`meta`), on loan from a MessagePool. Every read or write after the release throws
 * UseAfterReleaseError, until the pool lends the same object again; a `handle` stays exact for ever.
 *
 * Threads: one thread; nothing of it is shared.
 * Memory:  one object, allocated when its pool first needs it.
 */
export class Message<Body = unknown, Meta = unknown, Params extends string = string> implements Lease {
  // As few fields as can be, and no base class: a plain message is to cost no more than any other small object.
  /** @internal */ _lender: Lender | undefined;
  /** @internal */ _stamp: number;
  /** @internal */ _slot!: number;
  /** @internal */ _link!: number;
  /** @internal */ _path: string;
  /** @internal */ _body: Body;
  /** @internal */ _meta: Meta;
  /** @internal The route that the message was sent by, for its parameters; of few messages, what else they carry. */
  _extra: Route | Sealed | undefined;

  /** @internal */
  constructor(lender: Lender | undefined, stamp: number, path: string, body: Body, meta: Meta) {
    this._lender = lender;
    this._stamp = stamp;
    this._path = path;
    this._body = body;
    this._meta = meta;
    this._extra = undefined;
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
    if ((this._stamp & 1) === 0) refuse(this);
    this._body = body;
  }

  get meta(): Meta {
    if ((this._stamp & 1) === 0) refuse(this);
    return this._meta;
  }
  set meta(meta: Meta) {
    if ((this._stamp & 1) === 0) refuse(this);
    this._meta = meta;
    this._stamp |= LOOK_CLOSER;
  }

  /** W3C `traceparent` of this message, where tracing is on or the sender gave one. */
  get traceparent(): string | undefined {
    if ((this._stamp & 1) === 0) refuse(this);
    return this._envelope?.traceparent;
  }

  /** Aborted when the sender has lost interest: long handlers look at it. */
  get signal(): AbortSignal | undefined {
    if ((this._stamp & 1) === 0) refuse(this);
    return this._envelope?.signal;
  }

  /** The number of the request that this message carries, for handlers that reply by other ways. */
  get correlationId(): number | undefined {
    if ((this._stamp & 1) === 0) refuse(this);
    return this._envelope?.correlationId;
  }

  /** @internal */
  get _envelope(): Envelope | undefined {
    return this._extra instanceof Route ? undefined : this._extra;
  }

  /** @internal */
  get _route(): Route | undefined {
    return this._extra instanceof Route ? this._extra : this._extra?.route;
  }

  /** @internal */
  _seal(sealed: Sealed): void {
    this._extra = sealed;
    this._stamp |= LOOK_CLOSER;
  }

  /** @internal */
  _clear(): void {
    this._path = "";
    this._body = this._meta = undefined as Body & Meta;
    this._extra = undefined;
  }

  /** True from `acquire` until `release`. */
  get lent(): boolean {
    return (this._stamp & 1) === 1;
  }

  /** Slot and generation of this loan in one number: unlike the object, it is never used again. NaN once kept. */
  get handle(): number {
    if ((this._stamp & 1) === 0) refuse(this);
    return this._lender === undefined ? Number.NaN : this._lender._handleOf(this);
  }

  /** The text that stood in the path where the route has `{name}`; `"*"` names the rest that a wildcard matched. */
  param(name: Params): string {
    if ((this._stamp & 1) === 0) refuse(this);
    const route = this._route;
    const index = route === undefined ? -1 : route.names.indexOf(name);
    if (index < 0) throw new RangeError(`path ${this._path} has no parameter ${name}`);
    const path = this._path;
    const start = route!.start(path, index);
    return path.slice(start, route!.end(path, index, start));
  }

  /** A parameter of decimal digits as a number, without making a string; undefined if it is anything else. */
  paramInt(name: Params): number | undefined {
    if ((this._stamp & 1) === 0) refuse(this);
    const route = this._route;
    const index = route === undefined ? -1 : route.names.indexOf(name);
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

  /** Takes this object out of its pool, so that it may be stored; nobody need release it and its pool makes a new one. */
  keep(): this {
    if ((this._stamp & 1) === 0) refuse(this);
    this._lender?._keep(this);
    return this;
  }

  /** Releases to the pool that lent it, for `using`. Nothing happens to a message that was kept. */
  [Symbol.dispose](): void {
    this._lender?._giveBack(this);
  }

  toJSON(): { path: string; body: Body; meta: Meta } {
    return { path: this.path, body: this.body, meta: this.meta };
  }

  [inspect.custom](): unknown {
    if (!this.lent) return "Message <released>";
    return { path: this._path, body: this._body, meta: this._meta };
  }
}

/** @internal A message with a place in a pool, where it is lent again. */
export class PooledMessage extends Message {
  constructor(lender: Lender, slot: number, stamp: number) {
    super(lender, stamp, "", undefined, undefined);
    this._slot = slot;
    this._link = END;
  }
}
