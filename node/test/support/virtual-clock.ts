interface Timer {
  readonly at: number;
  readonly run: () => void;
  ref(): void;
  unref(): void;
}

/** A clock that the test advances: timers run one by one, each at its time. */
export class VirtualClock {
  now = 0;
  #timers: Timer[] = [];
  readonly #real = { setTimeout: globalThis.setTimeout, clearTimeout: globalThis.clearTimeout };
  readonly #now = performance.now.bind(performance);

  install(): void {
    const target = globalThis as unknown as Record<string, unknown>;
    target["setTimeout"] = (run: () => void, ms: number): Timer => {
      const timer = { at: this.now + ms, run, ref() {}, unref() {} };
      this.#timers.push(timer);
      return timer;
    };
    target["clearTimeout"] = (timer: Timer | undefined): void => {
      this.#timers = this.#timers.filter((other) => other !== timer);
    };
    performance.now = () => this.now;
  }

  remove(): void {
    Object.assign(globalThis, this.#real);
    performance.now = this.#now;
  }

  advance(ms: number): void {
    const end = this.now + ms;
    for (;;) {
      let next: Timer | undefined;
      for (const timer of this.#timers) if (timer.at <= end && (next === undefined || timer.at < next.at)) next = timer;
      if (next === undefined) break;
      this.#timers.splice(this.#timers.indexOf(next), 1);
      this.now = Math.max(this.now, next.at);
      next.run();
    }
    this.now = Math.max(this.now, end);
  }
}
