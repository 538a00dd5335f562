import { HandlerExistsError, SystemClosedError } from "./bus-error.js";
import type { Dispatcher } from "./dispatcher.js";
import { Mailbox } from "./mailbox.js";
import { PathRouter } from "./path-router.js";
import { type Entry, type Middleware, Plan, type Registration, type Run, withRetries, wrap } from "./plan.js";
import { PlanMemory } from "./plan-memory.js";
import { requireInteger } from "./pool-error.js";
import type { MailboxOwner } from "./queue-options.js";
import { Route } from "./route.js";
import type { HandlerOptions } from "./system-options.js";
import { RouteTelemetry } from "./telemetry.js";

/**
 * Who handles what: handlers and subscribers by template, and the plan for each path.
 *
 * @internal
 */
export class Registry {
  readonly memory: PlanMemory;
  /** Grows with every change. */
  version = 0;
  readonly #router = new PathRouter<Registration>();
  readonly #middleware: { readonly scheme: string | undefined; readonly middleware: Middleware }[] = [];
  readonly #mailboxes = new Set<Mailbox>();
  #subscribers: Registration[] = [];
  #closed = false;

  constructor(
    private readonly dispatcher: Dispatcher,
    pathCache: number,
  ) {
    this.memory = new PlanMemory(pathCache);
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** From here on no path has a plan. */
  close(): void {
    this.#closed = true;
    this.#forgetPlans();
  }

  use(middleware: Middleware, scheme: string | undefined): void {
    this.#middleware.push({ scheme: scheme?.replace("://", ""), middleware });
  }

  /** Returns the undo. */
  register(kind: Registration["kind"], template: string, handler: Run, options: HandlerOptions): () => void {
    let registration = this.#router.get(template);
    if (registration !== undefined && (kind !== "any" || registration.kind !== "any")) {
      throw new HandlerExistsError(template);
    }
    if (registration === undefined) {
      registration = this.#newRegistration(kind, template);
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

  /** Returns the undo. */
  subscribe(template: string, handler: Run, options: HandlerOptions): () => void {
    const one = this.#newRegistration("any", template);
    one.entries = [this.#entry(one, handler, options)];
    this.#subscribers.push(one);
    this.#forgetPlans();
    return () => {
      this.#subscribers = this.#subscribers.filter((other) => other !== one);
      this.#forgetPlans();
    };
  }

  /** The plan of a path that was not used lately; undefined when nobody would get it. */
  resolve(path: string): Plan | undefined {
    if (this.#closed) throw new SystemClosedError(path);
    const known = this.memory.find(path);
    if (known !== undefined) return known;
    const registration = this.#router.match(path);
    let plan = registration === undefined ? undefined : this.#planOf(registration);
    for (const subscriber of this.#subscribers) {
      if (subscriber.route.matches(path)) plan = plan === undefined ? this.#planOf(subscriber) : plan.with(subscriber);
    }
    if (plan !== undefined && (plan.registration.route.isStatic || this.memory.seenBefore(path))) {
      this.memory.add(path, plan);
    }
    return plan;
  }

  /** Compiles the routes before the first message asks for them. */
  compile(): void {
    this.#router.match("");
  }

  /** Runs what waits in the queues, now. Returns how many handlers were started. */
  flush(): number {
    let started = 0;
    for (const mailbox of this.#mailboxes) started += mailbox.flush();
    return started;
  }

  all(): Registration[] {
    return [...Array.from(this.#router.values(), ({ value }) => value), ...this.#subscribers];
  }

  #newRegistration(kind: Registration["kind"], template: string): Registration {
    const telemetry = new RouteTelemetry(this.dispatcher.latency);
    return { route: new Route(template), kind, telemetry, entries: [], plan: undefined };
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

  #planOf(registration: Registration): Plan {
    registration.plan ??= new Plan(registration, registration.entries, this.dispatcher.shortcuts);
    return registration.plan;
  }

  #forgetPlans(): void {
    this.memory.clear();
    const registrations = this.all();
    for (const registration of registrations) registration.plan = undefined;
    this.version++;
    if (this.#closed) return;
    const used = new Set(registrations.flatMap(({ entries }) => entries.map(({ mailbox }) => mailbox)));
    for (const mailbox of this.#mailboxes) {
      if (!used.has(mailbox) && mailbox.idle) this.#mailboxes.delete(mailbox);
    }
  }
}
