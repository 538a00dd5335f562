import type { Message, Observed } from "../pool/message.js";
import type { MessagePool } from "../pool/message-pool.js";
import type { ParamsOf } from "../pool/route.js";
import type { Middleware } from "./middleware.js";
import type { Priority, QueueOptions } from "./queue-options.js";
import type { RetryOptions } from "./retry.js";

export interface MessageSystemOptions {
  /** A pool to share, or the size of one for this system: a number, "auto" (default), or 0 for plain messages. */
  readonly pool?: number | "auto" | MessagePool;
  /** Messages that `start` allocates in advance. */
  readonly warmup?: number;
  /** Never lends one message object twice: every use after release throws, and names where the loan began. */
  readonly checked?: boolean;
  /** `latency` adds a histogram for each receiver, `diagnostics` the tracing channels `millpond.handle` too. */
  readonly statistics?: "counters" | "latency" | "diagnostics";
  /** Gives every message a W3C traceparent, in the trace of the message whose handler sends it. */
  readonly tracing?: boolean;
  /**
   * Queued and retried handlers run in the AsyncLocalStorage context of their sender, and `close` knows the sends of
   * handlers that are still running. True by default; without it a queued message allocates nothing.
   */
  readonly asyncContext?: boolean;
  /** Default timeout of `request`; 5,000 if unset. */
  readonly timeoutMs?: number;
  /** Gets errors that no caller can see, with the name of the receiver: of observers, and of handlers of emitted messages. */
  readonly onError?: (error: unknown, path: string, receiver: string) => void;
  /** Gets every message that no handler got, or whose reply came too late. */
  readonly onDeadLetter?: (letter: DeadLetter) => void;
}

/** A message that did not reach a handler, or whose sender no longer waited for the handler. */
export interface DeadLetter {
  readonly path: string;
  readonly body: unknown;
  readonly meta: unknown;
  /**
   * `refused` by a full queue; `dropped` for another message; `timed-out`: the sender's time limit ended before the reply;
   * `expired`: an emitted message's ended before its handler started.
   */
  readonly reason: "no-handler" | "refused" | "dropped" | "timed-out" | "expired";
  /** The name of the handler; undefined if there is none. */
  readonly receiver: string | undefined;
  readonly error: unknown;
}

export interface RegistrationOptions {
  /** Names the receiver in statistics and errors; the template unless given. */
  readonly name?: string;
  /** Ends the registration when it is aborted. */
  readonly signal?: AbortSignal;
}

export interface HandlerOptions extends RegistrationOptions {
  /** A bounded queue in front of the handler. */
  readonly queue?: QueueOptions;
  /** Times to run again after a failure, or how. */
  readonly retries?: number | RetryOptions;
  readonly middleware?: readonly Middleware[];
}

export interface ObserverOptions extends RegistrationOptions {
  /** The observer's queue; 1,024 messages, of which the oldest are dropped, unless given. */
  readonly queue?: QueueOptions;
}

export interface SendOptions {
  readonly meta?: unknown;
  /** Lane of a queued handler, `medium` by default. */
  readonly priority?: Priority;
  /** Takes the message back while it waits, and aborts the signal of a handler that runs. */
  readonly signal?: AbortSignal;
  readonly traceparent?: string;
  /** As an abort after so many milliseconds, up to 2,147,483,647, or Infinity. */
  readonly timeoutMs?: number;
}

/** Like `SendOptions`; `timeoutMs` is 5,000 by default. */
export type RequestOptions = SendOptions;

export interface ReadyOptions {
  /** Ends the wait, or takes the place back. */
  readonly signal?: AbortSignal;
  /** Longest wait; none by default. */
  readonly timeoutMs?: number;
  /** Longest time for which a place is held; 5,000 by default. */
  readonly holdMs?: number;
}

export interface WaitOptions {
  readonly signal?: AbortSignal;
  readonly timeoutMs?: number;
}

export interface StreamOptions extends RegistrationOptions {
  /** Messages that may wait for the loop, 1,024 by default; beyond, the oldest are lost and counted. */
  readonly capacity?: number;
}

/** A handler. Its message is the system's again when it returns, or when its promise settles. */
export type Handler<Path extends string, Body, Reply> = (
  message: Message<Body, unknown, ParamsOf<Path>>,
) => Reply | PromiseLike<Reply>;

/** An observer. Its message is the system's again when it returns, or when its promise settles. */
export type Observer<Path extends string, Body> = (message: Observed<Body, unknown, ParamsOf<Path>>) => unknown;

/** The reply of a synchronous handler, a promise of it otherwise. */
export type Sent<Reply> = Reply | Promise<Reply>;

/** sent = handled + refused + dropped + aborted + expired + waiting + running. */
export interface ReceiverStats {
  readonly template: string;
  readonly kind: "handler" | "command" | "query" | "observer";
  /** Different for each receiver of a system. */
  readonly name: string;
  readonly sent: number;
  /** Handlers that settled, however. */
  readonly handled: number;
  /** Of those handled, the ones that threw or rejected. */
  readonly failed: number;
  readonly refused: number;
  readonly dropped: number;
  readonly aborted: number;
  /** Timed out before the handler started. */
  readonly expired: number;
  /** Attempts beyond the first. */
  readonly retried: number;
  readonly waiting: number;
  readonly running: number;
}
