const watched = new WeakMap<AbortSignal, Set<() => void>>();

/**
 * Calls `aborted` once when the signal is aborted. The calls of one signal are made in the order of registration. Each signal gets
 * one listener of the bus, for any number of messages.
 *
 * @internal
 */
export function watchSignal(signal: AbortSignal, aborted: () => void): void {
  let all = watched.get(signal);
  if (all === undefined) {
    const calls = new Set<() => void>();
    watched.set(signal, calls);
    signal.addEventListener("abort", () => [...calls].forEach((call) => calls.has(call) && call()), { once: true });
    all = calls;
  }
  all.add(aborted);
}

/** @internal Undoes `watchSignal`. */
export function unwatchSignal(signal: AbortSignal | undefined, aborted: () => void): void {
  if (signal !== undefined) watched.get(signal)?.delete(aborted);
}
