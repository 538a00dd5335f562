import type { Mailbox } from "./mailbox.js";
import type { Message } from "./message.js";
import { isThenable } from "./message-pool.js";
import { Route } from "./route.js";
import type { RouteTelemetry } from "./telemetry.js";

/** Work around a handler. `before` runs outside in, `after` and `error` inside out. */
export interface Middleware {
  /** Runs before the handler; throws or rejects to stop the message. */
  readonly before?: (message: Message) => unknown;
  /** Sees the reply; what it returns is ignored, a promise is awaited. */
  readonly after?: (message: Message, reply: unknown) => unknown;
  /** Its return value becomes the reply; throws to pass the error on. */
  readonly error?: (error: unknown, message: Message) => unknown;
}

const NO_PARAMETERS = new Route("-");

/** @internal */
export type Run = (message: Message) => unknown;

/** @internal One handler of one template. */
export interface Entry {
  readonly run: Run;
  readonly mailbox: Mailbox | undefined;
  readonly route: Route;
}

/** @internal The handlers of one template. */
export interface Registration {
  readonly route: Route;
  readonly kind: "any" | "command" | "query";
  readonly telemetry: RouteTelemetry;
  entries: readonly Entry[];
  plan: Plan | undefined;
}

/**
 * What happens to a message of one path: who gets it, in which order.
 *
 * @internal
 */
export class Plan {
  /** Set where one handler takes the message with nothing in between. */
  readonly direct: Run | undefined;
  /** The names of all parameters that a handler may ask for; the most specific template wins. */
  readonly route: Route;
  readonly telemetry: RouteTelemetry;
  readonly counts: Float64Array;
  readonly #shortcut: boolean;
  readonly #extended = new Map<Registration, Plan>();

  constructor(
    readonly registration: Registration,
    readonly entries: readonly Entry[],
    direct: boolean,
  ) {
    this.telemetry = registration.telemetry;
    this.counts = registration.telemetry.counts;
    this.#shortcut = direct;
    const only = entries.length === 1 ? entries[0] : undefined;
    this.direct = direct && only !== undefined && only.mailbox === undefined ? only.run : undefined;
    const route = Route.merge(entries.map((entry) => entry.route));
    // One for all, so that sending to them in turn stores nothing.
    this.route = route.names.length === 0 ? NO_PARAMETERS : route;
  }

  /** This plan with the handlers of a subscriber's template behind its own. */
  with(subscriber: Registration): Plan {
    let plan = this.#extended.get(subscriber);
    if (plan === undefined) {
      plan = new Plan(this.registration, [...this.entries, ...subscriber.entries], this.#shortcut);
      this.#extended.set(subscriber, plan);
    }
    return plan;
  }
}

/** @internal `run` inside all of `middleware`, the first outermost. */
export function wrap(run: Run, middleware: readonly Middleware[]): Run {
  return middleware.reduceRight<Run>((inner, one) => wrapOne(inner, one), run);
}

function wrapOne(inner: Run, { before, after, error }: Middleware): Run {
  const rescue = (thrown: unknown, message: Message): unknown => {
    if (error === undefined) throw thrown;
    return error(thrown, message);
  };
  const finish = (message: Message, reply: unknown): unknown => {
    const seen = after?.(message, reply);
    return isThenable(seen) ? seen.then(() => reply) : reply;
  };
  const proceed = (message: Message): unknown => {
    const reply = inner(message);
    return isThenable(reply) ? reply.then((value) => finish(message, value)) : finish(message, reply);
  };
  return (message) => {
    let outcome: unknown;
    try {
      const ready = before?.(message);
      outcome = isThenable(ready) ? ready.then(() => proceed(message)) : proceed(message);
    } catch (thrown) {
      return rescue(thrown, message);
    }
    return isThenable(outcome) ? outcome.then(undefined, (thrown: unknown) => rescue(thrown, message)) : outcome;
  };
}

/** @internal Runs again after a failure, at most `retries` times, unless the sender has lost interest. */
export function withRetries(run: Run, retries: number, delayMs: number): Run {
  const again = (message: Message, left: number): unknown => {
    let outcome: unknown;
    try {
      outcome = run(message);
    } catch (error) {
      return later(message, left, error);
    }
    return isThenable(outcome) ? outcome.then(undefined, (error: unknown) => later(message, left, error)) : outcome;
  };
  const later = (message: Message, left: number, error: unknown): unknown => {
    if (left === 0 || message.signal?.aborted === true) throw error;
    if (delayMs === 0) return again(message, left - 1);
    return new Promise((resolve) => setTimeout(resolve, delayMs)).then(() => again(message, left - 1));
  };
  return (message) => again(message, retries);
}
