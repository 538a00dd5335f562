/** @internal */
export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === "object" && value !== null && typeof (value as { then?: unknown }).then === "function";
}

/** @internal A promise for a thenable, which may call back twice. A native promise is returned as it is. */
export function adopt(thenable: PromiseLike<unknown>): Promise<unknown> {
  const native = thenable instanceof Promise && thenable.then === Promise.prototype.then;
  return native ? thenable : new Promise((resolve) => resolve(thenable));
}
