import type { Receiver } from "./receiver.js";

/**
 * The observers of templates of one shape, or of several such groups that match one path together.
 *
 * Memory: a list for each combination that a path needed; made once, and again after a change.
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

  /** This group and another one, as of `version` of the registry. */
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
