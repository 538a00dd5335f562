import { CALLER, HANDLER, NO_POOL, OBSERVER, QUEUE } from "../pool/lease.js";
import type { Message } from "../pool/message.js";
import type { MessagePool } from "../pool/message-pool.js";
import { RequestTimeoutError } from "./bus-error.js";
import { Deadlines } from "./deadlines.js";
import { type Cause, Delivery, DONE, NEW, RESTING, RUNNING } from "./delivery.js";
import { DeliveryStock } from "./delivery-stock.js";
import type { MailboxOwner, Refusal } from "./mailbox.js";
import { captureScope, makeStore, type Scope, soon, type Store } from "./platform.js";
import { LANES } from "./queue-options.js";
import { ABORTED, DROPPED, EXPIRED, FAILED, HANDLED, type Receiver, REFUSED, RETRIED, SENT } from "./receiver.js";
import type { Registry } from "./registry.js";
import type { Reports } from "./reports.js";
import type { SendOptions } from "./system-options.js";
import { childTraceparent, TracedRuns } from "./trace.js";
import { adopt, isThenable } from "../pool/thenable.js";

/** Attempts in a row without a pause, after which timers and sockets have their turn. A power of two. */
const ATTEMPTS = 64;

/** @internal What the sender wants: the reply, a promise of it, or nothing. */
export type Mode = "send" | "request" | "emit";

/** @internal */
export interface RunnerOptions {
  readonly latency: boolean;
  readonly diagnostics: boolean;
  readonly tracing: boolean;
  readonly asyncContext: boolean;
  readonly timeoutMs: number;
}

/**
 * The life of a delivery from its begin to its end: runs the handler, again where it may be, and gives the message back.
 *
 * @internal
 */
export abstract class Runner implements MailboxOwner {
  readonly deadlines: Deadlines;
  /** Nothing has to be done for a message beside calling its handler, and its object may be the last one's. */
  readonly shortcuts: boolean;
  /** The deliveries whose handlers run, by asynchronous context. */
  readonly #store: Store<Delivery> | undefined;
  readonly #traces: TracedRuns | undefined;
  readonly #stock: DeliveryStock;
  #outstanding = 0;
  #depth = 0;
  /** Deliveries whose sends cannot be told from those of others. */
  #unmarked = 0;
  #requests = 0;
  readonly #whenIdle: (() => void)[] = [];
  readonly #attempt = (delivery: Delivery): void => this.#attempts(delivery);
  readonly #enter = (delivery: Delivery): void => this.#store!.run(delivery, this.#attempt, delivery);
  readonly #aborted = (delivery: Delivery): void => this.cancel(delivery, delivery.sender!.reason, "aborted");

  /** @internal */
  protected constructor(
    readonly pool: MessagePool,
    protected readonly registry: Registry,
    protected readonly reports: Reports,
    private readonly options: RunnerOptions,
  ) {
    this.#store = options.asyncContext ? makeStore<Delivery>() : undefined;
    this.deadlines = new Deadlines(this.capture());
    this.#stock = new DeliveryStock(this.marks);
    this.#traces = options.diagnostics ? new TracedRuns() : undefined;
    this.shortcuts = !options.tracing && !options.latency && !options.diagnostics && !pool._checked;
  }

  /** Handlers are marked, so that what they send is known as theirs. */
  get marks(): boolean {
    return this.#store !== undefined;
  }

  get idle(): boolean {
    return this.#outstanding === 0;
  }

  whenIdle(settled: () => void): void {
    this.#whenIdle.push(settled);
  }

  /** The delivery whose handler calls this, where it is known; true for a handler on the stack. */
  get inside(): Delivery | boolean {
    const delivery = this.#store?.getStore();
    if (delivery !== undefined && (delivery.state === RUNNING || delivery.state === RESTING)) return delivery;
    return this.#depth > 0;
  }

  /** True for handlers, and for all while it is not known which sends are a handler's. */
  get mayStillSend(): boolean {
    return this.#unmarked > 0 || this.inside !== false;
  }

  /** What queued handlers run in, where contexts are preserved. */
  capture(): Scope | undefined {
    return this.#store === undefined ? undefined : captureScope();
  }

  /** The message belongs to the delivery from here on; `held` until the send that makes it has looked at its outcome. */
  begin(
    receiver: Receiver,
    message: Message,
    ours: boolean,
    options: SendOptions | undefined,
    mode: Mode,
    scope: Scope | undefined,
  ): Delivery {
    const delivery = this.#stock.take();
    delivery.held = true;
    delivery.state = NEW;
    delivery.message = message;
    delivery.receiver = receiver;
    delivery.ours = ours;
    delivery.emitted = mode === "emit";
    delivery.scope = scope;
    receiver.counts[SENT]!++;
    receiver.active++;
    this.#outstanding++;
    message._address(receiver.route);
    message._own(QUEUE, delivery);
    if (this.#store === undefined) this.unmark(delivery);
    if (!this.shortcuts) this.#watch(delivery, options?.traceparent);
    if (mode === "request") delivery.correlationId = ++this.#requests;
    if (options !== undefined || mode === "request") this.#limit(delivery, options, mode);
    return delivery;
  }

  unmark(delivery: Delivery): void {
    delivery.unmarked = true;
    this.#unmarked++;
  }

  #watch(delivery: Delivery, given: string | undefined): void {
    if (this.options.latency) delivery.sentAtMs = performance.now();
    if (this.options.tracing && given === undefined) {
      const { inside } = this;
      delivery.traceparent = childTraceparent(typeof inside === "object" ? inside.traceparent : undefined);
    }
  }

  #limit(delivery: Delivery, options: SendOptions | undefined, mode: Mode): void {
    const { message, receiver } = delivery;
    delivery.traceparent = options?.traceparent ?? delivery.traceparent;
    // Observers see messages in the order in which they were sent.
    if (!receiver.observes) delivery.lane = LANES[options?.priority ?? "medium"];
    if (options?.signal !== undefined) delivery.listen(options.signal, this.#aborted);
    const timeoutMs = options?.timeoutMs ?? (mode === "request" ? this.options.timeoutMs : Number.POSITIVE_INFINITY);
    if (timeoutMs === Number.POSITIVE_INFINITY || receiver.observes) return;
    if (this.reports.wantsLetters) delivery.scope ??= this.capture();
    delivery.deadline = this.deadlines.start(timeoutMs, () => {
      this.cancel(delivery, new RequestTimeoutError(message._path, timeoutMs), "timed-out");
    });
  }

  start(delivery: Delivery): void {
    const { message, receiver, scope } = delivery;
    delivery.state = RUNNING;
    message._owner = receiver.observes ? OBSERVER : HANDLER;
    if (this.#store === undefined) this.#attempts(delivery);
    else if (scope === undefined) this.#store.run(delivery, this.#attempt, delivery);
    else scope.runInAsyncScope(this.#enter, undefined, delivery);
  }

  /** Its queue does not take the message, or no longer. An error costs a stack: it is made where somebody gets it. */
  turnAway(delivery: Delivery, refusal: Refusal): void {
    const { receiver, scope } = delivery;
    receiver.counts[refusal === "dropped" ? DROPPED : REFUSED]!++;
    let made: unknown;
    const error = (): unknown => (made ??= receiver.mailbox!.errorOf(refusal));
    const letter = this.reports.letterOf(delivery, refusal, error);
    this.end(delivery);
    if (delivery.promise !== undefined) delivery.refuse(error());
    this.recycle(delivery);
    this.reports.letter(letter, scope);
  }

  /** The sender no longer waits: takes the message back where its handler did not start, or tells the handler. */
  cancel(delivery: Delivery, reason: unknown, cause: Cause): void {
    const was = delivery.state;
    if (was === DONE || delivery.given) return;
    const { receiver, scope } = delivery;
    const unstarted = was !== RUNNING && was !== RESTING;
    const late = cause === "timed-out" && (unstarted || !delivery.emitted);
    const letter = late
      ? this.reports.letterOf(delivery, delivery.emitted ? "expired" : "timed-out", () => reason)
      : undefined;
    const controller = delivery.giveUp(reason);
    if (was === RUNNING) delivery.reply(true, reason);
    else if (was === RESTING) {
      delivery.rest!.done();
      this.#settle(delivery, true, reason);
    } else {
      delivery.state = DONE;
      receiver.counts[cause === "aborted" ? ABORTED : EXPIRED]!++;
      if (was !== NEW) receiver.mailbox!.remove(delivery, was);
      delivery.failed = true;
      delivery.outcome = reason;
      this.end(delivery);
      delivery.reply(true, reason);
      this.recycle(delivery);
    }
    const abort = (): void => controller?.abort(reason);
    if (scope === undefined) abort();
    else if (controller !== undefined) scope.runInAsyncScope(abort, undefined, undefined);
    this.reports.letter(letter, scope);
  }

  /** Runs the handler, again while it fails at once and may be run again. */
  #attempts(delivery: Delivery): void {
    const { receiver, message } = delivery;
    for (;;) {
      let outcome: unknown;
      let failed = false;
      this.#depth++;
      try {
        outcome = this.#traces === undefined ? receiver.run(message) : this.#traces.run(delivery);
        if (isThenable(outcome)) {
          receiver.async = true;
          this.awaitReply(delivery, outcome);
          return;
        }
      } catch (error) {
        outcome = error;
        failed = true;
      } finally {
        this.#depth--;
      }
      if (!failed) {
        if (receiver.provesSynchronous()) receiver.version = -1;
        this.#settle(delivery, false, outcome);
        return;
      }
      if (!this.#again(delivery, outcome)) return;
    }
  }

  awaitReply(delivery: Delivery, outcome: PromiseLike<unknown>): void {
    adopt(outcome).then(
      (value) => this.#settle(delivery, false, value),
      (error: unknown) => {
        if (this.#again(delivery, error)) this.start(delivery);
      },
    );
  }

  /** True when the handler is to be run again now; otherwise it is done with, or will be run after a pause. */
  #again(delivery: Delivery, error: unknown): boolean {
    const { retry, counts } = delivery.receiver;
    if (retry === undefined || delivery.attempt > retry.times || delivery.given) {
      this.#settle(delivery, true, error);
      return false;
    }
    delivery.attempt++;
    counts[RETRIED]!++;
    const pauseMs = retry.pauseMs(delivery.attempt);
    if (pauseMs === 0 && (delivery.attempt & (ATTEMPTS - 1)) !== 0) return true;
    delivery.state = RESTING;
    delivery.scope ??= this.capture();
    if (pauseMs > 0) delivery.rest = this.deadlines.start(pauseMs, () => this.start(delivery));
    else this.#restOneTurn(delivery);
    return false;
  }

  #restOneTurn(delivery: Delivery): void {
    let over = false;
    delivery.rest = { done: () => void (over = true) };
    soon(() => {
      if (!over) this.start(delivery);
    });
  }

  /** The handler is done with a message. */
  #settle(delivery: Delivery, failed: boolean, value: unknown): void {
    const { receiver, message } = delivery;
    const path = message._path;
    receiver.counts[HANDLED]!++;
    if (failed) receiver.counts[FAILED]!++;
    receiver.latency?.record((performance.now() - delivery.sentAtMs) * 1e6);
    delivery.failed = failed;
    delivery.outcome = value;
    const seen = delivery.held && !delivery.emitted && delivery.promise === undefined;
    this.end(delivery);
    receiver.mailbox?.finished();
    if (seen) return;
    if (!delivery.reply(failed, value) && failed) this.reports.error(value, path, receiver.name);
    this.recycle(delivery);
  }

  /** The message goes back to its owner. */
  end(delivery: Delivery): void {
    const { message, receiver } = delivery;
    delivery.finish();
    message._own(CALLER, undefined);
    if (delivery.ours && message._pool !== NO_POOL) this.pool.release(message);
    receiver.active--;
    if (receiver.retired && receiver.active === 0) this.registry.forget(receiver);
    if (delivery.unmarked) this.#unmarked--;
    this.#outstanding--;
    if (this.#outstanding === 0 && this.#whenIdle.length > 0) for (const settled of this.#whenIdle.splice(0)) settled();
  }

  /** Where an asynchronous context may still hold a delivery, it is not used again. */
  recycle(delivery: Delivery): void {
    if (this.#store !== undefined || delivery.state !== DONE || delivery.held || delivery.listed) return;
    delivery.reset();
    this.#stock.put(delivery);
  }
}
