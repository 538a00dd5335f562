import { requireFunction, requireKnown, SettingError } from "../pool/pool-error.js";
import { Route } from "../pool/route.js";
import { HandlerExistsError, NoHandlerError, SystemClosedError } from "./bus-error.js";
import { requireSignal } from "./check-options.js";
import type { Dispatcher } from "./dispatcher.js";
import { Mailbox } from "./mailbox.js";
import { checkMiddleware, checkMiddlewares, type Middleware, wrap } from "./middleware.js";
import { ObserverGroup } from "./observer-group.js";
import { PathRouter } from "./path-router.js";
import { Receiver, type Run } from "./receiver.js";
import { RetryPolicy } from "./retry.js";
import type { HandlerOptions } from "./system-options.js";
import { unwatchSignal, watchSignal } from "./signals.js";

const NONE: readonly Receiver[] = [];
const FOR_HANDLERS = ["name", "signal", "queue", "retries", "middleware"];
const FOR_OBSERVERS = ["name", "signal", "queue"];
/** The default queue of an observer. */
const WATCHED = { capacity: 1_024, overflow: "drop-oldest" } as const;

/**
 * The handlers and observers by template.
 *
 * @internal
 */
export class Registry {
  /** Set once, right after the construction. */
  dispatcher!: Dispatcher;
  /** Grows with every change. */
  version = 0;
  closing = false;
  /** Of paths without parameters, which are more specific than any template that has some. */
  readonly fixed = new Map<string, Receiver>();
  readonly #handlers = new PathRouter<Receiver>();
  /** Observers of templates of one shape, each with a route of its own. */
  readonly #observers = new PathRouter<ObserverGroup>();
  readonly #groups = new Map<string, ObserverGroup>();
  readonly #found: ObserverGroup[] = [];
  readonly #middleware: { readonly scheme: string | undefined; readonly middleware: Middleware }[] = [];
  /** The names in use, and the number that the next receiver of that name tries first. */
  readonly #names = new Map<string, number>();
  /** In use, or removed with messages that wait. */
  readonly #receivers = new Set<Receiver>();
  /** Those that have `direct`. */
  #direct: Receiver[] = [];
  readonly #latency: boolean;

  constructor(latency: boolean) {
    this.#latency = latency;
  }

  use(middleware: Middleware, scheme: string | undefined): void {
    checkMiddleware(middleware);
    if (scheme !== undefined && typeof scheme !== "string") throw new SettingError("scheme", scheme, "a text");
    this.#middleware.push({ scheme: scheme?.replace("://", ""), middleware });
  }

  handlerOf(path: string): Receiver | undefined {
    const fixed = this.fixed.size === 0 ? undefined : this.fixed.get(path);
    return fixed ?? this.matching(path);
  }

  /** The handler of a path that no handler without parameters has. */
  matching(path: string): Receiver | undefined {
    return this.#handlers.match(path);
  }

  /** The observers of a path, `handler` being its handler. */
  observersOf(path: string, handler: Receiver | undefined): readonly Receiver[] {
    if (this.#groups.size === 0) return NONE;
    if (handler === undefined || !handler.route.isStatic) return this.#watching(path);
    if (handler.version !== this.version) this.refresh(handler);
    return handler.observers;
  }

  /** Updates what a handler's messages need. */
  refresh(receiver: Receiver): void {
    const { route, entry, retry, once, run } = receiver;
    receiver.version = this.version;
    receiver.observers = route.isStatic && this.#groups.size > 0 ? this.#watching(route.template) : NONE;
    const observed = route.isStatic ? receiver.observers.length > 0 : this.#groups.size > 0;
    const plain = entry === undefined && retry === undefined && !once && !receiver.async;
    const direct = plain && !observed && !this.closing && this.dispatcher.shortcuts;
    receiver.direct = direct && (receiver.synchronous || !this.dispatcher.marks) ? run : undefined;
    if (receiver.direct !== undefined) this.#direct.push(receiver);
  }

  /** What receivers know of each other is old. Cost: one step for each that a message went straight to since the last change. */
  #change(): void {
    this.version++;
    if (this.#direct.length === 0) return;
    for (const receiver of this.#direct) receiver.direct = undefined;
    this.#direct = [];
  }

  #watching(path: string): readonly Receiver[] {
    const found = this.#found;
    const count = this.#observers.matchAll(path, found);
    if (count === 0) return NONE;
    let all = found[0]!;
    for (let at = 1; at < count; at++) all = all.and(found[at]!, this.version);
    return all.list;
  }

  handle(kind: Receiver["kind"], template: string, handler: Run, options: HandlerOptions, once: boolean): Receiver {
    requireKnown("handler options", options, FOR_HANDLERS);
    const receiver = this.#make(kind, template, handler, options, once);
    const { route } = receiver;
    if (this.fixed.has(template) || this.#handlers.get(template) !== undefined) throw new HandlerExistsError(template);
    if (route.isStatic) this.fixed.set(template, receiver);
    else this.#handlers.add(route, receiver);
    return this.#enter(receiver, options);
  }

  observe(template: string, observer: Run, options: HandlerOptions, once: boolean): Receiver {
    requireKnown("observer options", options, FOR_OBSERVERS);
    const queue = options.queue ?? WATCHED;
    const overflow = queue.overflow ?? "drop-oldest";
    if (overflow === "wait" || overflow === "reject") {
      throw new SettingError(
        "overflow",
        overflow,
        "drop-oldest, drop-newest or coalesce: an observer delays and refuses nothing",
      );
    }
    const all = { ...options, queue: { ...queue, overflow } };
    const receiver = this.#make("observer", template, observer, all, once);
    const { shape } = receiver.route;
    let group = this.#groups.get(shape);
    if (group === undefined) {
      group = new ObserverGroup(template);
      this.#groups.set(shape, group);
      this.#observers.add(receiver.route, group);
    }
    group.add(receiver);
    return this.#enter(receiver, options);
  }

  /** Removes all registrations of `template`, or only those of `handler`. Returns their number. */
  remove(template: string, handler: unknown): number {
    const there = [this.fixed.get(template), this.#handlers.get(template)];
    there.push(...(this.#groups.get(new Route(template).shape)?.list ?? []));
    let removed = 0;
    for (const receiver of there) {
      if (receiver?.route.template !== template || (handler !== undefined && receiver.handler !== handler)) continue;
      receiver.remove();
      removed++;
    }
    return removed;
  }

  /** No new work. */
  close(): void {
    this.closing = true;
    this.#change();
  }

  /** Starts what waits in the queues, now. Returns how many handlers were started. */
  flush(): number {
    let started = 0;
    for (const { mailbox } of this.#receivers) started += mailbox?.flush() ?? 0;
    return started;
  }

  /** Those in use, and removed ones with messages that wait. */
  all(): readonly Receiver[] {
    return [...this.#receivers];
  }

  /** A receiver that was removed has no messages any more. */
  forget(receiver: Receiver): void {
    this.#receivers.delete(receiver);
    this.#names.delete(receiver.name);
    receiver.ended?.();
  }

  #make(kind: Receiver["kind"], template: string, handler: Run, options: HandlerOptions, once: boolean): Receiver {
    if (this.closing && !this.dispatcher.mayStillSend) throw new SystemClosedError(template);
    requireFunction("handler", handler);
    if (options.signal !== undefined) requireSignal(options.signal);
    const { name } = options as { readonly name?: unknown };
    if (name !== undefined && typeof name !== "string") throw new SettingError("name", name, "a text");
    if (options.middleware !== undefined) checkMiddlewares(options.middleware);
    const route = new Route(template);
    const outer = this.#middleware.filter((one) => one.scheme === undefined || one.scheme === route.scheme);
    const around = kind === "observer" ? [] : [...outer.map((one) => one.middleware), ...(options.middleware ?? [])];
    const retry = options.retries === undefined ? undefined : new RetryPolicy(options.retries);
    const run = wrap(handler, around, () => this.dispatcher.look());
    const remove = (): void => this.#remove(receiver, options.signal);
    const receiver = new Receiver(route, kind, handler, run, once, retry, this.#latency, remove);
    if (options.queue !== undefined) receiver.mailbox = new Mailbox(template, this.dispatcher, options.queue);
    receiver.entry = receiver.mailbox;
    return receiver;
  }

  /** Each name once, so that statistics and series differ. */
  #nameOf(name: string): string {
    let unique = name;
    for (let number = this.#names.get(name) ?? 2; this.#names.has(unique); number++) {
      unique = `${name}#${number}`;
      this.#names.set(name, number + 1);
    }
    this.#names.set(unique, 2);
    return unique;
  }

  /** Nothing refuses it any more: it takes a name. */
  #enter(receiver: Receiver, { name, signal }: HandlerOptions): Receiver {
    receiver.name = this.#nameOf(name ?? receiver.route.template);
    this.#receivers.add(receiver);
    this.#change();
    const { remove } = receiver;
    if (signal?.aborted === true) remove();
    else if (signal !== undefined) watchSignal(signal, remove);
    return receiver;
  }

  #remove(receiver: Receiver, signal: AbortSignal | undefined): void {
    if (receiver.retired) return;
    unwatchSignal(signal, receiver.remove);
    const { route } = receiver;
    if (receiver.observes) this.#leaveGroup(receiver);
    else if (route.isStatic) this.fixed.delete(route.template);
    else this.#handlers.delete(route.template);
    receiver.retired = true;
    this.#change();
    this.dispatcher.endPlaces(
      (path) => new NoHandlerError(path),
      (place) => place.receiver === receiver,
    );
    if (receiver.active === 0) this.forget(receiver);
  }

  #leaveGroup(receiver: Receiver): void {
    const { shape } = receiver.route;
    const group = this.#groups.get(shape)!;
    group.remove(receiver);
    if (group.list.length > 0) return;
    this.#groups.delete(shape);
    this.#observers.delete(group.template);
  }
}
