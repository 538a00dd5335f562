import { ReaderQueue } from "../pool/reader-queue.js";
import type { MarketEvent } from "./market-event.js";

/**
 * Events that wait for readers. New events that find it full are missed; a `missed` event takes their place.
 *
 * Memory: at most twice the capacity, because between two `missed` events there is another event.
 *
 * @internal
 */
export class EventBuffer {
  /** Whether a reader has asked for an event. */
  reading = false;
  delivered = 0;
  missed = 0;
  readonly #events = new ReaderQueue<MarketEvent>();
  /** `missed` events of this buffer among `#events`. */
  #marks = 0;
  /** Events missed since the newest event in `#events`. */
  #unmarked = 0;

  constructor(private readonly capacity: number) {}

  get waiting(): number {
    return this.#events.length - this.#marks;
  }

  push(event: MarketEvent): void {
    if (this.#events.tryHand(event)) this.delivered++;
    else if (this.waiting >= this.capacity) {
      this.missed++;
      this.#unmarked++;
    } else {
      if (this.#unmarked > 0) this.#mark();
      this.#events.push(event);
    }
  }

  next(): Promise<IteratorResult<MarketEvent, undefined>> {
    this.reading = true;
    if (this.#events.length === 0 && this.#unmarked > 0) this.#mark();
    const first = this.#events.peek();
    if (first?.type === "missed" && first.here) this.#marks--;
    else if (first !== undefined) this.delivered++;
    return this.#events.next();
  }

  /** Ends readers after the remaining events. The first of them gets `fault`, if there is one. */
  close(fault?: Error): void {
    this.#events.close(fault);
  }

  #mark(): void {
    this.#events.push({ type: "missed", count: this.#unmarked, here: true });
    this.#marks++;
    this.#unmarked = 0;
  }
}

/**
 * An iterator over a buffer. Its end closes the client, even while a `next` is pending.
 *
 * @internal
 */
export class EventIterator implements AsyncGenerator<MarketEvent, void, void> {
  #over = false;

  constructor(
    private readonly buffer: EventBuffer,
    private readonly end: () => void,
  ) {}

  next(): Promise<IteratorResult<MarketEvent, void>> {
    return this.#over ? Promise.resolve({ value: undefined, done: true }) : this.buffer.next();
  }

  return(): Promise<IteratorResult<MarketEvent, void>> {
    this.#over = true;
    this.end();
    return Promise.resolve({ value: undefined, done: true });
  }

  async throw(error: unknown): Promise<never> {
    await this.return();
    throw error;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.return();
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}
