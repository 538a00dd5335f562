import type { Envelope, Message } from "../pool/message.js";
import type { Deadline } from "./deadlines.js";
import { captureScope, type Scope } from "./platform.js";
import type { Receiver } from "./receiver.js";
import { unwatchSignal, watchSignal } from "./signals.js";

/** @internal Waits for room in a queue. */
export const WAITING = 0;
/** @internal */
export const QUEUED = 1;
/** @internal With its handler. */
export const RUNNING = 2;
/** @internal Between two attempts of its handler. */
export const RESTING = 3;
/** @internal */
export const DONE = 4;
/** @internal Its send has not given it to a queue or a handler yet. */
export const NEW = 5;

/** @internal Why a message ended before its handler did. */
export type Cause = "aborted" | "timed-out" | "closed";

/**
 * One message on its way to one receiver: what is known about it beside the message, from the send until its end.
 *
 * @internal
 */
export class Delivery implements Envelope {
  message!: Message;
  receiver!: Receiver;
  state = DONE;
  /** The message is released at the end; otherwise it goes back to the caller that acquired it. */
  ours = true;
  /** The sender takes no reply: errors go to `onError`. */
  emitted = false;
  lane = 2;
  /** A mailbox has it in its lists, possibly as a hole. */
  listed = false;
  /** Of a message that gave its place in the lane to a newer one: the newer one. */
  successor: Delivery | undefined = undefined;
  /** Of that newer one: the message at whose place it waits. */
  placeHolder: Delivery | undefined = undefined;
  key: unknown = undefined;
  attempt = 1;
  traceparent: string | undefined = undefined;
  correlationId: number | undefined = undefined;
  sentAtMs = 0;
  scope: Scope | undefined = undefined;
  deadline: Deadline | undefined = undefined;
  /** What ends the pause between two attempts. */
  rest: { done(): void } | undefined = undefined;
  sender: AbortSignal | undefined = undefined;
  /** Why. */
  reason: unknown = undefined;
  /** The sender no longer waits. */
  given = false;
  /** The send that made it is still on the stack. */
  held = false;
  /** Its handler is known in its asynchronous context, which may hold this for ever. */
  marked = false;
  /** Its handler runs on, and is not known in its asynchronous context. */
  unmarked = false;
  /** The promise is the handler's own, seen on its way. */
  chained = false;
  /** How it ended, for the send that is still on the stack. */
  failed = false;
  outcome: unknown = undefined;
  promise: Promise<unknown> | undefined = undefined;
  #resolve: ((value: unknown) => void) | undefined = undefined;
  #reject: ((reason: unknown) => void) | undefined = undefined;
  #controller: AbortController | undefined = undefined;
  #listener: (() => void) | undefined = undefined;

  /** contexts: who listens to `signal` is called in the context in which it was first read. */
  constructor(private readonly contexts: boolean) {}

  /** Made when a handler reads it, unless the sender's says it all. */
  get signal(): AbortSignal | undefined {
    if (this.deadline === undefined && this.#controller === undefined && this.reason === undefined) return this.sender;
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.given) this.#controller.abort(this.reason);
      else if (this.contexts) this.scope ??= captureScope();
    }
    return this.#controller.signal;
  }

  /** Calls `abort` when the sender's signal is aborted. */
  listen(signal: AbortSignal, abort: (delivery: Delivery) => void): void {
    this.sender = signal;
    this.#listener = () => abort(this);
    watchSignal(signal, this.#listener);
  }

  /** The sender no longer waits for the handler. Returns what tells those who listen to `signal`. */
  giveUp(reason: unknown): AbortController | undefined {
    this.given = true;
    this.reason = reason;
    this.#unlimit();
    return this.#controller;
  }

  /** Nothing but the handler settles the promise of the reply. */
  get settlesAlone(): boolean {
    return this.held && !this.emitted && this.promise === undefined && !this.deadline && !this.sender;
  }

  /** The promise of the reply: rejected at once where the sender gave up while the handler was on the stack. */
  promised(): Promise<unknown> {
    if (this.promise !== undefined) return this.promise;
    this.promise = new Promise<unknown>((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    if (this.given) this.reply(true, this.reason);
    return this.promise;
  }

  /** False when no promise was given out, or it was settled before. */
  reply(failed: boolean, value: unknown): boolean {
    const settle = failed ? this.#reject : this.#resolve;
    if (settle === undefined) return false;
    this.#resolve = this.#reject = undefined;
    settle(value);
    return true;
  }

  /** As `reply` with an error that is reported elsewhere too: a sender that does not look is not to end the process. */
  refuse(error: unknown): void {
    if (this.#reject !== undefined) this.promise!.catch(() => {});
    this.reply(true, error);
  }

  /** Ends what may still happen to it. */
  finish(): void {
    this.state = DONE;
    this.#unlimit();
  }

  #unlimit(): void {
    this.deadline?.done();
    if (this.#listener !== undefined) unwatchSignal(this.sender, this.#listener);
  }

  /** Makes it ready for another message. */
  reset(): void {
    this.message = undefined as unknown as Message;
    this.successor = this.placeHolder = this.promise = this.outcome = this.key = this.reason = undefined;
    this.scope = this.deadline = this.rest = this.sender = this.traceparent = this.correlationId = undefined;
    this.#resolve = this.#reject = this.#controller = this.#listener = undefined;
    this.attempt = 1;
    this.failed = this.given = this.marked = this.unmarked = this.chained = false;
    this.lane = 2;
  }
}
