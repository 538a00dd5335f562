import { AsyncLocalStorage } from "node:async_hooks";
import { serialize } from "node:v8";
import { MessageChannel, type MessagePort, receiveMessageOnPort } from "node:worker_threads";
import { BusError, QueueFullError } from "../bus/bus-error.js";
import type { MessageSystem } from "../bus/message-system.js";
import type { RouteMap } from "../bus/path-types.js";
import { captureScope, type Scope } from "../bus/platform.js";
import { unwatchSignal, watchSignal } from "../bus/signals.js";
import { Deque } from "../pool/deque.js";
import type { Message } from "../pool/message.js";
import { requireKnown } from "../pool/pool-error.js";
import { FrameRing } from "./frame-ring.js";
import { valueOf } from "./frame-value.js";

const CALL = 0;
const REPLY = 1;
const FAILURE = 2;
const ABORT = 3;
/** The frame lies in the port: it is too long for the ring, or has something to transfer. */
const BY_PORT = 4;
/** Frames that one turn of the event loop handles. */
const TURN = 256;
/** How long a side sleeps before it looks whether it was closed. */
const NAP_MS = 1_000;
/** Frames that may wait for room in the ring, before calls are refused. */
const MOST_UNSENT = 1_024;

/** What the other thread needs to build its end: pass it as `workerData`, and `transferList` too. */
export interface BridgePort {
  readonly send: SharedArrayBuffer;
  readonly receive: SharedArrayBuffer;
  readonly control: MessagePort;
}

export interface WorkerBridgeOptions {
  /** Bytes of each direction's ring, 65,536 by default; rounded up to a power of two. Longer frames take another way. */
  readonly ringBytes?: number;
}

export interface ForwardOptions {
  /** What of a message is moved to the other thread instead of copied: array buffers, message ports. */
  readonly transfer?: (message: Message) => readonly (ArrayBuffer | MessagePort)[];
}

/** The handler on the other side failed, or the other side ended. Its message, and its stack as `cause`, come across; its class does not. */
export class RemoteError extends BusError {
  readonly code = "BUS_REMOTE";
  override readonly name = "RemoteError";
}

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
  resolve(reply: unknown): void;
  reject(error: unknown): void;
  done(): void;
}

/**
 * Joins the message systems of two threads: a route of one may live in the other. Bodies, meta and replies are copied by the
 * structured clone of `node:v8`, or moved; traces and aborts come across. What the other side sends for a call of this side runs in
 * the context of that call, also while this side's system closes. When the other thread ends, pending and later calls reject at
 * once.
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
  readonly #out: FrameRing;
  readonly #in: FrameRing;
  readonly #control: MessagePort;
  readonly #pending = new Map<number, Pending>();
  readonly #running = new Map<number, AbortController>();
  readonly #unsent = new Deque<Uint8Array>();
  readonly #fromPort = new Deque<unknown[]>();
  #portClosed = false;
  #calls = 0;
  #ended: string | undefined;
  readonly #loop: Promise<void>;

  /** Without `port` it makes the rings; `port` of that end is what the other thread is given. */
  constructor(
    private readonly system: MessageSystem<Routes>,
    port?: BridgePort,
    options: WorkerBridgeOptions = {},
  ) {
    requireKnown("bridge options", options, ["ringBytes"]);
    const bytes = options.ringBytes ?? 65_536;
    this.#out = port === undefined ? FrameRing.create(bytes) : new FrameRing(port.receive);
    this.#in = port === undefined ? FrameRing.create(bytes) : new FrameRing(port.send);
    const { port1, port2 } = new MessageChannel();
    this.#control = port?.control ?? port1;
    this.port = { send: this.#out.buffer, receive: this.#in.buffer, control: port2 };
    this.transferList = [port2];
    // Also read without a mark in the ring, which an end of the other thread may prevent: its end comes behind its frames.
    this.#control.on("message", (frame: unknown[]) => this.#fromPort.push(frame));
    this.#control.on("close", () => this.#otherSideEnded());
    this.#control.unref();
    this.#loop = this.#run();
  }

  /** Messages that `template` matches are handled by the system of the other thread. Returns the undo. */
  forward<Template extends keyof Routes & string>(template: Template, options: ForwardOptions = {}): () => void {
    requireKnown("forward options", options, ["transfer"]);
    return this.system.on(template, ((message: Message) =>
      this.#call(message, options.transfer?.(message) ?? [])) as never);
  }

  /** Ends this side. Calls without a reply fail, on both sides. */
  async close(): Promise<void> {
    this.#end("the bridge is closed");
    await this.#loop;
  }

  /** What the other side sent before it ended is still in the ring, the reply to our last call too. */
  #otherSideEnded(): void {
    this.#portClosed = true;
    while (this.#ended === undefined && this.#poll() > 0);
    this.#end("the other side of the bridge has ended");
  }

  #poll(): number {
    return this.#in.poll((frame) => this.#handle(valueOf(frame) as unknown[]), TURN);
  }

  #end(why: string): void {
    if (this.#ended !== undefined) return;
    this.#ended = why;
    this.#control.close();
    this.#in.wake();
    for (const { path, reject, done } of [...this.#pending.values()]) {
      done();
      reject(new RemoteError(why, path));
    }
    this.#pending.clear();
    for (const running of this.#running.values()) running.abort(new RemoteError(why, ""));
  }

  #call(message: Message, transfer: readonly (ArrayBuffer | MessagePort)[]): Promise<unknown> {
    const { path, body, meta, traceparent, signal } = message;
    if (this.#ended !== undefined) return Promise.reject(new RemoteError(this.#ended, path));
    if (this.#unsent.length >= MOST_UNSENT) return Promise.reject(new QueueFullError(path, MOST_UNSENT));
    this.#calls = (this.#calls + 1) | 0;
    const call = this.#calls;
    return new Promise((resolve, reject) => {
      this.#send([CALL, call, path, body, meta, traceparent, this.#servedCall()], transfer);
      const abort = (): void => {
        this.#pending.delete(call);
        this.#send([ABORT, call], []);
        reject(signal!.reason);
      };
      const done = (): void => unwatchSignal(signal, abort);
      if (signal !== undefined) watchSignal(signal, abort);
      const scope = this.system._marks ? captureScope() : undefined;
      this.#pending.set(call, { path, scope, resolve, reject, done });
    });
  }

  /** The call of the other side that a handler of this side sends for. */
  #servedCall(): number | undefined {
    for (let origin = origins.getStore(); origin !== undefined; origin = origin.outer) {
      if (origin.bridge === this) return origin.call;
    }
    return undefined;
  }

  /** Throws what cannot be cloned. A frame that finds no room waits for it; all frames stay in order. */
  #send(frame: unknown[], transfer: readonly (ArrayBuffer | MessagePort)[]): void {
    if (this.#ended !== undefined) return;
    let bytes = transfer.length > 0 ? undefined : serialize(frame);
    if (bytes === undefined || bytes.length > this.#out.longest) {
      // First the port: who finds the mark in the ring finds the frame in the port.
      this.#control.postMessage(frame, transfer as never);
      bytes = serialize([BY_PORT]);
    }
    if (this.#unsent.length > 0 || !this.#out.tryPush(bytes)) {
      this.#unsent.push(bytes);
      this.#in.wake();
    }
  }

  async #run(): Promise<void> {
    // Handlers that are registered in the turn that made this end are there before the first call.
    await new Promise<void>((resolve) => setImmediate(resolve));
    while (this.#ended === undefined) {
      while (this.#unsent.length > 0 && this.#out.tryPush(this.#unsent.peek()!)) this.#unsent.shift();
      if (this.#poll() > 0) await new Promise<void>((resolve) => setImmediate(resolve));
      else if (this.#unsent.length > 0) await new Promise<void>((resolve) => setTimeout(resolve, 1));
      else await this.#in.waitAsync(NAP_MS);
    }
  }

  #handle(given: unknown[]): void {
    if (this.#ended !== undefined) return;
    const frame = given[0] === BY_PORT ? this.#takeFromPort() : given;
    if (frame === undefined) return;
    const [kind, call, ...rest] = frame as [number, number, ...unknown[]];
    if (kind === CALL) this.#serve(call, rest as Served);
    else if (kind === ABORT) {
      this.#running.get(call)?.abort(new RemoteError("the sender no longer waits", ""));
    } else {
      const pending = this.#pending.get(call);
      this.#pending.delete(call);
      pending?.done();
      if (kind === REPLY) pending?.resolve(rest[0]);
      else pending?.reject(new RemoteError(String(rest[0]), pending.path, { cause: rest[1] }));
    }
  }

  /** The frame of the oldest mark: it is in the port before its mark is in the ring. */
  #takeFromPort(): unknown[] | undefined {
    // Node crashes when it is asked for a frame of a port that has just closed. All its frames have come by then.
    while (this.#fromPort.length === 0 && !this.#portClosed) {
      const got = receiveMessageOnPort(this.#control);
      if (got === undefined) break;
      this.#fromPort.push(got.message as unknown[]);
    }
    return this.#fromPort.shift();
  }

  #serve(call: number, [path, body, meta, traceparent, parent]: Served): void {
    const controller = new AbortController();
    this.#running.set(call, controller);
    const options = { meta, signal: controller.signal, ...(traceparent === undefined ? {} : { traceparent }) };
    const send = (): unknown => this.system.send(path as never, body as never, options);
    // What belongs to a call of this side that has no reply yet is part of its handler's work.
    const scope = parent === undefined ? undefined : this.#pending.get(parent)?.scope;
    new Promise((resolve) => {
      const serve = (outer: Origin | undefined): void => resolve(origins.run({ bridge: this, call, outer }, send));
      if (!this.system._marks) resolve(send());
      else if (scope === undefined) serve(undefined);
      else scope.runInAsyncScope(() => serve(origins.getStore()), undefined, undefined);
    })
      .then((reply) => this.#send([REPLY, call, reply], []))
      .catch((error: unknown) => {
        const [text, stack] = error instanceof Error ? [error.message, error.stack] : [String(error), undefined];
        this.#send([FAILURE, call, text, stack], []);
      })
      .finally(() => this.#running.delete(call))
      .catch(() => {});
  }
}
