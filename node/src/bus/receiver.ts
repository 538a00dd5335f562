import { NO_PARAMETERS, type Route } from "../pool/route.js";
import type { BusError } from "./bus-error.js";
import type { Mailbox, Refusal } from "./mailbox.js";
import type { Run } from "./middleware.js";
import type { RetryOptions } from "./retry.js";
import type { ReceiverStats } from "./system-options.js";
import { LatencyHistogram } from "./telemetry.js";

/** @internal The queue of a handler, or the bridge to its thread: refuses messages while it is full. */
export interface Entry {
  full(): boolean;
  errorOf(refusal: Refusal): BusError;
}

/** @internal Positions of a receiver's counters in `counts`. */
export const SENT = 0;
export const HANDLED = 1;
export const FAILED = 2;
export const REFUSED = 3;
export const DROPPED = 4;
export const ABORTED = 5;
export const EXPIRED = 6;
export const RETRIED = 7;

/** Calls without a promise after which a handler counts as synchronous. */
const SYNCHRONOUS_CALLS = 8;

/**
 * A handler or an observer of one template, with the counts of its messages.
 *
 * @internal
 */
export class Receiver {
  readonly counts = new Float64Array(8);
  /** Messages sent and handled on the fast path, in addition to `counts`: a field costs less than an array element. */
  fastSends = 0;
  readonly latency: LatencyHistogram | undefined;
  /** Unique in the system. */
  name = "";
  mailbox: Mailbox | undefined = undefined;
  entry: Entry | undefined = undefined;
  /** The function for the fast path, if it may be used. The registry clears it with each change. */
  direct: Run | undefined = undefined;
  /** The version of the registry for which `direct` and `observers` are valid. */
  version = -1;
  /** The route from which a message reads its parameters. */
  readonly parameters: Route;
  /** The observers of a handler's path, if its template has no parameters. */
  observers: readonly Receiver[] = [];
  /** Messages between their send and their end. */
  active = 0;
  /** Whether an observer has the default queue. */
  queuedByDefault = false;
  /** Whether it was removed. Queued messages are still handled. */
  retired = false;
  /** Called when it was removed and has no messages any more. */
  ended: (() => void) | undefined = undefined;
  /** Whether it has returned a promise. */
  async: boolean;
  #synchronous = 0;

  constructor(
    readonly route: Route,
    readonly kind: "handler" | "observer",
    /** The function that was registered. */
    readonly handler: unknown,
    readonly run: Run,
    readonly once: boolean,
    readonly retry: RetryOptions | undefined,
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

  /** Counts a reply without a promise. True for the one with which the handler begins to count as synchronous. */
  provesSynchronous(): boolean {
    this.#synchronous++;
    return this.#synchronous === SYNCHRONOUS_CALLS;
  }

  get synchronous(): boolean {
    return !this.async && this.#synchronous >= SYNCHRONOUS_CALLS;
  }

  stats(): ReceiverStats {
    const { counts, fastSends, mailbox } = this;
    const waiting = mailbox?.waiting ?? 0;
    return {
      template: this.route.template,
      kind: this.kind,
      name: this.name,
      sent: counts[SENT]! + fastSends,
      handled: counts[HANDLED]! + fastSends,
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
