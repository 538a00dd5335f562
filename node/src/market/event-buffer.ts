import { Deque } from "../pool/deque.js";
import type { MarketEvent } from "./market-event.js";

type Result = IteratorResult<MarketEvent, undefined>;

/**
 * Events that wait for readers. New events that find it full are missed; a `missed` event takes their place.
 *
 * Memory: at most twice the capacity, since between two such events there is another one.
 *
 * @internal
 */
export class EventBuffer {
  /** A reader has asked for an event. */
  reading = false;
  delivered = 0;
  missed = 0;
  readonly #events = new Deque<MarketEvent>();
  readonly #readers = new Deque<(result: Result) => void>();
  /** `missed` events among `#events`. */
  #marks = 0;
  /** Missed since the newest event in `#events`. */
  #unmarked = 0;
  #closed = false;

  constructor(private readonly capacity: number) {}

  get waiting(): number {
    return this.#events.length - this.#marks;
  }

  put(event: MarketEvent): void {
    const reader = this.#readers.shift();
    if (reader !== undefined) {
      this.delivered++;
      reader({ value: event, done: false });
    } else if (this.waiting >= this.capacity) {
      this.missed++;
      this.#unmarked++;
    } else {
      if (this.#unmarked > 0) this.#mark();
      this.#events.push(event);
    }
  }

  take(): Promise<Result> {
    this.reading = true;
    if (this.#events.length === 0 && this.#unmarked > 0) this.#mark();
    const value = this.#events.shift();
    if (value !== undefined) {
      if (value.type === "missed" && value.here) this.#marks--;
      else this.delivered++;
      return Promise.resolve({ value, done: false });
    }
    if (this.#closed) return Promise.resolve({ value: undefined, done: true });
    return new Promise((resolve) => this.#readers.push(resolve));
  }

  /** Readers that wait get the end; later ones after the remaining events. */
  close(): void {
    this.#closed = true;
    for (let reader = this.#readers.shift(); reader !== undefined; reader = this.#readers.shift()) {
      reader({ value: undefined, done: true });
    }
  }

  #mark(): void {
    this.#events.push({ type: "missed", count: this.#unmarked, here: true });
    this.#marks++;
    this.#unmarked = 0;
  }
}

/**
 * One of the loops over a buffer. Its end ends the client, also while a `next` waits.
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
    return this.#over ? Promise.resolve({ value: undefined, done: true }) : this.buffer.take();
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
