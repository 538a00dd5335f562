import { HandlerExistsError, NoHandlerError, RequestTimeoutError, SystemClosedError } from "./bus-error.js";
import { Deadlines } from "./deadlines.js";
import { Dispatcher, type SendOptions } from "./dispatcher.js";
import { Mailbox, type MailboxOwner, type MailboxStats, type QueueOptions } from "./mailbox.js";
import type { Envelope, Message } from "./message.js";
import { isThenable, MessagePool } from "./message-pool.js";
import { PathRouter } from "./path-router.js";
import type { AnyPath, BodyOf, PathsOf, ReplyOf, RouteMap, Untyped } from "./path-types.js";
import { type Entry, type Middleware, Plan, type Registration, type Run, withRetries, wrap } from "./plan.js";
import { requireInteger } from "./pool-error.js";
import type { PoolStats } from "./pool-options.js";
import { type ParamsOf, Route } from "./route.js";
import { PrometheusText, RouteTelemetry } from "./telemetry.js";

const DEFAULT_TIMEOUT_MS = 5_000;

export interface MessageSystemOptions {
  /** A pool to share, or the size of one of its own: a number, "auto" (default), or 0 for plain messages. */
  readonly pool?: number | "auto" | MessagePool;
  /** Messages that `start` makes ahead, and that a system that is used without `start` makes at construction. */
  readonly warmup?: number;
  /** Never lends one message object twice: every use after release throws, and names where the loan began. */
  readonly checked?: boolean;
  /** `latency` adds a histogram a route, `diagnostics` publishes each message on `millpond.send` and `millpond.settle`. */
  readonly statistics?: "counters" | "latency" | "diagnostics";
  /** Gives every message a W3C traceparent. */
  readonly tracing?: boolean;
  /** Handlers run in an AsyncLocalStorage that holds their message's envelope; messages they send join its trace. */
  readonly context?: boolean;
  /** For `request`, unless it says otherwise. 5,000 by default. */
  readonly timeoutMs?: number;
  /** Paths with parameters whose handlers are remembered, up to twice as many; 0 looks each one up. 131,072 by default. */
  readonly pathCache?: number;
  /** Told of errors that no caller can see: failed handlers of emitted messages that were queued. */
  readonly onError?: (error: unknown, path: string) => void;
}

export interface HandlerOptions {
  /** A bounded queue in front of the handler. */
  readonly queue?: QueueOptions;
  /** Times to run again after a failure. */
  readonly retries?: number;
  readonly retryDelayMs?: number;
  readonly middleware?: readonly Middleware[];
}

export interface RequestOptions extends SendOptions {
  readonly timeoutMs?: number;
}

/** A handler. Its message is the system's again when it returns, or when its promise settles. */
export type Handler<Path extends string, Body, Reply> = (
  message: Message<Body, unknown, ParamsOf<Path>>,
) => Reply | PromiseLike<Reply>;

/** The reply of a synchronous handler, a promise of it otherwise. */
export type Sent<Reply> = Reply | Promise<Reply>;

export interface RouteStats {
  readonly template: string;
  readonly sent: number;
  readonly failed: number;
  readonly queues: readonly MailboxStats[];
}

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
  #plans = new Map<string, Plan>();
  private readonly dispatcher: Dispatcher;
  /** Where messages come from and return to. */
  readonly pool: MessagePool;
  #olderPlans = new Map<string, Plan>();
  #seenPaths: Int32Array | undefined;
  readonly #pathCache: number;
  readonly #router = new PathRouter<Registration>();
  #subscribers: Registration[] = [];
  readonly #middleware: { readonly scheme: string | undefined; readonly middleware: Middleware }[] = [];
  readonly #options: MessageSystemOptions;
  readonly #deadlines = new Deadlines();
  readonly #mailboxes = new Set<Mailbox>();
  #requests = 0;
  #closed = false;
  /** Grows with every change of the registrations. */
  readonly #registry = { version: 0, resolve: (path: string) => this.#resolve(path) };

  constructor(options: MessageSystemOptions = {}) {
    this.#options = options;
    const { pool = "auto", checked = false } = options;
    this.pool = pool instanceof MessagePool ? pool : new MessagePool(pool, { checked });
    this.#pathCache = requireInteger("pathCache", options.pathCache ?? 131_072, 0, 2 ** 22);
    this.dispatcher = new Dispatcher(this.pool, {
      statistics: options.statistics ?? "counters",
      tracing: options.tracing === true,
      context: options.context === true,
      onError: options.onError ?? (() => {}),
    });
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
    return this.#register("any", template, handler as Run, options);
  }

  /** As `on`, for the one handler of a command: something is done, and the sender learns when. */
  onCommand<Template extends keyof Routes & string>(
    template: Template,
    handler: Handler<Template, BodyOf<Routes, Template>, ReplyOf<Routes, Template>>,
    options: HandlerOptions = {},
  ): () => void {
    return this.#register("command", template, handler as Run, options);
  }

  /** As `on`, for the one handler of a query, whose reply is all it is for. */
  onQuery<Template extends keyof Routes & string>(
    template: Template,
    handler: Handler<Template, BodyOf<Routes, Template>, ReplyOf<Routes, Template>>,
    options: HandlerOptions = {},
  ): () => void {
    return this.#register("query", template, handler as Run, options);
  }

  /** Watches every message that `template` matches, whoever else gets it. Replies are ignored. Returns the undo. */
  subscribe<Template extends string>(
    template: Template,
    handler: Handler<Template, BodyOf<Routes, PathsOf<Template>>, unknown>,
    options: HandlerOptions = {},
  ): () => void {
    const route = new Route(template);
    const one: Registration = { route, kind: "any", telemetry: this.#newTelemetry(), entries: [], plan: undefined };
    one.entries = [this.#entry(one, handler as Run, options)];
    this.#subscribers.push(one);
    this.#forgetPlans();
    return () => {
      this.#subscribers = this.#subscribers.filter((other) => other !== one);
      this.#forgetPlans();
    };
  }

  /** Adds work around handlers registered from now on: around all, or around those of one scheme. */
  use(middleware: Middleware, scheme?: string): this {
    this.#middleware.push({ scheme: scheme?.replace("://", ""), middleware });
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
    const plan = this.#plans.get(path as string);
    if (plan === undefined || options !== undefined) return this.#sendOther(path, body, options);
    return this.dispatcher.send(plan, path as string, body);
  }

  /** Delivers to all handlers and subscribers of the path. Gives their number, by promise when one is asynchronous. */
  emit<Path extends AnyPath<Routes>>(path: Path, body?: BodyOf<Routes, Path>, options?: SendOptions): Sent<number> {
    const plan = this.#plans.get(path) ?? this.#resolve(path);
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
      const plan = this.#plans.get(path) ?? this.#resolve(path);
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
    return !this.#closed && (this.#plans.get(path) ?? this.#resolve(path)) !== undefined;
  }

  /** False when a queue on the way of this path is full, nobody is there, or the system is closed. */
  canAccept(path: AnyPath<Routes>): boolean {
    if (this.#closed) return false;
    const plan = this.#plans.get(path) ?? this.#resolve(path);
    return plan?.entries.every((entry) => entry.mailbox?.full !== true) ?? false;
  }

  /** Settles when every queue on the way of this path has room. */
  async whenReady(path: AnyPath<Routes>): Promise<void> {
    const plan = this.#resolve(path);
    await Promise.all(plan?.entries.map((entry) => entry.mailbox?.whenReady()) ?? []);
  }

  /** Makes the messages ahead that `warmup` asked for, and compiles the routes. */
  start(): this {
    this.pool.warmup(this.#options.warmup ?? 0);
    this.#router.match("");
    return this;
  }

  /** Runs what waits in the queues, now. Returns how many handlers were started. */
  flush(): number {
    let started = 0;
    for (const mailbox of this.#mailboxes) started += mailbox.flush();
    return started;
  }

  /** True when no queue holds a message and no async handler runs. */
  get idle(): boolean {
    return this.dispatcher.idle;
  }

  /** Refuses new messages and waits until queues are empty and handlers have settled; false if that took too long. */
  async close(timeoutMs?: number): Promise<boolean> {
    this.#closed = true;
    this.#forgetPlans();
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
    return { pool: this.pool.stats(), routes: this.#registrations().map(statsOf) };
  }

  /** All counters and latencies in the Prometheus text format. */
  prometheus(): string {
    const text = new PrometheusText();
    const pool = this.pool.stats();
    text.add("millpond_pool_messages", "gauge", "Messages that exist.", {}, pool.size);
    text.add("millpond_pool_in_use", "gauge", "Messages lent out.", {}, pool.inUse);
    text.add("millpond_pool_high_water", "gauge", "Most messages lent out together.", {}, pool.highWater);
    text.add("millpond_pool_acquired_total", "counter", "Messages lent.", {}, pool.acquired);
    text.add("millpond_pool_created_total", "counter", "Messages constructed.", {}, pool.created);
    text.add("millpond_pool_discarded_total", "counter", "Messages dropped at release.", {}, pool.discarded);
    for (const registration of this.#registrations()) {
      const labels = { route: registration.route.template };
      const { telemetry } = registration;
      text.add("millpond_messages_total", "counter", "Messages sent.", labels, telemetry.sent);
      text.add("millpond_failures_total", "counter", "Messages whose handler failed.", labels, telemetry.failures);
      for (const { mailbox } of registration.entries) {
        const stats = mailbox?.stats();
        if (stats === undefined) continue;
        text.add("millpond_queue_waiting", "gauge", "Messages that wait.", labels, stats.waiting);
        text.add("millpond_queue_refused_total", "counter", "Messages refused by a full queue.", labels, stats.refused);
        text.add("millpond_queue_dropped_total", "counter", "Messages that gave way to others.", labels, stats.dropped);
      }
      if (telemetry.latency !== undefined) {
        text.addHistogram("millpond_latency_seconds", "From send until settled.", labels, telemetry.latency);
      }
    }
    return text.toString();
  }

  #registrations(): Registration[] {
    return [...Array.from(this.#router.values(), ({ value }) => value), ...this.#subscribers];
  }

  #newTelemetry(): RouteTelemetry {
    return new RouteTelemetry(this.dispatcher.latency);
  }

  #entry({ route, telemetry }: Registration, handler: Run, options: HandlerOptions): Entry {
    const outer = this.#middleware.filter((one) => one.scheme === undefined || one.scheme === route.scheme);
    const around = [...outer.map((one) => one.middleware), ...(options.middleware ?? [])];
    const retries = requireInteger("retries", options.retries ?? 0, 0, 1_000_000);
    let run = wrap(retries === 0 ? handler : withRetries(handler, retries, options.retryDelayMs ?? 0), around);
    const { context } = this.dispatcher;
    if (context !== undefined) {
      const inner = run;
      run = (message) => context.run(message._envelope!, inner, message);
    }
    if (options.queue === undefined) return { run, mailbox: undefined, route };
    const { dispatcher } = this;
    const owner: MailboxOwner = {
      settled: (message, reply, failed, outcome) => dispatcher.settled(telemetry, message, reply, failed, outcome),
      gone: (message, reply, reason) => dispatcher.gone(telemetry, message, reply, reason),
    };
    const mailbox = new Mailbox(route.template, run, owner, options.queue);
    this.#mailboxes.add(mailbox);
    return { run, mailbox, route };
  }

  #register(kind: Registration["kind"], template: string, handler: Run, options: HandlerOptions): () => void {
    let registration = this.#router.get(template);
    if (registration !== undefined && (kind !== "any" || registration.kind !== "any")) {
      throw new HandlerExistsError(template);
    }
    if (registration === undefined) {
      registration = {
        route: new Route(template),
        kind,
        telemetry: this.#newTelemetry(),
        entries: [],
        plan: undefined,
      };
      this.#router.add(registration.route, registration);
    }
    const entry = this.#entry(registration, handler, options);
    const home = registration;
    home.entries = [...home.entries, entry];
    this.#forgetPlans();
    return () => {
      home.entries = home.entries.filter((other) => other !== entry);
      if (home.entries.length === 0 && this.#router.get(template) === home) this.#router.delete(template);
      this.#forgetPlans();
    };
  }

  #forgetPlans(): void {
    this.#plans = new Map();
    this.#olderPlans = new Map();
    for (const registration of this.#registrations()) registration.plan = undefined;
    this.#registry.version++;
    if (this.#closed) return;
    for (const mailbox of this.#mailboxes) {
      const used = this.#registrations().some(({ entries }) => entries.some((entry) => entry.mailbox === mailbox));
      if (!used && mailbox.idle) this.#mailboxes.delete(mailbox);
    }
  }

  /** The plan of a path that was not used lately; undefined when nobody would get it. */
  #resolve(path: string): Plan | undefined {
    if (this.#closed) throw new SystemClosedError(path);
    const known = this.#plans.get(path) ?? this.#olderPlans.get(path);
    if (known !== undefined) {
      this.#remember(path, known);
      return known;
    }
    const registration = this.#router.match(path);
    let plan = registration === undefined ? undefined : this.#planOf(registration);
    for (const subscriber of this.#subscribers) {
      if (subscriber.route.matches(path)) plan = plan === undefined ? this.#planOf(subscriber) : plan.with(subscriber);
    }
    if (plan !== undefined && (plan.registration.route.isStatic || this.#seenBefore(path))) this.#remember(path, plan);
    return plan;
  }

  #planOf(registration: Registration): Plan {
    registration.plan ??= new Plan(registration, registration.entries, this.dispatcher.shortcuts);
    return registration.plan;
  }

  #remember(path: string, plan: Plan): void {
    if (this.#plans.size >= Math.max(1, this.#pathCache)) {
      this.#olderPlans = this.#plans;
      this.#plans = new Map();
    }
    this.#plans.set(path, plan);
  }

  /** A path is remembered at its second use, so that paths that come once cost no memory. */
  #seenBefore(path: string): boolean {
    if (this.#pathCache === 0) return false;
    this.#seenPaths ??= new Int32Array(65_536);
    let hash = 17;
    for (let at = 0; at < path.length; at++) hash = (Math.imul(hash, 31) + path.charCodeAt(at)) | 0;
    hash |= 1;
    const place = (hash ^ (hash >>> 15)) & 65_535;
    if (this.#seenPaths[place] === hash) return true;
    this.#seenPaths[place] = hash;
    return false;
  }

  #requireKind(path: string, kind: Registration["kind"]): void {
    const plan = this.#plans.get(path) ?? this.#resolve(path);
    if (plan?.registration.kind !== kind) throw new NoHandlerError(path);
  }

  /** Messages that were acquired, options, paths that were not used lately. */
  #sendOther(path: string | Message, body: unknown, options: SendOptions | undefined): unknown {
    const ours = typeof path === "string";
    const given = ours ? options : (body as SendOptions | undefined);
    const target = ours ? path : path.path;
    const plan = this.#plans.get(target) ?? this.#resolve(target);
    if (plan === undefined) throw new NoHandlerError(target);
    if (ours && given === undefined) return this.dispatcher.send(plan, path, body);
    const message = ours ? (this.pool.acquire(path, body, given?.meta) as Message) : path;
    return this.dispatcher.deliver(plan, message, ours, given, undefined);
  }
}

/**
 * A sender for one path, found once.
 *
 * Memory: as `MessageSystem.send`.
 */
export class Target<Body, Reply> {
  #plan: Plan | undefined;
  #version = -1;

  /** @internal */
  constructor(
    readonly path: string,
    private readonly dispatcher: Dispatcher,
    private readonly registry: { readonly version: number; resolve(path: string): Plan | undefined },
  ) {}

  send(body?: Body): Sent<Reply> {
    if (this.#version !== this.registry.version) this.#find();
    return this.dispatcher.send(this.#plan!, this.path, body) as Sent<Reply>;
  }

  #find(): void {
    const plan = this.registry.resolve(this.path);
    if (plan === undefined) throw new NoHandlerError(this.path);
    this.#plan = plan;
    this.#version = this.registry.version;
  }
}

function statsOf({ route, telemetry, entries }: Registration): RouteStats {
  const queues = entries.flatMap(({ mailbox }) => (mailbox === undefined ? [] : [mailbox.stats()]));
  return { template: route.template, sent: telemetry.sent, failed: telemetry.failures, queues };
}
