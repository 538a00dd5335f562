import { Deque } from "./deque.js";

type Result<T> = IteratorResult<T, undefined>;

/**
 * Items for asynchronous readers, first in, first out. Readers that wait are served in the order of their calls.
 *
 * Memory: unbounded; the caller bounds `length`.
 *
 * @internal
 */
export class ReaderQueue<T> {
  readonly #items = new Deque<T>();
  readonly #readers = new Deque<(result: Result<T> | Promise<Result<T>>) => void>();
  #closed = false;
  #fault: Error | undefined;

  get length(): number {
    return this.#items.length;
  }

  push(item: T): void {
    if (!this.tryHand(item)) this.#items.push(item);
  }

  /** Gives the item to a reader that waits. False if none does. */
  tryHand(item: T): boolean {
    const reader = this.#readers.shift();
    reader?.({ value: item, done: false });
    return reader !== undefined;
  }

  peek(): T | undefined {
    return this.#items.peek();
  }

  shift(): T | undefined {
    return this.#items.shift();
  }

  next(): Promise<Result<T>> {
    const value = this.#items.shift();
    if (value !== undefined) return Promise.resolve({ value, done: false });
    return this.#closed ? this.#end() : new Promise((resolve) => this.#readers.push(resolve));
  }

  /** Ends readers after the remaining items. The first of them gets `fault`, if there is one. */
  close(fault?: Error): void {
    this.#closed = true;
    this.#fault = fault;
    for (let reader = this.#readers.shift(); reader !== undefined; reader = this.#readers.shift()) reader(this.#end());
  }

  #end(): Promise<Result<T>> {
    const fault = this.#fault;
    this.#fault = undefined;
    return fault === undefined ? Promise.resolve({ value: undefined, done: true }) : Promise.reject(fault);
  }
}
