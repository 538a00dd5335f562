import * as check from "../pool/checks.js";

/** How often, and after which pauses, a failed handler runs again. */
export interface RetryOptions {
  /** Runs after the first, 0 to 1,000,000. */
  readonly times: number;
  /** Pause before the first retry; 0 by default. */
  readonly delayMs?: number;
  /** Ratio of each pause to the previous one, 1 or more; 2 by default. */
  readonly factor?: number;
  /** Longest pause; 30,000 by default. */
  readonly maxDelayMs?: number;
  /** Random share of each pause, 0 to 1, so that messages that failed together are not retried together. */
  readonly jitter?: number;
}

const OPTIONS = {
  times: check.integerFrom(0, 1_000_000),
  delayMs: check.duration,
  factor: check.numberFrom(1),
  maxDelayMs: check.duration,
  jitter: check.numberFrom(0, 1),
};

/** @internal */
export function retryOptionsOf(retries: number | RetryOptions): RetryOptions {
  return typeof retries === "number" ? { times: retries } : retries;
}

/** @internal Throws SettingError. */
export function checkRetries(setting: string, retries: unknown): void {
  const options = retryOptionsOf(retries as RetryOptions);
  check.options(setting, options, OPTIONS);
  if (options.times === undefined) OPTIONS.times("times", options.times);
}

/** @internal The pause before attempt number `attempt`; the first attempt is 1. */
export function pauseMs(
  { delayMs = 0, factor = 2, maxDelayMs = 30_000, jitter = 0 }: RetryOptions,
  attempt: number,
): number {
  if (delayMs === 0) return 0;
  const pause = Math.min(maxDelayMs, delayMs * factor ** (attempt - 2));
  return Math.ceil(pause * (1 - jitter * Math.random()));
}
