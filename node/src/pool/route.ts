import { SettingError } from "./checks.js";

/** Most characters of a template. */
const MAX_LENGTH = 65_536;

/** The names of the parameters in a path template: `"a/{x}/{y}/*"` gives `"x" | "y" | "*"`. */
export type ParamsOf<Path extends string> = string extends Path
  ? string
  : Path extends `${string}{${infer Name}}${infer Rest}`
    ? Name | ParamsOf<Rest>
    : Path extends `${string}/*`
      ? "*"
      : never;

/** A parsed path template: fixed texts and parameters in turn, and possibly a wildcard at the end. */
export class Route {
  readonly template: string;
  /** The scheme without `://`; empty if the template has none. */
  readonly scheme: string;
  /** Parameter names in order; a wildcard is `"*"` and comes last. */
  readonly names: readonly string[];
  /** The fixed text before each parameter, and after the last one. */
  readonly texts: readonly string[];
  readonly hasWildcard: boolean;
  /** The lengths of `texts`. */
  private readonly leads: readonly number[];

  /** Throws SettingError unless parameters and `*` are complete segments, names differ and `*` comes last. */
  constructor(template: string) {
    if (typeof template !== "string" || template === "" || template.length > MAX_LENGTH) {
      throw new SettingError("path", template, `a string of 1 to ${MAX_LENGTH} characters`);
    }
    this.template = template;
    const scheme = template.indexOf("://");
    this.scheme = scheme < 0 ? "" : template.slice(0, scheme);
    const names = new Set<string>();
    const texts: string[] = [];
    let text = "";
    const segments = template.split("/");
    for (const [at, segment] of segments.entries()) {
      if (at > 0) text += "/";
      const wildcard = segment === "*";
      if (wildcard && at !== segments.length - 1) throw refused(template, "with * at its end only");
      if (wildcard || /^\{[^{}]+\}$/.test(segment)) {
        const name = wildcard ? "*" : segment.slice(1, -1);
        if (names.has(name)) throw refused(template, "whose parameters have different names");
        names.add(name);
        texts.push(text);
        text = "";
      } else if (/[{}*]/.test(segment)) {
        throw refused(template, "whose {parameters} and * are whole segments");
      } else text += segment;
    }
    texts.push(text);
    this.names = [...names];
    this.texts = texts;
    this.leads = texts.map((one) => one.length);
    this.hasWildcard = names.has("*");
  }

  /** The template without its parameter names. Templates of the same shape match the same paths. */
  get shape(): string {
    return this.template.replace(/\{[^}]*\}/g, "{}");
  }

  get isStatic(): boolean {
    return this.names.length === 0;
  }

  /** The position of a parameter among `names`, -1 if there is none of that name. */
  indexOf(name: string): number {
    const { names } = this;
    for (let index = 0; index < names.length; index++) if (names[index] === name) return index;
    return -1;
  }

  /** The text of parameter `index` in a matching path. Cost: the length of the path up to there. */
  text(path: string, index: number): string {
    const start = this.start(path, index);
    return path.slice(start, this.end(path, index, start));
  }

  /** Offset in a matching path at which parameter `index` begins. */
  start(path: string, index: number): number {
    const { leads } = this;
    let start = leads[0]!;
    for (let before = 0; before < index; before++) start = segmentEnd(path, start) + leads[before + 1]!;
    return start;
  }

  /** Offset after parameter `index`, which begins at `start`. */
  end(path: string, index: number, start: number): number {
    const { leads } = this;
    // Only fixed text follows the last parameter.
    return index === leads.length - 2 ? path.length - leads[index + 1]! : segmentEnd(path, start);
  }
}

/** The route of messages without parameters, which share one object. */
export const NO_PARAMETERS = new Route("/");

/** Offset of the end of the segment that begins at `start`. */
export function segmentEnd(path: string, start: number): number {
  const end = path.indexOf("/", start);
  return end < 0 ? path.length : end;
}

function refused(template: string, rule: string): SettingError {
  return new SettingError("path", template, `a template ${rule}`);
}
