import { RouteConflictError } from "./bus-error.js";
import { requireInteger } from "./pool-error.js";
import type { Route } from "./route.js";

const SLASH = 47;
const NONE = -1;

/** One edge of the tree under construction: the text on it, and what hangs below. */
interface Branch {
  label: string;
  readonly children: Map<number, Branch>;
  parameter: Branch | undefined;
  wildcard: number;
  value: number;
}

function branch(label: string): Branch {
  return { label, children: new Map(), parameter: undefined, wildcard: NONE, value: NONE };
}

/**
 * Finds the value of the most specific template that matches a path: segment by segment from the left, fixed text comes
 * before a parameter, and a parameter before a wildcard. A parameter matches one segment that is not empty, a wildcard
 * matches the rest, which may be empty.
 *
 * Threads: one.
 * Memory:  four integers a character of branching and five an edge; `match` allocates nothing.
 * Source:  Morrison 1968 (PATRICIA), with the edges in flat arrays; compiled at the first match after a change.
 */
export class PathRouter<T> {
  readonly #routes = new Map<string, { readonly route: Route; readonly value: T }>();
  /** The template of each shape. */
  readonly #shapes = new Map<string, string>();
  #values: T[] = [];
  #compiled = false;
  #chars = new Uint16Array(0);
  #branches = new Int32Array(0);
  /** Per edge: start and end of the label, first and last branching character, offset of its branches. */
  #edges = new Int32Array(0);
  /** Per edge: value, parameter edge, wildcard value. */
  #ends = new Int32Array(0);
  // A path has at most one open choice an edge of the tree's depth; twice that, for parameter and wildcard.
  #openEdges = new Int32Array(0);
  #openAt = new Int32Array(0);

  get size(): number {
    return this.#routes.size;
  }

  get(template: string): T | undefined {
    return this.#routes.get(template)?.value;
  }

  values(): IterableIterator<{ readonly route: Route; readonly value: T }> {
    return this.#routes.values();
  }

  /** Throws RouteConflictError when a template that differs only in the names of its parameters is there. */
  add(route: Route, value: T): void {
    const other = this.#shapes.get(route.shape);
    if (other !== undefined) throw new RouteConflictError(route.template, other);
    this.#shapes.set(route.shape, route.template);
    this.#routes.set(route.template, { route, value });
    this.#compiled = false;
  }

  delete(template: string): boolean {
    const there = this.#routes.get(template);
    if (there === undefined) return false;
    this.#shapes.delete(there.route.shape);
    this.#compiled = false;
    return this.#routes.delete(template);
  }

  match(path: string): T | undefined {
    if (!this.#compiled) this.#compile();
    const found = this.#find(path);
    return found < 0 ? undefined : this.#values[found];
  }

  #find(path: string): number {
    const edges = this.#edges;
    const ends = this.#ends;
    const chars = this.#chars;
    const branches = this.#branches;
    const length = path.length;
    let open = 0;
    let edge = 0;
    let at = 0;
    for (;;) {
      const label = edge * 5;
      let from = edges[label]!;
      const to = edges[label + 1]!;
      let next = NONE;
      if (length - at >= to - from) {
        while (from < to && path.charCodeAt(at) === chars[from]) {
          from++;
          at++;
        }
        if (from === to) {
          const end = edge * 3;
          if (ends[end + 2]! >= 0) {
            this.#openEdges[open] = -1 - ends[end + 2]!;
            open++;
          }
          if (ends[end + 1]! >= 0) {
            this.#openEdges[open] = ends[end + 1]!;
            this.#openAt[open] = at;
            open++;
          }
          if (at === length) {
            if (ends[end]! >= 0) return ends[end]!;
          } else {
            const char = path.charCodeAt(at);
            const first = edges[label + 2]!;
            if (char >= first && char <= edges[label + 3]!) next = branches[edges[label + 4]! + char - first]!;
          }
        }
      }
      while (next < 0) {
        if (open === 0) return NONE;
        open--;
        next = this.#openEdges[open]!;
        if (next < 0) return -1 - next;
        const start = this.#openAt[open]!;
        at = start;
        while (at < length && path.charCodeAt(at) !== SLASH) at++;
        if (at === start) next = NONE;
      }
      edge = next;
    }
  }

  #compile(): void {
    const root = branch("");
    this.#values = [];
    for (const { route, value } of this.#routes.values()) {
      const index = this.#values.push(value) - 1;
      let node = root;
      let text = route.scheme === "" ? "" : `${route.scheme}://`;
      let wildcard = false;
      for (const [at, segment] of route.segments.entries()) {
        if (at > 0) text += "/";
        if (segment === "*") wildcard = true;
        else if (segment.startsWith("{")) {
          node = insert(node, text);
          node.parameter ??= branch("");
          node = node.parameter;
          text = "";
        } else text += segment;
      }
      node = insert(node, text);
      if (wildcard) node.wildcard = index;
      else node.value = index;
    }
    this.#flatten(root);
    this.#compiled = true;
  }

  #flatten(root: Branch): void {
    const edges: number[] = [];
    const ends: number[] = [];
    const branches: number[] = [];
    let text = "";
    let depth = 0;
    const lay = (node: Branch, level: number): number => {
      depth = Math.max(depth, level);
      const edge = ends.length / 3;
      const codes = [...node.children.keys()];
      const first = codes.length === 0 ? 1 : Math.min(...codes);
      const last = codes.length === 0 ? 0 : Math.max(...codes);
      edges.push(text.length, text.length + node.label.length, first, last, branches.length);
      ends.push(node.value, NONE, node.wildcard);
      text += node.label;
      const offset = branches.length;
      for (let code = first; code <= last; code++) branches.push(NONE);
      for (const [code, child] of node.children) branches[offset + code - first] = lay(child, level + 1);
      if (node.parameter !== undefined) ends[edge * 3 + 1] = lay(node.parameter, level + 1);
      return edge;
    };
    lay(root, 1);
    this.#edges = Int32Array.from(edges);
    this.#ends = Int32Array.from(ends);
    this.#branches = Int32Array.from(branches);
    this.#chars = Uint16Array.from(text, (char) => char.charCodeAt(0));
    this.#openEdges = new Int32Array(requireInteger("route depth", 2 * depth, 0, 2 ** 20));
    this.#openAt = new Int32Array(2 * depth);
  }
}

/** The edge below `node` at whose end `text` has been read; edges are split where they part. */
function insert(node: Branch, text: string): Branch {
  if (text === "") return node;
  const child = node.children.get(text.charCodeAt(0));
  if (child === undefined) {
    const made = branch(text);
    node.children.set(text.charCodeAt(0), made);
    return made;
  }
  let shared = 1;
  while (shared < text.length && shared < child.label.length && text[shared] === child.label[shared]) shared++;
  if (shared < child.label.length) {
    const upper = branch(child.label.slice(0, shared));
    child.label = child.label.slice(shared);
    upper.children.set(child.label.charCodeAt(0), child);
    node.children.set(text.charCodeAt(0), upper);
    return insert(upper, text.slice(shared));
  }
  return insert(child, text.slice(shared));
}
