import { countOf, DISCARD, LAST_STAMP, type Lease, placeOf } from "./lease.js";
import { Message } from "./message.js";
import { SettingError, WrongPoolError } from "./pool-error.js";
import type { Leak } from "./pool-options.js";

const LOANS = 2 ** 29;
/** Slots whose handles lie side by side. */
const BLOCK = 64;
/** Of each block of handles the id of its pool; no two pools of the process have handles in common. */
const blocks: number[] = [];

/**
 * The object at each slot number, and what the stamps say about it: nothing is counted when a message is lent.
 *
 * Memory: a reference per slot; after `leaks` or `trim` an entry per slot.
 *
 * @internal
 */
export class SlotTable {
  readonly leases: (Lease | undefined)[] = [];
  /** The stamp with which the object of each slot began to count for `touched`. */
  readonly #starts: number[] = [];
  /** The blocks of handles that were taken for these slots. */
  readonly #blocks: number[] = [];
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

  /** A number below 2^53 that names one loan of one pool. Throws SettingError once the process has used up all of them. */
  handleOf(lease: Lease, pool: number): number {
    const number = Math.floor(lease._slot / BLOCK);
    let block = this.#blocks[number];
    if (block === undefined) {
      if (blocks.length === 2 ** 24 / BLOCK) throw new SettingError("handles", blocks.length, "of fewer pools");
      block = blocks.push(pool) - 1;
      while (this.#blocks.length < number) this.#blocks.push(-1);
      this.#blocks[number] = block;
    }
    return (block * BLOCK + (lease._slot % BLOCK)) * LOANS + ((countOf(lease) + 1) >> 1);
  }

  /** Undefined when that loan is over. Throws WrongPoolError for the handle of another pool. */
  find(handle: number, pool: number): Lease | undefined {
    const place = Math.floor(handle / LOANS);
    const block = Math.floor(place / BLOCK);
    if (blocks[block] !== pool) throw new WrongPoolError();
    const lease = this.leases[this.#blocks.indexOf(block) * BLOCK + (place % BLOCK)];
    if (lease === undefined || (lease._stamp & 1) === 0) return undefined;
    return (countOf(lease) + 1) >> 1 === handle % LOANS ? lease : undefined;
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

  /** Last in, first out: the number of touched messages is the maximum that were ever lent at the same time. */
  touched(): number {
    let touched = 0;
    for (const lease of this.#seated()) if (countOf(lease) > (this.#starts[lease._slot] ?? 0)) touched++;
    return touched;
  }

  /** Counts for `touched` from here on: messages that are lent now, or will be. */
  restart(): void {
    for (const lease of this.#seated()) this.#starts[lease._slot] = countOf(lease) - (lease._stamp & 1);
  }

  /** The first stamp of the object that takes a slot. */
  begin(slot: number, stamp: number): void {
    if (stamp > 0 || this.#starts[slot] !== undefined) this.#starts[slot] = stamp;
  }

  /** True when the object was not lent since the last look. */
  unusedSince(lease: Lease): boolean {
    return this.#seen.get(lease._slot)?.count === countOf(lease);
  }

  leaks(longerThanMs: number, pool: number): Leak[] {
    const found: Leak[] = [];
    const now = performance.now();
    for (const lease of this.leases) {
      if (lease === undefined || (lease._stamp & 1) === 0) continue;
      const seen = this.#seen.get(lease._slot);
      if (seen?.count !== countOf(lease) || now - seen.atMs < longerThanMs) continue;
      const path = lease instanceof Message ? lease._path : undefined;
      found.push({ handle: this.handleOf(lease, pool), path, acquiredAt: placeOf(lease), outForMs: now - seen.atMs });
    }
    this.noteStamps();
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

  /** The objects that have not lost their place. */
  *#seated(): IterableIterator<Lease> {
    for (const lease of this.leases) if (lease !== undefined && lease._link !== DISCARD) yield lease;
  }
}
