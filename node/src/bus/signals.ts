const watched = new WeakMap<AbortSignal, Set<() => void>>();

/**
 * Calls `aborted` once when the signal is aborted; those of one signal in the order in which they came. A signal has one listener
 * of the bus, however many messages it is for.
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

/** @internal */
export function unwatchSignal(signal: AbortSignal | undefined, aborted: () => void): void {
  if (signal !== undefined) watched.get(signal)?.delete(aborted);
}
