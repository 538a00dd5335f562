import { isMainThread, type MessagePort } from "node:worker_threads";
import { CloseInHandlerError, QueueFullError } from "../bus/bus-error.js";
import type { MessageSystem } from "../bus/message-system.js";
import type { RouteMap } from "../bus/path-types.js";
import { captureScope, markOf, runIsolated, runMarked, type Scope } from "../bus/platform.js";
import { unwatchSignal, watchSignal } from "../bus/signals.js";
import { limitArguments } from "../pool/argument-limits.js";
import type { Message } from "../pool/message.js";
import * as check from "../pool/checks.js";
import { requireCopyable, requireMovable } from "./copyable.js";
import { type BridgePort, FrameLink, requirePort } from "./frame-link.js";
import type { Transfer } from "./frame-value.js";
import { RemoteError, textsOf } from "./remote-error.js";

export interface WorkerBridgeOptions {
  /** Bytes of each direction's ring, 65,536 by default; rounded up to a power of two. Longer frames use a message port. */
  readonly ringBytes?: number;
}

export interface ForwardOptions {
  /** Ends the registration when it is aborted. */
  readonly signal?: AbortSignal;
  /** Returns the array buffers and message ports of a message that are moved to the other thread instead of copied. */
  readonly transfer?: (message: Message) => Transfer;
}

/** A call. Both sides number calls by the order of their frames. */
const CALL = 0;
const REPLY = 1;
const FAILURE = 2;
const ABORT = 3;
/** The sender makes no more calls, except in handlers that serve one. */
const CLOSE = 5;
/** The sender's calls without a reply have failed. */
const CUT = 7;
const BRIDGE_OPTIONS = { ringBytes: check.integerFrom(1_024, 2 ** 28) };
const FORWARD_OPTIONS = { signal: check.signal, transfer: check.callable };
const CLOSED = "the bridge is closed";
/** Number of frames waiting for space in the ring from which calls are refused. */
const MAX_UNSENT = 1_024;

/** The call of the other side that a handler serves: the bridge's mark of its asynchronous context. */
interface Origin {
  readonly call: number;
  /** The served call whose handler made the call that led to this one. */
  readonly outer: Origin | undefined;
}

/** Path, body, meta, traceparent, and the call of this side for which the other side makes it. */
type Served = [string, unknown, unknown, string | undefined, number | undefined];

interface Pending {
  readonly path: string;
  /** The caller's context, in which calls that the other side makes for this one run. */
  readonly scope: Scope | undefined;
  /** Made while the bridge closes, for a call of the other side. */
  readonly late: boolean;
  resolve(reply: unknown): void;
  reject(error: unknown): void;
  done(): void;
}

/**
 * Connects the message systems of two threads: handlers of one system's routes may be in the other thread. Bodies, meta and
 * replies are copied or moved; traces and aborts are passed on. A message that the other side sends for a call of this side runs in
 * the context of that call, even while this side's system closes. When the other thread ends, pending and later calls reject.
 * `close` lets both sides finish the calls that they have started.
 *
 * Threads: one end on each, over two rings in shared memory; the receiving side sleeps in Atomics.waitAsync and is notified only
 *          while it sleeps.
 * Memory:  the rings, and an object per pending call.
 */
export class WorkerBridge<Routes extends RouteMap<Routes>> {
  /** The `workerData` for `new Worker`. */
  readonly port: BridgePort;
  /** The `transferList` for `new Worker`. */
  readonly transferList: MessagePort[];
  readonly #link: FrameLink;
  /** The context that made this end, for calls that belong to no call of this side. */
  readonly #scope: Scope | undefined;
  readonly #checkAborts = (): void => this.#link.receiveAhead();
  readonly #pending = new Map<number, Pending>();
  readonly #running = new Map<number, AbortController>();
  #calls = 0;
  /** Number of the other side's newest call. */
  #received = 0;
  /** Calls that the other side aborted before they arrived. */
  readonly #withdrawn = new Set<number>();
  /** All calls that have not arrived are aborted. */
  #cut = false;
  /** Whether this side, and the other side, makes no new calls. */
  #closing = false;
  #otherCloses = false;
  /** The reason of the end. */
  #ended: string | undefined;
  /** Keeps the thread alive while the bridge is open, not only while calls are in flight. */
  #keepsAlive: boolean;
  /** Whether the end cut off no call. */
  #complete = false;
  /** Calls of the other side whose handlers are on the stack. */
  #serving = 0;

  /** port: the `port` of the other end; without it, this end makes the rings. */
  constructor(
    private readonly system: MessageSystem<Routes>,
    port?: BridgePort,
    options: WorkerBridgeOptions = {},
  ) {
    check.argumentCount("new WorkerBridge", arguments.length, 3);
    check.options("bridge options", options, BRIDGE_OPTIONS);
    if (typeof (system as { _abortChecks?: unknown } | null)?._abortChecks !== "object") {
      throw new check.SettingError("system", system, "a MessageSystem");
    }
    if (port !== undefined) requirePort(port);
    this.#link = new FrameLink(port, options.ringBytes ?? 65_536, {
      arrived: (frame) => this.#handle(frame as [number, number, ...unknown[]]),
      flushed: () => this.#update(),
      otherSideEnded: () => this.#otherSideEnded(),
    });
    // A worker whose only work is to serve calls must not end at once.
    this.#keepsAlive = !isMainThread;
    this.#scope = system._marks ? captureScope() : undefined;
    this.system._abortChecks.add(this.#checkAborts);
    this.port = this.#link.port;
    this.transferList = this.#link.transferList;
    this.#update();
  }

  /**
   * From now on this end keeps its thread alive only while calls are in flight in either direction, or the bridge closes. This is
   * the default in the main thread; in a worker, an end keeps the thread alive while the bridge is open.
   */
  unref(): this {
    this.#keepsAlive = false;
    this.#update();
    return this;
  }

  /** Forwards the messages that `template` matches to the system of the other thread. Returns the undo. */
  forward<Template extends keyof Routes & string>(template: Template, options: ForwardOptions = {}): () => void {
    check.options("forward options", options, FORWARD_OPTIONS);
    const { signal, transfer } = options;
    const call = (message: Message): Promise<unknown> => this.#call(message, transfer);
    const entry = {
      full: () => this.#full && !this.#closing,
      errorOf: () => new QueueFullError(template, MAX_UNSENT),
    };
    return this.system._forward(template, call, entry, signal);
  }

  get #full(): boolean {
    return this.#ended === undefined && this.#link.unsent >= MAX_UNSENT;
  }

  /**
   * Both sides refuse new calls, except those of handlers that serve a call of the other side. When all pending calls have their
   * replies, the bridge ends. Resolves to false if calls were cut off: by the end of the other thread, or after `timeoutMs` (30,000
   * by default), when calls without a reply fail on both sides. Inside a handler that serves the other side it stops new calls and
   * returns; the promise that it returns there rejects with CloseInHandlerError.
   */
  close(timeoutMs = 30_000): Promise<boolean> {
    check.duration("timeoutMs", timeoutMs);
    this.#stopCalls();
    // A worker that has not joined has no calls in flight.
    const alone = this.#ended === undefined && this.#pending.size === 0 && !this.#link.joined;
    if (alone) this.#complete = true;
    if (alone || timeoutMs === 0) this.#end(CLOSED);
    const timedOut = (): void => this.#end(CLOSED);
    const limited = this.#ended === undefined && timeoutMs !== Number.POSITIVE_INFINITY;
    const alarm = limited ? setTimeout(timedOut, timeoutMs) : undefined;
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
    this.#update();
  }

  /** Called when calls begin or end: keeps the thread alive while there are some, and ends a closing bridge after the last. */
  #update(): void {
    if (this.#ended !== undefined) return;
    const inFlight = this.#pending.size + this.#running.size + this.#link.unsent;
    this.#link.keepAlive(this.#keepsAlive || this.#closing || inFlight > 0);
    if (!this.#closing || !this.#otherCloses || inFlight > 0) return;
    this.#complete = !this.#cut;
    this.#end(CLOSED);
  }

  #otherSideEnded(): void {
    // The other side ends when it has no pending calls. Late calls that it did not serve were for calls that it has aborted.
    const late = [...this.#pending.values()].every((pending) => pending.late);
    this.#complete = !this.#cut && this.#running.size === 0 && late;
    this.#end("the other side of the bridge has ended");
  }

  #end(why: string): void {
    if (this.#ended !== undefined) return;
    this.#ended = why;
    this.system._abortChecks.delete(this.#checkAborts);
    if (this.#pending.size > 0) this.#link.sendAhead([CUT, 0]);
    this.#link.end();
    for (const { path, reject, done } of [...this.#pending.values()]) {
      done();
      reject(new RemoteError(why, path));
    }
    this.#pending.clear();
    for (const running of this.#running.values()) running.abort(new RemoteError(why, ""));
  }

  #call(message: Message, transfer: ForwardOptions["transfer"]): Promise<unknown> {
    const { path, signal } = message;
    const served = this.#servedCall();
    // Called before and after the copy: accessors, middleware and `transfer` may close or fill the bridge.
    const check = (): void => {
      const over = this.#ended ?? (this.#closing && !this.#mayStillCall(served) ? CLOSED : undefined);
      if (over !== undefined) throw new RemoteError(over, path);
      if (this.#full) throw new QueueFullError(path, MAX_UNSENT);
      if (signal?.aborted === true) throw signal.reason;
    };
    return new Promise((resolve, reject) => {
      const moved: unknown = transfer?.(message) ?? [];
      const { body, meta, traceparent } = message;
      check();
      requireMovable(path, moved);
      requireCopyable(`body of ${path}`, body, moved);
      requireCopyable(`meta of ${path}`, meta, moved);
      this.#link.send([CALL, 0, path, body, meta, traceparent, served], moved, path, check);
      // After the send: accessors may have sent other calls, whose frames are first.
      this.#calls = (this.#calls + 1) | 0;
      const call = this.#calls;
      const abort = (): void => {
        this.#pending.delete(call);
        this.#link.sendAhead([ABORT, call]);
        reject(signal!.reason);
        this.#update();
      };
      const done = (): void => unwatchSignal(signal, abort);
      if (signal !== undefined) watchSignal(signal, abort);
      const scope = this.system._marks ? captureScope() : undefined;
      this.#pending.set(call, { path, scope, late: this.#closing, resolve, reject, done });
      this.#update();
    });
  }

  /** The call of the other side that the current handler serves. */
  #servedCall(): number | undefined {
    return this.#origin()?.call;
  }

  #origin(): Origin | undefined {
    let origin = markOf(this) as Origin | undefined;
    while (origin !== undefined && !this.#running.has(origin.call)) origin = origin.outer;
    return origin;
  }

  /** Whether a closing bridge accepts the call: of a handler that serves the other side, or of any caller if those are unknown. */
  #mayStillCall(served: number | undefined): boolean {
    return this.system._marks ? served !== undefined : this.#running.size > 0;
  }

  #handle([kind, call, ...rest]: [number, number, ...unknown[]]): void {
    if (kind === CALL) {
      this.#received = (this.#received + 1) | 0;
      if (!this.#withdrawn.delete(this.#received) && !this.#cut) this.#serve(this.#received, rest as Served);
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
    this.#update();
  }

  /** Aborts a call for which the other side no longer waits. */
  #withdraw(call: number): void {
    const running = this.#running.get(call);
    this.#running.delete(call);
    if (((call - this.#received) | 0) > 0) this.#withdrawn.add(call);
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
    // A call for a pending call of this side runs in the context of that one.
    const scope = (parent === undefined ? undefined : this.#pending.get(parent)?.scope) ?? this.#scope;
    const serve = (): unknown => runMarked(this, { call, outer: this.#origin() } satisfies Origin, send, undefined);
    new Promise((resolve) => resolve(scope === undefined ? send() : runIsolated(scope, serve, undefined)))
      .then((reply) => {
        requireCopyable(`reply of ${path}`, reply, []);
        this.#answer(call, path, [REPLY, call, reply]);
      })
      .catch((error: unknown) => {
        this.#answer(call, path, [FAILURE, call, ...textsOf(error)]);
      });
  }

  /** Sends the reply, unless the other side no longer waits for it. */
  #answer(call: number, path: string, frame: unknown[]): void {
    if (!this.#running.has(call)) return;
    this.#link.send(frame, [], path);
    this.#running.delete(call);
    this.#update();
  }
}

limitArguments(WorkerBridge.prototype, { forward: 2, close: 1, unref: 0 });
