/** Bodies and replies by path template, for `new MessageSystem<Routes>()`. */
export interface RouteTypes {
  readonly body?: unknown;
  readonly reply?: unknown;
}

/** An object type whose values are RouteTypes; may be an interface. */
export type RouteMap<Routes> = { readonly [Template in keyof Routes]: RouteTypes };

/** The routes of a system without types: any path, any body. */
export type Untyped = Record<string, { readonly body: unknown; readonly reply: unknown }>;

/** The type of the paths that a template matches: `bbo://${string}` for `"bbo://{symbol}"`. */
export type PathsOf<Template> = Template extends `${infer Head}{${string}}${infer Tail}`
  ? `${Head}${string}${PathsOf<Tail>}`
  : Template extends `${infer Head}/*`
    ? `${Head}/${string}`
    : Template;

/** The templates among the keys of `Routes` that a path may match. */
export type TemplatesOf<Routes, Path extends string> = {
  [Template in keyof Routes]: Path extends PathsOf<Template> ? Template : never;
}[keyof Routes];

type Known<Routes, Path extends string> = Path extends keyof Routes ? Path : TemplatesOf<Routes, Path>;

export type BodyOf<Routes, Path extends string> = Routes[Known<Routes, Path>] extends { readonly body: infer Body }
  ? Body
  : undefined;

export type ReplyOf<Routes, Path extends string> = Routes[Known<Routes, Path>] extends { readonly reply: infer Reply }
  ? Reply
  : undefined;

/** The paths that templates of `Routes` match. */
export type AnyPath<Routes> = PathsOf<keyof Routes & string>;
