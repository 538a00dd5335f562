/** Whoever takes a leased object back. */
export interface Lender {
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
/** @internal The `_link` of an object that somebody holds ready without having lent it. */
export const RESERVED = -3;
/** @internal The stamp at which a slot number is given up, so that no handle ever comes again. */
export const LAST_STAMP = 2 ** 30 - 1;
/** @internal The bit of a stamp that says: this one needs more than being cleared when it comes back. */
export const LOOK_CLOSER = 2 ** 30;
/** @internal The whole stamp of a plain object on loan: it has no slot, and nobody uses it again. Odd, with LOOK_CLOSER. */
export const PLAIN = -1;
/** @internal The whole stamp of a plain object that was released. */
export const PLAIN_OVER = -2;

/**
 * One object's place in a pool. The stamp is odd while the object is lent and grows with every loan and every return, so
 * slot and stamp together name one loan.
 *
 * @internal
 */
export interface Lease {
  /** Undefined once the object has left its pool. */
  _lender: Lender | undefined;
  /** LOOK_CLOSER and, below it, the count of loans and returns; or PLAIN. */
  _stamp: number;
  /** Undefined, as `_link`, for plain objects until somebody asks for their handle. */
  _slot: number;
  /** The next free slot, while this one is free. */
  _link: number;
}

/** @internal The stamp without LOOK_CLOSER. */
export function countOf({ _stamp }: Lease): number {
  return _stamp & LAST_STAMP;
}

/**
 * The lease of an object of a user's own class.
 *
 * @internal
 */
export class ObjectLease<T extends object> implements Lease {
  _link = END;
  constructor(
    public _lender: Lender | undefined,
    public _slot: number,
    public _stamp: number,
    readonly _object: T,
  ) {}
}

const places = new WeakMap<Lease, { readonly count: number; readonly at: { stack?: string } }>();

/** @internal Remembers who asked for this loan. */
export function rememberPlace(lease: Lease, acquire: (...args: never[]) => unknown): void {
  const at = {};
  Error.captureStackTrace(at, acquire);
  places.set(lease, { count: countOf(lease), at });
}

/** @internal The line that asked for the present loan, or for the one that just ended, where it was remembered. */
export function placeOf(lease: Lease): string | undefined {
  const place = places.get(lease);
  if (place === undefined || countOf(lease) - place.count > 1) return undefined;
  return place.at.stack?.split("\n")[1]?.trim();
}
