import type { Timer } from "./deadlines.js";
import { Delivery } from "./delivery.js";

/** So many are kept however long they are unused. */
const KEPT = 4_096;
const LOOK_MS = 10_000;

/**
 * Deliveries that are done with, to be used again.
 *
 * Memory: as many as were in flight together; those that 10 s did not need are dropped, down to 4,096.
 *
 * @internal
 */
export class DeliveryStock {
  readonly #spare: Delivery[] = [];
  /** The least that lay here since the last look. */
  #fewest = 0;
  #timer: Timer | undefined;

  constructor(private readonly contexts: boolean) {}

  take(): Delivery {
    const delivery = this.#spare.pop();
    if (delivery === undefined) return new Delivery(this.contexts);
    if (this.#spare.length < this.#fewest) this.#fewest = this.#spare.length;
    return delivery;
  }

  put(delivery: Delivery): void {
    this.#spare.push(delivery);
    if (this.#spare.length > KEPT && this.#timer === undefined) this.#watch();
  }

  #watch(): void {
    this.#timer = setTimeout(() => this.#look(), LOOK_MS) as unknown as Timer;
    this.#timer.unref?.();
  }

  #look(): void {
    this.#timer = undefined;
    this.#spare.length -= Math.max(0, Math.min(this.#fewest, this.#spare.length - KEPT));
    this.#fewest = this.#spare.length;
    if (this.#spare.length > KEPT) this.#watch();
  }
}
