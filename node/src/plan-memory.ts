import type { Plan } from "./plan.js";

const SEEN_PATHS = 65_536;

/**
 * The plans of the paths that were used lately, in two generations.
 *
 * Memory: two Maps of at most `limit` paths, and 256 KiB once a path with parameters was used.
 *
 * @internal
 */
export class PlanMemory {
  /** The younger generation: what is found here needs nothing else. */
  recent = new Map<string, Plan>();
  #older = new Map<string, Plan>();
  #seenPaths: Int32Array | undefined;

  constructor(readonly limit: number) {}

  /** The plan of a path that is remembered, which is younger from here on. */
  find(path: string): Plan | undefined {
    const known = this.recent.get(path) ?? this.#older.get(path);
    if (known !== undefined) this.add(path, known);
    return known;
  }

  add(path: string, plan: Plan): void {
    if (this.recent.size >= Math.max(1, this.limit)) {
      this.#older = this.recent;
      this.recent = new Map();
    }
    this.recent.set(path, plan);
  }

  clear(): void {
    this.recent = new Map();
    this.#older = new Map();
  }

  /** A path is remembered at its second use, so that paths that come once cost no memory. */
  seenBefore(path: string): boolean {
    if (this.limit === 0) return false;
    this.#seenPaths ??= new Int32Array(SEEN_PATHS);
    let hash = 17;
    for (let at = 0; at < path.length; at++) hash = (Math.imul(hash, 31) + path.charCodeAt(at)) | 0;
    hash |= 1;
    const place = (hash ^ (hash >>> 15)) & (SEEN_PATHS - 1);
    if (this.#seenPaths[place] === hash) return true;
    this.#seenPaths[place] = hash;
    return false;
  }
}
