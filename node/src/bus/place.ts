import * as check from "../pool/checks.js";
import { NoHandlerError, PlaceExpiredError, RequestTimeoutError, SystemClosedError } from "./bus-error.js";
import { checkSendOptions } from "./check-options.js";
import type { Deadline, Deadlines } from "./deadlines.js";
import { DONE, RUNNING, WAITING } from "./delivery-state.js";
import type { Receiver } from "./receiver.js";
import { unwatchSignal, watchSignal } from "./signals.js";
import type { ReadyOptions, SendOptions } from "./system-options.js";

/** Default of `holdMs`. */
const HOLD_MS = 5_000;
const OPTIONS = { signal: check.signal, timeoutMs: check.duration, holdMs: check.duration };

/** @internal The dispatcher that a place sends through. */
export interface PlaceOwner {
  /** Places that are held or waited for. */
  readonly places: Set<Place>;
  readonly deadlines: Deadlines;
  readonly contexts: { readonly mayStillSend: boolean };
  post(
    path: string,
    given: undefined,
    body: unknown,
    options: SendOptions | undefined,
    mode: "send",
    known: Receiver,
    reserved: boolean,
  ): unknown;
}

/**
 * A reserved place in the queue of a handler. The caller holds it until it is used or released, or until its signal, its time
 * limit or `close` revokes it. Requests for places are granted in order.
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
    private readonly dispatcher: PlaceOwner,
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
    else receiver.mailbox.waitForCapacity(this);
  }

  /** @internal */
  granted(): void {
    this.state = RUNNING;
    this.#deadline?.cancel();
    this.#limit(this.options.holdMs ?? HOLD_MS);
    this.resolve(this);
  }

  /** True until it is used, released or revoked. */
  get held(): boolean {
    return this.state === RUNNING;
  }

  /** Sends into the place. Throws PlaceExpiredError if the place is not held. A message that is refused at the call leaves it held. */
  send(body?: Body, options?: SendOptions): Promise<Reply> | Reply {
    check.argumentCount("send of a place", arguments.length, 2);
    if (options !== undefined) checkSendOptions(options);
    if (options?.signal?.aborted === true && this.held) throw options.signal.reason;
    if (!this.held) throw new PlaceExpiredError(this.path, this.#cause);
    this.#finish(undefined);
    const { receiver, path } = this;
    const reserved = receiver.mailbox !== undefined;
    try {
      return this.dispatcher.post(path, undefined, body, options, "send", receiver, reserved) as Promise<Reply>;
    } catch (error) {
      // The pool refused the message before it reached the queue.
      if (reserved) this.#hold();
      throw error;
    }
  }

  /** Passes the place to the next waiter, if it is held. */
  release(): void {
    check.argumentCount("release", arguments.length, 0);
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
    this.#deadline?.cancel();
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

/** @internal Requests a place in the queue of the handler of `path`. */
export function placeIn<Body, Reply>(
  path: string,
  dispatcher: PlaceOwner,
  receiver: Receiver | undefined,
  options: ReadyOptions,
  closing: boolean,
): Promise<Place<Body, Reply>> {
  return new Promise((resolve, reject) => {
    check.options("options", options, OPTIONS);
    const { signal } = options;
    if (closing && !dispatcher.contexts.mayStillSend) throw new SystemClosedError(path);
    if (signal?.aborted === true) throw signal.reason;
    if (receiver === undefined) throw new NoHandlerError(path);
    const place = new Place<Body, Reply>(path, dispatcher, receiver, options, resolve, reject);
    if (place.state !== DONE) dispatcher.places.add(place as unknown as Place);
  });
}
