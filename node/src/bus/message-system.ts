import { limitArguments } from "../pool/argument-limits.js";
import { type Envelope, Message, type Observed } from "../pool/message.js";
import { MessagePool } from "../pool/message-pool.js";
import { requireArguments, requireDuration, SettingError } from "../pool/pool-error.js";
import type { PoolStats } from "../pool/pool-options.js";
import { CloseInHandlerError, SystemClosedError } from "./bus-error.js";
import { checkSystemOptions } from "./check-options.js";
import { Dispatcher } from "./dispatcher.js";
import type { AnyPath, BodyOf, ReplyOf, RouteMap, Untyped } from "./path-types.js";
import { type Place, placeIn } from "./place.js";
import { Registrations } from "./registrations.js";
import type { Receiver } from "./receiver.js";
import { Registry } from "./registry.js";
import { Reports } from "./reports.js";
import type * as Options from "./system-options.js";
import { prometheusOf } from "./system-report.js";
import { Target } from "./target.js";

function requireMessage(path: unknown): void {
  if (!(path instanceof Message)) throw new SettingError("path", path, "a text, or a message of a pool");
}

/** There are arguments behind the options. A message is sent with the body that it has. */
function refuseMore(of: string, path: string | Message): never {
  if (typeof path !== "string") requireMessage(path);
  throw new SettingError(`arguments of ${of}`, "too many", `at most ${typeof path === "string" ? 3 : 2}`);
}

/**
 * Delivers messages by path, inside one process (a WorkerBridge adds its workers). A handler gets the messages of its template
 * and replies; observers watch.
 *
 * Threads: one.
 * Memory:  nothing per message where the handler is synchronous.
 *
 * @example
 * ```js
 * import { MessageSystem } from "millpond";
 * const system = new MessageSystem();
 * system.onQuery("math://square", async (message) => message.body ** 2);
 * console.log(await system.query("math://square", 12, { timeoutMs: 1_000 })); // 144
 * ```
 */
export class MessageSystem<Routes extends RouteMap<Routes> = Untyped> extends Registrations<Routes> {
  /** Where messages come from and return to. */
  readonly pool: MessagePool;
  private readonly fixed: Map<string, Receiver>;
  /** @internal */
  protected readonly dispatcher: Dispatcher;
  readonly #warmup: number;

  constructor(options: Options.MessageSystemOptions = {}) {
    requireArguments("new MessageSystem", arguments.length, 1);
    checkSystemOptions(options);
    super(new Registry((options.statistics ?? "counters") !== "counters"));
    const { pool = "auto", checked = false, statistics = "counters", onError, onDeadLetter } = options;
    this.#warmup = options.warmup ?? 0;
    this.pool = pool instanceof MessagePool ? pool : new MessagePool(pool, { checked });
    this.dispatcher = new Dispatcher(this.pool, this.registry, new Reports(onError, onDeadLetter), {
      latency: statistics !== "counters",
      diagnostics: statistics === "diagnostics",
      tracing: options.tracing === true,
      asyncContext: options.asyncContext !== false,
      timeoutMs: options.timeoutMs ?? 5_000,
    });
    this.registry.dispatcher = this.dispatcher;
    this.fixed = this.registry.fixed;
  }

  /** What the message of the running handler carries, where the handler is asynchronous, queued or traced. */
  get context(): Envelope | undefined {
    const { inside } = this.dispatcher;
    return typeof inside === "object" ? inside : undefined;
  }

  /**
   * Delivers a body, or a message that the caller acquired and will release after this settles. Gives the reply itself when the
   * handler is synchronous and has no queue, and a promise otherwise.
   */
  send<Path extends AnyPath<Routes>>(
    path: Path,
    body?: BodyOf<Routes, Path>,
    options?: Options.SendOptions,
  ): Options.Sent<ReplyOf<Routes, Path>>;
  send(message: Message, options?: Options.SendOptions): unknown;
  send(path: string | Message, body?: unknown, options?: Options.SendOptions, more?: unknown): unknown {
    // A new text is hashed for the look-up, which costs more than the match that follows.
    const receiver = this.fixed.size === 0 ? undefined : this.fixed.get(path as string);
    if (receiver === undefined || options !== undefined || more !== undefined)
      return this.#sendOther(path, body, options, more);
    return this.dispatcher.send(receiver, path as string, body);
  }

  /**
   * Delivers a body, or a message that the caller acquired, to the handler, if there is one, and to the observers, and waits for
   * nothing. Returns how many of them took it. Errors of the handler go to `onError`.
   */
  emit<Path extends AnyPath<Routes>>(path: Path, body?: BodyOf<Routes, Path>, options?: Options.SendOptions): number;
  emit(message: Message, options?: Options.SendOptions): number;
  emit(path: string | Message, body?: unknown, options?: Options.SendOptions, more?: unknown): number {
    if (more !== undefined || (options !== undefined && typeof path !== "string")) refuseMore("emit", path);
    if (typeof path === "string") return this.dispatcher.post(path, undefined, body, options, "emit") as number;
    requireMessage(path);
    return this.dispatcher.post(path.path, path, path.body, body as Options.SendOptions | undefined, "emit") as number;
  }

  /** Sends and waits for the reply, at most `timeoutMs`. A request that times out before its handler has started never runs. */
  request<Path extends AnyPath<Routes>>(
    path: Path,
    body?: BodyOf<Routes, Path>,
    options?: Options.RequestOptions,
  ): Promise<ReplyOf<Routes, Path>> {
    try {
      if (typeof path !== "string") throw new SettingError("path", path, "a text");
      return Promise.resolve(this.dispatcher.post(path, undefined, body, options, "request")) as never;
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /**
   * Passes a message on to another path: a new message with the same body and meta, in the same trace. For handlers and
   * observers, whose own message stays theirs.
   */
  forward(message: Message | Observed, path: AnyPath<Routes>, options: Options.SendOptions = {}): unknown {
    const { body, meta, traceparent } = message;
    const inherited = traceparent === undefined ? {} : { traceparent };
    return this.dispatcher.post(path, undefined, body, { meta, ...inherited, ...options }, "send");
  }

  /** Sends to the handler that `onCommand` registered. */
  command<Path extends AnyPath<Routes>>(
    path: Path,
    body?: BodyOf<Routes, Path>,
    options?: Options.SendOptions,
  ): Options.Sent<ReplyOf<Routes, Path>> {
    this.#requireKind(path, "command", body, options);
    return this.send(path, body, options);
  }

  /** Requests from the handler that `onQuery` registered. */
  query<Path extends AnyPath<Routes>>(
    path: Path,
    body?: BodyOf<Routes, Path>,
    options?: Options.RequestOptions,
  ): Promise<ReplyOf<Routes, Path>> {
    try {
      this.#requireKind(path, "query", body, options);
    } catch (error) {
      return Promise.reject(error);
    }
    return this.request(path, body, options);
  }

  /** A sender for one path that looks nothing up; it follows changes of the registrations. */
  target<Path extends AnyPath<Routes>>(path: Path): Target<BodyOf<Routes, Path>, ReplyOf<Routes, Path>> {
    return new Target(path, this.dispatcher, this.registry);
  }

  /** True when a handler or an observer would get a message of this path. */
  has(path: AnyPath<Routes>): boolean {
    if (this.registry.closing) return false;
    const handler = this.registry.handlerOf(path);
    return handler !== undefined || this.registry.observersOf(path, undefined).length > 0;
  }

  /** True when `send` would find a handler. */
  handles(path: AnyPath<Routes>): boolean {
    return !this.registry.closing && this.registry.handlerOf(path) !== undefined;
  }

  /** False when the queue of the path's handler is full, there is no handler, or the system is closed. */
  canAccept(path: AnyPath<Routes>): boolean {
    const handler = this.registry.handlerOf(path);
    return handler !== undefined && !this.registry.closing && handler.entry?.full() !== true;
  }

  /** A place in the queue of the path's handler, as soon as there is one. See Place. */
  whenReady<Path extends AnyPath<Routes>>(
    path: Path,
    options: Options.ReadyOptions = {},
  ): Promise<Place<BodyOf<Routes, Path>, ReplyOf<Routes, Path>>> {
    return placeIn(path, this.dispatcher, this.registry.handlerOf(path), options, this.registry.closing);
  }

  /** Allocates the messages requested by `warmup` in advance. */
  start(): this {
    if (this.#warmup > 0) this.pool.warmup(this.#warmup);
    return this;
  }

  /** Runs what waits in the queues, now. Returns how many handlers were started. */
  flush(): number {
    return this.registry.flush();
  }

  /** True when no queue holds a message and no handler runs. */
  get idle(): boolean {
    return this.dispatcher.idle;
  }

  /**
   * Refuses new work, except that of handlers which still run, and waits until queues are empty and handlers have settled; false
   * if that took longer than `timeoutMs`, 30,000 by default. Inside a handler it stops new work and returns; the promise that
   * it gives there rejects with CloseInHandlerError when it is awaited.
   */
  close(timeoutMs = 30_000): Promise<boolean> {
    requireDuration("timeoutMs", timeoutMs);
    this.registry.close();
    const { dispatcher } = this;
    dispatcher.endPlaces((path) => new SystemClosedError(path));
    if (dispatcher.inside !== false) {
      const refused = Promise.reject<boolean>(new CloseInHandlerError());
      refused.catch(() => {});
      // A handler on the shortest way is not counted among what is outstanding: it ends with this turn.
      queueMicrotask(() => {
        if (dispatcher.idle) this.#ended();
        else dispatcher.whenIdle(() => this.#ended());
      });
      return refused;
    }
    return new Promise((resolve) => {
      const done = (): void => {
        deadline?.done();
        this.#ended();
        resolve(true);
      };
      const limited = !dispatcher.idle && timeoutMs !== Number.POSITIVE_INFINITY;
      const deadline = limited ? dispatcher.deadlines.start(timeoutMs, () => resolve(false)) : undefined;
      if (dispatcher.idle) done();
      else dispatcher.whenIdle(done);
    });
  }

  /** @internal Handlers are known by their asynchronous context. */
  get _marks(): boolean {
    return this.dispatcher.marks;
  }

  /** @internal Called before a handler starts: they take back what other threads have given up. */
  get _looks(): Set<() => void> {
    return this.dispatcher.looks;
  }

  #ended(): void {
    // Handlers that still ran could ask for places.
    this.dispatcher.endPlaces((path) => new SystemClosedError(path));
    this._end();
    this.dispatcher.endContexts();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  stats(): { readonly pool: PoolStats; readonly receivers: readonly Options.ReceiverStats[] } {
    return { pool: this.pool.stats(), receivers: this.registry.all().map((receiver) => receiver.stats()) };
  }

  /** All counters and latencies in the Prometheus text format. */
  prometheus(): string {
    return prometheusOf(this.pool.stats(), this.registry.all());
  }

  #requireKind(path: string, kind: Receiver["kind"], body: unknown, options: Options.SendOptions | undefined): void {
    if (this.registry.handlerOf(path)?.kind === kind) return;
    throw this.dispatcher.missing(path, body, options?.meta);
  }

  /** Messages that were acquired, options, paths with parameters. */
  #sendOther(path: string | Message, body: unknown, options: Options.SendOptions | undefined, more: unknown): unknown {
    if (more !== undefined || (options !== undefined && typeof path !== "string")) refuseMore("send", path);
    if (typeof path !== "string") {
      requireMessage(path);
      return this.dispatcher.post(path.path, path, path.body, body as Options.SendOptions | undefined, "send");
    }
    if (options === undefined) {
      const receiver = this.registry.matching(path);
      if (receiver !== undefined) return this.dispatcher.send(receiver, path, body);
    }
    return this.dispatcher.post(path, undefined, body, options, "send");
  }
}

limitArguments(MessageSystem.prototype, {
  forward: 3,
  command: 3,
  target: 1,
  has: 1,
  handles: 1,
  canAccept: 1,
  close: 1,
  start: 0,
  flush: 0,
  stats: 0,
  prometheus: 0,
});
limitArguments(MessageSystem.prototype, { request: 3, query: 3, whenReady: 2 }, true);
