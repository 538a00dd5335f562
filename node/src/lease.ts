/** Whoever takes a leased object back. */
export interface Lender {
  /** @internal */
  _handleOf(lease: Lease): number;
  /** @internal */
  _keep(lease: Lease): void;
  /** @internal */
  _giveBack(lease: Lease): void;
}

/** @internal The `_link` of an object that is dropped, not reused, when it comes back. */
export const DISCARD = -2;
/** @internal The `_link` of a lent object that needs more than being cleared when it comes back. */
export const LOOK_CLOSER = -3;
/** @internal The `_link` of the last object of the free list. */
export const END = -1;

/**
 * One object's place in a pool. The stamp is odd while the object is lent and grows with every loan and every return, so
 * slot and stamp together name one loan.
 *
 * @internal
 */
export class Lease {
  /** Undefined once the object has left its pool. */
  _lender: Lender | undefined;
  _slot: number;
  _stamp: number;
  /** The next free slot, while this one is free. */
  _link: number;

  constructor(lender: Lender | undefined, slot: number, stamp: number, link: number) {
    this._lender = lender;
    this._slot = slot;
    this._stamp = stamp;
    this._link = link;
  }
}

/**
 * The lease of an object of a user's own class.
 *
 * @internal
 */
export class ObjectLease<T extends object> extends Lease {
  readonly _object: T;
  constructor(lender: Lender, slot: number, stamp: number, link: number, object: T) {
    super(lender, slot, stamp, link);
    this._object = object;
  }
}

const places = new WeakMap<Lease, { readonly stamp: number; readonly at: { stack?: string } }>();

/** @internal Remembers who asked for this loan. */
export function rememberPlace(lease: Lease, acquire: (...args: never[]) => unknown): void {
  const at = {};
  Error.captureStackTrace(at, acquire);
  places.set(lease, { stamp: lease._stamp, at });
}

/** @internal The line that asked for the present loan, or for the one that just ended, where it was remembered. */
export function placeOf(lease: Lease): string | undefined {
  const place = places.get(lease);
  if (place === undefined || lease._stamp - place.stamp > 1) return undefined;
  return place.at.stack?.split("\n")[1]?.trim();
}
