import type { Message } from "../pool/message.js";
import type { Transfer } from "./frame-value.js";

export interface WorkerBridgeOptions {
  /** Bytes of each direction's ring, 65,536 by default; rounded up to a power of two. Longer frames take another way. */
  readonly ringBytes?: number;
}

export interface ForwardOptions {
  /** Ends the registration when it is aborted. */
  readonly signal?: AbortSignal;
  /** What of a message is moved to the other thread instead of copied: array buffers, message ports. */
  readonly transfer?: (message: Message) => Transfer;
}
