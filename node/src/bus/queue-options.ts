import type { Message } from "../pool/message.js";

export type Priority = "critical" | "high" | "medium" | "low";
export type Overflow = "reject" | "drop-oldest" | "drop-newest" | "coalesce" | "wait";

export interface QueueOptions {
  /** Most messages that wait, all priorities together, 1 to 4,194,304. */
  readonly capacity: number;
  /**
   * What happens when a message finds the queue full: it is refused (`reject`, the default), it is dropped (`drop-newest`),
   * the oldest of the least urgent is dropped (`drop-oldest`), or its sender waits (`wait`).
   */
  readonly overflow?: Overflow;
  /** Handlers that run at once, 1 by default. */
  readonly concurrency?: number;
  /** For `coalesce`: of the waiting messages with one key only the newest stays, at the place of the first. */
  readonly key?: (message: Message) => unknown;
}

/** @internal The lane of each priority. */
export const LANES: Readonly<Record<Priority, number>> = Object.freeze(
  Object.assign(Object.create(null) as Record<Priority, number>, { critical: 0, high: 1, medium: 2, low: 3 }),
);
