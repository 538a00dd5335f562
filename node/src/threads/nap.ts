/**
 * Sleeps until `words[index]` is no longer 1, at most `timeoutMs`. A timer of its own ends it, because a pending
 * Atomics.waitAsync does not keep its thread alive.
 *
 * @internal
 */
export async function nap(words: Int32Array, index: number, timeoutMs: number): Promise<void> {
  const sleep = Atomics.waitAsync(words, index, 1);
  if (!sleep.async) return;
  const alarm = setTimeout(() => endNap(words, index), Math.min(timeoutMs, 2 ** 31 - 1));
  await sleep.value;
  clearTimeout(alarm);
}

/** @internal */
export function endNap(words: Int32Array, index: number): void {
  Atomics.store(words, index, 0);
  Atomics.notify(words, index);
}
