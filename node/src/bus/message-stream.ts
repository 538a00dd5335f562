import { Deque } from "../pool/deque.js";
import type { Observed } from "../pool/message.js";
import { DROPPED, type Receiver } from "./receiver.js";

/**
 * The messages of a template, for `for await`. At most `capacity` wait for the loop; beyond, the oldest are lost and counted.
 * Ends with `close`, with the end of the loop, with its signal, or with the system.
 *
 * Memory: an object per message, which is the loop's to keep.
 */
export class MessageStream<Body = unknown, Params extends string = string> implements AsyncIterableIterator<
  Observed<Body, unknown, Params>
> {
  readonly #waiting = new Deque<Observed<Body, unknown, Params>>();
  readonly #readers = new Deque<(result: IteratorResult<Observed<Body, unknown, Params>, undefined>) => void>();
  #closed = false;
  #lost = 0;
  /** Its observer, whose queue holds what was sent in this turn. */
  #receiver: Receiver | undefined;
  #ended: (() => void) | undefined;

  /** @internal */
  constructor(private readonly capacity: number) {}

  /** Messages that the loop did not get: it was too slow, or it was left before. */
  get lost(): number {
    return this.#lost + (this.#receiver?.counts[DROPPED] ?? 0);
  }

  /** @internal */
  _begin(receiver: Receiver, ended: () => void): void {
    this.#receiver = receiver;
    this.#ended = ended;
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

  /** Accepts no more messages; the loop ends after those sent before. */
  close(): void {
    if (this.#closed) return;
    this.#receiver?.mailbox?.flush();
    this.#closed = true;
    this.#receiver?.remove();
    this.#ended?.();
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
    this.#lost += this.#waiting.length;
    this.#waiting.filter(() => false);
    return Promise.resolve({ value: undefined, done: true });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}
