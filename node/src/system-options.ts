import type { Message } from "./message.js";
import type { MessagePool } from "./message-pool.js";
import type { Middleware } from "./plan.js";
import type { MailboxStats, Priority, QueueOptions } from "./queue-options.js";
import type { ParamsOf } from "./route.js";

export interface MessageSystemOptions {
  /** A pool to share, or the size of one of its own: a number, "auto" (default), or 0 for plain messages. */
  readonly pool?: number | "auto" | MessagePool;
  /** Messages that `start` makes ahead. */
  readonly warmup?: number;
  /** Never lends one message object twice: every use after release throws, and names where the loan began. */
  readonly checked?: boolean;
  /** `latency` adds a histogram a route, `diagnostics` publishes each message on `millpond.send` and `millpond.settle`. */
  readonly statistics?: "counters" | "latency" | "diagnostics";
  /** Gives every message a W3C traceparent. */
  readonly tracing?: boolean;
  /** Handlers run in an AsyncLocalStorage that holds their message's envelope; messages they send join its trace. */
  readonly context?: boolean;
  /** For `request`, unless it says otherwise. 5,000 by default. */
  readonly timeoutMs?: number;
  /** Paths with parameters whose handlers are remembered, up to twice as many; 0 looks each one up. 131,072 by default. */
  readonly pathCache?: number;
  /** Told of errors that no caller can see: failed handlers of emitted messages that were queued. */
  readonly onError?: (error: unknown, path: string) => void;
}

export interface HandlerOptions {
  /** A bounded queue in front of the handler. */
  readonly queue?: QueueOptions;
  /** Times to run again after a failure. */
  readonly retries?: number;
  readonly retryDelayMs?: number;
  readonly middleware?: readonly Middleware[];
}

export interface SendOptions {
  readonly meta?: unknown;
  /** Lane of a queued handler, `medium` unless said otherwise. */
  readonly priority?: Priority;
  readonly signal?: AbortSignal;
  readonly traceparent?: string;
}

export interface RequestOptions extends SendOptions {
  readonly timeoutMs?: number;
}

/** A handler. Its message is the system's again when it returns, or when its promise settles. */
export type Handler<Path extends string, Body, Reply> = (
  message: Message<Body, unknown, ParamsOf<Path>>,
) => Reply | PromiseLike<Reply>;

/** The reply of a synchronous handler, a promise of it otherwise. */
export type Sent<Reply> = Reply | Promise<Reply>;

export interface RouteStats {
  readonly template: string;
  readonly sent: number;
  readonly failed: number;
  readonly queues: readonly MailboxStats[];
}
