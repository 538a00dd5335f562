import { NoHandlerError, RequestTimeoutError } from "./bus-error.js";
import { Deadlines } from "./deadlines.js";
import { Dispatcher } from "./dispatcher.js";
import type { Envelope, Message } from "./message.js";
import { isThenable, MessagePool } from "./message-pool.js";
import type { AnyPath, BodyOf, PathsOf, ReplyOf, RouteMap, Untyped } from "./path-types.js";
import type { Middleware, Registration, Run } from "./plan.js";
import type { PlanMemory } from "./plan-memory.js";
import { requireInteger } from "./pool-error.js";
import type { PoolStats } from "./pool-options.js";
import { Registry } from "./registry.js";
import type {
  Handler,
  HandlerOptions,
  MessageSystemOptions,
  RequestOptions,
  RouteStats,
  SendOptions,
  Sent,
} from "./system-options.js";
import { prometheusOf, statsOf } from "./system-report.js";
import { Target } from "./target.js";

const DEFAULT_TIMEOUT_MS = 5_000;

/**
 * Delivers messages by path, inside one process (a WorkerBridge adds its workers).
 *
 * Threads: one.
 * Memory:  nothing a message where the handler is synchronous and the path was seen before.
 *
 * @example
 * ```js
 * import { MessageSystem } from "millpond";
 * const system = new MessageSystem();
 * system.onQuery("math://square", async (message) => message.body ** 2);
 * console.log(await system.query("math://square", 12, { timeoutMs: 1_000 })); // 144
 * ```
 */
export class MessageSystem<Routes extends RouteMap<Routes> = Untyped> {
  private readonly memory: PlanMemory;
  private readonly dispatcher: Dispatcher;
  /** Where messages come from and return to. */
  readonly pool: MessagePool;
  readonly #registry: Registry;
  readonly #options: MessageSystemOptions;
  readonly #deadlines = new Deadlines();
  #requests = 0;

  constructor(options: MessageSystemOptions = {}) {
    this.#options = options;
    const { pool = "auto", checked = false } = options;
    this.pool = pool instanceof MessagePool ? pool : new MessagePool(pool, { checked });
    this.dispatcher = new Dispatcher(this.pool, {
      statistics: options.statistics ?? "counters",
      tracing: options.tracing === true,
      context: options.context === true,
      onError: options.onError ?? (() => {}),
    });
    const pathCache = requireInteger("pathCache", options.pathCache ?? 131_072, 0, 2 ** 22);
    this.#registry = new Registry(this.dispatcher, pathCache);
    this.memory = this.#registry.memory;
  }

  /** The envelope of the message that the running handler handles, in a system with `context`. */
  get context(): Envelope | undefined {
    return this.dispatcher.context?.getStore();
  }

  /**
   * Handles the messages that `template` matches. Of all templates registered by `on` the most specific one gets a
   * message; several handlers of one template all get it, and the first one's reply is the sender's. Returns the undo.
   */
  on<Template extends keyof Routes & string>(
    template: Template,
    handler: Handler<Template, BodyOf<Routes, Template>, ReplyOf<Routes, Template>>,
    options: HandlerOptions = {},
  ): () => void {
    return this.#registry.register("any", template, handler as Run, options);
  }

  /** As `on`, for the one handler of a command: something is done, and the sender learns when. */
  onCommand<Template extends keyof Routes & string>(
    template: Template,
    handler: Handler<Template, BodyOf<Routes, Template>, ReplyOf<Routes, Template>>,
    options: HandlerOptions = {},
  ): () => void {
    return this.#registry.register("command", template, handler as Run, options);
  }

  /** As `on`, for the one handler of a query, whose reply is all it is for. */
  onQuery<Template extends keyof Routes & string>(
    template: Template,
    handler: Handler<Template, BodyOf<Routes, Template>, ReplyOf<Routes, Template>>,
    options: HandlerOptions = {},
  ): () => void {
    return this.#registry.register("query", template, handler as Run, options);
  }

  /** Watches every message that `template` matches, whoever else gets it. Replies are ignored. Returns the undo. */
  subscribe<Template extends string>(
    template: Template,
    handler: Handler<Template, BodyOf<Routes, PathsOf<Template>>, unknown>,
    options: HandlerOptions = {},
  ): () => void {
    return this.#registry.subscribe(template, handler as Run, options);
  }

  /** Adds work around handlers registered from now on: around all, or around those of one scheme. */
  use(middleware: Middleware, scheme?: string): this {
    this.#registry.use(middleware, scheme);
    return this;
  }

  /**
   * Delivers a body, or a message that the caller acquired and will release after this settles. Gives the reply itself
   * when the handler is synchronous, and a promise only when it is not.
   */
  send<Path extends AnyPath<Routes>>(
    path: Path,
    body?: BodyOf<Routes, Path>,
    options?: SendOptions,
  ): Sent<ReplyOf<Routes, Path>>;
  send(message: Message, options?: SendOptions): unknown;
  send(path: string | Message, body?: unknown, options?: SendOptions): unknown {
    const plan = this.memory.recent.get(path as string);
    if (plan === undefined || options !== undefined) return this.#sendOther(path, body, options);
    return this.dispatcher.send(plan, path as string, body);
  }

  /** Delivers to all handlers and subscribers of the path. Gives their number, by promise when one is asynchronous. */
  emit<Path extends AnyPath<Routes>>(path: Path, body?: BodyOf<Routes, Path>, options?: SendOptions): Sent<number> {
    const plan = this.memory.recent.get(path) ?? this.#registry.resolve(path);
    if (plan === undefined) return 0;
    const message = this.pool.acquire(path, body as unknown, options?.meta) as Message;
    return this.dispatcher.emit(plan, message, true, options) as Sent<number>;
  }

  /** Sends and waits for the reply, at most `timeoutMs`. The handler's message stays its own until it settles. */
  request<Path extends AnyPath<Routes>>(
    path: Path,
    body?: BodyOf<Routes, Path>,
    options: RequestOptions = {},
  ): Promise<ReplyOf<Routes, Path>> {
    const timeoutMs = options.timeoutMs ?? this.#options.timeoutMs ?? DEFAULT_TIMEOUT_MS;
    try {
      const plan = this.memory.recent.get(path) ?? this.#registry.resolve(path);
      if (plan === undefined) throw new NoHandlerError(path);
      const message = this.pool.acquire(path, body as unknown, options.meta) as Message;
      this.#requests++;
      const outcome = this.dispatcher.deliver(plan, message, true, options, this.#requests);
      if (!isThenable(outcome)) return Promise.resolve(outcome as ReplyOf<Routes, Path>);
      return new Promise((resolve, reject) => {
        const deadline = this.#deadlines.start(timeoutMs, () => reject(new RequestTimeoutError(path, timeoutMs)));
        outcome.then(
          (reply) => {
            deadline.done();
            resolve(reply as ReplyOf<Routes, Path>);
          },
          (error) => {
            deadline.done();
            reject(error);
          },
        );
      });
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /** Sends to the one handler that `onCommand` registered. */
  command<Path extends AnyPath<Routes>>(
    path: Path,
    body?: BodyOf<Routes, Path>,
    options?: SendOptions,
  ): Sent<ReplyOf<Routes, Path>> {
    this.#requireKind(path, "command");
    return this.send(path, body, options);
  }

  /** Requests from the one handler that `onQuery` registered. */
  query<Path extends AnyPath<Routes>>(
    path: Path,
    body?: BodyOf<Routes, Path>,
    options?: RequestOptions,
  ): Promise<ReplyOf<Routes, Path>> {
    try {
      this.#requireKind(path, "query");
    } catch (error) {
      return Promise.reject(error);
    }
    return this.request(path, body, options);
  }

  /** A sender for one path that looks nothing up; it follows changes of the registrations. */
  target<Path extends AnyPath<Routes>>(path: Path): Target<BodyOf<Routes, Path>, ReplyOf<Routes, Path>> {
    return new Target(path, this.dispatcher, this.#registry);
  }

  /** True when somebody would get a message of this path. */
  has(path: AnyPath<Routes>): boolean {
    return !this.#registry.closed && (this.memory.recent.get(path) ?? this.#registry.resolve(path)) !== undefined;
  }

  /** False when a queue on the way of this path is full, nobody is there, or the system is closed. */
  canAccept(path: AnyPath<Routes>): boolean {
    if (this.#registry.closed) return false;
    const plan = this.memory.recent.get(path) ?? this.#registry.resolve(path);
    return plan?.entries.every((entry) => entry.mailbox?.full !== true) ?? false;
  }

  /** Settles when every queue on the way of this path has room. */
  async whenReady(path: AnyPath<Routes>): Promise<void> {
    const plan = this.#registry.resolve(path);
    await Promise.all(plan?.entries.map((entry) => entry.mailbox?.whenReady()) ?? []);
  }

  /** Makes the messages ahead that `warmup` asked for, and compiles the routes. */
  start(): this {
    this.pool.warmup(this.#options.warmup ?? 0);
    this.#registry.compile();
    return this;
  }

  /** Runs what waits in the queues, now. Returns how many handlers were started. */
  flush(): number {
    return this.#registry.flush();
  }

  /** True when no queue holds a message and no async handler runs. */
  get idle(): boolean {
    return this.dispatcher.idle;
  }

  /** Refuses new messages and waits until queues are empty and handlers have settled; false if that took too long. */
  async close(timeoutMs?: number): Promise<boolean> {
    this.#registry.close();
    if (this.dispatcher.idle) return true;
    return new Promise((resolve) => {
      const deadline = timeoutMs === undefined ? undefined : this.#deadlines.start(timeoutMs, () => resolve(false));
      this.dispatcher.whenIdle(() => {
        deadline?.done();
        resolve(true);
      });
    });
  }

  stats(): { readonly pool: PoolStats; readonly routes: readonly RouteStats[] } {
    return { pool: this.pool.stats(), routes: this.#registry.all().map(statsOf) };
  }

  /** All counters and latencies in the Prometheus text format. */
  prometheus(): string {
    return prometheusOf(this.pool.stats(), this.#registry.all());
  }

  #requireKind(path: string, kind: Registration["kind"]): void {
    const plan = this.memory.recent.get(path) ?? this.#registry.resolve(path);
    if (plan?.registration.kind !== kind) throw new NoHandlerError(path);
  }

  /** Messages that were acquired, options, paths that were not used lately. */
  #sendOther(path: string | Message, body: unknown, options: SendOptions | undefined): unknown {
    const ours = typeof path === "string";
    const given = ours ? options : (body as SendOptions | undefined);
    const target = ours ? path : path.path;
    const plan = this.memory.recent.get(target) ?? this.#registry.resolve(target);
    if (plan === undefined) throw new NoHandlerError(target);
    if (ours && given === undefined) return this.dispatcher.send(plan, path, body);
    const message = ours ? (this.pool.acquire(path, body, given?.meta) as Message) : path;
    return this.dispatcher.deliver(plan, message, ours, given, undefined);
  }
}
