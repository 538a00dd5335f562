import { deserialize, serialize } from "node:v8";
import { BusError, QueueFullError } from "../bus/bus-error.js";
import { FrameRing } from "./frame-ring.js";
import type { MessageSystem } from "../bus/message-system.js";
import type { RouteMap } from "../bus/path-types.js";

const CALL = 0;
const REPLY = 1;
const FAILURE = 2;
/** Frames that one turn of the event loop handles. */
const TURN = 256;
/** How long a side sleeps before it looks whether it was closed. */
const NAP_MS = 1_000;

/** What the other thread needs to build its end: pass it as `workerData`. */
export interface BridgePort {
  readonly send: SharedArrayBuffer;
  readonly receive: SharedArrayBuffer;
}

export interface WorkerBridgeOptions {
  /** Bytes of each direction's ring, 65,536 unless said otherwise; rounded up to a power of two. */
  readonly ringBytes?: number;
}

/** The handler on the other side failed. Its message, and its stack as `cause`, come across; its class does not. */
export class RemoteError extends BusError {
  readonly code = "BUS_REMOTE";
  override readonly name = "RemoteError";
}

interface Pending {
  readonly path: string;
  resolve(reply: unknown): void;
  reject(error: unknown): void;
}

/**
 * Joins the message systems of two threads: a route of one may live in the other. Bodies and replies are copied by the
 * structured clone of `node:v8`.
 *
 * Threads: one end on each, over two rings in shared memory; the receiving side sleeps in Atomics.waitAsync and is only
 *          notified when it does.
 * Memory:  the rings; a pending reply a call.
 */
export class WorkerBridge<Routes extends RouteMap<Routes>> {
  readonly #out: FrameRing;
  readonly #in: FrameRing;
  readonly #pending = new Map<number, Pending>();
  readonly #unsent: (() => boolean)[] = [];
  #calls = 0;
  #closed = false;
  readonly #loop: Promise<void>;

  /** Without `port` it makes the rings; `port` of that end is what the other thread is given. */
  constructor(
    private readonly system: MessageSystem<Routes>,
    port?: BridgePort,
    options: WorkerBridgeOptions = {},
  ) {
    const bytes = options.ringBytes ?? 65_536;
    this.#out = port === undefined ? FrameRing.create(bytes) : new FrameRing(port.receive);
    this.#in = port === undefined ? FrameRing.create(bytes) : new FrameRing(port.send);
    this.#loop = this.#run();
  }

  get port(): BridgePort {
    return { send: this.#out.buffer, receive: this.#in.buffer };
  }

  /** Messages that `template` matches are handled by the system of the other thread. Returns the undo. */
  forward<Template extends keyof Routes & string>(template: Template): () => void {
    return this.system.on(template, (message) => this.#call(message.path, message.body) as never);
  }

  /** Ends this side. Calls without a reply fail; the other side's calls to it find no answer. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#in.wake();
    await this.#loop;
    for (const { path, reject } of this.#pending.values()) reject(new RemoteError("the bridge was closed", path));
    this.#pending.clear();
  }

  #call(path: string, body: unknown): Promise<unknown> {
    if (this.#closed) return Promise.reject(new RemoteError("the bridge is closed", path));
    this.#calls = (this.#calls + 1) | 0;
    const call = this.#calls;
    const frame = serialize([CALL, call, path, body]);
    if (!this.#out.tryPush(frame)) return Promise.reject(new QueueFullError(path, this.#out.longest));
    return new Promise((resolve, reject) => this.#pending.set(call, { path, resolve, reject }));
  }

  async #run(): Promise<void> {
    // Handlers that are registered in the turn that made this end are there before the first call.
    await new Promise<void>((resolve) => setImmediate(resolve));
    while (!this.#closed) {
      this.#resend();
      const handled = this.#in.poll((frame) => this.#handle(deserialize(frame)), TURN);
      if (handled > 0) await new Promise<void>((resolve) => setImmediate(resolve));
      else if (this.#unsent.length > 0) await new Promise<void>((resolve) => setTimeout(resolve, 1));
      else await this.#in.waitAsync(NAP_MS);
    }
  }

  #handle(frame: unknown): void {
    const [kind, call, ...rest] = frame as [number, number, ...unknown[]];
    if (kind === CALL) {
      const [path, body] = rest as [string, unknown];
      new Promise((resolve) => resolve(this.system.send(path as never, body as never))).then(
        (reply) => this.#answer(() => serialize([REPLY, call, reply]), call),
        (error) => this.#fail(call, error),
      );
      return;
    }
    const pending = this.#pending.get(call);
    this.#pending.delete(call);
    if (kind === REPLY) pending?.resolve(rest[0]);
    else pending?.reject(new RemoteError(String(rest[0]), pending.path, { cause: rest[1] }));
  }

  #fail(call: number, error: unknown): void {
    const [text, stack] = error instanceof Error ? [error.message, error.stack] : [String(error), undefined];
    this.#answer(() => serialize([FAILURE, call, text, stack]), call);
  }

  /** A reply is never lost: one that finds no room waits for it. */
  #answer(make: () => Uint8Array, call: number): void {
    let frame: Uint8Array;
    try {
      frame = make();
      if (frame.length > this.#out.longest)
        throw new Error(`a reply of ${frame.length} bytes: the ring takes ${this.#out.longest}`);
    } catch (error) {
      this.#fail(call, error);
      return;
    }
    if (this.#unsent.length > 0 || !this.#out.tryPush(frame)) {
      this.#unsent.push(() => this.#out.tryPush(frame));
      this.#in.wake();
    }
  }

  #resend(): void {
    let sent = 0;
    while (sent < this.#unsent.length && this.#unsent[sent]!()) sent++;
    this.#unsent.splice(0, sent);
  }
}
