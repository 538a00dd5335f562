import { requireDuration, requireInteger, requireKnown, SettingError } from "../pool/pool-error.js";

/** How often, and after which pauses, a handler is run again after a failure. */
export interface RetryOptions {
  /** Runs after the first, 0 to 1,000,000. */
  readonly times: number;
  /** Pause before the first retry; 0 by default. */
  readonly delayMs?: number;
  /** Each pause is so many times the one before, 1 or more; 2 by default. */
  readonly factor?: number;
  /** Longest pause; 30,000 by default. */
  readonly maxDelayMs?: number;
  /** Random share of each pause, 0 to 1, so that messages that failed together are not retried together. */
  readonly jitter?: number;
}

/** @internal */
export class RetryPolicy {
  readonly times: number;
  readonly #delayMs: number;
  readonly #factor: number;
  readonly #maxDelayMs: number;
  readonly #jitter: number;

  constructor(given: number | RetryOptions) {
    const options: RetryOptions = typeof given === "number" ? { times: given } : given;
    requireKnown("retries", options, ["times", "delayMs", "factor", "maxDelayMs", "jitter"]);
    this.times = requireInteger("retries", options.times, 0, 1_000_000);
    this.#delayMs = requireDuration("delayMs", options.delayMs ?? 0);
    this.#maxDelayMs = requireDuration("maxDelayMs", options.maxDelayMs ?? 30_000);
    this.#factor = options.factor ?? 2;
    this.#jitter = options.jitter ?? 0;
    if (typeof this.#factor !== "number" || !(this.#factor >= 1))
      throw new SettingError("factor", this.#factor, "a number, 1 or more");
    const jitter: unknown = this.#jitter;
    if (typeof jitter !== "number" || !(jitter >= 0 && jitter <= 1)) {
      throw new SettingError("jitter", jitter, "a number from 0 to 1");
    }
  }

  /** The pause before attempt number `attempt`, of which the first is 1. */
  pauseMs(attempt: number): number {
    if (this.#delayMs === 0) return 0;
    const pause = Math.min(this.#maxDelayMs, this.#delayMs * this.#factor ** (attempt - 2));
    return Math.ceil(pause * (1 - this.#jitter * Math.random()));
  }
}
