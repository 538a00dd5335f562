/** The pool of an object on loan. */
export interface Lender {
  /** @internal */
  readonly _id: number;
  /** @internal */
  _handleOf(lease: Lease): number;
  /** @internal */
  _keep(lease: Lease): void;
  /** @internal */
  _giveBack(lease: Lease): void;
}

/** @internal The `_link` of the last object in the free list. */
export const END = -1;
/** @internal The `_link` of a stray: an object that is dropped at its release. */
export const DISCARD = -2;
/** @internal The stamp at which a slot is retired, so that no handle is used twice. */
export const LAST_STAMP = 2 ** 30 - 1;
/** @internal The bit of a stamp that marks an object whose release needs more than clearing it. */
export const SPECIAL = 2 ** 30;
/** @internal The stamp of a plain message on loan: it has no slot and is never handed out again. Odd, with SPECIAL. */
export const PLAIN = -1;
/** @internal The stamp of a plain message after its release. */
export const PLAIN_OVER = -2;
/** @internal The `_pool` of an object that was kept. */
export const NO_POOL = 0;

/** @internal Owners of a message on loan: the caller of `acquire`. */
export const CALLER = 0;
/** @internal A queue, or a send that waits for capacity of a queue. */
export const QUEUE = 1;
/** @internal A handler. */
export const HANDLER = 2;
/** @internal An observer; the message is a read-only view. */
export const OBSERVER = 3;
/** @internal The dispatcher, or the handler to which it lends its ready message. */
export const READY = 4;

/**
 * The state of an object of a pool. The stamp is odd while the object is on loan and grows with every loan and every release, so
 * slot and stamp identify a loan.
 *
 * @internal
 */
export interface Lease {
  /** The id of the pool, NO_POOL once the object was kept. */
  _pool: number;
  /** CALLER, QUEUE, HANDLER, OBSERVER or READY. With owners other than CALLER the stamp has SPECIAL. */
  _owner: number;
  /** SPECIAL, and below it the number of loans and releases; or PLAIN. */
  _stamp: number;
  /** Undefined, like `_link`, for plain messages whose handle was not read. */
  _slot: number;
  /** The next free slot, if the object is free. */
  _link: number;
}

/** @internal The stamp without SPECIAL. */
export function countOf({ _stamp }: Lease): number {
  return _stamp & LAST_STAMP;
}

/**
 * The lease of an object of a user's class.
 *
 * @internal
 */
export class ObjectLease<T extends object> implements Lease {
  _link = END;
  _owner = CALLER;
  constructor(
    public _pool: number,
    public _slot: number,
    public _stamp: number,
    readonly _object: T,
  ) {}
}

/** @internal The key of the lease in an object of a user's class. */
export const LEASE = Symbol("millpond.lease");
/** @internal */
export type Leased = object & { [LEASE]?: Lease };

const acquiredAt = new WeakMap<Lease, { readonly count: number; readonly at: { stack?: string } }>();

/** @internal Remembers the caller of `acquire`. */
export function rememberPlace(lease: Lease, acquire: (...args: never[]) => unknown): void {
  const at: { stack?: string } = {};
  const { captureStackTrace } = Error as { captureStackTrace?: (target: object, above: unknown) => void };
  if (captureStackTrace === undefined) at.stack = new Error().stack ?? "";
  else captureStackTrace(at, acquire);
  acquiredAt.set(lease, { count: countOf(lease), at });
}

/** @internal The line that acquired the present loan, or the previous one, if it was remembered. */
export function placeOf(lease: Lease): string | undefined {
  const place = acquiredAt.get(lease);
  if (place === undefined || countOf(lease) - place.count > 1) return undefined;
  return place.at.stack?.split("\n")[1]?.trim();
}
