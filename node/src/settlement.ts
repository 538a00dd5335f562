import type { Message } from "./message.js";
import type { Plan } from "./plan.js";

/**
 * The end of one async handler; used again, so that waiting for a handler makes no closures.
 *
 * @internal
 */
export class Settlement {
  plan: Plan | undefined;
  message: Message | undefined;
  readonly succeed: (reply: unknown) => unknown;
  readonly fail: (error: unknown) => never;

  constructor(finish: (settlement: Settlement, failed: boolean) => void) {
    this.plan = undefined;
    this.message = undefined;
    this.succeed = (reply) => {
      finish(this, false);
      return reply;
    };
    this.fail = (error) => {
      finish(this, true);
      throw error;
    };
  }
}

/** @internal `reply`, unless the signal comes first; `abort` is then told, and the handler may still run. */
export function orAborted(reply: PromiseLike<unknown>, signal: AbortSignal, abort: () => void): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      abort();
      reject(signal.reason);
    };
    signal.addEventListener("abort", stop, { once: true });
    reply.then(
      (value) => {
        signal.removeEventListener("abort", stop);
        resolve(value);
      },
      (error) => {
        signal.removeEventListener("abort", stop);
        reject(error);
      },
    );
  });
}
