import { CALLER, HANDLER, LAST_STAMP, SPECIAL, NO_POOL, PLAIN } from "../pool/lease.js";
import { Message } from "../pool/message.js";
import type { MessagePool } from "../pool/message-pool.js";
import { MessageInUseError, UseAfterReleaseError } from "../pool/pool-error.js";
import { isThenable } from "../pool/thenable.js";
import { BusError, NoHandlerError, QueueFullError, SystemClosedError } from "./bus-error.js";
import { checkSendOptions } from "./check-options.js";
import type { Deadlines } from "./deadlines.js";
import type { Delivery } from "./delivery.js";
import { DONE, NEW, RUNNING } from "./delivery-state.js";
import { HandlerContexts } from "./handler-contexts.js";
import type { Mailbox } from "./mailbox.js";
import type { Place, PlaceOwner } from "./place.js";
import { FAILED, type Receiver, REFUSED } from "./receiver.js";
import type { Registry, RegistryUser } from "./registry.js";
import type { Reports } from "./reports.js";
import { type Mode, Runner, type RunnerOptions } from "./runner.js";
import type { SendOptions } from "./system-options.js";

/** The last stamp of a ready message. */
const LAST_READY_STAMP = SPECIAL + LAST_STAMP;

/** Nesting depth of handlers from which a send checks that the stack is large enough to end its message. */
const CHECKED_DEPTH = 64;
/** Nested calls that take more stack than the start and the end of a message. */
const SETTLE_CALLS = 300;

/** Throws the RangeError of a stack overflow if the stack is too small for `calls` nested calls. */
function requireStack(calls: number): number {
  return calls === 0 ? 0 : 1 + requireStack(calls - 1);
}

/**
 * Sends messages to their receivers: `send` on the fast path, `post` in all other cases.
 *
 * @internal
 */
export class Dispatcher implements RegistryUser, PlaceOwner {
  readonly contexts: HandlerContexts;
  readonly runner: Runner;
  /** Whether a message may reach its handler by a plain call, in the ready message. */
  readonly shortcuts: boolean;
  /** Places that are held or waited for. */
  readonly places = new Set<Place>();
  /** The message that the fast path lends to one handler after another. */
  #ready: Message;

  constructor(
    private readonly pool: MessagePool,
    private readonly registry: Registry,
    private readonly reports: Reports,
    options: RunnerOptions,
  ) {
    this.#ready = pool._newReady();
    this.contexts = new HandlerContexts(options.asyncContext, () => (this.#ready._stamp & 1) === 1);
    this.runner = new Runner(pool, registry, reports, options, this.contexts);
    this.shortcuts = !options.tracing && !options.latency && !options.diagnostics && !pool._exact;
  }

  get deadlines(): Deadlines {
    return this.runner.deadlines;
  }

  /** Sends a body without options. The fast path calls the handler with the ready message. */
  send(receiver: Receiver, path: string, body: unknown): unknown {
    const { direct } = receiver;
    const message = this.#ready;
    const stamp = message._stamp + 1;
    // An even stamp: the ready message is in use, by a handler that sends.
    if (direct === undefined || (stamp & 1) === 0 || stamp === LAST_READY_STAMP)
      return this.#sendOther(receiver, path, body);
    message._stamp = stamp;
    message._path = path;
    message._body = body;
    message._address(receiver.parameters);
    receiver.fastSends++;
    let outcome: unknown;
    let later: boolean;
    try {
      outcome = direct(message);
      later = outcome !== undefined && typeof outcome === "object" && outcome !== null && isThenable(outcome);
    } catch (error) {
      receiver.counts[FAILED]!++;
      this.#returnReady(message, stamp);
      throw error;
    }
    if (later) return this.#settleLater(receiver, outcome as PromiseLike<unknown>, message);
    if (message._stamp === stamp) {
      message._stamp = stamp + 1;
      message._body = undefined;
      message._meta = undefined;
    } else this.#returnReady(message, stamp);
    return outcome;
  }

  /**
   * Sends a body, or the acquired message `given`. Returns the reply, a promise of it, or for `emit` the number of receivers that
   * accepted it. known: the handler, if it was looked up before. reserved: the handler's queue has a reserved place for the message.
   */
  post(
    path: string,
    given: Message | undefined,
    body: unknown,
    options: SendOptions | undefined,
    mode: Mode,
    known?: Receiver,
    reserved = false,
  ): unknown {
    if (options !== undefined) checkSendOptions(options);
    if (this.runner.depth > CHECKED_DEPTH) requireStack(SETTLE_CALLS);
    if (this.registry.closing && !this.contexts.mayStillSend) throw new SystemClosedError(path);
    if (options?.signal?.aborted === true) throw options.signal.reason;
    if (given !== undefined && !given.onLoan) throw new UseAfterReleaseError(given._slot);
    if (given !== undefined && given._owner !== CALLER) throw new MessageInUseError(given._slot);
    const meta = given === undefined ? options?.meta : given._meta;
    const receiver = known ?? this.registry.handlerOf(path);
    const observers = this.registry.observersOf(path, receiver);
    if (receiver === undefined) {
      if (mode === "emit" && observers.length > 0) return this.#notify(observers, path, body, meta, options);
      const error = this.missing(path, body, meta);
      if (mode === "emit") return 0;
      throw error;
    }
    const message = given ?? (this.pool.acquire(path, body, meta) as Message);
    const scope = receiver.mailbox === undefined ? undefined : this.contexts.capture();
    const delivery = this.runner.begin(receiver, message, given === undefined, options, mode, scope);
    let reached = 0;
    if (receiver.mailbox === undefined && receiver.entry?.full() === true) {
      if (mode !== "emit") void delivery.replyPromise();
      this.runner.reject(delivery, "refused");
    } else if (receiver.mailbox === undefined) {
      if (observers.length > 0) reached = this.#notify(observers, path, body, meta, options);
      if (this.#isStillDue(delivery)) {
        if (receiver.once) receiver.remove();
        // Unlike a send, a request always gets a promise, which may reject before a synchronous handler returns.
        if (mode === "request") void delivery.replyPromise();
        this.runner.start(delivery);
        reached++;
      }
    } else {
      if (mode !== "emit") void delivery.replyPromise();
      if (this.#enqueue(delivery, reserved, mode)) {
        reached = 1;
        if (observers.length > 0) reached += this.#notify(observers, path, body, meta, options);
      }
    }
    delivery.sending = false;
    if (mode === "emit") {
      this.runner.recycle(delivery);
      return reached;
    }
    if (delivery.state !== DONE) return delivery.replyPromise();
    const { failed, outcome, promise } = delivery;
    this.runner.recycle(delivery);
    if (promise !== undefined) return promise;
    if (failed) throw outcome;
    return outcome;
  }

  /** Revokes places: waiting requests first, so that they do not get the places being revoked. */
  endPlaces(cause: (path: string) => unknown, which: (place: Place) => boolean = () => true): void {
    if (this.places.size === 0) return;
    const ending = [...this.places].filter(which);
    for (const held of [false, true]) {
      for (const place of ending) if (place.held === held) place._end(cause(place.path));
    }
  }

  /** Returns the error of a message without a handler, after its dead letter. Throws SystemClosedError if the system is closed. */
  missing(path: string, body: unknown, meta: unknown): NoHandlerError {
    if (this.registry.closing && !this.contexts.mayStillSend) throw new SystemClosedError(path);
    const error = new NoHandlerError(path);
    this.reports.deadLetter({ path, body, meta, reason: "no-handler", receiver: undefined, error });
    return error;
  }

  /** Reports what a send to `path` threw or rejected with to `onError`, except a refusal, which has its dead letter or warning. */
  report(error: unknown, path: string): void {
    const receiver = this.registry.handlerOf(path);
    const refused = error instanceof BusError && (error.path === path || error.path === receiver?.route.template);
    if (!refused) this.reports.error(error, path, receiver?.name ?? path);
    else if (receiver !== undefined && error instanceof QueueFullError) this.reports.lost(receiver, "refused");
  }

  /** False if user code has aborted the message since the send, or another message has used up its `once` handler. */
  #isStillDue(delivery: Delivery): boolean {
    const { receiver } = delivery;
    if (receiver.once && receiver.retired)
      this.runner.cancel(delivery, new NoHandlerError(delivery.message._path), "aborted");
    return delivery.state === NEW;
  }

  /** Queues a view of the message for each observer. Returns the number of observers that accepted it. */
  #notify(
    observers: readonly Receiver[],
    path: string,
    body: unknown,
    meta: unknown,
    options: SendOptions | undefined,
  ): number {
    let reached = 0;
    for (const observer of observers) {
      if (options?.signal?.aborted === true) break;
      const delivery = this.runner.begin(
        observer,
        this.#view(path, body, meta),
        true,
        options,
        "emit",
        this.contexts.capture(),
      );
      if (this.#enqueue(delivery, false, "emit")) reached++;
      delivery.sending = false;
      this.runner.recycle(delivery);
    }
    return reached;
  }

  /** A message for an observer: of the pool, or a plain one if the pool has none to spare. */
  #view(path: string, body: unknown, meta: unknown): Message {
    try {
      if (!this.pool._refuses) return this.pool.acquire(path, body, meta) as Message;
    } catch {
      // The pool is exhausted.
    }
    return new Message(undefined, PLAIN, path, body, meta);
  }

  /** False if the queue did not accept the message, after the delivery was rejected. */
  #enqueue(delivery: Delivery, reserved: boolean, mode: Mode): boolean {
    const { receiver } = delivery;
    const mailbox = receiver.mailbox!;
    if (!this.#identify(delivery, mailbox) || !this.#isStillDue(delivery)) {
      if (reserved) mailbox.unreserve();
      return false;
    }
    const refusal = mailbox.offer(delivery, reserved, mode !== "emit");
    if (refusal !== undefined) {
      this.runner.reject(delivery, refusal);
      return false;
    }
    if (receiver.once) receiver.remove();
    const displaced = mailbox.popDisplaced() as Delivery | undefined;
    if (displaced !== undefined) this.runner.reject(displaced, "dropped");
    return true;
  }

  /** False if the key function of the queue threw. */
  #identify(delivery: Delivery, mailbox: Mailbox): boolean {
    const { message, receiver } = delivery;
    const path = message._path;
    try {
      mailbox.identify(delivery);
      return true;
    } catch (error) {
      if (delivery.state === NEW) {
        receiver.counts[REFUSED]!++;
        this.runner.end(delivery);
        if (delivery.promise !== undefined) delivery.rejectHandled(error);
      }
      if (delivery.emitted) this.reports.error(error, path, receiver.name);
      return false;
    }
  }

  #sendOther(receiver: Receiver, path: string, body: unknown): unknown {
    if (receiver.direct === undefined && receiver.version !== this.registry.version) {
      this.registry.refresh(receiver);
      if (receiver.direct !== undefined) return this.send(receiver, path, body);
    }
    if (this.#ready._stamp === LAST_READY_STAMP - 1) this.#ready = this.pool._newReady();
    return this.post(path, undefined, body, undefined, "send", receiver);
  }

  /** Ends the loan of the ready message to a handler that threw or kept it. */
  #returnReady(message: Message, stamp: number): void {
    if (message._stamp === stamp) {
      message._stamp = stamp + 1;
      message._clear();
    } else {
      message._owner = CALLER;
      this.#ready = this.pool._newReady();
    }
  }

  /** Continues a fast-path call whose handler returned a promise, as a delivery. */
  #settleLater(receiver: Receiver, outcome: PromiseLike<unknown>, message: Message): Promise<unknown> {
    receiver.async = true;
    receiver.direct = undefined;
    receiver.version = -1;
    if (message._pool !== NO_POOL) this.pool._countReady(message);
    this.#ready = this.pool._newReady();
    receiver.fastSends--;
    const delivery = this.runner.begin(receiver, message, true, undefined, "send", undefined);
    delivery.state = RUNNING;
    message._owner = HANDLER;
    if (this.contexts.marks) this.contexts.beginUnmarked(delivery);
    this.runner.awaitReply(delivery, outcome);
    delivery.sending = false;
    return delivery.replyPromise();
  }
}
