import type { Message } from "./message.js";

export type Priority = "critical" | "high" | "medium" | "low";
export type Overflow = "reject" | "drop-oldest" | "drop-newest" | "coalesce" | "wait";

export interface QueueOptions {
  /** Most messages that wait, all priorities together, 1 to 4,194,304. */
  readonly capacity: number;
  /** What happens to a message that finds the queue full; `reject` unless said otherwise. */
  readonly overflow?: Overflow;
  /** Handlers that run at once, 1 unless said otherwise. */
  readonly concurrency?: number;
  /** For `coalesce`: of the waiting messages with one key only the newest stays, at the place of the first. */
  readonly key?: (message: Message) => unknown;
}

/** How a queued message ended; `reply` is what `send` promised, if anybody waits for it. */
export interface Reply {
  /** The message has other receivers too. */
  readonly shared?: boolean;
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

/** @internal What the owner of a mailbox does for it. */
export interface MailboxOwner {
  /** The handler has settled. */
  settled(message: Message, reply: Reply | undefined, failed: boolean, outcome: unknown): void;
  /** The message was refused, dropped or aborted before the handler got it. */
  gone(message: Message, reply: Reply | undefined, reason: unknown): void;
}

/** Counters of one mailbox; accepted = handled + dropped + aborted + waiting + running. */
export interface MailboxStats {
  readonly accepted: number;
  readonly handled: number;
  readonly dropped: number;
  readonly refused: number;
  readonly aborted: number;
  readonly waiting: number;
  readonly running: number;
}
