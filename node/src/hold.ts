import type { Lease, Lender } from "./lease.js";
import type { Message } from "./message.js";
import { MessageInUseError } from "./pool-error.js";

/**
 * Stands in for a message's pool while queues or async handlers have the message: a release by anybody else is refused.
 *
 * @internal
 */
export class Hold implements Lender {
  #deliveries = 1;

  constructor(private readonly lender: Lender) {}

  /** A delivery of a message that its owner will release. */
  static begin(message: Message): void {
    const lender = message._lender;
    if (lender instanceof Hold) lender.#deliveries++;
    else if (lender !== undefined) message._lender = new Hold(lender);
  }

  /** A delivery is done. After the last the message is in its owner's hands again. */
  end(message: Message): void {
    this.#deliveries--;
    if (this.#deliveries === 0) message._lender = this.lender;
  }

  _handleOf(lease: Lease): number {
    return this.lender._handleOf(lease);
  }

  _keep(lease: Lease): void {
    this.lender._keep(lease);
  }

  _giveBack(lease: Lease): void {
    throw new MessageInUseError(lease._slot);
  }
}

/**
 * Stands in for the pool of the message that a dispatcher holds ready: once kept, it was on loan after all.
 *
 * @internal
 */
export class ReadyHold extends Hold {
  constructor(private readonly pool: Lender & { _lendReserved(lease: Lease): void }) {
    super(pool);
  }

  override _keep(lease: Lease): void {
    this.pool._lendReserved(lease);
    this.pool._keep(lease);
  }
}
