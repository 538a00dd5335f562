import type { Message } from "./message.js";
import { MessagePool } from "./message-pool.js";

/** One pool of 2,000 messages for programs that need no other; `import` and `require` return the same one. */
export const globalPool = new MessagePool(2_000);

/** Lends a message of the global pool. */
export function createMessage<Body, Meta = undefined>(
  path: string,
  body: Body,
  meta?: Meta,
): Message<Body, Meta | undefined> {
  return globalPool.acquire(path, body, meta);
}

/** Returns a message to the global pool. */
export function releaseMessage(message: Message): void {
  globalPool.release(message);
}
