import type { Message } from "./message.js";

export interface PoolStats {
  /** Messages that exist and will be used again: free ones and lent ones. */
  readonly size: number;
  readonly capacity: number;
  /** Objects constructed, plain ones included. */
  readonly created: number;
  readonly acquired: number;
  /** Acquisitions that constructed nothing. */
  readonly reused: number;
  readonly released: number;
  /** Objects dropped at their release: plain ones, or the pool was shrunk or cleared. */
  readonly discarded: number;
  readonly kept: number;
  readonly inUse: number;
  readonly highWater: number;
  /** reused / acquired, 1 where nothing was acquired. */
  readonly reuseRate: number;
}

export interface Leak {
  readonly handle: number;
  readonly path: string | undefined;
  /** Line of the caller of `acquire`, for checked pools and sampled messages. */
  readonly acquiredAt: string | undefined;
  /** At least so long; its loan began before that. */
  readonly outForMs: number;
}

export interface MessagePoolOptions<T extends object, Body, Meta> {
  /** Creates an object of the user's class, which must be extensible, with the arguments of `acquire`. */
  readonly factory?: (path: string, body: Body, meta: Meta) => T;
  /** Fills an object at each `acquire`, after the factory where the object is new. */
  readonly reset?: (object: T, path: string, body: Body, meta: Meta) => void;
  /** Empties an object at `release`. */
  readonly clear?: (object: T) => void;
  /** When all `size` messages are lent out: `allocate` (default) makes plain ones, `refuse` throws PoolExhaustedError. */
  readonly overflow?: "allocate" | "refuse";
  /** Never lends one object twice and keeps where each loan began: every stale use throws. Costs an allocation per message. */
  readonly checked?: boolean;
  /** Keeps where a loan began once in so many loans of a slot (a power of two; 0, never). */
  readonly samplePlaces?: number;
  /** Messages to make at construction; a factory gets an empty path and no body for them. */
  readonly warmup?: number;
  /** Milliseconds after which a lent message is reported as a leak, once, by `process.emitWarning`. Off unless given. */
  readonly warnAfterMs?: number;
  /** For `"auto"`: interval in milliseconds at which unused messages are dropped, 10,000 by default; 0 for never. */
  readonly shrinkEveryMs?: number;
}

/** The result of `acquire`: a Message of that body and meta, or the user's own class. */
export type Pooled<T, Body, Meta> = Message extends T ? Message<Body, Meta> : T;

/** @internal From so many messages on a pool grows by half of them at once, so that they lie side by side. */
export const FIRST_BLOCK = 256;
/** @internal No more at once: a third of a mebibyte. */
export const LARGEST_BLOCK = 4_096;
/** @internal The largest size, and that of "auto". */
export const MOST = 2 ** 20;

/** @internal */
export const POOL_OPTIONS = [
  "factory",
  "reset",
  "clear",
  "overflow",
  "checked",
  "samplePlaces",
  "warmup",
  "warnAfterMs",
  "shrinkEveryMs",
];
