import type { Message } from "../pool/message.js";
import { NO_PARAMETERS, type Route } from "../pool/route.js";
import type { BusError } from "./bus-error.js";
import type { Mailbox, Refusal } from "./mailbox.js";
import type { RetryPolicy } from "./retry.js";
import type { ReceiverStats } from "./system-options.js";
import { LatencyHistogram } from "./telemetry.js";

/** @internal */
export type Run = (message: Message) => unknown;

/** @internal Refuses messages while it is full. */
export interface Entry {
  full(): boolean;
  errorOf(refusal: Refusal): BusError;
}

/** @internal What is counted for a receiver, by position in `counts`. */
export const SENT = 0;
export const HANDLED = 1;
export const FAILED = 2;
export const REFUSED = 3;
export const DROPPED = 4;
export const ABORTED = 5;
export const EXPIRED = 6;
export const RETRIED = 7;

/** Calls in a row without a promise, after which a handler is called on the shortest way. */
const PROVEN = 8;

/**
 * A handler or an observer of one template, and what happened to its messages.
 *
 * @internal
 */
export class Receiver {
  readonly counts = new Float64Array(8);
  /** Sent and handled on the fast path, in addition to those in `counts`: a field costs less than an element. */
  shortest = 0;
  readonly latency: LatencyHistogram | undefined;
  /** Different for each receiver of a system. */
  name = "";
  mailbox: Mailbox | undefined = undefined;
  /** What may refuse its messages: its mailbox, or the way to another thread. */
  entry: Entry | undefined = undefined;
  /** Set where a message may go straight to the handler; the registry takes it back with each change. */
  direct: Run | undefined = undefined;
  /** Of the registry, when what is kept here of it was right. */
  version = -1;
  /** Where a message finds its parameters. */
  readonly parameters: Route;
  /** Of a handler of a path without parameters: its observers, as of `version`. */
  observers: readonly Receiver[] = [];
  /** Messages between their send and their end. */
  active = 0;
  /** It was removed; what waits is still handled. */
  retired = false;
  /** Called once when it was removed and has no message any more. */
  ended: (() => void) | undefined = undefined;
  /** It has given a promise. */
  async: boolean;
  #synchronous = 0;

  constructor(
    readonly route: Route,
    readonly kind: "handler" | "command" | "query" | "observer",
    /** The function that was registered. */
    readonly handler: unknown,
    readonly run: Run,
    readonly once: boolean,
    readonly retry: RetryPolicy | undefined,
    latency: boolean,
    readonly remove: () => void,
  ) {
    this.latency = latency ? new LatencyHistogram() : undefined;
    this.parameters = route.isStatic ? NO_PARAMETERS : route;
    this.async = Object.prototype.toString.call(handler) === "[object AsyncFunction]";
  }

  get observes(): boolean {
    return this.kind === "observer";
  }

  /** True once, when it has given so many replies without a promise that it may be called on the shortest way. */
  provesSynchronous(): boolean {
    this.#synchronous++;
    return this.#synchronous === PROVEN;
  }

  get synchronous(): boolean {
    return !this.async && this.#synchronous >= PROVEN;
  }

  stats(): ReceiverStats {
    const { counts, shortest, mailbox } = this;
    const waiting = mailbox?.waiting ?? 0;
    return {
      template: this.route.template,
      kind: this.kind,
      name: this.name,
      sent: counts[SENT]! + shortest,
      handled: counts[HANDLED]! + shortest,
      failed: counts[FAILED]!,
      refused: counts[REFUSED]!,
      dropped: counts[DROPPED]!,
      aborted: counts[ABORTED]!,
      expired: counts[EXPIRED]!,
      retried: counts[RETRIED]!,
      waiting,
      running: this.active - waiting,
    };
  }
}
