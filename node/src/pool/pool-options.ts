import * as check from "./checks.js";
import type { Message } from "./message.js";

export interface PoolStats {
  /** Free messages, and those on loan that return to the pool. */
  readonly size: number;
  readonly capacity: number;
  /** Constructed objects, including plain messages. */
  readonly created: number;
  readonly acquired: number;
  /** Acquisitions of existing objects. */
  readonly reused: number;
  readonly released: number;
  /** Objects dropped: plain messages at their release, and those of a pool that was shrunk or cleared. */
  readonly discarded: number;
  readonly kept: number;
  readonly inUse: number;
  readonly highWater: number;
  /** reused / acquired; 1 if nothing was acquired. */
  readonly reuseRate: number;
}

export interface Leak {
  readonly handle: number;
  readonly path: string | undefined;
  /** The line that called `acquire`, in checked pools and for sampled messages. */
  readonly acquiredAt: string | undefined;
  /** Lower bound of the duration of the loan. */
  readonly outForMs: number;
}

export interface MessagePoolOptions<T extends object, Body, Meta> {
  /** Creates an object of the user's class, which must be extensible, with the arguments of `acquire`. */
  readonly factory?: (path: string, body: Body, meta: Meta) => T;
  /** Fills an object at each `acquire`, after the factory if the object is new. */
  readonly reset?: (object: T, path: string, body: Body, meta: Meta) => void;
  /** Clears an object at `release`. */
  readonly clear?: (object: T) => void;
  /** If all `size` messages are on loan, `allocate` (default) makes plain ones, and `refuse` throws PoolExhaustedError. */
  readonly overflow?: "allocate" | "refuse";
  /** Never lends an object twice, and records where each loan began: every stale use throws. Costs an allocation per message. */
  readonly checked?: boolean;
  /** Messages made at construction; a factory gets an empty path and no body for them. */
  readonly warmup?: number;
  /** Milliseconds after which a message on loan is reported once as a leak, by `process.emitWarning`. Off by default. */
  readonly warnAfterMs?: number;
  /** For `"auto"`: interval in milliseconds at which unused messages are dropped, 10,000 by default; 0 for never. */
  readonly shrinkEveryMs?: number;
}

/** The result of `acquire`: a Message of that body and meta, or the user's own class. */
export type Pooled<T, Body, Meta> = Message extends T ? Message<Body, Meta> : T;

/** @internal Size from which a pool grows by half of itself at once, so that messages are adjacent in memory. */
export const FIRST_BLOCK = 256;
/** @internal Largest growth at once: a third of a mebibyte. */
export const LARGEST_BLOCK = 4_096;
/** @internal The largest size, and the size of "auto". */
export const MAX_POOL_SIZE = 2 ** 20;

/** @internal */
export const POOL_OPTIONS = {
  factory: check.callable,
  reset: check.callable,
  clear: check.callable,
  overflow: check.oneOf("allocate", "refuse"),
  checked: check.boolean,
  warmup: check.integerFrom(0, MAX_POOL_SIZE),
  warnAfterMs: check.duration,
  shrinkEveryMs: check.duration,
};
