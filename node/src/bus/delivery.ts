import type { Envelope, Message } from "../pool/message.js";
import type { Deadline } from "./deadlines.js";
import { DONE } from "./delivery-state.js";
import type { Queued } from "./mailbox.js";
import { captureScope, type Scope } from "./platform.js";
import type { Receiver } from "./receiver.js";
import { unwatchSignal, watchSignal } from "./signals.js";

/** @internal The reason why a message ended before its handler did. */
export type Cause = "aborted" | "timed-out" | "closed";

/**
 * The state of one message on its way to one receiver, from the send until its end.
 *
 * @internal
 */
export class Delivery implements Envelope, Queued {
  message!: Message;
  receiver!: Receiver;
  state = DONE;
  /** The message is released at the end; otherwise it returns to the caller that acquired it. */
  ownsMessage = true;
  /** Sent by `emit`: errors go to `onError`. */
  emitted = false;
  lane = 2;
  listed = false;
  successor: Queued | undefined = undefined;
  predecessor: Queued | undefined = undefined;
  key: unknown = undefined;
  attempt = 1;
  traceparent: string | undefined = undefined;
  correlationId: number | undefined = undefined;
  sentAtMs = 0;
  scope: Scope | undefined = undefined;
  deadline: Deadline | undefined = undefined;
  /** The pause before the next attempt. */
  pause: { cancel(): void } | undefined = undefined;
  /** The sender's signal. */
  sender: AbortSignal | undefined = undefined;
  /** The sender no longer waits, for this reason. */
  abandoned = false;
  reason: unknown = undefined;
  /** The send that began it is still on the stack. */
  sending = false;
  /** The handler's asynchronous context is marked with this delivery, and may keep it forever. */
  marked = false;
  /** The handler runs on without such a mark. */
  unmarked = false;
  /** The promise is the handler's promise, chained. */
  chained = false;
  /** The outcome, for the send that is still on the stack. */
  failed = false;
  outcome: unknown = undefined;
  promise: Promise<unknown> | undefined = undefined;
  #resolve: ((value: unknown) => void) | undefined = undefined;
  #reject: ((reason: unknown) => void) | undefined = undefined;
  #controller: AbortController | undefined = undefined;
  #listener: (() => void) | undefined = undefined;

  /** contexts: listeners of `signal` are called in the context that first read it. */
  constructor(private readonly contexts: boolean) {}

  /** Made when a handler reads it, unless the sender's signal is enough. */
  get signal(): AbortSignal | undefined {
    if (this.deadline === undefined && this.#controller === undefined && this.reason === undefined) return this.sender;
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.abandoned) this.#controller.abort(this.reason);
      else if (this.contexts) this.scope ??= captureScope();
    }
    return this.#controller.signal;
  }

  /** Whether the scope is needed after the first run: for a retry, a dead letter, or listeners of `signal`. */
  get usesScopeAgain(): boolean {
    return this.deadline !== undefined || this.sender !== undefined || this.receiver.retry !== undefined;
  }

  /** Calls `abort` when the sender's signal is aborted. */
  listen(signal: AbortSignal, abort: (delivery: Delivery) => void): void {
    this.sender = signal;
    this.#listener = () => abort(this);
    watchSignal(signal, this.#listener);
  }

  /** Records that the sender no longer waits. Returns the controller of `signal`, if a handler has read it. */
  abandon(reason: unknown): AbortController | undefined {
    this.abandoned = true;
    this.reason = reason;
    this.#unlimit();
    return this.#controller;
  }

  /** Whether the handler alone decides how the reply settles. */
  get onlyHandlerSettles(): boolean {
    return this.sending && !this.emitted && this.promise === undefined && !this.deadline && !this.sender;
  }

  /** The promise of the reply, made on request. Rejected at once if the sender has given up. */
  replyPromise(): Promise<unknown> {
    if (this.promise !== undefined) return this.promise;
    this.promise = new Promise<unknown>((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    if (this.abandoned) this.reply(true, this.reason);
    return this.promise;
  }

  /** Settles the promise of the reply. False if there is none or it is settled. */
  reply(failed: boolean, value: unknown): boolean {
    const settle = failed ? this.#reject : this.#resolve;
    if (settle === undefined) return false;
    this.#resolve = this.#reject = undefined;
    settle(value);
    return true;
  }

  /** Rejects the promise of the reply, which does not end the process even if the sender ignores it. */
  rejectHandled(error: unknown): void {
    if (this.#reject !== undefined) this.promise!.catch(() => {});
    this.reply(true, error);
  }

  /** Ends it: no time limit or signal has an effect any more. */
  finish(): void {
    this.state = DONE;
    this.#unlimit();
  }

  #unlimit(): void {
    this.deadline?.cancel();
    if (this.#listener !== undefined) unwatchSignal(this.sender, this.#listener);
  }

  /** Restores the initial state, for another message. */
  reset(): void {
    this.message = undefined as unknown as Message;
    this.successor = this.predecessor = this.promise = this.outcome = this.key = this.reason = undefined;
    this.scope = this.deadline = this.pause = this.sender = this.traceparent = this.correlationId = undefined;
    this.#resolve = this.#reject = this.#controller = this.#listener = undefined;
    this.attempt = 1;
    this.failed = this.abandoned = this.marked = this.unmarked = this.chained = false;
    this.lane = 2;
  }
}
