import type { Message } from "../pool/message.js";
import { requireFunction, requireKnown, SettingError } from "../pool/pool-error.js";
import type { Run } from "./receiver.js";
import { adopt, isThenable } from "../pool/thenable.js";

/** Work around a handler. `before` runs outside in, `after` and `error` inside out. */
export interface Middleware {
  /** Runs before the handler; throws or rejects to stop the message. */
  readonly before?: (message: Message) => unknown;
  /** Sees the reply; what it returns is ignored, a promise is awaited. */
  readonly after?: (message: Message, reply: unknown) => unknown;
  /** Its return value becomes the reply; throws to pass the error on. */
  readonly error?: (error: unknown, message: Message) => unknown;
}

const PARTS = ["before", "after", "error"] as const;

/** @internal Throws SettingError for what would run nothing around a handler. */
export function checkMiddleware(middleware: Middleware): void {
  const bound = "an object with the functions before, after or error";
  if (typeof middleware !== "object" || middleware === null || !PARTS.some((part) => part in middleware)) {
    throw new SettingError("middleware", middleware, bound);
  }
  // An object of a class may have members of its own.
  const prototype: unknown = Object.getPrototypeOf(middleware);
  if (prototype === Object.prototype || prototype === null) requireKnown("middleware", middleware, PARTS);
  for (const part of PARTS) if (middleware[part] !== undefined) requireFunction(`middleware.${part}`, middleware[part]);
}

/** @internal The `middleware` of a handler's options. */
export function checkMiddlewares(middleware: readonly Middleware[]): void {
  if (!Array.isArray(middleware)) throw new SettingError("middleware", middleware, "an array");
  for (const one of middleware as readonly Middleware[]) checkMiddleware(one);
}

/** @internal `run` inside all of `middleware`, the first outermost. `look` finds out what senders have given up. */
export function wrap(run: Run, middleware: readonly Middleware[], look: () => void): Run {
  return middleware.reduceRight<Run>((inner, one) => wrapOne(inner, one, look), run);
}

function wrapOne(inner: Run, { before, after, error }: Middleware, look: () => void): Run {
  const rescue = (thrown: unknown, message: Message): unknown => {
    if (error === undefined) throw thrown;
    return error(thrown, message);
  };
  const finish = (message: Message, reply: unknown): unknown => {
    const seen = after?.(message, reply);
    return isThenable(seen) ? adopt(seen).then(() => reply) : reply;
  };
  const proceed = (message: Message): unknown => {
    const reply = inner(message);
    return isThenable(reply) ? adopt(reply).then((value) => finish(message, value)) : finish(message, reply);
  };
  /** After a promise: the sender may have given up since. */
  const resume = (message: Message): unknown => {
    look();
    const { signal } = message;
    if (signal?.aborted === true) throw signal.reason;
    return proceed(message);
  };
  return (message) => {
    let outcome: unknown;
    try {
      const ready = before?.(message);
      outcome = isThenable(ready) ? adopt(ready).then(() => resume(message)) : proceed(message);
    } catch (thrown) {
      return rescue(thrown, message);
    }
    return isThenable(outcome) ? adopt(outcome).then(undefined, (thrown: unknown) => rescue(thrown, message)) : outcome;
  };
}
