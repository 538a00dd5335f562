import { countOf, DISCARD, LAST_STAMP, type Lease, placeOf } from "./lease.js";
import { Message } from "./message.js";
import type { Leak } from "./pool-options.js";

const STAMPS = 2 ** 31;

/**
 * Who sits at which slot number, and what the stamps tell when somebody asks: nothing is counted when a message is lent.
 *
 * Memory: a reference a slot; after `leaks` or `trim` an entry a slot.
 *
 * @internal
 */
export class SlotTable {
  readonly leases: (Lease | undefined)[] = [];
  readonly #spareSlots: number[] = [];
  readonly #spareStamps: number[] = [];
  /** The stamp of each slot at the last look, and when that stamp was first seen. */
  #seen = new Map<number, { readonly count: number; readonly atMs: number }>();

  /** A free slot number, and the stamp with which its next user begins. */
  take(): { readonly slot: number; readonly stamp: number } {
    return { slot: this.#spareSlots.pop() ?? this.leases.length, stamp: this.#spareStamps.pop() ?? 0 };
  }

  /** The number of an object that is gone may be used again, with stamps that go on after its last. */
  vacate(slot: number, stamp: number): void {
    this.leases[slot] = undefined;
    if (stamp > LAST_STAMP) return;
    this.#spareSlots.push(slot);
    this.#spareStamps.push(stamp);
  }

  handleOf(lease: Lease): number {
    return lease._slot * STAMPS + countOf(lease);
  }

  /** Undefined when that loan is over. */
  find(handle: number): Lease | undefined {
    const lease = this.leases[Math.floor(handle / STAMPS)];
    return lease !== undefined && countOf(lease) === handle % STAMPS ? lease : undefined;
  }

  slotOf(handle: number): number {
    return Math.floor(handle / STAMPS);
  }

  /** Loans of the objects that have their place here, and how many of them are out. */
  loans(): { readonly acquired: number; readonly inUse: number } {
    let acquired = 0;
    let inUse = 0;
    for (const lease of this.#seated()) {
      acquired += (countOf(lease) + 1) >> 1;
      inUse += lease._stamp & 1;
    }
    return { acquired, inUse };
  }

  /** Last in, first out: as many messages as were ever out together have been touched, and no more. */
  touched(): number {
    let touched = 0;
    for (const lease of this.#seated()) if (countOf(lease) > 0) touched++;
    return touched;
  }

  /** True when nobody used the object since the last look. */
  unusedSince(lease: Lease): boolean {
    return this.#seen.get(lease._slot)?.count === countOf(lease);
  }

  leaks(longerThanMs: number): Leak[] {
    const found: Leak[] = [];
    const now = performance.now();
    for (const lease of this.leases) {
      if (lease === undefined || (lease._stamp & 1) === 0) continue;
      const seen = this.#seen.get(lease._slot);
      if (seen?.count !== countOf(lease) || now - seen.atMs < longerThanMs) continue;
      const path = lease instanceof Message ? lease._path : undefined;
      found.push({ handle: this.handleOf(lease), path, acquiredAt: placeOf(lease), outForMs: now - seen.atMs });
    }
    return found;
  }

  noteStamps(): void {
    const before = this.#seen;
    const atMs = performance.now();
    this.#seen = new Map();
    for (const lease of this.leases) {
      if (lease === undefined) continue;
      const seen = before.get(lease._slot);
      const count = countOf(lease);
      this.#seen.set(lease._slot, seen?.count === count ? seen : { count, atMs });
    }
  }

  /** Those who have not lost their place. */
  *#seated(): IterableIterator<Lease> {
    for (const lease of this.leases) if (lease !== undefined && lease._link !== DISCARD) yield lease;
  }
}
