const LEAST = 16;
/** Rings of at most so many places are not made smaller: a queue that fills and empties would allocate each time. */
const KEPT = 4_096;

/**
 * First-in first-out ring that grows by doubling and shrinks by halves when it has been at most an eighth full for a while.
 *
 * Threads: one.
 * Memory:  one reference a place, 16 places at first; nothing while its length stays below its capacity.
 *
 * @internal
 */
export class Deque<T> {
  private items: (T | undefined)[];
  private head: number;
  private count: number;
  private mask: number;
  /** Items taken in a row while at most an eighth of the places was in use. */
  private sparse: number;

  constructor() {
    this.items = new Array<T | undefined>(LEAST).fill(undefined);
    this.head = 0;
    this.count = 0;
    this.mask = LEAST - 1;
    this.sparse = 0;
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
    if (this.mask >= KEPT) this.#look();
    return item;
  }

  /** Drops the items that `keep` refuses; the others stay in order. Cost: the length. */
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

  #look(): void {
    if (this.count > this.capacity >> 3) this.sparse = 0;
    else {
      this.sparse++;
      if (this.sparse > this.capacity >> 4) this.#resize(this.capacity >> 1);
    }
  }

  #resize(capacity: number): void {
    const items = new Array<T | undefined>(capacity).fill(undefined);
    for (let at = 0; at < this.count; at++) items[at] = this.items[(this.head + at) & this.mask];
    this.items = items;
    this.head = 0;
    this.mask = capacity - 1;
    this.sparse = 0;
  }
}
