import { types } from "node:util";
import { MessageChannel, MessagePort, receiveMessageOnPort } from "node:worker_threads";
import { SettingError } from "../pool/checks.js";
import { Deque } from "../pool/deque.js";
import { FrameRing } from "./frame-ring.js";
import { isUntransferable, unmovable, unreadable } from "./copyable.js";
import { frameOf, type Transfer, valueOf } from "./frame-value.js";

/** Placeholder in the ring for a frame in the port, which is too long for the ring or moves objects. */
const IN_PORT = 4;
/** Kind of a message in the port whose frame overtakes those in the ring. */
const AHEAD = 6;
/** Frames that one turn of the event loop handles. */
const MAX_PER_TURN = 256;
/** Interval at which a sleeping side checks whether it was closed. */
const NAP_MS = 1_000;

/** The data from which the other thread makes its end: pass it as `workerData`, together with `transferList`. */
export interface BridgePort {
  readonly send: SharedArrayBuffer;
  readonly receive: SharedArrayBuffer;
  readonly control: MessagePort;
}

/** @internal Throws SettingError unless `port` is a copy of the other end's `port`. */
export function requirePort(port: unknown): void {
  const { send, receive, control } = (port ?? {}) as Partial<BridgePort>;
  const rings = [send, receive].every((ring) => types.isSharedArrayBuffer(ring) && FrameRing.fits(ring));
  if (!rings || !(control instanceof MessagePort)) {
    throw new SettingError("port", port, "the `port` of the other end of the bridge");
  }
}

/** A frame in the port: its bytes, and the objects moved with it. */
type Posted = [typeof IN_PORT, Uint8Array, Transfer];

/** @internal The bridge that uses a link. */
export interface LinkUser {
  arrived(frame: unknown[]): void;
  /** Called when all sent frames are in the ring. */
  flushed(): void;
  /** Called after the last frame of the other side. */
  otherSideEnded(): void;
}

/**
 * Carries frames between two threads, in order in each direction: through a ring, and long ones through a message port. A frame
 * that is sent ahead overtakes all frames that the other thread has not read.
 *
 * Threads: one end on each; the receiving side sleeps in Atomics.waitAsync and is notified only while it sleeps.
 * Memory:  the rings, and the frames that wait for space in them.
 *
 * @internal
 */
export class FrameLink {
  readonly port: BridgePort;
  readonly transferList: MessagePort[];
  /** Resolves when this side has ended. */
  readonly over: Promise<void>;
  readonly #out: FrameRing;
  readonly #in: FrameRing;
  readonly #control: MessagePort;
  readonly #unsent = new Deque<Uint8Array>();
  readonly #fromPort = new Deque<Posted>();
  #aheadSeen = 0;
  #keepsAlive = false;
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
    // A thread may end between posting a frame and writing IN_PORT to the ring. The port closes after its frames.
    this.#control.on("message", (posted: unknown[]) => this.#receivePosted(posted));
    this.#control.on("close", () => this.#otherSideEnded());
    this.#control.unref();
    this.over = this.#run();
  }

  /** Whether the other thread has made its end. */
  get joined(): boolean {
    return this.#out.joined;
  }

  /** Sets whether the link keeps its thread alive. */
  keepAlive(keepsAlive: boolean): void {
    if (keepsAlive === this.#keepsAlive || this.#ended) return;
    this.#keepsAlive = keepsAlive;
    if (keepsAlive) this.#control.ref();
    else this.#control.unref();
  }

  /** Frames that wait for space in the ring. */
  get unsent(): number {
    return this.#unsent.length;
  }

  /**
   * Sends a frame, or queues it while the ring is full. Throws SettingError, with `name`, if it cannot be copied or moved. check:
   * called after the copy; may throw to stop the send.
   */
  send(frame: unknown[], moved: Transfer, name: string, check?: () => void): void {
    if (this.#ended) return check?.();
    let bytes = this.#bytesOf(frame, moved, name);
    check?.();
    // Accessors, and `check`, may have ended the link.
    if (this.#ended) return;
    if (moved.length > 0 || bytes.length > this.#out.maxLength) {
      // The port first: a reader that finds IN_PORT in the ring finds the frame in the port.
      this.#post(bytes, moved, name);
      bytes = frameOf([IN_PORT], []);
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

  /** Moves all of `moved`, or throws and moves nothing. */
  #post(bytes: Uint8Array<ArrayBuffer>, moved: Transfer, name: string): void {
    // Buffers that Node refuses to move are copied, as Node 20 does itself.
    const parts = moved.map((one) => (isUntransferable(one) ? (one as ArrayBuffer).slice() : one));
    try {
      this.#control.postMessage([IN_PORT, bytes, parts] satisfies Posted, [bytes.buffer, ...parts] as never);
    } catch (error) {
      throw unmovable(name, error);
    }
  }

  /** Sends a frame that the other thread handles when it calls `receiveAhead`, or before the next frame. */
  sendAhead(frame: unknown[]): void {
    if (this.#ended) return;
    this.#control.postMessage([AHEAD, frame]);
    this.#out.countAhead();
  }

  /** Handles frames that were sent ahead. Cost: one atomic load if there are none. */
  receiveAhead(): void {
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

  /** Handles what the other side sent before it ended, such as the reply to the last call. */
  #otherSideEnded(): void {
    this.#portClosed = true;
    while (!this.#ended && this.#poll() > 0);
    if (!this.#ended) this.user.otherSideEnded();
  }

  #poll(): number {
    return this.#in.poll((bytes) => {
      this.receiveAhead();
      if (this.#ended) return;
      const frame = valueOf(bytes, []) as unknown[];
      const whole = frame[0] === IN_PORT ? this.#nextFromPort() : frame;
      if (whole !== undefined) this.user.arrived(whole);
    }, MAX_PER_TURN);
  }

  async #run(): Promise<void> {
    // Handlers that are registered in the turn that made this end must exist before the first call.
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

  /** The frame of the oldest IN_PORT in the ring. */
  #nextFromPort(): unknown[] | undefined {
    while (this.#fromPort.length === 0 && this.#readPort());
    const posted = this.#fromPort.shift();
    return posted && (valueOf(posted[1], posted[2]) as unknown[]);
  }

  /** False if the port is empty. */
  #readPort(): boolean {
    // Node crashes if a closed port is read. All its frames have arrived by then.
    const got = this.#portClosed || this.#ended ? undefined : receiveMessageOnPort(this.#control);
    if (got !== undefined) this.#receivePosted(got.message as unknown[]);
    return got !== undefined;
  }

  #receivePosted(posted: unknown[]): void {
    if (posted[0] === AHEAD) this.user.arrived(posted[1] as unknown[]);
    else this.#fromPort.push(posted as Posted);
  }
}
