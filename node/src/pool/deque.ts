const MIN_CAPACITY = 16;
/** Capacity up to which a ring never shrinks: a queue that fills and empties would allocate each time. */
const KEPT_CAPACITY = 4_096;

/**
 * First-in, first-out ring that doubles when it is full, and halves when it has been at most an eighth full for a while.
 *
 * Threads: one.
 * Memory:  one reference per place, 16 places at first; nothing while the length stays below the capacity.
 *
 * @internal
 */
export class Deque<T> {
  private items: (T | undefined)[];
  private head: number;
  private count: number;
  private mask: number;
  /** Successive `shift` calls with at most an eighth of the places in use. */
  private sparseShifts: number;

  constructor() {
    this.items = new Array<T | undefined>(MIN_CAPACITY).fill(undefined);
    this.head = 0;
    this.count = 0;
    this.mask = MIN_CAPACITY - 1;
    this.sparseShifts = 0;
  }

  get length(): number {
    return this.count;
  }

  get capacity(): number {
    return this.mask + 1;
  }

  push(item: T): void {
    if (this.count > this.mask) this.#resize(2 * this.capacity);
    this.items[(this.head + this.count) & this.mask] = item;
    this.count++;
  }

  peek(): T | undefined {
    return this.items[this.head];
  }

  shift(): T | undefined {
    if (this.count === 0) return undefined;
    const item = this.items[this.head];
    this.items[this.head] = undefined;
    this.head = (this.head + 1) & this.mask;
    this.count--;
    if (this.mask >= KEPT_CAPACITY) this.#shrinkIfSparse();
    return item;
  }

  /** Removes the items for which `keep` is false. Cost: one step per item. */
  filter(keep: (item: T) => boolean): void {
    const { items, head, mask } = this;
    let kept = 0;
    for (let at = 0; at < this.count; at++) {
      const item = items[(head + at) & mask] as T;
      if (!keep(item)) continue;
      items[(head + kept) & mask] = item;
      kept++;
    }
    for (let at = kept; at < this.count; at++) items[(head + at) & mask] = undefined;
    this.count = kept;
  }

  #shrinkIfSparse(): void {
    if (this.count > this.capacity >> 3) this.sparseShifts = 0;
    else {
      this.sparseShifts++;
      if (this.sparseShifts > this.capacity >> 4) this.#resize(this.capacity >> 1);
    }
  }

  #resize(capacity: number): void {
    const items = new Array<T | undefined>(capacity).fill(undefined);
    for (let at = 0; at < this.count; at++) items[at] = this.items[(this.head + at) & this.mask];
    this.items = items;
    this.head = 0;
    this.mask = capacity - 1;
    this.sparseShifts = 0;
  }
}
