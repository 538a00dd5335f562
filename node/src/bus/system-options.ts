import type { Message, Observed } from "../pool/message.js";
import type { MessagePool } from "../pool/message-pool.js";
import type { ParamsOf } from "../pool/route.js";
import type { Middleware } from "./middleware.js";
import type { Priority, QueueOptions } from "./queue-options.js";
import type { RetryOptions } from "./retry.js";

export interface MessageSystemOptions {
  /** A pool to share, or the size of one for this system: a number, "auto" (default), or 0 for plain messages. */
  readonly pool?: number | "auto" | MessagePool;
  /** Number of messages that `start` allocates. */
  readonly warmup?: number;
  /** Never lends a message object twice: every use after release throws, with the line that acquired it. */
  readonly checked?: boolean;
  /** `latency` adds a histogram per receiver; `diagnostics` also the tracing channels `millpond.handle`. */
  readonly statistics?: "counters" | "latency" | "diagnostics";
  /** Gives every message a W3C traceparent. A message that a handler sends continues the trace of the handler's message. */
  readonly tracing?: boolean;
  /**
   * Runs queued and retried handlers in the AsyncLocalStorage context of their sender, and lets `close` recognise the sends of
   * running handlers. True by default; if false, a queued message allocates nothing.
   */
  readonly asyncContext?: boolean;
  /** Default timeout of `request`; 5,000 if unset. */
  readonly timeoutMs?: number;
  /**
   * Called with errors that no sender gets: of observers, and of handlers of emitted messages. Without it, a process warning is
   * emitted once per receiver and cause.
   */
  readonly onError?: (error: unknown, path: string, receiver: string) => void;
  /**
   * Called with every message that reached no handler, or whose reply was late. Without it, a process warning is emitted once per
   * handler whose queue refuses emitted messages, and once per handler whose emitted messages expire.
   */
  readonly onDeadLetter?: (letter: DeadLetter) => void;
}

/** A message that did not reach a handler, or whose sender no longer waited for the handler. */
export interface DeadLetter {
  readonly path: string;
  readonly body: unknown;
  readonly meta: unknown;
  /**
   * `refused` by a full queue; `dropped` for another message; `timed-out`: the time limit ended before the reply; `expired`: the
   * time limit of an emitted message ended before its handler started.
   */
  readonly reason: "no-handler" | "refused" | "dropped" | "timed-out" | "expired";
  /** The name of the handler; undefined if there is none. */
  readonly receiver: string | undefined;
  readonly error: unknown;
}

export interface RegistrationOptions {
  /** The receiver's name in statistics and errors; the template by default. */
  readonly name?: string;
  /** Ends the registration when it is aborted. */
  readonly signal?: AbortSignal;
}

export interface HandlerOptions extends RegistrationOptions {
  /** A bounded queue in front of the handler. */
  readonly queue?: QueueOptions;
  /** Number of retries after a failure, or their options. */
  readonly retries?: number | RetryOptions;
  readonly middleware?: readonly Middleware[];
}

export interface ObserverOptions extends RegistrationOptions {
  /** The observer's queue; by default of 1,024 messages, and drops the oldest. */
  readonly queue?: QueueOptions;
}

export interface SendOptions {
  readonly meta?: unknown;
  /** Lane of a queued handler, `medium` by default. */
  readonly priority?: Priority;
  /** Removes the message while it waits, and aborts the `signal` of a running handler. */
  readonly signal?: AbortSignal;
  readonly traceparent?: string;
  /** Milliseconds after which the message is aborted, up to 2,147,483,647, or Infinity. */
  readonly timeoutMs?: number;
}

/** Like `SendOptions`; `timeoutMs` is 5,000 by default. */
export type RequestOptions = SendOptions;

export interface ReadyOptions {
  /** Ends the wait, or revokes the place. */
  readonly signal?: AbortSignal;
  /** Longest wait; unlimited by default. */
  readonly timeoutMs?: number;
  /** Longest time for which a place is held; 5,000 by default. */
  readonly holdMs?: number;
}

export interface WaitOptions {
  readonly signal?: AbortSignal;
  readonly timeoutMs?: number;
}

export interface StreamOptions extends RegistrationOptions {
  /** Most messages that wait for the loop, 1,024 by default; beyond, the oldest are lost and counted. */
  readonly capacity?: number;
}

/** A handler. It owns its message until it returns, or its promise settles. */
export type Handler<Path extends string, Body, Reply> = (
  message: Message<Body, unknown, ParamsOf<Path>>,
) => Reply | PromiseLike<Reply>;

/** An observer. Its message is valid until it returns, or its promise settles. */
export type Observer<Path extends string, Body> = (message: Observed<Body, unknown, ParamsOf<Path>>) => unknown;

/** The reply of a synchronous handler, otherwise a promise of the reply. */
export type Sent<Reply> = Reply | Promise<Reply>;

/** sent = handled + refused + dropped + aborted + expired + waiting + running. */
export interface ReceiverStats {
  readonly template: string;
  readonly kind: "handler" | "observer";
  /** Unique in the system. */
  readonly name: string;
  readonly sent: number;
  /** Handlers that settled, with or without an error. */
  readonly handled: number;
  /** Handlers that threw or rejected, which `handled` includes. */
  readonly failed: number;
  readonly refused: number;
  readonly dropped: number;
  readonly aborted: number;
  /** Timed out before the handler started. */
  readonly expired: number;
  /** Attempts after the first. */
  readonly retried: number;
  readonly waiting: number;
  readonly running: number;
}
