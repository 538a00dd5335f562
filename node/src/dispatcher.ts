import { AsyncLocalStorage } from "node:async_hooks";
import { channel } from "node:diagnostics_channel";
import { Gather } from "./gather.js";
import { Hold, ReadyHold } from "./hold.js";
import { countOf, LOOK_CLOSER } from "./lease.js";
import type { Mailbox } from "./mailbox.js";
import type { Envelope, Message } from "./message.js";
import { isThenable, type MessagePool } from "./message-pool.js";
import type { Plan } from "./plan.js";
import type { Priority, Reply } from "./queue-options.js";
import { orAborted, Settlement } from "./settlement.js";
import type { SendOptions } from "./system-options.js";
import type { RouteTelemetry } from "./telemetry.js";
import { childTraceparent } from "./trace.js";

const sent = channel("millpond.send");
const settled = channel("millpond.settle");
/** Of a stamp: must be odd, and not beyond what a stamp can count. */
const SENDABLE = LOOK_CLOSER + 1;

/** @internal */
export interface DispatcherOptions {
  readonly statistics: "counters" | "latency" | "diagnostics";
  readonly tracing: boolean;
  readonly context: boolean;
  readonly onError: (error: unknown, path: string) => void;
}

/**
 * Brings one message to the receivers of its plan and back to its pool.
 *
 * @internal
 */
export class Dispatcher {
  readonly context: AsyncLocalStorage<Envelope> | undefined;
  /** A message may go straight to its handler: nothing has to be done for it, and its object may be the last one's. */
  readonly shortcuts: boolean;
  readonly #watched: boolean;
  readonly latency: boolean;
  readonly #diagnostics: boolean;
  readonly #tracing: boolean;
  readonly #ourHold: Hold;
  readonly #readyHold: ReadyHold;
  readonly #onError: (error: unknown, path: string) => void;
  readonly #whenIdle: (() => void)[] = [];
  /** Messages with an async handler or in a queue. */
  #outstanding = 0;
  /** Lent to one handler after the other; never in the free list. */
  #ready: Message;
  readonly #settlements: Settlement[] = [];
  readonly #finish = (settlement: Settlement, failed: boolean): void => {
    this.settle(settlement.plan!.telemetry, settlement.message!, failed);
    settlement.message = undefined;
    this.#settlements.push(settlement);
  };

  constructor(
    readonly pool: MessagePool,
    options: DispatcherOptions,
  ) {
    this.context = options.context ? new AsyncLocalStorage() : undefined;
    this.latency = options.statistics !== "counters";
    this.#watched = options.tracing || options.context || this.latency;
    this.shortcuts = !this.#watched && !pool._checked;
    this.#diagnostics = options.statistics === "diagnostics";
    this.#tracing = options.tracing;
    this.#onError = options.onError;
    this.#ourHold = new Hold(pool);
    this.#readyHold = new ReadyHold(pool);
    this.#ready = this.#reserve();
  }

  get idle(): boolean {
    return this.#outstanding === 0;
  }

  whenIdle(tell: () => void): void {
    this.#whenIdle.push(tell);
  }

  /** A body on its shortest way: one handler and nothing in between, in the message that lies ready. */
  send(plan: Plan, path: string, body: unknown): unknown {
    const direct = plan.direct;
    const message = this.#ready;
    const stamp = message._stamp + 1;
    // Even: the message is in use, by the handler that calls us. LOOK_CLOSER: its numbers are used up.
    if (direct === undefined || (stamp & SENDABLE) !== 1) return this.#sendAnother(plan, path, body, stamp);
    message._stamp = stamp;
    message._path = path;
    message._body = body;
    if (message._extra !== plan.route) message._extra = plan.route;
    plan.counts[0]!++;
    let outcome: unknown;
    try {
      outcome = direct(message);
    } catch (error) {
      plan.telemetry.failed();
      this.#putBack(message);
      throw error;
    }
    if (typeof outcome === "object" && outcome !== null && isThenable(outcome)) {
      return this.#settleLater(plan, outcome, message);
    }
    if (message._lender === this.#readyHold && message._stamp === stamp) {
      message._stamp = stamp + 1;
      message._body = undefined;
    } else this.#putBack(message);
    return outcome;
  }

  /** Any message on any way. `ours` is released here at its end, others stay with who acquired them. */
  deliver(
    plan: Plan,
    message: Message,
    ours: boolean,
    options: SendOptions | undefined,
    request: number | undefined,
  ): unknown {
    if (options?.signal?.aborted === true) {
      if (ours) this.pool.release(message);
      throw options.signal.reason;
    }
    this.#address(plan, message, options, request);
    const entry = plan.entries[0]!;
    if (plan.entries.length > 1) return this.#gather(plan, message, ours, options, false);
    this.#hold(message, ours);
    if (entry.mailbox !== undefined) return this.#enqueue(entry.mailbox, message, options);
    let outcome: unknown;
    try {
      outcome = entry.run(message);
    } catch (error) {
      this.settle(plan.telemetry, message, true);
      throw error;
    }
    if (!isThenable(outcome)) {
      this.settle(plan.telemetry, message, false);
      return outcome;
    }
    const reply = outcome.then(
      (value) => {
        this.settle(plan.telemetry, message, false);
        return value;
      },
      (error) => {
        this.settle(plan.telemetry, message, true);
        throw error;
      },
    );
    return options?.signal === undefined ? reply : orAborted(reply, options.signal, () => undefined);
  }

  /** To all receivers, without their replies. Gives the number of those that got it. */
  emit(plan: Plan, message: Message, ours: boolean, options: SendOptions | undefined): unknown {
    if (options?.signal?.aborted === true) {
      if (ours) this.pool.release(message);
      throw options.signal.reason;
    }
    this.#address(plan, message, options, undefined);
    const mailbox = plan.entries[0]!.mailbox;
    if (plan.entries.length > 1 || mailbox === undefined) return this.#gather(plan, message, ours, options, true);
    this.#hold(message, ours);
    return mailbox.push(message, options?.priority ?? "medium", undefined) ? 1 : 0;
  }

  /** A message is done with, whoever had it. */
  settle(telemetry: RouteTelemetry, message: Message, failed: boolean): void {
    if (failed) telemetry.failed();
    const envelope = message._envelope;
    if (this.#watched && envelope !== undefined) {
      telemetry.latency?.record((performance.now() - envelope.sentAtMs) * 1e6);
      if (this.#diagnostics && settled.hasSubscribers) {
        settled.publish({ path: message._path, failed, traceparent: envelope.traceparent });
      }
    }
    const hold = message._lender;
    if (hold === this.#ourHold) {
      message._lender = this.pool;
      this.pool.release(message);
    } else if (hold instanceof Hold) hold.end(message);
    this.#tellIfIdle();
  }

  /** What a mailbox reports of a message whose handler settled. */
  settled(
    telemetry: RouteTelemetry,
    message: Message,
    reply: Reply | undefined,
    failed: boolean,
    outcome: unknown,
  ): void {
    const path = message._path;
    if (reply?.shared !== true) this.settle(telemetry, message, failed);
    else if (failed) telemetry.failed();
    if (!failed) reply?.resolve(outcome);
    else if (reply !== undefined) reply.reject(outcome);
    else this.#onError(outcome, path);
  }

  /** What a mailbox reports of a message that no handler got. */
  gone(telemetry: RouteTelemetry, message: Message, reply: Reply | undefined, reason: unknown): void {
    if (reply?.shared !== true) this.settle(telemetry, message, false);
    reply?.reject(reason);
  }

  #address(plan: Plan, message: Message, options: SendOptions | undefined, request: number | undefined): void {
    if (message._extra !== plan.route) message._extra = plan.route;
    plan.counts[0]!++;
    const signal = options?.signal;
    let traceparent = options?.traceparent;
    if (this.#tracing) traceparent ??= childTraceparent(this.context?.getStore()?.traceparent);
    if (!this.#watched && signal === undefined && traceparent === undefined && request === undefined) return;
    const sentAtMs = this.latency ? performance.now() : 0;
    message._seal({ traceparent, signal, correlationId: request, sentAtMs, route: plan.route });
    if (this.#diagnostics && sent.hasSubscribers) sent.publish({ path: message._path, traceparent });
  }

  #hold(message: Message, ours: boolean): void {
    this.#outstanding++;
    if (ours) message._lender = this.#ourHold;
    else Hold.begin(message);
  }

  #enqueue(mailbox: Mailbox, message: Message, options: SendOptions | undefined): Promise<unknown> {
    const priority = options?.priority ?? "medium";
    const signal = options?.signal;
    if (mailbox.waits && mailbox.full) {
      const claimed = mailbox.claim();
      return claimed.then(() => this.#push(mailbox, message, priority, signal, true));
    }
    return this.#push(mailbox, message, priority, signal, false);
  }

  #push(
    mailbox: Mailbox,
    message: Message,
    priority: Priority,
    signal: AbortSignal | undefined,
    claimed: boolean,
  ): Promise<unknown> {
    const reply = new Promise((resolve, reject) => {
      mailbox.push(message, priority, { resolve, reject }, claimed);
    });
    return signal === undefined ? reply : orAborted(reply, signal, () => mailbox.abort(message, signal.reason));
  }

  #gather(plan: Plan, message: Message, ours: boolean, options: SendOptions | undefined, emitted: boolean): unknown {
    this.#hold(message, ours);
    const { entries, telemetry } = plan;
    const path = message._path;
    const gather = new Gather(entries.length, () => this.settle(telemetry, message, false));
    let reached = 0;
    for (const [index, { mailbox, run }] of entries.entries()) {
      if (mailbox !== undefined) {
        const reply = emitted ? gather.unattended((error) => this.#onError(error, path)) : gather.part(index === 0);
        if (!emitted && mailbox.waits && mailbox.full) {
          void mailbox.claim().then(() => mailbox.push(message, options?.priority ?? "medium", reply, true));
        } else if (mailbox.push(message, options?.priority ?? "medium", reply)) reached++;
        continue;
      }
      reached++;
      gather.run(run, message, index === 0, () => telemetry.failed());
    }
    return gather.result(emitted ? reached : undefined);
  }

  #sendAnother(plan: Plan, path: string, body: unknown, stamp: number): unknown {
    if ((stamp & SENDABLE) === SENDABLE) {
      this.pool._retire(this.#ready);
      this.#ready = this.#reserve();
      return this.send(plan, path, body);
    }
    return this.deliver(plan, this.pool.acquire(path, body) as Message, true, undefined, undefined);
  }

  #replaceReady(): void {
    const message = this.#ready;
    if (message._lender === this.#readyHold) {
      this.pool._lendReserved(message);
      message._lender = this.#ourHold;
    }
    this.#ready = this.#reserve();
  }

  #reserve(): Message {
    const message = this.pool._reserve();
    message._lender = this.#readyHold;
    return message;
  }

  /** After a handler that threw, kept its message, or gave it more than a body. */
  #putBack(message: Message): void {
    if (message._lender !== this.#readyHold) this.#replaceReady();
    else {
      message._stamp = countOf(message) + 1;
      message._clear();
    }
  }

  #settleLater(plan: Plan, outcome: PromiseLike<unknown>, message: Message): unknown {
    this.#replaceReady();
    this.#outstanding++;
    const settlement = this.#settlements.pop() ?? new Settlement(this.#finish);
    settlement.plan = plan;
    settlement.message = message;
    return outcome.then(settlement.succeed, settlement.fail);
  }

  #tellIfIdle(): void {
    this.#outstanding--;
    if (this.#outstanding === 0 && this.#whenIdle.length > 0) for (const tell of this.#whenIdle.splice(0)) tell();
  }
}
