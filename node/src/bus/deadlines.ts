import type { Scope } from "./platform.js";

/** @internal A timer of Node; those of browsers keep nothing alive and have no such functions. */
export interface Timer {
  ref?(): void;
  unref?(): void;
}

/** @internal Something that happens unless it is done in time. */
export class Deadline {
  _before: Deadline | undefined;
  _after: Deadline | undefined;
  _list: DeadlineList | undefined;
  constructor(
    readonly at: number,
    readonly expire: () => void,
    private readonly owner: Deadlines,
  ) {}

  done(): void {
    if (this._list === undefined) return;
    this._list._remove(this);
    this.owner._ended();
  }

  /** Expires it, and is true, if its time is over: on a busy event loop the timer comes later. */
  look(): boolean {
    if (this._list === undefined || performance.now() < this.at) return false;
    this.done();
    this.expire();
    return true;
  }
}

/** Deadlines of one duration: they expire in the order in which they began. */
class DeadlineList {
  first: Deadline | undefined;
  #last: Deadline | undefined;

  add(deadline: Deadline): void {
    deadline._list = this;
    deadline._before = this.#last;
    if (this.#last === undefined) this.first = deadline;
    else this.#last._after = deadline;
    this.#last = deadline;
  }

  _remove(deadline: Deadline): void {
    if (deadline._before === undefined) this.first = deadline._after;
    else deadline._before._after = deadline._after;
    if (deadline._after === undefined) this.#last = deadline._before;
    else deadline._after._before = deadline._before;
    deadline._list = deadline._before = deadline._after = undefined;
  }
}

/**
 * Timeouts for many requests on one timer: starting and ending one is O(1) and needs no separate timer.
 *
 * Source: the timer lists by duration of Node's own lib/internal/timers.
 *
 * @internal
 */
export class Deadlines {
  readonly #lists = new Map<number, DeadlineList>();
  #timer: Timer | undefined;
  #due = Number.POSITIVE_INFINITY;
  #open = 0;
  readonly #tick = () => this.#expire();
  readonly #set = (ms: number): void => {
    this.#timer = setTimeout(this.#tick, ms) as unknown as Timer;
  };

  /** scope: the context of what expires; without it, that of the caller that started the timer. */
  constructor(private readonly scope: Scope | undefined) {}

  start(durationMs: number, expire: () => void): Deadline {
    let list = this.#lists.get(durationMs);
    if (list === undefined) {
      list = new DeadlineList();
      this.#lists.set(durationMs, list);
    }
    const deadline = new Deadline(performance.now() + durationMs, expire, this);
    list.add(deadline);
    if (deadline.at < this.#due) this.#arm(deadline.at, durationMs);
    else if (this.#open === 0) this.#timer?.ref?.();
    this.#open++;
    return deadline;
  }

  /** @internal Without open timeouts the timer expires and does not keep the process alive. */
  _ended(): void {
    this.#open--;
    if (this.#open === 0) this.#timer?.unref?.();
  }

  #arm(at: number, inMs: number): void {
    clearTimeout(this.#timer as never);
    this.#due = at;
    const ms = Math.max(1, Math.ceil(inMs));
    if (this.scope === undefined) this.#set(ms);
    else this.scope.runInAsyncScope(this.#set, undefined, ms);
  }

  #expire(): void {
    this.#due = Number.POSITIVE_INFINITY;
    const now = performance.now();
    let next = Number.POSITIVE_INFINITY;
    for (const [duration, list] of this.#lists) {
      while (list.first !== undefined && list.first.at <= now) {
        const late = list.first;
        late.done();
        late.expire();
      }
      if (list.first === undefined) this.#lists.delete(duration);
      else next = Math.min(next, list.first.at);
    }
    // What expired may have ended those that were looked at before.
    if (this.#open > 0 && next < this.#due) this.#arm(next, next - now);
  }
}
