import * as check from "../pool/checks.js";
import type { Message } from "../pool/message.js";
import { adopt, isThenable } from "../pool/thenable.js";

/** @internal */
export type Run = (message: Message) => unknown;

/** Functions that run around a handler: `before` from the outermost middleware inwards, `after` and `error` outwards. */
export interface Middleware {
  /** Runs before the handler; throws or rejects to stop the message. */
  readonly before?: (message: Message) => unknown;
  /** Gets the reply. A returned promise is awaited, and its value ignored. */
  readonly after?: (message: Message, reply: unknown) => unknown;
  /** The return value becomes the reply; throws to pass the error on. */
  readonly error?: (error: unknown, message: Message) => unknown;
}

const MIDDLEWARE = { before: check.callable, after: check.callable, error: check.callable };
const NAMES = ["before", "after", "error"] as const;

/** @internal Throws SettingError for an object without any of the three functions, or with unknown members. */
export function checkMiddleware(middleware: Middleware): void {
  const bound = "an object with the functions before, after or error";
  if (typeof middleware !== "object" || middleware === null || !NAMES.some((part) => part in middleware)) {
    throw new check.SettingError("middleware", middleware, bound);
  }
  for (const part of NAMES) if (middleware[part] !== undefined) check.callable(`middleware.${part}`, middleware[part]);
  // An instance of a class may have other members.
  const prototype: unknown = Object.getPrototypeOf(middleware);
  if (prototype === Object.prototype || prototype === null) check.options("middleware", middleware, MIDDLEWARE);
}

/** @internal Throws SettingError. */
export function checkMiddlewares(setting: string, middleware: unknown): void {
  if (!Array.isArray(middleware)) throw new check.SettingError(setting, middleware, "an array");
  for (const one of middleware as readonly Middleware[]) checkMiddleware(one);
}

/** @internal Wraps `run` in all of `middleware`, the first outermost. checkAborts: withdraws aborted messages of other threads. */
export function wrap(run: Run, middleware: readonly Middleware[], checkAborts: () => void): Run {
  return middleware.reduceRight<Run>((inner, one) => wrapOne(inner, one, checkAborts), run);
}

function wrapOne(inner: Run, { before, after, error }: Middleware, checkAborts: () => void): Run {
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
  /** Runs the handler after an asynchronous `before`, unless the sender has given up meanwhile. */
  const resume = (message: Message): unknown => {
    checkAborts();
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
