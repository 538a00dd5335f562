import * as check from "../pool/checks.js";
import { Route } from "../pool/route.js";
import { checkQueue } from "./check-options.js";
import { HandlerExistsError, NoHandlerError, SystemClosedError } from "./bus-error.js";
import { Mailbox, type MailboxOwner } from "./mailbox.js";
import { checkMiddleware, checkMiddlewares, type Middleware, type Run, wrap } from "./middleware.js";
import { ObserverGroup } from "./observer-group.js";
import { PathRouter } from "./path-router.js";
import { Receiver } from "./receiver.js";
import { checkRetries, retryOptionsOf } from "./retry.js";
import { unwatchSignal, watchSignal } from "./signals.js";
import type { HandlerOptions } from "./system-options.js";

const NONE: readonly Receiver[] = [];
const OBSERVER_OPTIONS = { name: check.text, signal: check.signal, queue: checkQueue };
const HANDLER_OPTIONS = { ...OBSERVER_OPTIONS, retries: checkRetries, middleware: checkMiddlewares };
/** The default queue of an observer. */
const OBSERVER_QUEUE = { capacity: 1_024, overflow: "drop-oldest" } as const;

/** @internal The dispatcher that sends to the receivers of a registry. */
export interface RegistryUser {
  readonly runner: MailboxOwner;
  readonly contexts: { readonly marks: boolean; readonly mayStillSend: boolean };
  /** Whether a message may reach its handler by a plain call, in the ready message. */
  readonly shortcuts: boolean;
  /** Revokes places. */
  endPlaces(cause: (path: string) => unknown, which: (place: { readonly receiver: Receiver }) => boolean): void;
}

/**
 * The handlers and observers of a system, by template.
 *
 * @internal
 */
export class Registry {
  /** Set once, after the construction. */
  dispatcher!: RegistryUser;
  /** Incremented by every change. */
  version = 0;
  closing = false;
  /** Called when the system has closed: end streams and waits. */
  readonly onClosed = new Set<() => void>();
  /** Handlers of templates without parameters, which are more specific than all others. */
  readonly fixed = new Map<string, Receiver>();
  readonly #handlers = new PathRouter<Receiver>();
  /** Observers, grouped by the shape of their templates. */
  readonly #observers = new PathRouter<ObserverGroup>();
  readonly #groups = new Map<string, ObserverGroup>();
  readonly #found: ObserverGroup[] = [];
  readonly #middleware: { readonly scheme: string | undefined; readonly middleware: Middleware }[] = [];
  /** The names in use, and the first number to try for the next receiver of that name. */
  readonly #names = new Map<string, number>();
  /** Registered receivers, and removed ones that still have messages. */
  readonly #receivers = new Set<Receiver>();
  /** Receivers whose `direct` is set. */
  #direct: Receiver[] = [];

  /** latency: receivers have histograms. */
  constructor(private readonly latency: boolean) {}

  use(middleware: Middleware, scheme: string | undefined): void {
    checkMiddleware(middleware);
    if (scheme !== undefined) check.text("scheme", scheme);
    this.#middleware.push({ scheme: scheme?.replace("://", ""), middleware });
  }

  handlerOf(path: string): Receiver | undefined {
    const fixed = this.fixed.size === 0 ? undefined : this.fixed.get(path);
    return fixed ?? this.matching(path);
  }

  /** The handler whose template has parameters and matches the path best. */
  matching(path: string): Receiver | undefined {
    return this.#handlers.match(path);
  }

  /** The observers of a path, whose handler the caller knows. */
  observersOf(path: string, handler: Receiver | undefined): readonly Receiver[] {
    if (this.#groups.size === 0) return NONE;
    if (handler === undefined || !handler.route.isStatic) return this.#watching(path);
    if (handler.version !== this.version) this.refresh(handler);
    return handler.observers;
  }

  /** Updates what a handler caches of the registry. */
  refresh(receiver: Receiver): void {
    const { route, entry, retry, once, run } = receiver;
    receiver.version = this.version;
    receiver.observers = route.isStatic && this.#groups.size > 0 ? this.#watching(route.template) : NONE;
    const observed = route.isStatic ? receiver.observers.length > 0 : this.#groups.size > 0;
    const plain = entry === undefined && retry === undefined && !once && !receiver.async;
    const direct = plain && !observed && !this.closing && this.dispatcher.shortcuts;
    receiver.direct = direct && (receiver.synchronous || !this.dispatcher.contexts.marks) ? run : undefined;
    if (receiver.direct !== undefined) this.#direct.push(receiver);
  }

  /** Invalidates what receivers cache. Cost: one step per receiver whose `direct` is set. */
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

  handle(template: string, handler: Run, options: HandlerOptions, once: boolean): Receiver {
    check.options("handler options", options, HANDLER_OPTIONS);
    const receiver = this.#createReceiver("handler", template, handler, options, once);
    const { route } = receiver;
    if (this.fixed.has(template) || this.#handlers.get(template) !== undefined) throw new HandlerExistsError(template);
    if (route.isStatic) this.fixed.set(template, receiver);
    else this.#handlers.add(route, receiver);
    return this.#register(receiver, options);
  }

  observe(template: string, observer: Run, options: HandlerOptions, once: boolean): Receiver {
    check.options("observer options", options, OBSERVER_OPTIONS);
    const queue = options.queue ?? OBSERVER_QUEUE;
    const overflow = queue.overflow ?? "drop-oldest";
    if (overflow === "wait" || overflow === "reject") {
      const bound = "drop-oldest, drop-newest or coalesce: an observer delays and refuses nothing";
      throw new check.SettingError("overflow", overflow, bound);
    }
    const all = { ...options, queue: { ...queue, overflow } };
    const receiver = this.#createReceiver("observer", template, observer, all, once);
    receiver.queuedByDefault = options.queue === undefined;
    const { shape } = receiver.route;
    let group = this.#groups.get(shape);
    if (group === undefined) {
      group = new ObserverGroup(template);
      this.#groups.set(shape, group);
      this.#observers.add(receiver.route, group);
    }
    group.add(receiver);
    return this.#register(receiver, options);
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

  /** Refuses new messages and registrations, except those of handlers. */
  close(): void {
    this.closing = true;
    this.#change();
  }

  /** Starts queued messages now. Returns the number of started handlers. */
  flush(): number {
    let started = 0;
    for (const { mailbox } of this.#receivers) started += mailbox?.flush() ?? 0;
    return started;
  }

  /** Registered receivers, and removed ones that still have messages. */
  all(): readonly Receiver[] {
    return [...this.#receivers];
  }

  /** Called when a removed receiver has no messages any more. */
  forget(receiver: Receiver): void {
    this.#receivers.delete(receiver);
    this.#names.delete(receiver.name);
    receiver.ended?.();
  }

  #createReceiver(
    kind: Receiver["kind"],
    template: string,
    handler: Run,
    options: HandlerOptions,
    once: boolean,
  ): Receiver {
    if (this.closing && !this.dispatcher.contexts.mayStillSend) throw new SystemClosedError(template);
    check.callable("handler", handler);
    const route = new Route(template);
    const outer = this.#middleware.filter((one) => one.scheme === undefined || one.scheme === route.scheme);
    const around = kind === "observer" ? [] : [...outer.map((one) => one.middleware), ...(options.middleware ?? [])];
    const retry = options.retries === undefined ? undefined : retryOptionsOf(options.retries);
    const run = wrap(handler, around, () => this.dispatcher.runner.checkAborts());
    const remove = (): void => this.#remove(receiver, options.signal);
    const receiver = new Receiver(route, kind, handler, run, once, retry, this.latency, remove);
    if (options.queue !== undefined) receiver.mailbox = new Mailbox(template, this.dispatcher.runner, options.queue);
    receiver.entry = receiver.mailbox;
    return receiver;
  }

  /** Appends a number to a name that is in use: each receiver has series of its own. */
  #uniqueName(name: string): string {
    let unique = name;
    for (let number = this.#names.get(name) ?? 2; this.#names.has(unique); number++) {
      unique = `${name}#${number}`;
      this.#names.set(name, number + 1);
    }
    this.#names.set(unique, 2);
    return unique;
  }

  #register(receiver: Receiver, { name, signal }: HandlerOptions): Receiver {
    receiver.name = this.#uniqueName(name ?? receiver.route.template);
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
