import type { Timer } from "./deadlines.js";
import { Delivery } from "./delivery.js";

/** Spare deliveries that are kept even if they are unused. */
const MIN_SPARE = 4_096;
const TRIM_EVERY_MS = 10_000;

/**
 * Ended deliveries, for reuse.
 *
 * Memory: the largest number in flight at once; every 10 s, those that were not needed are dropped, down to 4,096.
 *
 * @internal
 */
export class DeliveryPool {
  readonly #spare: Delivery[] = [];
  /** Fewest spare deliveries since the last trim. */
  #fewest = 0;
  #timer: Timer | undefined;

  constructor(private readonly contexts: boolean) {}

  acquire(): Delivery {
    const delivery = this.#spare.pop();
    if (delivery === undefined) return new Delivery(this.contexts);
    if (this.#spare.length < this.#fewest) this.#fewest = this.#spare.length;
    return delivery;
  }

  release(delivery: Delivery): void {
    this.#spare.push(delivery);
    if (this.#spare.length > MIN_SPARE && this.#timer === undefined) this.#startTimer();
  }

  #startTimer(): void {
    this.#timer = setTimeout(() => this.#trim(), TRIM_EVERY_MS) as unknown as Timer;
    this.#timer.unref?.();
  }

  #trim(): void {
    this.#timer = undefined;
    this.#spare.length -= Math.max(0, Math.min(this.#fewest, this.#spare.length - MIN_SPARE));
    this.#fewest = this.#spare.length;
    if (this.#spare.length > MIN_SPARE) this.#startTimer();
  }
}
