import { shown } from "./checks.js";
import type { Leak } from "./pool-options.js";

/** Smaller pools are not shrunk. */
const MIN_SHRINK_SIZE = 1_024;

interface Watched {
  leaks(longerThanMs: number): Leak[];
  shrink(): void;
}

type Warn = (text: string, options: { readonly type: string; readonly code: string }) => void;

/**
 * Warns of a pool's leaks and shrinks it, at intervals. Keeps neither the pool nor the process alive.
 *
 * @internal
 */
export class PoolWatch {
  readonly #pool: WeakRef<Watched>;
  readonly #reported = new Set<number>();
  #shrinking: ReturnType<typeof setInterval> | undefined;

  constructor(
    pool: Watched,
    private readonly warnAfterMs: number,
    private readonly shrinkEveryMs: number,
  ) {
    this.#pool = new WeakRef(pool);
    if (Number.isFinite(warnAfterMs)) this.#every(Math.max(1, warnAfterMs / 2), (one) => this.#warn(one));
  }

  /** Called when the pool has become larger. */
  grown(size: number): void {
    if (this.shrinkEveryMs === 0 || size < MIN_SHRINK_SIZE || this.#shrinking !== undefined) return;
    this.#shrinking = this.#every(this.shrinkEveryMs, (pool) => pool.shrink());
  }

  #every(periodMs: number, call: (pool: Watched) => void): ReturnType<typeof setInterval> {
    const ref = this.#pool;
    const timer = setInterval(() => {
      const pool = ref.deref();
      if (pool === undefined) clearInterval(timer);
      else call(pool);
    }, periodMs);
    (timer as { unref?: () => void }).unref?.();
    return timer;
  }

  #warn(pool: Watched): void {
    const warn = (globalThis as { process?: { emitWarning?: Warn } }).process?.emitWarning;
    for (const { handle, path, acquiredAt, outForMs } of pool.leaks(this.warnAfterMs)) {
      if (this.#reported.has(handle)) continue;
      this.#reported.add(handle);
      const what = `a message${path === undefined ? "" : ` of ${shown(path)}`} has been out for ${Math.round(outForMs)} ms`;
      const text = acquiredAt === undefined ? what : `${what}, acquired ${acquiredAt}`;
      warn?.(text, { type: "MessageLeakWarning", code: "MILLPOND_MESSAGE_LEAK" });
    }
  }
}
