import { limitArguments } from "../pool/argument-limits.js";
import * as check from "../pool/checks.js";
import { type Envelope, Message, type Observed } from "../pool/message.js";
import { MessagePool } from "../pool/message-pool.js";
import type { PoolStats } from "../pool/pool-options.js";
import type { ParamsOf } from "../pool/route.js";
import { CloseInHandlerError, SystemClosedError } from "./bus-error.js";
import { checkSystemOptions } from "./check-options.js";
import { Dispatcher } from "./dispatcher.js";
import { MessageStream } from "./message-stream.js";
import { nextMessage } from "./message-wait.js";
import type { Middleware, Run } from "./middleware.js";
import type { AnyPath, BodyOf, PathsOf, ReplyOf, RouteMap, Untyped } from "./path-types.js";
import { type Place, placeIn } from "./place.js";
import type { Entry, Receiver } from "./receiver.js";
import { Registry } from "./registry.js";
import { Reports } from "./reports.js";
import type * as Options from "./system-options.js";
import { prometheusOf } from "./system-report.js";
import { Target } from "./target.js";

type HandlerOf<Routes, Template extends string> = Options.Handler<
  Template,
  BodyOf<Routes, Template>,
  ReplyOf<Routes, Template>
>;

function requireMessage(path: unknown): void {
  if (!(path instanceof Message)) throw new check.SettingError("path", path, "a string, or a message of a pool");
}

/** Throws SettingError for arguments after the options. A message is sent without a body argument. */
function refuseMore(of: string, path: string | Message): never {
  if (typeof path !== "string") requireMessage(path);
  throw new check.SettingError(`arguments of ${of}`, "too many", `at most ${typeof path === "string" ? 3 : 2}`);
}

/**
 * Sends messages by path, inside one process (a WorkerBridge adds its workers). A handler gets the messages of its template
 * and replies; observers get copies.
 *
 * Threads: one.
 * Memory:  nothing per message if the handler is synchronous.
 *
 * @example
 * ```js
 * import { MessageSystem } from "millpond";
 * const system = new MessageSystem();
 * system.on("math://square", async (message) => message.body ** 2);
 * console.log(await system.request("math://square", 12, { timeoutMs: 1_000 })); // 144
 * ```
 */
export class MessageSystem<Routes extends RouteMap<Routes> = Untyped> {
  /** The pool of the system's messages. */
  readonly pool: MessagePool;
  /** The handlers of templates without parameters. */
  private readonly fixed: Map<string, Receiver>;
  /** @internal */
  protected readonly registry: Registry;
  /** @internal */
  protected readonly dispatcher: Dispatcher;
  readonly #warmup: number;

  constructor(options: Options.MessageSystemOptions = {}) {
    check.argumentCount("new MessageSystem", arguments.length, 1);
    checkSystemOptions(options);
    const { pool = "auto", checked = false, statistics = "counters", onError, onDeadLetter } = options;
    this.#warmup = options.warmup ?? 0;
    this.pool = pool instanceof MessagePool ? pool : new MessagePool(pool, { checked });
    this.registry = new Registry(statistics !== "counters");
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

  /**
   * Registers the handler of a template. Of all templates with a handler the most specific one gets a message. Returns the undo;
   * queued messages are still handled.
   */
  on<Template extends keyof Routes & string>(
    template: Template,
    handler: HandlerOf<Routes, Template>,
    options: Options.HandlerOptions = {},
  ): () => void {
    return this.registry.handle(template, handler as Run, options, false).remove;
  }

  /** Like `on`, for one message. */
  once<Template extends keyof Routes & string>(
    template: Template,
    handler: HandlerOf<Routes, Template>,
    options: Options.HandlerOptions = {},
  ): () => void {
    return this.registry.handle(template, handler as Run, options, true).remove;
  }

  /**
   * Registers an observer of every message that `template` matches. Each observer has a queue. It cannot fail, delay, refuse or
   * answer a send; its errors go to `onError`. Returns the undo.
   */
  subscribe<Template extends string>(
    template: Template,
    observer: Options.Observer<Template, BodyOf<Routes, PathsOf<Template>>>,
    options: Options.ObserverOptions = {},
  ): () => void {
    return this.registry.observe(template, observer as unknown as Run, options, false).remove;
  }

  /**
   * Removes all registrations for `template`, or only `handler`. Returns the number of removed handlers and observers. A stream
   * then ends after the messages sent before; a `waitFor` that has no message rejects with RegistrationRemovedError.
   */
  off(template: string, handler?: unknown): number {
    return this.registry.remove(template, handler);
  }

  /**
   * The next message that `template` matches, kept out of its pool. Observes like `subscribe`. Rejects with SystemClosedError if
   * the system closes without one.
   */
  waitFor<Template extends string>(
    template: Template,
    options: Options.WaitOptions = {},
  ): Promise<Observed<BodyOf<Routes, PathsOf<Template>>, unknown, ParamsOf<Template>>> {
    return nextMessage(this.registry, this.dispatcher.deadlines, template, options) as never;
  }

  /** The messages that `template` matches, for `for await`. Observes like `subscribe`. */
  messages<Template extends string>(
    template: Template,
    options: Options.StreamOptions = {},
  ): MessageStream<BodyOf<Routes, PathsOf<Template>>, ParamsOf<Template>> {
    return new MessageStream(this.registry, template, options);
  }

  /** Adds middleware to handlers registered from now on: to all, or to those of one scheme. */
  use(middleware: Middleware, scheme?: string): this {
    this.registry.use(middleware, scheme);
    return this;
  }

  /** The envelope of the running handler's message, if the handler is asynchronous, queued or traced. */
  get context(): Envelope | undefined {
    const { inside } = this.dispatcher.contexts;
    return typeof inside === "object" ? inside : undefined;
  }

  /**
   * Sends a body, or a message that the caller acquired and will release after this settles. Returns the reply itself if the
   * handler is synchronous and has no queue, and a promise otherwise.
   */
  send<Path extends AnyPath<Routes>>(
    path: Path,
    body?: BodyOf<Routes, Path>,
    options?: Options.SendOptions,
  ): Options.Sent<ReplyOf<Routes, Path>>;
  send(message: Message, options?: Options.SendOptions): unknown;
  send(path: string | Message, body?: unknown, options?: Options.SendOptions, more?: unknown): unknown {
    // A Map hashes a new string, which costs more than matching it.
    const receiver = this.fixed.size === 0 ? undefined : this.fixed.get(path as string);
    if (receiver === undefined || options !== undefined || more !== undefined)
      return this.#sendOther(path, body, options, more);
    return this.dispatcher.send(receiver, path as string, body);
  }

  /**
   * Sends a body, or a message that the caller acquired, to the handler, if there is one, and to the observers, without a reply.
   * Returns the number of receivers that accepted it. Errors of the handler go to `onError`.
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
      if (typeof path !== "string") throw new check.SettingError("path", path, "a string");
      return Promise.resolve(this.dispatcher.post(path, undefined, body, options, "request")) as never;
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /**
   * Sends a new message with the same body, meta and trace to another path. Handlers and observers use it to pass a message on.
   */
  forward(message: Message | Observed, path: AnyPath<Routes>, options: Options.SendOptions = {}): unknown {
    const { body, meta, traceparent } = message;
    const inherited = traceparent === undefined ? {} : { traceparent };
    return this.dispatcher.post(path, undefined, body, { meta, ...inherited, ...options }, "send");
  }

  /** A sender for one path that needs no look-up and follows changes of the registrations. */
  target<Path extends AnyPath<Routes>>(path: Path): Target<BodyOf<Routes, Path>, ReplyOf<Routes, Path>> {
    return new Target(path, this.dispatcher, this.registry);
  }

  /** True if a handler or an observer would get a message of this path. */
  has(path: AnyPath<Routes>): boolean {
    if (this.registry.closing) return false;
    const handler = this.registry.handlerOf(path);
    return handler !== undefined || this.registry.observersOf(path, undefined).length > 0;
  }

  /** True if `send` would find a handler. */
  handles(path: AnyPath<Routes>): boolean {
    return !this.registry.closing && this.registry.handlerOf(path) !== undefined;
  }

  /** False if the queue of the path's handler is full, there is no handler, or the system is closed. */
  canAccept(path: AnyPath<Routes>): boolean {
    const handler = this.registry.handlerOf(path);
    return handler !== undefined && !this.registry.closing && handler.entry?.full() !== true;
  }

  /** Resolves to a place in the queue of the path's handler when one is free. See Place. */
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

  /** Starts queued messages now. Returns the number of started handlers. */
  flush(): number {
    return this.registry.flush();
  }

  /** True if no queue holds a message and no handler runs. */
  get idle(): boolean {
    return this.dispatcher.runner.idle;
  }

  /**
   * Refuses new work, except that of handlers that still run, and waits until queues are empty and handlers have settled. Resolves
   * to false if that takes longer than `timeoutMs`, 30,000 by default. Inside a handler it stops new work and returns; the promise
   * that it returns there rejects with CloseInHandlerError.
   */
  close(timeoutMs = 30_000): Promise<boolean> {
    check.duration("timeoutMs", timeoutMs);
    this.registry.close();
    const { runner, contexts } = this.dispatcher;
    this.#revokePlaces();
    const whenIdle = (call: () => void): void => (runner.idle ? call() : runner.whenIdle(call));
    if (contexts.inside !== false) {
      const refused = Promise.reject<boolean>(new CloseInHandlerError());
      refused.catch(() => {});
      // A handler on the fast path is not an outstanding delivery: it ends with this turn.
      queueMicrotask(() => whenIdle(() => this.#closed()));
      return refused;
    }
    return new Promise((resolve) => {
      const limited = !runner.idle && timeoutMs !== Number.POSITIVE_INFINITY;
      const deadline = limited ? runner.deadlines.start(timeoutMs, () => resolve(false)) : undefined;
      whenIdle(() => {
        deadline?.cancel();
        this.#closed();
        resolve(true);
      });
    });
  }

  /** @internal Whether handlers are recognised by their asynchronous context. */
  get _marks(): boolean {
    return this.dispatcher.contexts.marks;
  }

  /** @internal Functions that withdraw aborted messages of other threads, called before a handler starts. */
  get _abortChecks(): Set<() => void> {
    return this.dispatcher.runner.abortChecks;
  }

  /** @internal Reports an exception or rejection of a send to `path`, for a sender that cannot handle it. */
  _report(error: unknown, path: string): void {
    this.dispatcher.report(error, path);
  }

  /** @internal Like `on`, for messages to another thread, which are refused while `entry` is full. */
  _forward(template: string, handler: Run, entry: Entry, signal: AbortSignal | undefined): () => void {
    const receiver = this.registry.handle(template, handler, signal === undefined ? {} : { signal }, false);
    receiver.entry = entry;
    return receiver.remove;
  }

  #revokePlaces(): void {
    this.dispatcher.endPlaces((path) => new SystemClosedError(path));
  }

  #closed(): void {
    // Handlers may have asked for places while the system closed.
    this.#revokePlaces();
    for (const end of [...this.registry.onClosed]) end();
    this.dispatcher.contexts.close();
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

  /** Sends acquired messages, messages with options, and messages to templates with parameters. */
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
  on: 3,
  once: 3,
  subscribe: 3,
  off: 2,
  messages: 2,
  use: 2,
  forward: 3,
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
limitArguments(MessageSystem.prototype, { request: 3, whenReady: 2, waitFor: 2 }, true);
