import type { Message } from "../pool/message.js";

export type Priority = "critical" | "high" | "medium" | "low";
export type Overflow = "reject" | "drop-oldest" | "drop-newest" | "coalesce" | "wait";

export interface QueueOptions {
  /** Most queued messages, of all priorities together, 1 to 4,194,304. */
  readonly capacity: number;
  /**
   * Policy of a full queue for a further message: it refuses it (`reject`, the default), drops it (`drop-newest`), drops the oldest of the
   * least urgent messages (`drop-oldest`), or lets its sender wait (`wait`).
   */
  readonly overflow?: Overflow;
  /** Most handlers that run at once, 1 by default. */
  readonly concurrency?: number;
  /** For `coalesce`: of the queued messages with the same key only the newest stays, at the place of the first. */
  readonly key?: (message: Message) => unknown;
}

/** @internal The lane of each priority. */
export const LANES: Readonly<Record<Priority, number>> = Object.freeze(
  Object.assign(Object.create(null) as Record<Priority, number>, { critical: 0, high: 1, medium: 2, low: 3 }),
);
