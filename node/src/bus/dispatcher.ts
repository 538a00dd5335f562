import { CALLER, HANDLER, LAST_STAMP, LOOK_CLOSER, NO_POOL } from "../pool/lease.js";
import type { Message } from "../pool/message.js";
import type { MessagePool } from "../pool/message-pool.js";
import { isThenable, MessageInUseError, UseAfterReleaseError } from "../pool/pool-error.js";
import { type BusError, NoHandlerError, QueueFullError, SystemClosedError } from "./bus-error.js";
import { checkSendOptions } from "./check-options.js";
import { type Delivery, DONE } from "./delivery.js";
import type { Place } from "./place.js";
import type { Scope } from "./platform.js";
import { DROPPED, FAILED, HANDLED, type Receiver, REFUSED, SENT } from "./receiver.js";
import type { Registry } from "./registry.js";
import type { Reports } from "./reports.js";
import { type Mode, Runner, type RunnerOptions } from "./runner.js";
import type { SendOptions } from "./system-options.js";

/** The last stamp of the message that lies ready. */
const USED_UP = LOOK_CLOSER + LAST_STAMP;

/**
 * Brings messages to their receivers: `send` on the shortest way, `post` on every other.
 *
 * @internal
 */
export class Dispatcher extends Runner {
  /** Places that are held or waited for. */
  readonly places = new Set<Place>();
  /** Lent to one handler after the other; never in the free list. */
  #ready: Message;

  constructor(pool: MessagePool, registry: Registry, reports: Reports, options: RunnerOptions) {
    super(pool, registry, reports, options);
    this.#ready = pool._reserve();
  }

  override get inside(): Delivery | boolean {
    return super.inside || (this.#ready._stamp & 1) === 1;
  }

  /** A body on the shortest way: one handler and nothing in between, in the message that lies ready. */
  send(receiver: Receiver, path: string, body: unknown): unknown {
    if (receiver.version !== this.registry.version) this.registry.refresh(receiver);
    const { direct } = receiver;
    const message = this.#ready;
    const stamp = message._stamp + 1;
    // Even: the message is in use, by the handler that calls us.
    if (direct === undefined || (stamp & 1) === 0 || stamp === USED_UP) return this.#sendOther(receiver, path, body);
    message._stamp = stamp;
    message._path = path;
    message._body = body;
    message._address(receiver.route);
    const { counts } = receiver;
    counts[SENT]!++;
    counts[HANDLED]!++;
    let outcome: unknown;
    let later: boolean;
    try {
      outcome = direct(message);
      later = typeof outcome === "object" && outcome !== null && isThenable(outcome);
    } catch (error) {
      counts[FAILED]!++;
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
    if (this.registry.closing && !this.mayStillSend) throw new SystemClosedError(path);
    if (options?.signal?.aborted === true) throw options.signal.reason;
    if (given !== undefined && !given.lent) throw new UseAfterReleaseError(given._slot);
    if (given !== undefined && given._owner !== CALLER) throw new MessageInUseError(given._slot);
    const meta = given === undefined ? options?.meta : given._meta;
    const receiver = known ?? this.registry.handlerOf(path);
    const observers = this.registry.observersOf(path, receiver);
    if (receiver === undefined) {
      if (mode === "emit" && observers.length > 0) return this.#show(observers, path, body, meta, options, undefined);
      const error = new NoHandlerError(path);
      this.reports.letter({ path, body, meta, reason: "no-handler", receiver: undefined, error });
      if (mode === "emit") return 0;
      throw error;
    }
    const message = given ?? (this.pool.acquire(path, body, meta) as Message);
    const scope = receiver.mailbox === undefined ? undefined : this.capture();
    const delivery = this.begin(receiver, message, given === undefined, options, mode, scope);
    if (receiver.once) receiver.remove();
    let reached = 0;
    if (receiver.mailbox === undefined) {
      if (observers.length > 0) reached = this.#show(observers, path, body, meta, options, scope);
      this.start(delivery);
      reached++;
    } else if (this.#enqueue(delivery, reserved, mode)) {
      reached = 1;
      if (observers.length > 0) reached += this.#show(observers, path, body, meta, options, scope);
    }
    delivery.held = false;
    if (mode === "emit") {
      this.recycle(delivery);
      return reached;
    }
    if (delivery.state !== DONE || delivery.promise !== undefined) return delivery.promised();
    const { failed, outcome } = delivery;
    this.recycle(delivery);
    if (failed) throw outcome;
    return outcome;
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
      try {
        if (observer.once) observer.remove();
        const view = this.pool.acquire(path, body, meta) as Message;
        const delivery = this.begin(observer, view, true, options, "emit", scope);
        if (this.#enqueue(delivery, false, "emit")) reached++;
        delivery.held = false;
        this.recycle(delivery);
      } catch (error) {
        this.reports.error(error, path, observer.name);
      }
    }
    return reached;
  }

  /** False when the queue did not take it; its sender then knows. */
  #enqueue(delivery: Delivery, reserved: boolean, mode: Mode): boolean {
    const { message, receiver } = delivery;
    const mailbox = receiver.mailbox!;
    const path = message._path;
    let error: unknown;
    let refusal: BusError | undefined;
    try {
      mailbox.identify(delivery);
      refusal = mailbox.offer(delivery, reserved, mode !== "emit");
      if (refusal === undefined) return true;
      error = refusal;
    } catch (thrown) {
      if (reserved) mailbox.unreserve();
      error = thrown;
    }
    const dropped = refusal !== undefined && !(refusal instanceof QueueFullError);
    receiver.counts[dropped ? DROPPED : REFUSED]!++;
    if (refusal !== undefined) this.reports.gone(delivery, dropped ? "dropped" : "refused", refusal);
    this.end(delivery);
    if (!delivery.emitted) {
      void delivery.promised();
      delivery.refuse(error);
    } else if (refusal === undefined) this.reports.error(error, path, receiver.name);
    return false;
  }

  #sendOther(receiver: Receiver, path: string, body: unknown): unknown {
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
    } else this.#ready = this.pool._reserve();
  }

  /** A handler on the shortest way has given a promise. */
  #settleLater(receiver: Receiver, outcome: PromiseLike<unknown>, message: Message): Promise<unknown> {
    receiver.async = true;
    receiver.version = -1;
    const kept = message._pool === NO_POOL;
    if (!kept) this.pool._lendReserved(message);
    this.#ready = this.pool._reserve();
    receiver.counts[SENT]!--;
    receiver.counts[HANDLED]!--;
    const delivery = this.begin(receiver, message, true, undefined, "send", undefined);
    message._owner = kept ? CALLER : HANDLER;
    if (this.marks) this.unmark(delivery);
    delivery.held = false;
    const reply = delivery.promised();
    this.awaitReply(delivery, outcome);
    return reply;
  }
}
