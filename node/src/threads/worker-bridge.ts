import { AsyncLocalStorage } from "node:async_hooks";
import type { MessagePort } from "node:worker_threads";
import { CloseInHandlerError, QueueFullError } from "../bus/bus-error.js";
import type { MessageSystem } from "../bus/message-system.js";
import type { RouteMap } from "../bus/path-types.js";
import { captureScope, type Scope } from "../bus/platform.js";
import { unwatchSignal, watchSignal } from "../bus/signals.js";
import { limitArguments } from "../pool/argument-limits.js";
import type { Message } from "../pool/message.js";
import { requireArguments, requireDuration, requireFunction, requireKnown } from "../pool/pool-error.js";
import type { ForwardOptions, WorkerBridgeOptions } from "./bridge-options.js";
import { requireCopyable, requireMovable } from "./copyable.js";
import { type BridgePort, FrameLink } from "./frame-link.js";
import { RemoteError, textsOf } from "./remote-error.js";

/** Has no number in its frame: both sides count the calls in the order of their frames. */
const CALL = 0;
const REPLY = 1;
const FAILURE = 2;
const ABORT = 3;
/** This side makes no more calls, except those of handlers that serve one. */
const CLOSE = 5;
/** This side's calls without a reply have failed. */
const CUT = 7;
const CLOSED = "the bridge is closed";
/** Frames that may wait for room in the ring, before calls are refused. */
const MOST_UNSENT = 1_024;

/** The call of the other side that code works for, by its asynchronous context. */
interface Origin {
  readonly bridge: object;
  readonly call: number;
  /** Of the call over another bridge that this one came back to. */
  readonly outer: Origin | undefined;
}
const origins = new AsyncLocalStorage<Origin>();

/** Path, body, meta, traceparent, and the call of the other side that it belongs to. */
type Served = [string, unknown, unknown, string | undefined, number | undefined];

interface Pending {
  readonly path: string;
  /** Of the handler that waits: what comes back for this call belongs to it. */
  readonly scope: Scope | undefined;
  /** Made while the bridge closed, for a call of the other side. */
  readonly late: boolean;
  resolve(reply: unknown): void;
  reject(error: unknown): void;
  done(): void;
}

/**
 * Joins the message systems of two threads: a route of one may live in the other. Bodies, meta and replies are data, which is copied, or
 * moved; traces and aborts come across. What the other side sends for a call of this side runs in
 * the context of that call, also while this side's system closes. When the other thread ends, pending and later calls reject at
 * once. `close` lets both sides finish what they have started.
 *
 * Threads: one end on each, over two rings in shared memory; the receiving side sleeps in Atomics.waitAsync and is only
 *          notified when it does.
 * Memory:  the rings; a pending reply a call.
 */
export class WorkerBridge<Routes extends RouteMap<Routes>> {
  /** What `new Worker` is given as `workerData`. */
  readonly port: BridgePort;
  /** What `new Worker` is given as `transferList`. */
  readonly transferList: MessagePort[];
  readonly #link: FrameLink;
  readonly #look = (): void => this.#link.look();
  readonly #pending = new Map<number, Pending>();
  readonly #running = new Map<number, AbortController>();
  #calls = 0;
  /** The newest call of the other side that has come. */
  #served = 0;
  /** Calls that the other side gave up before they came. */
  readonly #withdrawn = new Set<number>();
  /** So are all that have not come. */
  #cut = false;
  /** This side makes no new calls; the other one neither. */
  #closing = false;
  #otherCloses = false;
  #ended: string | undefined;
  /** Nothing was cut off by the end. */
  #complete = false;
  /** Calls of the other side whose handlers are on the stack. */
  #serving = 0;

  /** Without `port` it makes the rings; `port` of that end is what the other thread is given. */
  constructor(
    private readonly system: MessageSystem<Routes>,
    port?: BridgePort,
    options: WorkerBridgeOptions = {},
  ) {
    requireArguments("new WorkerBridge", arguments.length, 3);
    requireKnown("bridge options", options, ["ringBytes"]);
    this.#link = new FrameLink(port, options.ringBytes ?? 65_536, {
      arrived: (frame) => this.#handle(frame as [number, number, ...unknown[]]),
      flushed: () => this.#endIfDrained(),
      otherSideEnded: () => this.#otherSideEnded(),
    });
    this.system._looks.add(this.#look);
    this.port = this.#link.port;
    this.transferList = this.#link.transferList;
  }

  /** Messages that `template` matches are handled by the system of the other thread. Returns the undo. */
  forward<Template extends keyof Routes & string>(template: Template, options: ForwardOptions = {}): () => void {
    requireKnown("forward options", options, ["signal", "transfer"]);
    const { signal, transfer } = options;
    if (transfer !== undefined) requireFunction("transfer", transfer);
    const call = (message: Message): Promise<unknown> => this.#call(message, transfer?.(message) ?? []);
    const entry = {
      full: () => this.#full && !this.#closing,
      errorOf: () => new QueueFullError(template, MOST_UNSENT),
    };
    return this.system._forward(template, call, entry, signal);
  }

  get #full(): boolean {
    return this.#ended === undefined && this.#link.unsent >= MOST_UNSENT;
  }

  /**
   * Both sides refuse new calls, except those of handlers that serve a call of the other side; what is on its way is answered,
   * and then the bridge ends. Gives true, or false when something was cut off: by the other thread's end, or after `timeoutMs`,
   * 30,000 by default, when calls without a reply fail on both sides. Inside a handler that serves the other side it stops new
   * calls and returns; the promise that it gives there rejects with CloseInHandlerError when it is awaited.
   */
  close(timeoutMs = 30_000): Promise<boolean> {
    requireDuration("timeoutMs", timeoutMs);
    this.#stopCalls();
    // From a worker that has not come up nothing is on its way.
    const alone = this.#ended === undefined && this.#pending.size === 0 && !this.#link.joined;
    if (alone) this.#complete = true;
    if (alone || timeoutMs === 0) this.#end(CLOSED);
    const late = (): void => this.#end(CLOSED);
    const limited = this.#ended === undefined && timeoutMs !== Number.POSITIVE_INFINITY;
    const alarm = limited ? setTimeout(late, timeoutMs) : undefined;
    const closed = this.#link.over.then(() => {
      clearTimeout(alarm);
      return this.#complete;
    });
    if (this.#ended !== undefined || (this.#serving === 0 && this.#servedCall() === undefined)) {
      return closed;
    }
    const refused = Promise.reject<boolean>(new CloseInHandlerError("bridge"));
    refused.catch(() => {});
    return refused;
  }

  #stopCalls(): void {
    if (this.#closing) return;
    this.#closing = true;
    this.#link.send([CLOSE, 0], [], "");
  }

  /** All calls that either side made before it closed have come, in order, and have their replies. */
  #endIfDrained(): void {
    if (this.#ended !== undefined || !this.#closing || !this.#otherCloses) return;
    if (this.#pending.size + this.#running.size + this.#link.unsent > 0) return;
    this.#complete = !this.#cut;
    this.#end(CLOSED);
  }

  #otherSideEnded(): void {
    // It ends when it waits for nothing: late calls that it has not served are for calls that it has given up.
    const late = [...this.#pending.values()].every((pending) => pending.late);
    this.#complete = !this.#cut && this.#running.size === 0 && late;
    this.#end("the other side of the bridge has ended");
  }

  #end(why: string): void {
    if (this.#ended !== undefined) return;
    this.#ended = why;
    this.system._looks.delete(this.#look);
    if (this.#pending.size > 0) this.#link.sendAhead([CUT, 0]);
    this.#link.end();
    for (const { path, reject, done } of [...this.#pending.values()]) {
      done();
      reject(new RemoteError(why, path));
    }
    this.#pending.clear();
    for (const running of this.#running.values()) running.abort(new RemoteError(why, ""));
  }

  #call(message: Message, transfer: unknown): Promise<unknown> {
    const { path, body, meta, traceparent, signal } = message;
    const served = this.#servedCall();
    // At first, and when all is copied: accessors may do anything, as middleware and `transfer` may.
    const check = (): void => {
      const over = this.#ended ?? (this.#closing && !this.#mayStillCall(served) ? CLOSED : undefined);
      if (over !== undefined) throw new RemoteError(over, path);
      if (this.#full) throw new QueueFullError(path, MOST_UNSENT);
      if (signal?.aborted === true) throw signal.reason;
    };
    return new Promise((resolve, reject) => {
      check();
      requireMovable(path, transfer);
      requireCopyable(`body of ${path}`, body, transfer);
      requireCopyable(`meta of ${path}`, meta, transfer);
      this.#link.send([CALL, 0, path, body, meta, traceparent, served], transfer, path, check);
      // Not before: accessors may have sent calls, whose frames are in front.
      this.#calls = (this.#calls + 1) | 0;
      const call = this.#calls;
      const abort = (): void => {
        this.#pending.delete(call);
        this.#link.sendAhead([ABORT, call]);
        reject(signal!.reason);
        this.#endIfDrained();
      };
      const done = (): void => unwatchSignal(signal, abort);
      if (signal !== undefined) watchSignal(signal, abort);
      const scope = this.system._marks ? captureScope() : undefined;
      this.#pending.set(call, { path, scope, late: this.#closing, resolve, reject, done });
    });
  }

  /** The call of the other side that a handler of this side runs for. */
  #servedCall(): number | undefined {
    for (let origin = origins.getStore(); origin !== undefined; origin = origin.outer) {
      if (origin.bridge === this && this.#running.has(origin.call)) return origin.call;
    }
    return undefined;
  }

  /** True for handlers that serve the other side, and for all while it is not known which calls are theirs. */
  #mayStillCall(served: number | undefined): boolean {
    return this.system._marks ? served !== undefined : this.#running.size > 0;
  }

  #handle([kind, call, ...rest]: [number, number, ...unknown[]]): void {
    if (kind === CALL) {
      this.#served = (this.#served + 1) | 0;
      if (!this.#withdrawn.delete(this.#served) && !this.#cut) this.#serve(this.#served, rest as Served);
    } else if (kind === ABORT) this.#withdraw(call);
    else if (kind === CUT) {
      this.#cut = true;
      for (const one of [...this.#running.keys()]) this.#withdraw(one);
    } else if (kind === CLOSE) {
      this.#otherCloses = true;
      this.#stopCalls();
    } else {
      const pending = this.#pending.get(call);
      this.#pending.delete(call);
      pending?.done();
      if (kind === REPLY) pending?.resolve(rest[0]);
      else pending?.reject(new RemoteError(String(rest[0]), pending.path, { cause: rest[1] }));
    }
    this.#endIfDrained();
  }

  /** The other side no longer waits for a call. */
  #withdraw(call: number): void {
    const running = this.#running.get(call);
    this.#running.delete(call);
    if (((call - this.#served) | 0) > 0) this.#withdrawn.add(call);
    running?.abort(new RemoteError("the sender no longer waits", ""));
  }

  #serve(call: number, [path, body, meta, traceparent, parent]: Served): void {
    const controller = new AbortController();
    this.#running.set(call, controller);
    const options = { meta, signal: controller.signal, ...(traceparent === undefined ? {} : { traceparent }) };
    const send = (): unknown => {
      this.#serving++;
      try {
        return this.system.send(path as never, body as never, options);
      } finally {
        this.#serving--;
      }
    };
    // What belongs to a call of this side that has no reply yet is part of its handler's work.
    const scope = parent === undefined ? undefined : this.#pending.get(parent)?.scope;
    new Promise((resolve) => {
      const serve = (outer: Origin | undefined): void => resolve(origins.run({ bridge: this, call, outer }, send));
      if (!this.system._marks) resolve(send());
      else if (scope === undefined) serve(undefined);
      else scope.runInAsyncScope(() => serve(origins.getStore()), undefined, undefined);
    })
      .then((reply) => {
        requireCopyable(`reply of ${path}`, reply, []);
        this.#answer(call, path, [REPLY, call, reply]);
      })
      .catch((error: unknown) => {
        this.#answer(call, path, [FAILURE, call, ...textsOf(error)]);
      });
  }

  /** Nothing is sent for a call that the other side no longer waits for. */
  #answer(call: number, path: string, frame: unknown[]): void {
    if (!this.#running.has(call)) return;
    this.#link.send(frame, [], path);
    this.#running.delete(call);
    this.#endIfDrained();
  }
}

limitArguments(WorkerBridge.prototype, { forward: 2, close: 1 });
