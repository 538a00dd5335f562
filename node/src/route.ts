import { SettingError } from "./pool-error.js";

const SLASH = 47;

/** The names of the parameters in a path template: `"a/{x}/{y}/*"` gives `"x" | "y" | "*"`. */
export type ParamsOf<Path extends string> = string extends Path
  ? string
  : Path extends `${string}{${infer Name}}${infer Rest}`
    ? Name | ParamsOf<Rest>
    : Path extends `${string}/*`
      ? "*"
      : never;

/** A path template, taken apart. Segments are numbered from 0, the scheme (`bbo://`) stands before the first. */
export class Route {
  readonly template: string;
  /** Lower-case scheme without `://`, empty where the template has none. */
  readonly scheme: string;
  readonly segments: readonly string[];
  /** Parameter names in order; a wildcard is `"*"` and comes last. */
  readonly names: readonly string[];
  /** For each name, the number of its segment. */
  readonly positions: readonly number[];
  /** Offset of segment 0: the length of the scheme and `://`. */
  readonly rest: number;

  constructor(template: string) {
    if (template === "") throw new SettingError("path", '""', "at least one character");
    this.template = template;
    const scheme = template.indexOf("://");
    this.scheme = scheme < 0 ? "" : template.slice(0, scheme);
    this.rest = scheme < 0 ? 0 : scheme + 3;
    this.segments = template.slice(this.rest).split("/");
    const names: string[] = [];
    const positions: number[] = [];
    for (const [at, segment] of this.segments.entries()) {
      if (segment === "*") {
        if (at !== this.segments.length - 1)
          throw new SettingError("path", template, "a template with * at its end only");
        names.push("*");
        positions.push(at);
      } else if (segment.startsWith("{") && segment.endsWith("}")) {
        const name = segment.slice(1, -1);
        if (name === "" || names.includes(name)) {
          throw new SettingError("path", template, "a template whose parameters have different names");
        }
        names.push(name);
        positions.push(at);
      } else if (/[{}*]/.test(segment)) {
        throw new SettingError("path", template, "a template whose {parameters} and * are whole segments");
      }
    }
    this.names = names;
    this.positions = positions;
  }

  /**
   * One route with the parameters of all, for messages that several templates match. Of two parameters of one name the
   * earlier route's counts.
   *
   * @internal
   */
  static merge(routes: readonly Route[]): Route {
    const first = routes[0]!;
    const others = routes.slice(1).filter((route) => route !== first && route.names.length > 0);
    if (others.length === 0) return first;
    const merged = Object.create(Route.prototype, Object.getOwnPropertyDescriptors(first)) as {
      -readonly [K in keyof Route]: Route[K];
    };
    merged.names = [...first.names];
    merged.positions = [...first.positions];
    for (const other of others) {
      for (const [index, name] of other.names.entries()) {
        if (merged.names.includes(name)) continue;
        merged.names = [...merged.names, name];
        merged.positions = [...merged.positions, other.positions[index]!];
      }
    }
    return merged as Route;
  }

  /** The template with its parameter names taken out: two templates of one shape match the same paths. */
  get shape(): string {
    return this.template.replace(/\{[^}]*\}/g, "{}");
  }

  get isStatic(): boolean {
    return this.names.length === 0;
  }

  get hasWildcard(): boolean {
    return this.names[this.names.length - 1] === "*";
  }

  /** True when the template matches this path by itself, whatever other templates there are. */
  matches(path: string): boolean {
    const scheme = this.scheme === "" ? "" : `${this.scheme}://`;
    if (!path.startsWith(scheme)) return false;
    let at = scheme.length;
    for (const [index, segment] of this.segments.entries()) {
      if (segment === "*") return at <= path.length;
      if (at > path.length) return false;
      const slash = path.indexOf("/", at);
      const end = slash < 0 ? path.length : slash;
      const fits = segment.startsWith("{") ? end > at : path.slice(at, end) === segment;
      if (!fits) return false;
      at = end + 1;
      if (index === this.segments.length - 1) return end === path.length;
    }
    return false;
  }

  /** Offset in a matching path where parameter `index` begins. Cost: the path's length up to there. */
  start(path: string, index: number): number {
    let at = this.rest;
    for (let left = this.positions[index]!; left > 0; at++) {
      if (path.charCodeAt(at) === SLASH) left--;
    }
    return at;
  }

  /** Offset behind parameter `index`, which begins at `start`. */
  end(path: string, index: number, start: number): number {
    if (this.names[index] === "*") return path.length;
    const slash = path.indexOf("/", start);
    return slash < 0 ? path.length : slash;
  }
}
