import { CALLER, HANDLER, NO_POOL, OBSERVER, QUEUE } from "../pool/lease.js";
import type { Message } from "../pool/message.js";
import type { MessagePool } from "../pool/message-pool.js";
import { adopt, isThenable } from "../pool/thenable.js";
import { RequestTimeoutError } from "./bus-error.js";
import { Deadlines } from "./deadlines.js";
import type { Cause, Delivery } from "./delivery.js";
import { DeliveryPool } from "./delivery-pool.js";
import { DONE, NEW, PAUSED, RUNNING } from "./delivery-state.js";
import type { HandlerContexts } from "./handler-contexts.js";
import type { MailboxOwner, Refusal } from "./mailbox.js";
import { runIn, runIsolated, type Scope, soon } from "./platform.js";
import { LANES } from "./queue-options.js";
import { ABORTED, DROPPED, EXPIRED, FAILED, HANDLED, type Receiver, REFUSED, RETRIED, SENT } from "./receiver.js";
import type { Registry } from "./registry.js";
import type { Reports } from "./reports.js";
import { pauseMs } from "./retry.js";
import type { SendOptions } from "./system-options.js";
import { childTraceparent, TracedRuns } from "./trace.js";

/** Attempts without a pause before the event loop gets a turn. A power of two. */
const ATTEMPTS_PER_TURN = 64;

/** @internal The sender wants the reply, a promise of it, or nothing. */
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
 * The life of a delivery: begins it, runs its handler, repeats failed runs, and returns its message.
 *
 * @internal
 */
export class Runner implements MailboxOwner {
  readonly deadlines: Deadlines;
  /** Handlers on the stack. */
  depth = 0;
  /** Functions that withdraw the messages which senders in other threads have aborted. */
  readonly abortChecks = new Set<() => void>();
  readonly #deliveries: DeliveryPool;
  readonly #marks: boolean;
  /** Whether deliveries have a time of sending or a trace. */
  readonly #watched: boolean;
  readonly #traces: TracedRuns | undefined;
  readonly #whenIdle: (() => void)[] = [];
  #outstanding = 0;
  #requests = 0;
  readonly #run = (delivery: Delivery): boolean => this.#attempt(delivery);
  readonly #runMarked = (delivery: Delivery): boolean => this.contexts.runMarked(delivery, this.#run);
  readonly #aborted = (delivery: Delivery): void => this.cancel(delivery, delivery.sender!.reason, "aborted");

  constructor(
    private readonly pool: MessagePool,
    private readonly registry: Registry,
    private readonly reports: Reports,
    private readonly options: RunnerOptions,
    private readonly contexts: HandlerContexts,
  ) {
    this.deadlines = new Deadlines(contexts.capture());
    this.#deliveries = new DeliveryPool(contexts.marks);
    this.#marks = contexts.marks;
    this.#watched = options.latency || options.tracing;
    this.#traces = options.diagnostics ? new TracedRuns() : undefined;
  }

  get idle(): boolean {
    return this.#outstanding === 0;
  }

  whenIdle(call: () => void): void {
    this.#whenIdle.push(call);
  }

  checkAborts(): void {
    if (this.abortChecks.size > 0) for (const check of this.abortChecks) check();
  }

  /** Makes the delivery that owns `message` until its end. `sending` stays set until the caller has read the outcome. */
  begin(
    receiver: Receiver,
    message: Message,
    ownsMessage: boolean,
    options: SendOptions | undefined,
    mode: Mode,
    scope: Scope | undefined,
  ): Delivery {
    const delivery = this.#deliveries.acquire();
    delivery.sending = true;
    delivery.state = NEW;
    delivery.message = message;
    delivery.receiver = receiver;
    delivery.ownsMessage = ownsMessage;
    delivery.emitted = mode === "emit";
    delivery.scope = scope;
    receiver.counts[SENT]!++;
    receiver.active++;
    this.#outstanding++;
    message._address(receiver.parameters);
    message._own(QUEUE, delivery);
    if (!this.#marks) this.contexts.beginUnmarked(delivery);
    if (this.#watched) this.#watch(delivery, options?.traceparent);
    if (mode === "request") delivery.correlationId = ++this.#requests;
    if (options !== undefined || mode === "request") this.#limit(delivery, options, mode);
    return delivery;
  }

  startWaiting(delivery: Delivery): boolean {
    delivery.state = NEW;
    if (delivery.deadline?.expireIfDue() === true) return false;
    this.start(delivery);
    return true;
  }

  /** Runs the handler, and again while it fails at once and has retries left. */
  start(delivery: Delivery): void {
    const { message, receiver } = delivery;
    delivery.state = RUNNING;
    message._owner = receiver.observes ? OBSERVER : HANDLER;
    // Each attempt begins in the sender's context, without what the previous one has entered.
    if (receiver.retry !== undefined) delivery.scope ??= this.contexts.capture();
    while (this.#runInContext(delivery));
  }

  /** Ends a delivery that its queue, or the bridge to its thread, did not accept or has displaced. */
  reject(delivery: Delivery, refusal: Refusal): void {
    const { receiver, scope } = delivery;
    receiver.counts[refusal === "dropped" ? DROPPED : REFUSED]!++;
    // An error captures a stack, so it is made only if a caller gets it.
    let made: unknown;
    const error = (): unknown => (made ??= receiver.entry!.errorOf(refusal));
    const letter = this.reports.deadLetterOf(delivery, refusal, error);
    this.end(delivery);
    if (delivery.promise !== undefined) delivery.rejectHandled(error());
    this.recycle(delivery);
    this.reports.deadLetter(letter, scope);
  }

  /** Ends a delivery whose sender no longer waits. A handler that runs sees `message.signal` aborted and keeps the message. */
  cancel(delivery: Delivery, reason: unknown, cause: Cause): void {
    const was = delivery.state;
    if (was === DONE || delivery.abandoned) return;
    const { receiver, scope } = delivery;
    const unstarted = was !== RUNNING && was !== PAUSED;
    const late = cause === "timed-out" && (unstarted || !delivery.emitted);
    const letter = late
      ? this.reports.deadLetterOf(delivery, delivery.emitted ? "expired" : "timed-out", () => reason)
      : undefined;
    const controller = delivery.abandon(reason);
    if (was === RUNNING) delivery.reply(true, reason);
    else if (was === PAUSED) {
      delivery.pause!.cancel();
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
    else if (controller !== undefined) runIsolated(scope, abort, undefined);
    this.reports.deadLetter(letter, scope);
  }

  /** Settles the delivery with the promise that its handler returned. */
  awaitReply(delivery: Delivery, outcome: PromiseLike<unknown>): void {
    const promise = adopt(outcome);
    if (delivery.onlyHandlerSettles && delivery.receiver.retry === undefined) {
      // The sender gets the handler's promise, chained: one promise less.
      const succeed = (value: unknown): unknown => {
        this.#settle(delivery, false, value);
        return value;
      };
      const fail = (error: unknown): never => {
        this.#settle(delivery, true, error);
        throw error;
      };
      delivery.promise = promise.then(succeed, fail);
      delivery.chained = true;
      return;
    }
    promise.then(
      (value) => this.#settle(delivery, false, value),
      (error: unknown) => {
        if (this.#shouldRetry(delivery, error)) this.start(delivery);
      },
    );
  }

  /** Returns the message to its owner. */
  end(delivery: Delivery): void {
    const { message, receiver } = delivery;
    delivery.finish();
    message._own(CALLER, undefined);
    if (delivery.ownsMessage && message._pool !== NO_POOL) this.pool._endLoan(message);
    receiver.active--;
    if (receiver.retired && receiver.active === 0) this.registry.forget(receiver);
    if (delivery.unmarked) this.contexts.unmarked--;
    this.#outstanding--;
    if (this.#outstanding === 0 && this.#whenIdle.length > 0) for (const call of this.#whenIdle.splice(0)) call();
  }

  /** Makes the delivery available for another message, unless an asynchronous context may still refer to it. */
  recycle(delivery: Delivery): void {
    if (delivery.marked || delivery.state !== DONE || delivery.sending || delivery.listed) return;
    delivery.reset();
    this.#deliveries.release(delivery);
  }

  #watch(delivery: Delivery, given: string | undefined): void {
    if (this.options.latency) delivery.sentAtMs = performance.now();
    if (!this.options.tracing || given !== undefined) return;
    const { inside } = this.contexts;
    delivery.traceparent = childTraceparent(typeof inside === "object" ? inside.traceparent : undefined);
  }

  #limit(delivery: Delivery, options: SendOptions | undefined, mode: Mode): void {
    const { message, receiver } = delivery;
    delivery.traceparent = options?.traceparent ?? delivery.traceparent;
    // Observers get messages in send order.
    if (!receiver.observes) delivery.lane = LANES[options?.priority ?? "medium"];
    if (options?.signal !== undefined) delivery.listen(options.signal, this.#aborted);
    const timeoutMs = options?.timeoutMs ?? (mode === "request" ? this.options.timeoutMs : Number.POSITIVE_INFINITY);
    if (timeoutMs === Number.POSITIVE_INFINITY || receiver.observes) return;
    if (this.reports.wantsDeadLetters) delivery.scope ??= this.contexts.capture();
    delivery.deadline = this.deadlines.start(timeoutMs, () => {
      this.cancel(delivery, new RequestTimeoutError(message._path, timeoutMs), "timed-out");
    });
  }

  #runInContext(delivery: Delivery): boolean {
    const { receiver, scope } = delivery;
    let run = this.#run;
    // A synchronous handler is known by the stack.
    if (this.#marks && !receiver.synchronous) {
      delivery.marked = true;
      run = this.#runMarked;
    }
    if (scope === undefined) return run(delivery);
    return (delivery.usesScopeAgain ? runIsolated : runIn)(scope, run, delivery);
  }

  /** Runs the handler once. True if it must run again at once. */
  #attempt(delivery: Delivery): boolean {
    const { receiver, message } = delivery;
    const { contexts } = this;
    let outcome: unknown;
    let failed = false;
    const outer = contexts.current;
    contexts.current = delivery;
    this.depth++;
    try {
      outcome = this.#traces === undefined ? receiver.run(message) : this.#traces.run(delivery);
      if (isThenable(outcome)) {
        if (!delivery.marked && !delivery.unmarked) contexts.beginUnmarked(delivery);
        receiver.async = true;
        this.awaitReply(delivery, outcome);
        return false;
      }
    } catch (error) {
      outcome = error;
      failed = true;
    } finally {
      contexts.current = outer;
      this.depth--;
    }
    if (failed) return this.#shouldRetry(delivery, outcome);
    if (receiver.provesSynchronous()) receiver.version = -1;
    this.#settle(delivery, false, outcome);
    return false;
  }

  /** True if the handler must run again now; otherwise the delivery is settled, or paused until its next attempt. */
  #shouldRetry(delivery: Delivery, error: unknown): boolean {
    const { retry, counts } = delivery.receiver;
    if (retry !== undefined) {
      this.checkAborts();
      delivery.deadline?.expireIfDue();
    }
    if (retry === undefined || delivery.attempt > retry.times || delivery.abandoned) {
      this.#settle(delivery, true, error);
      return false;
    }
    delivery.attempt++;
    const pause = pauseMs(retry, delivery.attempt);
    if (pause > 0 || (delivery.attempt & (ATTEMPTS_PER_TURN - 1)) === 0) {
      this.#pause(delivery, pause);
      return false;
    }
    counts[RETRIED]!++;
    return true;
  }

  #pause(delivery: Delivery, durationMs: number): void {
    delivery.state = PAUSED;
    let over = false;
    const resume = (): void => {
      if (!over) this.checkAborts();
      if (!over) delivery.deadline?.expireIfDue();
      if (over) return;
      delivery.receiver.counts[RETRIED]!++;
      this.start(delivery);
    };
    const timer = durationMs > 0 ? this.deadlines.start(durationMs, resume) : undefined;
    if (timer === undefined) soon(resume);
    delivery.pause = {
      cancel: () => {
        over = true;
        timer?.cancel();
      },
    };
  }

  /** Ends a delivery whose handler has returned, thrown or settled its promise. */
  #settle(delivery: Delivery, failed: boolean, value: unknown): void {
    const { receiver, message } = delivery;
    const path = message._path;
    // A send to a synchronous handler without a queue reads the outcome from the stack, before a time limit can be reported.
    const readBySend = delivery.sending && !delivery.emitted && delivery.promise === undefined;
    if (delivery.deadline !== undefined && !readBySend && !delivery.emitted) delivery.deadline.expireIfDue();
    receiver.counts[HANDLED]!++;
    if (failed) receiver.counts[FAILED]!++;
    receiver.latency?.record((performance.now() - delivery.sentAtMs) * 1e6);
    delivery.failed = failed;
    delivery.outcome = value;
    this.end(delivery);
    receiver.mailbox?.finished();
    if (readBySend) return;
    const known = delivery.abandoned && !delivery.emitted && value === delivery.reason; // the sender has it
    if (!delivery.reply(failed, value) && failed && !delivery.chained && !known)
      this.reports.error(value, path, receiver.name);
    this.recycle(delivery);
  }
}
