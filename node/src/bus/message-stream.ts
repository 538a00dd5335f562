import * as check from "../pool/checks.js";
import type { Message, Observed } from "../pool/message.js";
import { ReaderQueue } from "../pool/reader-queue.js";
import { DROPPED, type Receiver } from "./receiver.js";
import type { Registry } from "./registry.js";
import type { StreamOptions } from "./system-options.js";

const STREAM_OPTIONS = { name: check.text, signal: check.signal, capacity: check.integerFrom(1, 2 ** 22) };

/**
 * The messages of a template, for `for await`. At most `capacity` wait for the loop; beyond, the oldest are lost and counted.
 * Ends with `close`, with the end of the loop, with its signal, or with the system.
 *
 * Memory: an object per message, which the loop may keep.
 */
export class MessageStream<Body = unknown, Params extends string = string> implements AsyncIterableIterator<
  Observed<Body, unknown, Params>
> {
  readonly #messages = new ReaderQueue<Observed<Body, unknown, Params>>();
  readonly #receiver: Receiver;
  readonly #ended: () => void;
  #closed = false;
  #lost = 0;

  /** @internal */
  constructor(registry: Registry, template: string, options: StreamOptions) {
    check.options("options", options, STREAM_OPTIONS);
    const { capacity = 1_024, ...registration } = options;
    const observer = (message: Message): void => {
      if (this.#closed) return;
      if (this.#messages.length >= capacity) {
        this.#messages.shift();
        this.#lost++;
      }
      this.#messages.push(message.keep() as never);
    };
    const close = (): void => this.close();
    this.#receiver = registry.observe(template, observer, { ...registration, queue: { capacity } }, false);
    this.#receiver.ended = close;
    this.#ended = () => registry.onClosed.delete(close);
    registry.onClosed.add(close);
    // The signal is aborted.
    if (this.#receiver.retired) this.close();
  }

  /** Messages that the loop did not get: it was too slow, or it ended before. */
  get lost(): number {
    return this.#lost + this.#receiver.counts[DROPPED]!;
  }

  /** Accepts no more messages; the loop ends after those sent before. */
  close(): void {
    if (this.#closed) return;
    this.#receiver.mailbox!.flush();
    this.#closed = true;
    this.#receiver.remove();
    this.#ended();
    this.#messages.close();
  }

  next(): Promise<IteratorResult<Observed<Body, unknown, Params>, undefined>> {
    return this.#messages.next();
  }

  return(): Promise<IteratorResult<Observed<Body, unknown, Params>, undefined>> {
    this.close();
    while (this.#messages.shift() !== undefined) this.#lost++;
    return Promise.resolve({ value: undefined, done: true });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}
