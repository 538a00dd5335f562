import { requireArguments, requireDuration, requireKnown } from "../pool/pool-error.js";
import { NoHandlerError, PlaceExpiredError, RequestTimeoutError, SystemClosedError } from "./bus-error.js";
import { checkSendOptions, requireSignal } from "./check-options.js";
import type { Deadline } from "./deadlines.js";
import { DONE, RUNNING, WAITING } from "./delivery.js";
import type { Dispatcher } from "./dispatcher.js";
import type { Receiver } from "./receiver.js";
import type { ReadyOptions, SendOptions } from "./system-options.js";
import { unwatchSignal, watchSignal } from "./signals.js";

const HOLD_MS = 5_000;

/**
 * A place in the queue of a handler. It belongs to the caller until it is used or released, or until its signal, its time
 * limit or `close` takes it back. Those who wait for places get them in order.
 */
export class Place<Body = unknown, Reply = unknown> {
  /** @internal */
  state = WAITING;
  #cause: unknown;
  #deadline: Deadline | undefined;
  readonly #abort: () => void;

  /** @internal */
  constructor(
    readonly path: string,
    private readonly dispatcher: Dispatcher,
    /** @internal */ readonly receiver: Receiver,
    private readonly options: ReadyOptions,
    private readonly resolve: (place: Place<Body, Reply>) => void,
    private readonly reject: (reason: unknown) => void,
  ) {
    const { signal, timeoutMs = Number.POSITIVE_INFINITY } = options;
    this.#abort = () => this._end(signal!.reason);
    if (signal !== undefined) watchSignal(signal, this.#abort);
    this.#limit(timeoutMs);
    if (receiver.mailbox === undefined) this.granted();
    else receiver.mailbox.ask(this);
  }

  /** @internal */
  granted(): void {
    this.state = RUNNING;
    this.#deadline?.done();
    this.#limit(this.options.holdMs ?? HOLD_MS);
    this.resolve(this);
  }

  /** True until it is used, released or taken back. */
  get held(): boolean {
    return this.state === RUNNING;
  }

  /** Sends into the place. Throws PlaceExpiredError when it is not held any more; a message that is refused at the call leaves it held. */
  send(body?: Body, options?: SendOptions): Promise<Reply> | Reply {
    requireArguments("send of a place", arguments.length, 2);
    if (options !== undefined) checkSendOptions(options);
    if (options?.signal?.aborted === true && this.held) throw options.signal.reason;
    this.#use();
    const { receiver, path } = this;
    const reserved = receiver.mailbox !== undefined;
    try {
      return this.dispatcher.post(path, undefined, body, options, "send", receiver, reserved) as Promise<Reply>;
    } catch (error) {
      // Refused before it got to the queue, by the pool: the place is held again.
      if (reserved) this.#hold();
      throw error;
    }
  }

  /** Passes the place to the next waiter. Does nothing if it is no longer held. */
  release(): void {
    requireArguments("release", arguments.length, 0);
    this._end(undefined);
  }

  [Symbol.dispose](): void {
    this.release();
  }

  /** @internal */
  _end(cause: unknown): void {
    const { state } = this;
    if (state === DONE) return;
    this.#finish(cause);
    if (state === RUNNING) this.receiver.mailbox?.unreserve();
    else {
      this.receiver.mailbox!.withdraw();
      this.reject(cause);
    }
  }

  #use(): void {
    if (this.state !== RUNNING) throw new PlaceExpiredError(this.path, this.#cause);
    this.#finish(undefined);
  }

  #hold(): void {
    const { signal, holdMs = HOLD_MS } = this.options;
    this.state = RUNNING;
    if (signal !== undefined) watchSignal(signal, this.#abort);
    this.#limit(holdMs);
    this.dispatcher.places.add(this as unknown as Place);
  }

  #finish(cause: unknown): void {
    this.state = DONE;
    this.#cause = cause;
    this.#deadline?.done();
    unwatchSignal(this.options.signal, this.#abort);
    this.dispatcher.places.delete(this as unknown as Place);
  }

  #limit(timeoutMs: number): void {
    if (timeoutMs === Number.POSITIVE_INFINITY) return;
    this.#deadline = this.dispatcher.deadlines.start(timeoutMs, () => {
      this._end(new RequestTimeoutError(this.path, timeoutMs));
    });
  }
}

/** @internal A promise of a place in the queue of the handler of `path`. */
export function placeIn<Body, Reply>(
  path: string,
  dispatcher: Dispatcher,
  receiver: Receiver | undefined,
  options: ReadyOptions,
  closing: boolean,
): Promise<Place<Body, Reply>> {
  return new Promise((resolve, reject) => {
    requireKnown("options", options, ["signal", "timeoutMs", "holdMs"]);
    const { signal, timeoutMs, holdMs } = options;
    if (timeoutMs !== undefined) requireDuration("timeoutMs", timeoutMs);
    if (holdMs !== undefined) requireDuration("holdMs", holdMs);
    if (signal !== undefined) requireSignal(signal);
    if (closing && !dispatcher.mayStillSend) throw new SystemClosedError(path);
    if (signal?.aborted === true) throw signal.reason;
    if (receiver === undefined) throw new NoHandlerError(path);
    const place = new Place<Body, Reply>(path, dispatcher, receiver, options, resolve, reject);
    if (place.state !== DONE) dispatcher.places.add(place as unknown as Place);
  });
}
