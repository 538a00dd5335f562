import { type Route, segmentEnd } from "../pool/route.js";
import { RouteConflictError } from "./bus-error.js";

/** Most edges below a node that are searched linearly; with more of them, an array by character finds them. */
const MAX_LINEAR = 6;

/** An edge of the tree with its text, and the node at its end. */
class Edge<T> {
  value: T | undefined = undefined;
  wildcard: T | undefined = undefined;
  parameter: Edge<T> | undefined = undefined;
  /** The edges below, and their first characters. */
  readonly edges: Edge<T>[] = [];
  readonly codes: number[] = [];
  #byCode: (Edge<T> | undefined)[] | undefined = undefined;

  constructor(
    public above: Edge<T> | undefined,
    public text: number[],
  ) {}

  get empty(): boolean {
    const { value, wildcard, parameter, edges } = this;
    return value === undefined && wildcard === undefined && parameter === undefined && edges.length === 0;
  }

  find(code: number): Edge<T> | undefined {
    if (this.#byCode !== undefined) return this.#byCode[code];
    const { codes } = this;
    for (let at = 0; at < codes.length; at++) if (codes[at] === code) return this.edges[at];
    return undefined;
  }

  put(code: number, edge: Edge<T>): void {
    const at = this.codes.indexOf(code);
    if (at >= 0) this.edges[at] = edge;
    else {
      this.codes.push(code);
      this.edges.push(edge);
    }
    if (this.#byCode !== undefined) this.#byCode[code] = edge;
    else if (this.codes.length > MAX_LINEAR) {
      this.#byCode = [];
      for (const below of this.edges) this.#byCode[below.text[0]!] = below;
    }
  }

  remove(code: number): void {
    const at = this.codes.indexOf(code);
    this.codes.splice(at, 1);
    this.edges.splice(at, 1);
    if (this.#byCode !== undefined) this.#byCode[code] = undefined;
  }
}

/**
 * Finds the value of the most specific template that matches a path, or of every template that does. Segment by segment from
 * the left, fixed text precedes a parameter, and a parameter precedes a wildcard. A parameter matches one non-empty segment, a
 * wildcard the rest, which may be empty.
 *
 * Threads: one.
 * Memory:  an object per edge; `match` allocates nothing.
 * Source:  Morrison 1968 (PATRICIA). Adding and removing cost the length of the template.
 */
export class PathRouter<T> {
  readonly #routes = new Map<string, { readonly route: Route; readonly value: T }>();
  /** The template of each shape. */
  readonly #shapes = new Map<string, string>();
  readonly #root = new Edge<T>(undefined, []);
  /** The alternatives of a search: edges after a parameter that begins at `#openAt`, or values of wildcards. */
  readonly #openEdges: (Edge<T> | undefined)[] = [];
  readonly #openValues: (T | undefined)[] = [];
  readonly #openAt: number[] = [];
  #count = 0;

  get size(): number {
    return this.#routes.size;
  }

  get(template: string): T | undefined {
    return this.#routes.get(template)?.value;
  }

  values(): IterableIterator<{ readonly route: Route; readonly value: T }> {
    return this.#routes.values();
  }

  /** Throws RouteConflictError if there is a template that differs only in the names of its parameters. */
  add(route: Route, value: T): void {
    const { shape } = route;
    const other = this.#shapes.get(shape);
    if (other !== undefined) throw new RouteConflictError(route.template, other);
    this.#shapes.set(shape, route.template);
    this.#routes.set(route.template, { route, value });
    const edge = this.#edgeOf(route, true)!;
    if (route.hasWildcard) edge.wildcard = value;
    else edge.value = value;
  }

  delete(template: string): boolean {
    const there = this.#routes.get(template);
    if (there === undefined) return false;
    this.#routes.delete(template);
    this.#shapes.delete(there.route.shape);
    let edge = this.#edgeOf(there.route, false)!;
    if (there.route.hasWildcard) edge.wildcard = undefined;
    else edge.value = undefined;
    while (edge.empty && edge.above !== undefined) {
      const { above } = edge;
      if (above.parameter === edge) above.parameter = undefined;
      else above.remove(edge.text[0]!);
      edge = above;
    }
    return true;
  }

  /** The value of the most specific template. */
  match(path: string): T | undefined {
    return this.#walk(path, undefined);
  }

  /** Writes the values of all matching templates to the front of `found`, most specific first, and returns their number. */
  matchAll(path: string, found: T[]): number {
    this.#count = 0;
    if (this.#routes.size > 0) this.#walk(path, found);
    return this.#count;
  }

  #walk(path: string, found: T[] | undefined): T | undefined {
    const openEdges = this.#openEdges;
    const openValues = this.#openValues;
    const openAt = this.#openAt;
    const { length } = path;
    let open = 0;
    let at = 0;
    let edge: Edge<T> | undefined = this.#root;
    for (;;) {
      const { text } = edge;
      let from = 0;
      while (from < text.length && at < length && path.charCodeAt(at) === text[from]) {
        from++;
        at++;
      }
      let next: Edge<T> | undefined = undefined;
      if (from === text.length) {
        if (edge.wildcard !== undefined) {
          openEdges[open] = undefined;
          openValues[open] = edge.wildcard;
          open++;
        }
        if (edge.parameter !== undefined) {
          openEdges[open] = edge.parameter;
          openAt[open] = at;
          open++;
        }
        if (at < length) next = edge.find(path.charCodeAt(at));
        else if (edge.value !== undefined) {
          if (found === undefined) return edge.value;
          found[this.#count++] = edge.value;
        }
      }
      while (next === undefined) {
        if (open === 0) return undefined;
        open--;
        next = openEdges[open];
        if (next === undefined) {
          if (found === undefined) return openValues[open];
          found[this.#count++] = openValues[open]!;
        } else {
          const start = openAt[open]!;
          at = segmentEnd(path, start);
          if (at === start) next = undefined;
        }
      }
      edge = next;
    }
  }

  /** The edge at which the route ends, without its wildcard. create: adds missing edges. */
  #edgeOf(route: Route, create: boolean): Edge<T> | undefined {
    let edge: Edge<T> | undefined = this.#root;
    const { texts, hasWildcard } = route;
    const last = hasWildcard ? texts.length - 2 : texts.length - 1;
    for (let index = 0; index <= last && edge !== undefined; index++) {
      if (index > 0) {
        if (create) edge.parameter ??= new Edge(edge, []);
        edge = edge.parameter;
      }
      if (edge !== undefined) edge = create ? insert(edge, texts[index]!) : follow(edge, texts[index]!);
    }
    return edge;
  }
}

function follow<T>(from: Edge<T>, text: string): Edge<T> | undefined {
  let edge: Edge<T> | undefined = from;
  for (let at = 0; at < text.length && edge !== undefined; at += edge?.text.length ?? 0)
    edge = edge.find(text.charCodeAt(at));
  return edge;
}

/** The edge below `from` at which `text` ends. Adds and splits edges. */
function insert<T>(from: Edge<T>, text: string): Edge<T> {
  let edge = from;
  let at = 0;
  while (at < text.length) {
    const below = edge.find(text.charCodeAt(at));
    if (below === undefined) {
      const made = new Edge(edge, codesOf(text, at));
      edge.put(text.charCodeAt(at), made);
      return made;
    }
    let shared = 1;
    while (shared < below.text.length && text.charCodeAt(at + shared) === below.text[shared]) shared++;
    edge = shared < below.text.length ? split(below, shared) : below;
    at += shared;
  }
  return edge;
}

/** Inserts an edge above `edge` with the first `shared` characters of its text. */
function split<T>(edge: Edge<T>, shared: number): Edge<T> {
  const upper = new Edge(edge.above, edge.text.slice(0, shared));
  edge.above!.put(upper.text[0]!, upper);
  edge.text = edge.text.slice(shared);
  edge.above = upper;
  upper.put(edge.text[0]!, edge);
  return upper;
}

function codesOf(text: string, from: number): number[] {
  return Array.from({ length: text.length - from }, (_, at) => text.charCodeAt(from + at));
}
