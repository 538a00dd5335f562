import type { Delivery } from "./delivery.js";
import { PAUSED, RUNNING } from "./delivery-state.js";
import { beginMarks, captureScope, endMarks, markOf, runMarked, type Scope } from "./platform.js";

/**
 * Recognises the handler that sends: by the stack, and after its first `await` by a mark in its asynchronous context.
 *
 * @internal
 */
export class HandlerContexts {
  /** Whether handlers run in contexts that are marked with their delivery. */
  readonly marks: boolean;
  /** The delivery whose handler is on the stack. */
  current: Delivery | undefined;
  /** Running deliveries whose sends cannot be told from those of other code. */
  unmarked = 0;

  /** directCall: whether a handler that was called without a delivery is on the stack. */
  constructor(
    asyncContext: boolean,
    private readonly directCall: () => boolean,
  ) {
    this.marks = asyncContext && beginMarks(this);
  }

  /** The delivery whose handler calls this, if it is known; true in a handler that was called without a delivery. */
  get inside(): Delivery | boolean {
    if (this.current !== undefined) return this.current;
    const delivery = this.marks ? (markOf(this) as Delivery | undefined) : undefined;
    if (delivery !== undefined && (delivery.state === RUNNING || delivery.state === PAUSED)) return delivery;
    return this.directCall();
  }

  /** Whether a closing system accepts messages from the caller: from handlers, and from all while an unmarked one runs. */
  get mayStillSend(): boolean {
    return this.unmarked > 0 || this.inside !== false;
  }

  /** The caller's context, for queued handlers; undefined if contexts are off. */
  capture(): Scope | undefined {
    return this.marks ? captureScope() : undefined;
  }

  runMarked<Result>(delivery: Delivery, run: (delivery: Delivery) => Result): Result {
    return runMarked(this, delivery, run, delivery);
  }

  beginUnmarked(delivery: Delivery): void {
    delivery.unmarked = true;
    this.unmarked++;
  }

  /** Called when the system has closed. */
  close(): void {
    endMarks(this);
  }
}
