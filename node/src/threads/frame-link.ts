import { MessageChannel, type MessagePort, receiveMessageOnPort } from "node:worker_threads";
import { Deque } from "../pool/deque.js";
import { FrameRing } from "./frame-ring.js";
import { isHeld, unmovable, unreadable } from "./copyable.js";
import { frameOf, type Transfer, valueOf } from "./frame-value.js";

/** Alone in its frame: the frame lies in the port. It is too long for the ring, or comes with what is moved. */
const BY_PORT = 4;
/** In the port only: the frame in it does not wait for those in the ring. */
const AHEAD = 6;
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

/** The bytes of a frame in the port, and what they refer to. */
type Posted = [typeof BY_PORT, Uint8Array, Transfer];

/** @internal What a link calls. */
export interface LinkUser {
  arrived(frame: unknown[]): void;
  /** All that was sent is in the ring. */
  flushed(): void;
  /** Everything that the other side sent has arrived. */
  otherSideEnded(): void;
}

/**
 * Frames between two threads, each way in order: through a ring, and long ones through a port. A frame that is sent ahead
 * overtakes all that the other thread has not taken yet.
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
  readonly #fromPort = new Deque<Posted>();
  #aheadSeen = 0;
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
    this.#control.on("message", (posted: unknown[]) => this.#takePosted(posted));
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

  /**
   * Throws SettingError if it cannot be copied or moved; `name` is what it is for. `check` is called when it has been copied, and
   * may throw. A frame that does not fit waits for room; all frames stay in order.
   */
  send(frame: unknown[], moved: Transfer, name: string, check?: () => void): void {
    if (this.#ended) return check?.();
    let bytes = this.#bytesOf(frame, moved, name);
    check?.();
    // User code may have been called.
    if (this.#ended) return;
    if (moved.length > 0 || bytes.length > this.#out.longest) {
      // First the port: who finds the mark in the ring finds the frame in the port.
      this.#post(bytes, moved, name);
      bytes = frameOf([BY_PORT], []);
    }
    if (this.#unsent.length > 0 || !this.#out.tryPush(bytes)) {
      this.#unsent.push(bytes);
      this.#in.wake();
    }
  }

  #bytesOf(frame: unknown[], moved: Transfer, name: string): Uint8Array<ArrayBuffer> {
    try {
      return frameOf(frame, moved);
    } catch (error) {
      throw unreadable(`message ${name}`, error);
    }
  }

  /** Moves all of `moved` or, where it throws, nothing. */
  #post(bytes: Uint8Array<ArrayBuffer>, moved: Transfer, name: string): void {
    // Its pool of small Buffers and others that Node does not let go are copied, as Node 20 does.
    const parts = moved.map((one) => (isHeld(one) ? (one as ArrayBuffer).slice() : one));
    try {
      this.#control.postMessage([BY_PORT, bytes, parts] satisfies Posted, [bytes.buffer, ...parts] as never);
    } catch (error) {
      throw unmovable(name, error);
    }
  }

  /** For what must not come too late: it is there when the other thread calls `look`, and before it takes another frame. */
  sendAhead(frame: unknown[]): void {
    if (this.#ended) return;
    this.#control.postMessage([AHEAD, frame]);
    this.#out.countAhead();
  }

  /** Takes what was sent ahead. Cost: one atomic load where nothing was. */
  look(): void {
    const { ahead } = this.#in;
    if (ahead === this.#aheadSeen) return;
    this.#aheadSeen = ahead;
    while (this.#readPort());
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
      this.look();
      if (this.#ended) return;
      const frame = valueOf(bytes, []) as unknown[];
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
    while (this.#fromPort.length === 0 && this.#readPort());
    const posted = this.#fromPort.shift();
    return posted && (valueOf(posted[1], posted[2]) as unknown[]);
  }

  /** False when the port holds nothing more. */
  #readPort(): boolean {
    // Node crashes when it is asked for a frame of a port that has just closed. All its frames have come by then.
    const got = this.#portClosed || this.#ended ? undefined : receiveMessageOnPort(this.#control);
    if (got !== undefined) this.#takePosted(got.message as unknown[]);
    return got !== undefined;
  }

  #takePosted(posted: unknown[]): void {
    if (posted[0] === AHEAD) this.user.arrived(posted[1] as unknown[]);
    else this.#fromPort.push(posted as Posted);
  }
}
