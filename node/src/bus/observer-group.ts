import type { Receiver } from "./receiver.js";

/**
 * The observers of templates of one shape, or the union of several such groups that match one path.
 *
 * Memory: a list per combination of groups that a path has needed since the last change.
 *
 * @internal
 */
export class ObserverGroup {
  list: readonly Receiver[] = [];
  #version = -1;
  readonly #joined = new Map<ObserverGroup, ObserverGroup>();

  constructor(readonly template: string) {}

  add(receiver: Receiver): void {
    this.list = [...this.list, receiver];
  }

  remove(receiver: Receiver): void {
    this.list = this.list.filter((other) => other !== receiver);
  }

  /** The union with another group, cached until `version` of the registry changes. */
  and(other: ObserverGroup, version: number): ObserverGroup {
    if (this.#version !== version) {
      this.#joined.clear();
      this.#version = version;
    }
    let joined = this.#joined.get(other);
    if (joined === undefined) {
      joined = new ObserverGroup("");
      joined.list = [...this.list, ...other.list];
      this.#joined.set(other, joined);
    }
    return joined;
  }
}
