/**
 * Sleeps until `words[index]` is not 1, at most `timeoutMs`. keepAlive: the sleep keeps the thread alive, which a pending
 * Atomics.waitAsync alone does not.
 *
 * @internal
 */
export async function nap(words: Int32Array, index: number, timeoutMs: number, keepAlive: boolean): Promise<void> {
  const sleep = Atomics.waitAsync(words, index, 1);
  if (!sleep.async) return;
  const alarm = setTimeout(() => endNap(words, index), Math.min(timeoutMs, 2 ** 31 - 1));
  if (!keepAlive) alarm.unref();
  await sleep.value;
  clearTimeout(alarm);
}

/** @internal Ends a sleep of `nap`. */
export function endNap(words: Int32Array, index: number): void {
  Atomics.store(words, index, 0);
  Atomics.notify(words, index);
}
