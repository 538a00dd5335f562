import { countOf, DISCARD, LAST_STAMP, type Lease, placeOf } from "./lease.js";
import { Message } from "./message.js";
import { SettingError } from "./checks.js";
import { WrongPoolError } from "./pool-error.js";
import type { Leak } from "./pool-options.js";

/** Handles of a slot. */
const LOANS = 2 ** 29;
/** Slots of a block of handles. */
const BLOCK = 64;
/** The pool id of each block of handles: pools of a process have different handles. */
const blocks: number[] = [];

/**
 * The objects of a pool by slot number, and the counts that follow from their stamps, so that acquire and release count nothing.
 *
 * Memory: a reference per slot; after `leaks` or `trim` also an entry per slot.
 *
 * @internal
 */
export class SlotTable {
  readonly leases: (Lease | undefined)[] = [];
  /** The stamp of each slot at the last `restart`, or of its first use. */
  readonly #starts: number[] = [];
  /** The blocks of handles of these slots. */
  readonly #blocks: number[] = [];
  readonly #spareSlots: number[] = [];
  readonly #spareStamps: number[] = [];
  /** The stamp of each slot at the last `noteStamps`, and the time when it was first seen. */
  #seen = new Map<number, { readonly count: number; readonly atMs: number }>();

  /** A free slot number, and the first stamp of its next object. */
  claimSlot(): { readonly slot: number; readonly stamp: number } {
    return { slot: this.#spareSlots.pop() ?? this.leases.length, stamp: this.#spareStamps.pop() ?? 0 };
  }

  /** Frees a slot number, unless its stamps are used up. The next object continues the stamps. */
  vacate(slot: number, stamp: number): void {
    this.leases[slot] = undefined;
    if (stamp > LAST_STAMP) return;
    this.#spareSlots.push(slot);
    this.#spareStamps.push(stamp);
  }

  /** A number below 2^53 that identifies a loan in the process. Throws SettingError if the process has used up all of them. */
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

  /** Undefined if that loan is over. Throws WrongPoolError for the handle of another pool. */
  find(handle: number, pool: number): Lease | undefined {
    const place = Math.floor(handle / LOANS);
    const block = Math.floor(place / BLOCK);
    if (blocks[block] !== pool) throw new WrongPoolError();
    const lease = this.leases[this.#blocks.indexOf(block) * BLOCK + (place % BLOCK)];
    if (lease === undefined || (lease._stamp & 1) === 0) return undefined;
    return (countOf(lease) + 1) >> 1 === handle % LOANS ? lease : undefined;
  }

  /** The loans of seated objects, and the number of those in use. */
  loans(): { readonly acquired: number; readonly inUse: number } {
    let acquired = 0;
    let inUse = 0;
    for (const lease of this.#seated()) {
      acquired += (countOf(lease) + 1) >> 1;
      inUse += lease._stamp & 1;
    }
    return { acquired, inUse };
  }

  /**
   * The number of objects on loan at some time since `restart`. With a last-in, first-out free list it is the largest
   * number at once.
   */
  touched(): number {
    let touched = 0;
    for (const lease of this.#seated()) if (countOf(lease) > (this.#starts[lease._slot] ?? 0)) touched++;
    return touched;
  }

  /** Makes `touched` count from here on. Objects on loan count at once. */
  restart(): void {
    for (const lease of this.#seated()) this.#starts[lease._slot] = countOf(lease) - (lease._stamp & 1);
  }

  /** Records the first stamp of a new object. */
  begin(slot: number, stamp: number): void {
    if (stamp > 0 || this.#starts[slot] !== undefined) this.#starts[slot] = stamp;
  }

  /** True if the object was not on loan since the last `noteStamps`. */
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

  /** The objects that are not strays. */
  *#seated(): IterableIterator<Lease> {
    for (const lease of this.leases) if (lease !== undefined && lease._link !== DISCARD) yield lease;
  }
}
