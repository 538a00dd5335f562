/** The pool of a leased object, as the object sees it. */
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

/** @internal The `_link` of the last object of the free list. */
export const END = -1;
/** @internal The `_link` of an object that has lost its place in the pool: it is dropped when it comes back. */
export const DISCARD = -2;
/** @internal The `_link` of an object that a dispatcher holds ready without having lent it. */
export const RESERVED = -3;
/** @internal The stamp at which a slot number is given up, so that no handle is ever used twice. */
export const LAST_STAMP = 2 ** 30 - 1;
/** @internal The bit of a stamp that says: the release of this object needs more than clearing it. */
export const LOOK_CLOSER = 2 ** 30;
/** @internal The whole stamp of a plain object on loan: it has no slot and is never lent again. Odd, with LOOK_CLOSER. */
export const PLAIN = -1;
/** @internal The whole stamp of a plain object that was released. */
export const PLAIN_OVER = -2;
/** @internal The `_pool` of an object that was kept. */
export const NO_POOL = 0;

/** @internal The owner of a lent message. */
export const CALLER = 0;
/** @internal A queue, or a sender's wait for room in it. */
export const QUEUE = 1;
/** @internal */
export const HANDLER = 2;
/** @internal An observer; the message is a read-only view. */
export const OBSERVER = 3;
/** @internal A handler, and the message is the one that the dispatcher holds ready. */
export const READY = 4;

/**
 * One object's place in a pool. The stamp is odd while the object is lent and grows with every loan and every return, so
 * slot and stamp together name one loan.
 *
 * @internal
 */
export interface Lease {
  /** The id of the pool, NO_POOL once the object was kept. */
  _pool: number;
  /** CALLER, QUEUE, HANDLER, OBSERVER or READY. Others than CALLER have LOOK_CLOSER in their stamp. */
  _owner: number;
  /** LOOK_CLOSER and, below it, the count of loans and returns; or PLAIN. */
  _stamp: number;
  /** Undefined, as `_link`, for plain objects until their handle is read. */
  _slot: number;
  /** The next free slot, while this one is free. */
  _link: number;
}

/** @internal The stamp without LOOK_CLOSER. */
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

/** @internal Of an object of a user's class, its lease. */
export const LEASE = Symbol("millpond.lease");
/** @internal */
export type Leased = object & { [LEASE]?: Lease };

const places = new WeakMap<Lease, { readonly count: number; readonly at: { stack?: string } }>();

/** @internal Remembers the caller that asked for this loan. */
export function rememberPlace(lease: Lease, acquire: (...args: never[]) => unknown): void {
  const at: { stack?: string } = {};
  const { captureStackTrace } = Error as { captureStackTrace?: (target: object, above: unknown) => void };
  if (captureStackTrace === undefined) at.stack = new Error().stack ?? "";
  else captureStackTrace(at, acquire);
  places.set(lease, { count: countOf(lease), at });
}

/** @internal The line that asked for the present loan, or for the one that just ended, where it was remembered. */
export function placeOf(lease: Lease): string | undefined {
  const place = places.get(lease);
  if (place === undefined || countOf(lease) - place.count > 1) return undefined;
  return place.at.stack?.split("\n")[1]?.trim();
}
