import { CALLER, HANDLER, NO_POOL, OBSERVER } from "../pool/lease.js";
import type { MessagePool } from "../pool/message-pool.js";
import { adopt, isThenable } from "../pool/thenable.js";
import { type Cause, type Delivery, DONE, NEW, RESTING, RUNNING } from "./delivery.js";
import { DeliverySource, type RunnerOptions } from "./delivery-source.js";
import type { MailboxOwner, Refusal } from "./mailbox.js";
import { soon } from "./platform.js";
import { ABORTED, DROPPED, EXPIRED, FAILED, HANDLED, REFUSED, RETRIED } from "./receiver.js";
import type { Registry } from "./registry.js";
import type { Reports } from "./reports.js";
import { TracedRuns } from "./trace.js";

/** Attempts in a row without a pause, after which timers and sockets have their turn. A power of two. */
const ATTEMPTS = 64;

/**
 * The life of a delivery from its start to its end: runs the handler, again where it may be, and gives the message back.
 *
 * @internal
 */
export abstract class Runner extends DeliverySource implements MailboxOwner {
  /** Handlers on the stack. */
  protected depth = 0;
  readonly #traces: TracedRuns | undefined;
  readonly #whenIdle: (() => void)[] = [];
  readonly #attempt = (delivery: Delivery): void => this.#attempts(delivery);
  readonly #enter = (delivery: Delivery): void => this.store!.run(delivery, this.#attempt, delivery);

  /** @internal */
  protected constructor(pool: MessagePool, registry: Registry, reports: Reports, options: RunnerOptions) {
    super(pool, registry, reports, options);
    this.#traces = options.diagnostics ? new TracedRuns() : undefined;
  }

  get idle(): boolean {
    return this.outstanding === 0;
  }

  whenIdle(settled: () => void): void {
    this.#whenIdle.push(settled);
  }

  startWaiting(delivery: Delivery): boolean {
    delivery.state = NEW;
    if (delivery.deadline?.look() === true) return false;
    this.start(delivery);
    return true;
  }

  start(delivery: Delivery): void {
    const { message, receiver, scope } = delivery;
    delivery.state = RUNNING;
    message._owner = receiver.observes ? OBSERVER : HANDLER;
    // While it is on the stack, what a handler sends is known as its own without a mark.
    if (this.store === undefined || receiver.synchronous) {
      if (scope === undefined) this.#attempts(delivery);
      else scope.runInAsyncScope(this.#attempt, undefined, delivery);
      return;
    }
    delivery.marked = true;
    if (scope === undefined) this.store.run(delivery, this.#attempt, delivery);
    else scope.runInAsyncScope(this.#enter, undefined, delivery);
  }

  /** Its queue, or the way to its thread, does not take the message, or no longer. An error costs a stack: it is made only where a caller gets it. */
  turnAway(delivery: Delivery, refusal: Refusal): void {
    const { receiver, scope } = delivery;
    receiver.counts[refusal === "dropped" ? DROPPED : REFUSED]!++;
    let made: unknown;
    const error = (): unknown => (made ??= receiver.entry!.errorOf(refusal));
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
      const outer = this.current;
      this.current = delivery;
      this.depth++;
      try {
        outcome = this.#traces === undefined ? receiver.run(message) : this.#traces.run(delivery);
        if (isThenable(outcome)) {
          if (!delivery.marked && !delivery.unmarked) this.unmark(delivery);
          receiver.async = true;
          this.awaitReply(delivery, outcome);
          return;
        }
      } catch (error) {
        outcome = error;
        failed = true;
      } finally {
        this.current = outer;
        this.depth--;
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
    const promise = adopt(outcome);
    if (delivery.settlesAlone && delivery.receiver.retry === undefined) {
      // The reply is the handler's own promise, seen on its way: one promise less.
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
        if (this.#again(delivery, error)) this.start(delivery);
      },
    );
  }

  /** True when the handler is to be run again now; otherwise it is done with, or will be run after a pause. */
  #again(delivery: Delivery, error: unknown): boolean {
    const { retry, counts } = delivery.receiver;
    if (retry !== undefined) {
      this.look();
      delivery.deadline?.look();
    }
    if (retry === undefined || delivery.attempt > retry.times || delivery.given) {
      this.#settle(delivery, true, error);
      return false;
    }
    delivery.attempt++;
    const pauseMs = retry.pauseMs(delivery.attempt);
    if (pauseMs === 0 && (delivery.attempt & (ATTEMPTS - 1)) !== 0) {
      counts[RETRIED]!++;
      return true;
    }
    delivery.state = RESTING;
    delivery.scope ??= this.capture();
    let over = false;
    const rise = (): void => {
      if (!over) this.look();
      if (!over) delivery.deadline?.look();
      if (over) return;
      counts[RETRIED]!++;
      this.start(delivery);
    };
    const timer = pauseMs > 0 ? this.deadlines.start(pauseMs, rise) : undefined;
    if (timer === undefined) soon(rise);
    delivery.rest = {
      done: () => {
        over = true;
        timer?.done();
      },
    };
    return false;
  }

  /** The handler is done with a message. */
  #settle(delivery: Delivery, failed: boolean, value: unknown): void {
    const { receiver, message } = delivery;
    const path = message._path;
    // For a send to a synchronous handler without a queue the reply is there before the limit can be reported.
    const seen = delivery.held && !delivery.emitted && delivery.promise === undefined;
    if (delivery.deadline !== undefined && !seen && !delivery.emitted) delivery.deadline.look();
    receiver.counts[HANDLED]!++;
    if (failed) receiver.counts[FAILED]!++;
    receiver.latency?.record((performance.now() - delivery.sentAtMs) * 1e6);
    delivery.failed = failed;
    delivery.outcome = value;
    this.end(delivery);
    receiver.mailbox?.finished();
    if (seen) return;
    const known = delivery.given && !delivery.emitted && value === delivery.reason; // the sender has it
    if (!delivery.reply(failed, value) && failed && !delivery.chained && !known)
      this.reports.error(value, path, receiver.name);
    this.recycle(delivery);
  }

  /** The message goes back to its owner. */
  end(delivery: Delivery): void {
    const { message, receiver } = delivery;
    delivery.finish();
    message._own(CALLER, undefined);
    if (delivery.ours && message._pool !== NO_POOL) this.pool._takeBack(message);
    receiver.active--;
    if (receiver.retired && receiver.active === 0) this.registry.forget(receiver);
    if (delivery.unmarked) this.unmarked--;
    this.outstanding--;
    if (this.outstanding === 0 && this.#whenIdle.length > 0) for (const settled of this.#whenIdle.splice(0)) settled();
  }

  /** Where an asynchronous context may still hold a delivery, it is not used again. */
  recycle(delivery: Delivery): void {
    if (delivery.marked || delivery.state !== DONE || delivery.held || delivery.listed) return;
    delivery.reset();
    this.stock.put(delivery);
  }
}
