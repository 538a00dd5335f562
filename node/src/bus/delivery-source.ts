import { QUEUE } from "../pool/lease.js";
import type { Message } from "../pool/message.js";
import type { MessagePool } from "../pool/message-pool.js";
import { RequestTimeoutError } from "./bus-error.js";
import { Deadlines } from "./deadlines.js";
import { type Cause, type Delivery, NEW, RESTING, RUNNING } from "./delivery.js";
import { DeliveryStock } from "./delivery-stock.js";
import { captureScope, makeStore, type Scope, type Store } from "./platform.js";
import { LANES } from "./queue-options.js";
import { type Receiver, SENT } from "./receiver.js";
import type { Registry } from "./registry.js";
import type { Reports } from "./reports.js";
import type { SendOptions } from "./system-options.js";
import { childTraceparent } from "./trace.js";

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
 * Makes deliveries, with what limits them, and knows whose handler sends.
 *
 * @internal
 */
export abstract class DeliverySource {
  readonly deadlines: Deadlines;
  /** A message needs only a call of its handler, and its object may be reused from the last message. */
  readonly shortcuts: boolean;
  /** The deliveries whose handlers run, by asynchronous context. */
  protected readonly store: Store<Delivery> | undefined;
  /** The delivery whose handler is on the stack. */
  protected current: Delivery | undefined;
  protected readonly stock: DeliveryStock;
  protected outstanding = 0;
  /** Of other threads that send: each takes back what its senders have given up. */
  readonly looks = new Set<() => void>();
  /** Deliveries whose sends cannot be distinguished from those of others. */
  protected unmarked = 0;
  #requests = 0;
  readonly #aborted = (delivery: Delivery): void => this.cancel(delivery, delivery.sender!.reason, "aborted");

  /** @internal */
  protected constructor(
    readonly pool: MessagePool,
    protected readonly registry: Registry,
    protected readonly reports: Reports,
    protected readonly options: RunnerOptions,
  ) {
    this.store = options.asyncContext ? makeStore<Delivery>(this) : undefined;
    this.deadlines = new Deadlines(this.capture());
    this.stock = new DeliveryStock(this.marks);
    this.shortcuts = !options.tracing && !options.latency && !options.diagnostics && !pool._exact;
  }

  /** The sender no longer waits. */
  abstract cancel(delivery: Delivery, reason: unknown, cause: Cause): void;

  /** Handlers are marked, so that their sends can be recognised. */
  get marks(): boolean {
    return this.store !== undefined;
  }

  /** The delivery whose handler calls this, where it is known; true for a handler on the stack. */
  get inside(): Delivery | boolean {
    if (this.current !== undefined) return this.current;
    const delivery = this.store?.getStore();
    return delivery !== undefined && (delivery.state === RUNNING || delivery.state === RESTING) && delivery;
  }

  /** True for handlers, and for all while it is not known which sends are a handler's. */
  get mayStillSend(): boolean {
    return this.unmarked > 0 || this.inside !== false;
  }

  /** Called before a message that has waited goes to its handler. */
  look(): void {
    if (this.looks.size > 0) for (const look of this.looks) look();
  }

  /** What queued handlers run in, where contexts are preserved. */
  capture(): Scope | undefined {
    return this.store === undefined ? undefined : captureScope();
  }

  /** No handler runs any more, or will. */
  endContexts(): void {
    this.store?.disable();
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
    const delivery = this.stock.take();
    delivery.held = true;
    delivery.state = NEW;
    delivery.message = message;
    delivery.receiver = receiver;
    delivery.ours = ours;
    delivery.emitted = mode === "emit";
    delivery.scope = scope;
    receiver.counts[SENT]!++;
    receiver.active++;
    this.outstanding++;
    message._address(receiver.parameters);
    message._own(QUEUE, delivery);
    if (this.store === undefined) this.unmark(delivery);
    if (!this.shortcuts) this.#watch(delivery, options?.traceparent);
    if (mode === "request") delivery.correlationId = ++this.#requests;
    if (options !== undefined || mode === "request") this.#limit(delivery, options, mode);
    return delivery;
  }

  unmark(delivery: Delivery): void {
    delivery.unmarked = true;
    this.unmarked++;
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
}
