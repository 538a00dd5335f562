import { Deque } from "../pool/deque.js";
import type { Observed } from "../pool/message.js";

/**
 * The messages of a template, for `for await`. At most `capacity` wait for the loop; beyond, the oldest are lost and counted.
 * Ends with `close`, with the end of the loop, with its signal, or with the system.
 *
 * Memory: an object a message, which is the loop's to keep.
 */
export class MessageStream<Body = unknown, Params extends string = string> implements AsyncIterableIterator<
  Observed<Body, unknown, Params>
> {
  readonly #waiting = new Deque<Observed<Body, unknown, Params>>();
  readonly #readers = new Deque<(result: IteratorResult<Observed<Body, unknown, Params>, undefined>) => void>();
  #closed = false;
  #lost = 0;
  #undo: (() => void) | undefined;

  /** @internal */
  constructor(private readonly capacity: number) {}

  /** Messages that were lost because the loop was too slow. */
  get lost(): number {
    return this.#lost;
  }

  /** @internal */
  _begin(undo: () => void): void {
    this.#undo = undo;
  }

  /** @internal */
  _take(message: Observed<Body, unknown, Params>): void {
    if (this.#closed) return;
    const kept = message.keep();
    const reader = this.#readers.shift();
    if (reader !== undefined) reader({ value: kept, done: false });
    else {
      if (this.#waiting.length >= this.capacity) {
        this.#waiting.shift();
        this.#lost++;
      }
      this.#waiting.push(kept);
    }
  }

  /** Takes no more messages; the loop ends after those that wait. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#undo?.();
    for (let reader = this.#readers.shift(); reader !== undefined; reader = this.#readers.shift()) {
      reader({ value: undefined, done: true });
    }
  }

  next(): Promise<IteratorResult<Observed<Body, unknown, Params>, undefined>> {
    const value = this.#waiting.shift();
    if (value !== undefined) return Promise.resolve({ value, done: false });
    if (this.#closed) return Promise.resolve({ value: undefined, done: true });
    return new Promise((resolve) => this.#readers.push(resolve));
  }

  return(): Promise<IteratorResult<Observed<Body, unknown, Params>, undefined>> {
    this.close();
    this.#waiting.filter(() => false);
    return Promise.resolve({ value: undefined, done: true });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}
