import { CALLER, HANDLER, LAST_STAMP, LOOK_CLOSER, NO_POOL, PLAIN, PLAIN_OVER } from "../pool/lease.js";
import { Message } from "../pool/message.js";
import type { MessagePool } from "../pool/message-pool.js";
import { MessageInUseError, UseAfterReleaseError } from "../pool/pool-error.js";
import { isThenable } from "../pool/thenable.js";
import { BusError, NoHandlerError, SystemClosedError } from "./bus-error.js";
import { checkSendOptions } from "./check-options.js";
import { type Delivery, DONE, NEW, RUNNING } from "./delivery.js";
import type { Mode, RunnerOptions } from "./delivery-source.js";
import type { Mailbox } from "./mailbox.js";
import type { Place } from "./place.js";
import type { Scope } from "./platform.js";
import { FAILED, type Receiver, REFUSED } from "./receiver.js";
import type { Registry } from "./registry.js";
import type { Reports } from "./reports.js";
import { Runner } from "./runner.js";
import type { SendOptions } from "./system-options.js";

/** The last stamp of the message that is kept ready. */
const USED_UP = LOOK_CLOSER + LAST_STAMP;

/** Handlers on the stack from which on a send first looks whether there is stack left to end its message. */
const DEEP = 64;
/** Nested calls that take more stack than the start and the end of a message. */
const SETTLE_CALLS = 300;

/** Throws the RangeError of a stack overflow where fewer than `calls` nested calls are left: before a message is started. */
function requireStack(calls: number): number {
  return calls === 0 ? 0 : 1 + requireStack(calls - 1);
}

/**
 * Brings messages to their receivers: `send` on the shortest way, `post` on every other.
 *
 * @internal
 */
export class Dispatcher extends Runner {
  /** Places that are held or waited for. */
  readonly places = new Set<Place>();
  /** Lent to one handler after the other; never in the free list. One of no pool where there are no shortcuts. */
  #ready: Message;

  constructor(pool: MessagePool, registry: Registry, reports: Reports, options: RunnerOptions) {
    super(pool, registry, reports, options);
    this.#ready = this.shortcuts ? pool._reserve() : new Message(undefined, PLAIN_OVER, "", undefined, undefined);
  }

  override get inside(): Delivery | boolean {
    return super.inside || (this.#ready._stamp & 1) === 1;
  }

  /** A body on the fast path: one handler and no middleware, in the message that is kept ready. */
  send(receiver: Receiver, path: string, body: unknown): unknown {
    const { direct } = receiver;
    const message = this.#ready;
    const stamp = message._stamp + 1;
    // Even: the message is in use, by the handler that calls us.
    if (direct === undefined || (stamp & 1) === 0 || stamp === USED_UP) return this.#sendOther(receiver, path, body);
    message._stamp = stamp;
    message._path = path;
    message._body = body;
    message._address(receiver.parameters);
    receiver.shortest++;
    let outcome: unknown;
    let later: boolean;
    try {
      outcome = direct(message);
      later = outcome !== undefined && typeof outcome === "object" && outcome !== null && isThenable(outcome);
    } catch (error) {
      receiver.counts[FAILED]!++;
      this.#putBack(message, stamp);
      throw error;
    }
    if (later) return this.#settleLater(receiver, outcome as PromiseLike<unknown>, message);
    if (message._stamp === stamp) {
      message._stamp = stamp + 1;
      message._body = undefined;
      message._meta = undefined;
    } else this.#putBack(message, stamp);
    return outcome;
  }

  /**
   * Any message on any way. Gives the reply, a promise of it, or for `emit` the number of receivers that took it. `known` is
   * the handler where it was looked up before; `reserved`: there is a place for it in its queue.
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
    if (this.depth > DEEP) requireStack(SETTLE_CALLS);
    if (this.registry.closing && !this.mayStillSend) throw new SystemClosedError(path);
    if (options?.signal?.aborted === true) throw options.signal.reason;
    if (given !== undefined && !given.lent) throw new UseAfterReleaseError(given._slot);
    if (given !== undefined && given._owner !== CALLER) throw new MessageInUseError(given._slot);
    const meta = given === undefined ? options?.meta : given._meta;
    const receiver = known ?? this.registry.handlerOf(path);
    const observers = this.registry.observersOf(path, receiver);
    if (receiver === undefined) {
      if (mode === "emit" && observers.length > 0) return this.#show(observers, path, body, meta, options, undefined);
      const error = this.missing(path, body, meta);
      if (mode === "emit") return 0;
      throw error;
    }
    const message = given ?? (this.pool.acquire(path, body, meta) as Message);
    const scope = receiver.mailbox === undefined ? undefined : this.capture();
    const delivery = this.begin(receiver, message, given === undefined, options, mode, scope);
    let reached = 0;
    if (receiver.mailbox === undefined && receiver.entry?.full() === true) {
      if (mode !== "emit") void delivery.promised();
      this.turnAway(delivery, "refused");
    } else if (receiver.mailbox === undefined) {
      if (observers.length > 0) reached = this.#show(observers, path, body, meta, options, scope);
      if (this.#isStillDue(delivery)) {
        if (receiver.once) receiver.remove();
        // Unlike a send, a request always gets a promise, which may reject before a synchronous handler returns.
        if (mode === "request") void delivery.promised();
        this.start(delivery);
        reached++;
      }
    } else {
      if (mode !== "emit") void delivery.promised();
      if (this.#enqueue(delivery, reserved, mode)) {
        reached = 1;
        if (observers.length > 0) reached += this.#show(observers, path, body, meta, options, scope);
      }
    }
    delivery.held = false;
    if (mode === "emit") {
      this.recycle(delivery);
      return reached;
    }
    if (delivery.state !== DONE) return delivery.promised();
    const { failed, outcome, promise } = delivery;
    this.recycle(delivery);
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

  /** The error of a message that has no handler; its dead letter is on its way. Throws when the system is closed. */
  missing(path: string, body: unknown, meta: unknown): NoHandlerError {
    if (this.registry.closing && !this.mayStillSend) throw new SystemClosedError(path);
    const error = new NoHandlerError(path);
    this.reports.letter({ path, body, meta, reason: "no-handler", receiver: undefined, error });
    return error;
  }

  /** An error of the handler of `path` goes to `onError`; a refusal of the message itself has its dead letter. */
  report(error: unknown, path: string): void {
    const receiver = this.registry.handlerOf(path);
    const refused = error instanceof BusError && (error.path === path || error.path === receiver?.route.template);
    if (!refused) this.reports.error(error, path, receiver?.name ?? path);
  }

  /** False when user code between the send and here has aborted it, or given another message to a handler for one. */
  #isStillDue(delivery: Delivery): boolean {
    const { receiver } = delivery;
    if (receiver.once && receiver.retired) this.cancel(delivery, new NoHandlerError(delivery.message._path), "aborted");
    return delivery.state === NEW;
  }

  /** Gives each observer a view of the message. Returns how many took it. */
  #show(
    observers: readonly Receiver[],
    path: string,
    body: unknown,
    meta: unknown,
    options: SendOptions | undefined,
    captured: Scope | undefined,
  ): number {
    const scope = captured ?? this.capture();
    let reached = 0;
    for (const observer of observers) {
      if (options?.signal?.aborted === true) break;
      const delivery = this.begin(observer, this.#view(path, body, meta), true, options, "emit", scope);
      if (this.#enqueue(delivery, false, "emit")) reached++;
      delivery.held = false;
      this.recycle(delivery);
    }
    return reached;
  }

  /** A message of the pool. Of a pool that may refuse one of no pool, so that observers take nothing from senders. */
  #view(path: string, body: unknown, meta: unknown): Message {
    try {
      if (!this.pool._refuses) return this.pool.acquire(path, body, meta) as Message;
    } catch {
      // The pool has none.
    }
    return new Message(undefined, PLAIN, path, body, meta);
  }

  /** False when the queue did not take it; its sender then knows. */
  #enqueue(delivery: Delivery, reserved: boolean, mode: Mode): boolean {
    const { receiver } = delivery;
    const mailbox = receiver.mailbox!;
    if (!this.#identify(delivery, mailbox) || !this.#isStillDue(delivery)) {
      if (reserved) mailbox.unreserve();
      return false;
    }
    const refusal = mailbox.offer(delivery, reserved, mode !== "emit");
    if (refusal !== undefined) {
      this.turnAway(delivery, refusal);
      return false;
    }
    if (receiver.once) receiver.remove();
    const displaced = mailbox.takeDisplaced();
    if (displaced !== undefined) this.turnAway(displaced, "dropped");
    return true;
  }

  /** False when the key function threw. */
  #identify(delivery: Delivery, mailbox: Mailbox): boolean {
    const { message, receiver } = delivery;
    const path = message._path;
    try {
      mailbox.identify(delivery);
      return true;
    } catch (error) {
      if (delivery.state === NEW) {
        receiver.counts[REFUSED]!++;
        this.end(delivery);
        if (delivery.promise !== undefined) delivery.refuse(error);
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
    if (this.#ready._stamp === USED_UP - 1) {
      this.pool._retire(this.#ready);
      this.#ready = this.pool._reserve();
    }
    return this.post(path, undefined, body, undefined, "send", receiver);
  }

  /** After a handler that threw or kept its message. */
  #putBack(message: Message, stamp: number): void {
    if (message._stamp === stamp) {
      message._stamp = stamp + 1;
      message._clear();
    } else {
      message._owner = CALLER;
      this.#ready = this.pool._reserve();
    }
  }

  /** A handler on the shortest way has given a promise. */
  #settleLater(receiver: Receiver, outcome: PromiseLike<unknown>, message: Message): Promise<unknown> {
    receiver.async = true;
    receiver.direct = undefined;
    receiver.version = -1;
    if (message._pool !== NO_POOL) this.pool._lendReserved(message);
    this.#ready = this.pool._reserve();
    receiver.shortest--;
    const delivery = this.begin(receiver, message, true, undefined, "send", undefined);
    delivery.state = RUNNING;
    message._owner = HANDLER;
    if (this.marks) this.unmark(delivery);
    this.awaitReply(delivery, outcome);
    delivery.held = false;
    return delivery.promised();
  }
}
