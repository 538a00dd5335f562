import { DISCARD, END, type Lease, LOOK_CLOSER, PLAIN } from "./lease.js";
import type { Message } from "./message.js";
import { PoolStock } from "./pool-stock.js";

/** A stock that also counts the message which a dispatcher holds ready. */
export abstract class ReadyStock<T extends object, Body, Meta> extends PoolStock<T, Body, Meta> {
  /** @internal A factory makes what it lends. */
  get _ofObjects(): boolean {
    return this._options.factory !== undefined;
  }

  /** @internal Each message on loan is counted or watched: a dispatcher holds none ready. */
  get _exact(): boolean {
    return this._checked || this._refuses;
  }

  /** @internal It lends its size and no more: what observers held would be missing to senders. */
  get _refuses(): boolean {
    return this._options.overflow === "refuse";
  }

  /** @internal What was reserved is on loan after all, and will be released. */
  _lendReserved(message: Lease): void {
    if (message._slot === undefined) {
      this._plainLoans++;
      message._stamp = PLAIN;
      return;
    }
    if (message._link === DISCARD) this._straysInUse++;
    else message._link = END;
    this._look();
  }

  /** @internal The stamps of what was reserved are used up. */
  _retire(message: Message): void {
    if (message._slot === undefined) return;
    if (message._link !== DISCARD) {
      this._size--;
      this._otherLoans += LOOK_CLOSER >> 1;
    }
    this._discarded++;
    this._leases[message._slot] = undefined;
    this._look();
  }
}
