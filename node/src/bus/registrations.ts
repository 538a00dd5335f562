import type { Message, Observed } from "../pool/message.js";
import { limitArguments } from "../pool/argument-limits.js";
import { requireDuration, requireInteger, requireKnown } from "../pool/pool-error.js";
import type { ParamsOf } from "../pool/route.js";
import { RegistrationRemovedError, RequestTimeoutError, SystemClosedError } from "./bus-error.js";
import { requireSignal } from "./check-options.js";
import type { Dispatcher } from "./dispatcher.js";
import { MessageStream } from "./message-stream.js";
import type { Middleware } from "./middleware.js";
import type { BodyOf, PathsOf, ReplyOf, RouteMap } from "./path-types.js";
import type { Entry, Run } from "./receiver.js";
import type { Registry } from "./registry.js";
import type * as Options from "./system-options.js";
import { unwatchSignal, watchSignal } from "./signals.js";

type HandlerOf<Routes, Template extends string> = Options.Handler<
  Template,
  BodyOf<Routes, Template>,
  ReplyOf<Routes, Template>
>;
type ObservedOf<Routes, Template extends string> = Observed<
  BodyOf<Routes, PathsOf<Template>>,
  unknown,
  ParamsOf<Template>
>;

/** The queue of a wait: the first message of a burst stays, and the next one if that is aborted. */
const FIRST = { capacity: 1_024, overflow: "drop-newest" } as const;

/** The receiving half of a MessageSystem: handlers, observers, and everything built on them. */
export abstract class Registrations<Routes extends RouteMap<Routes>> {
  /** @internal */
  protected abstract readonly dispatcher: Dispatcher;
  /** @internal */
  protected readonly registry: Registry;
  /** Of streams and waits: what ends them with the system. */
  readonly #ends = new Set<() => void>();

  /** @internal */
  protected constructor(registry: Registry) {
    this.registry = registry;
  }

  /**
   * Handles the messages that `template` matches; of all templates with a handler the most specific one gets a message. Each
   * template has one handler. Returns the undo; messages that wait are still handled.
   */
  on<Template extends keyof Routes & string>(
    template: Template,
    handler: HandlerOf<Routes, Template>,
    options: Options.HandlerOptions = {},
  ): () => void {
    return this.registry.handle("handler", template, handler as Run, options, false).remove;
  }

  /** As `on`, for one message. */
  once<Template extends keyof Routes & string>(
    template: Template,
    handler: HandlerOf<Routes, Template>,
    options: Options.HandlerOptions = {},
  ): () => void {
    return this.registry.handle("handler", template, handler as Run, options, true).remove;
  }

  /** As `on`, for `command`: something is done, and the sender learns when. */
  onCommand<Template extends keyof Routes & string>(
    template: Template,
    handler: HandlerOf<Routes, Template>,
    options: Options.HandlerOptions = {},
  ): () => void {
    return this.registry.handle("command", template, handler as Run, options, false).remove;
  }

  /** Like `on`, for `query`, which is used only for its reply. */
  onQuery<Template extends keyof Routes & string>(
    template: Template,
    handler: HandlerOf<Routes, Template>,
    options: Options.HandlerOptions = {},
  ): () => void {
    return this.registry.handle("query", template, handler as Run, options, false).remove;
  }

  /**
   * Watches every message that `template` matches, from a queue that belongs to this observer. An observer cannot fail, delay,
   * refuse or answer a send; its errors go to `onError`. Returns the undo.
   */
  subscribe<Template extends string>(
    template: Template,
    observer: Options.Observer<Template, BodyOf<Routes, PathsOf<Template>>>,
    options: Options.ObserverOptions = {},
  ): () => void {
    return this.registry.observe(template, observer as unknown as Run, options, false).remove;
  }

  /**
   * Removes all registrations for `template`, or only `handler`. Returns the number of handlers and observers removed. A stream
   * then ends after the messages sent before; a `waitFor` that has no message rejects with RegistrationRemovedError.
   */
  off(template: string, handler?: unknown): number {
    return this.registry.remove(template, handler);
  }

  /**
   * The next message that `template` matches, kept out of its pool. Watches, as `subscribe` does. Rejects SystemClosedError when
   * the system has closed without one.
   */
  waitFor<Template extends string>(
    template: Template,
    options: Options.WaitOptions = {},
  ): Promise<ObservedOf<Routes, Template>> {
    return new Promise((resolve, reject) => {
      requireKnown("options", options, ["signal", "timeoutMs"]);
      const { signal, timeoutMs = Number.POSITIVE_INFINITY } = options;
      requireDuration("timeoutMs", timeoutMs);
      if (signal !== undefined) requireSignal(signal);
      if (signal?.aborted === true) throw signal.reason;
      let over = false;
      const take = (message: Message): void => {
        if (!over) end(() => resolve(message.keep() as never));
      };
      const receiver = this.registry.observe(template, take, { queue: FIRST }, false);
      const abort = (): void => end(() => reject(signal!.reason));
      const closed = (): void => end(() => reject(new SystemClosedError(template)));
      const late = (): void => end(() => reject(new RequestTimeoutError(template, timeoutMs)));
      const limited = timeoutMs !== Number.POSITIVE_INFINITY;
      const deadline = limited ? this.dispatcher.deadlines.start(timeoutMs, late) : undefined;
      const end = (settle: () => void): void => {
        if (over) return;
        over = true;
        receiver.remove();
        deadline?.done();
        unwatchSignal(signal, abort);
        this.#ends.delete(closed);
        settle();
      };
      receiver.ended = () => end(() => reject(new RegistrationRemovedError(template)));
      this.#ends.add(closed);
      if (signal !== undefined) watchSignal(signal, abort);
    });
  }

  /** The messages that `template` matches, for `for await`. Watches, as `subscribe` does. */
  messages<Template extends string>(
    template: Template,
    options: Options.StreamOptions = {},
  ): MessageStream<BodyOf<Routes, PathsOf<Template>>, ParamsOf<Template>> {
    requireKnown("options", options, ["name", "signal", "capacity"]);
    const { capacity = 1_024, ...registration } = options;
    const stream = new MessageStream<BodyOf<Routes, PathsOf<Template>>, ParamsOf<Template>>(
      requireInteger("capacity", capacity, 1, 2 ** 22),
    );
    const close = (): void => stream.close();
    const observer = ((message) => stream._take(message as never)) as Run;
    const receiver = this.registry.observe(template, observer, { ...registration, queue: { capacity } }, false);
    this.#ends.add(close);
    stream._begin(receiver, () => this.#ends.delete(close));
    receiver.ended = close;
    // By a signal that is aborted already.
    if (receiver.retired) close();
    return stream;
  }

  /** Adds work around handlers registered from now on: around all, or around those of one scheme. */
  use(middleware: Middleware, scheme?: string): this {
    this.registry.use(middleware, scheme);
    return this;
  }

  /** @internal What a send to `path` has thrown or rejected with, for a sender that cannot take it. */
  _report(error: unknown, path: string): void {
    this.dispatcher.report(error, path);
  }

  /** @internal As `on`, for messages that leave the thread while `entry` is not full. */
  _forward(template: string, handler: Run, entry: Entry, signal: AbortSignal | undefined): () => void {
    const options = signal === undefined ? {} : { signal };
    const receiver = this.registry.handle("handler", template, handler, options, false);
    receiver.entry = entry;
    return receiver.remove;
  }

  /** @internal */
  protected _end(): void {
    for (const end of [...this.#ends]) end();
  }
}

limitArguments(Registrations.prototype, {
  on: 3,
  once: 3,
  onCommand: 3,
  onQuery: 3,
  subscribe: 3,
  off: 2,
  messages: 2,
  use: 2,
});
limitArguments(Registrations.prototype, { waitFor: 2 }, true);
