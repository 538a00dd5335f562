import { runIn, type Scope } from "./platform.js";

/** @internal A timer of Node; browsers' timers keep nothing alive and lack these functions. */
export interface Timer {
  ref?(): void;
  unref?(): void;
}

/** @internal A call that is made at a time unless it is cancelled before. */
export class Deadline {
  constructor(
    readonly atMs: number,
    readonly expire: () => void,
    private readonly owner: Deadlines,
    private readonly list: Set<Deadline>,
  ) {}

  cancel(): void {
    if (this.list.delete(this)) this.owner._removed();
  }

  /** Expires it and returns true if its time has come, even if a busy event loop has delayed the timer. */
  expireIfDue(): boolean {
    if (performance.now() < this.atMs || !this.list.has(this)) return false;
    this.cancel();
    this.expire();
    return true;
  }
}

/**
 * Time limits of many messages on one timer. Starting and cancelling one is O(1).
 *
 * Source: the timer lists by duration of Node's lib/internal/timers.
 *
 * @internal
 */
export class Deadlines {
  /** Deadlines by duration, each set in the order in which they expire. */
  readonly #lists = new Map<number, Set<Deadline>>();
  #timer: Timer | undefined;
  #timerAtMs = Number.POSITIVE_INFINITY;
  #open = 0;
  readonly #tick = () => this.#expire();
  readonly #startTimer = (ms: number): void => {
    this.#timer = setTimeout(this.#tick, ms) as unknown as Timer;
  };

  /** scope: the context in which deadlines expire; undefined: that of the caller that starts the timer. */
  constructor(private readonly scope: Scope | undefined) {}

  start(durationMs: number, expire: () => void): Deadline {
    let list = this.#lists.get(durationMs);
    if (list === undefined) {
      list = new Set();
      this.#lists.set(durationMs, list);
    }
    const deadline = new Deadline(performance.now() + durationMs, expire, this, list);
    list.add(deadline);
    if (deadline.atMs < this.#timerAtMs) this.#arm(deadline.atMs, durationMs);
    else if (this.#open === 0) this.#timer?.ref?.();
    this.#open++;
    return deadline;
  }

  /** @internal Without open deadlines the timer runs out and does not keep the process alive. */
  _removed(): void {
    this.#open--;
    if (this.#open === 0) this.#timer?.unref?.();
  }

  #arm(atMs: number, inMs: number): void {
    clearTimeout(this.#timer as never);
    this.#timerAtMs = atMs;
    const ms = Math.max(1, Math.ceil(inMs));
    if (this.scope === undefined) this.#startTimer(ms);
    else runIn(this.scope, this.#startTimer, ms);
  }

  #expire(): void {
    this.#timerAtMs = Number.POSITIVE_INFINITY;
    const now = performance.now();
    let next = Number.POSITIVE_INFINITY;
    for (const [duration, list] of this.#lists) {
      for (const deadline of list) {
        if (deadline.atMs > now) break;
        deadline.cancel();
        deadline.expire();
      }
      const [first] = list;
      if (first === undefined) this.#lists.delete(duration);
      else next = Math.min(next, first.atMs);
    }
    // An expired deadline may have cancelled some of those seen before.
    if (this.#open > 0 && next < this.#timerAtMs) this.#arm(next, next - now);
  }
}
