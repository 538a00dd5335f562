import { serialize } from "node:v8";
import { MessageChannel, type MessagePort, receiveMessageOnPort } from "node:worker_threads";
import { Deque } from "../pool/deque.js";
import { FrameRing } from "./frame-ring.js";
import { valueOf } from "./frame-value.js";

/** Alone in its frame: the frame lies in the port. It is too long for the ring, or has something to transfer. */
const BY_PORT = 4;
/** Frames that one turn of the event loop handles. */
const TURN = 256;
/** How long a side sleeps before it looks whether it was closed. */
const NAP_MS = 1_000;

/** What the other thread needs to build its end: pass it as `workerData`, and `transferList` too. */
export interface BridgePort {
  readonly send: SharedArrayBuffer;
  readonly receive: SharedArrayBuffer;
  readonly control: MessagePort;
}

/** What is moved to the other thread instead of copied. */
export type Transfer = readonly (ArrayBuffer | MessagePort)[];

/** @internal What a link calls. */
export interface LinkUser {
  arrived(frame: unknown[]): void;
  /** All that was sent is in the ring. */
  flushed(): void;
  /** Everything that the other side sent has arrived. */
  otherSideEnded(): void;
}

/**
 * Frames between two threads, each way in order: through a ring, and long ones through a port.
 *
 * Threads: one end on each; the receiving side sleeps in Atomics.waitAsync and is only notified when it does.
 * Memory:  the rings, and the frames that wait for room in one.
 *
 * @internal
 */
export class FrameLink {
  readonly port: BridgePort;
  readonly transferList: MessagePort[];
  /** Settles when this side has ended and its loop is left. */
  readonly over: Promise<void>;
  readonly #out: FrameRing;
  readonly #in: FrameRing;
  readonly #control: MessagePort;
  readonly #unsent = new Deque<Uint8Array>();
  readonly #fromPort = new Deque<unknown[]>();
  #portClosed = false;
  #ended = false;

  constructor(
    port: BridgePort | undefined,
    bytes: number,
    private readonly user: LinkUser,
  ) {
    this.#out = port === undefined ? FrameRing.create(bytes) : new FrameRing(port.receive);
    this.#in = port === undefined ? FrameRing.create(bytes) : new FrameRing(port.send);
    if (port !== undefined) for (const ring of [this.#in, this.#out]) ring.join();
    const { port1, port2 } = new MessageChannel();
    this.#control = port?.control ?? port1;
    this.port = { send: this.#out.buffer, receive: this.#in.buffer, control: port2 };
    this.transferList = [port2];
    // Also read without a mark in the ring, which an end of the other thread may prevent: its end comes behind its frames.
    this.#control.on("message", (frame: unknown[]) => this.#fromPort.push(frame));
    this.#control.on("close", () => this.#otherSideEnded());
    this.#control.unref();
    this.over = this.#run();
  }

  /** The other thread has made its end of the link that this side began. */
  get joined(): boolean {
    return this.#out.joined;
  }

  /** Frames that wait for room in the ring. */
  get unsent(): number {
    return this.#unsent.length;
  }

  /** Throws if it cannot be cloned. A frame that does not fit waits for room; all frames stay in order. */
  send(frame: unknown[], transfer: Transfer): void {
    if (this.#ended) return;
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

  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#control.close();
    this.#in.wake();
  }

  /** What the other side sent before it ended is still in the ring, the reply to our last call too. */
  #otherSideEnded(): void {
    this.#portClosed = true;
    while (!this.#ended && this.#poll() > 0);
    if (!this.#ended) this.user.otherSideEnded();
  }

  #poll(): number {
    return this.#in.poll((bytes) => {
      if (this.#ended) return;
      const frame = valueOf(bytes) as unknown[];
      const whole = frame[0] === BY_PORT ? this.#takeFromPort() : frame;
      if (whole !== undefined) this.user.arrived(whole);
    }, TURN);
  }

  async #run(): Promise<void> {
    // Handlers that are registered in the turn that made this end are there before the first call.
    await new Promise<void>((resolve) => setImmediate(resolve));
    while (!this.#ended) {
      if (this.#unsent.length > 0) this.#flush();
      if (this.#poll() > 0) await new Promise<void>((resolve) => setImmediate(resolve));
      else if (this.#unsent.length > 0) await new Promise<void>((resolve) => setTimeout(resolve, 1));
      else await this.#in.waitAsync(NAP_MS);
    }
  }

  #flush(): void {
    while (this.#unsent.length > 0 && this.#out.tryPush(this.#unsent.peek()!)) this.#unsent.shift();
    if (this.#unsent.length === 0) this.user.flushed();
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
}
