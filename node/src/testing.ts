import * as check from "./pool/checks.js";
import { PLAIN } from "./pool/lease.js";
import { Message } from "./pool/message.js";
import type { MessagePool } from "./pool/message-pool.js";
import type { MessageSystem } from "./bus/message-system.js";
import type { RouteMap } from "./bus/path-types.js";
import { PoolError } from "./pool/pool-error.js";
import type { Leak } from "./pool/pool-options.js";

/** Messages were not released. `leaks` lists them, in checked mode with the line that acquired each. */
export class MessagesOutError extends PoolError {
  readonly code = "TESTING_MESSAGES_OUT";
  override readonly name = "MessagesOutError";
  constructor(readonly leaks: readonly Leak[]) {
    const lines = leaks.map(({ path, acquiredAt }) => `${check.shown(path ?? "an object")} ${acquiredAt ?? ""}`.trim());
    super(`${leaks.length} messages were not released:\n  ${lines.join("\n  ")}`);
  }
}

function poolOf(owner: object): MessagePool<object> {
  return (owner as { readonly pool?: MessagePool<object> }).pool ?? (owner as MessagePool<object>);
}

/** Throws MessagesOutError unless every message of the pool, or of the system's pool, was released. */
export function assertAllReturned<Routes extends RouteMap<Routes>, T extends object>(
  owner: MessagePool<T> | MessageSystem<Routes>,
): void {
  const pool = poolOf(owner);
  if (pool.stats().inUse === 0) return;
  pool.leaks();
  throw new MessagesOutError(pool.leaks());
}

/**
 * Starts queued messages, and those that their handlers send, until all handlers have settled. Throws if that takes more than
 * `turns` turns of the event loop: a handler hangs, or messages lead to messages forever.
 */
export async function flush<Routes extends RouteMap<Routes>>(
  system: MessageSystem<Routes>,
  turns = 1_000,
): Promise<void> {
  check.count("turns", turns);
  for (let turn = 0; turn < turns; turn++) {
    system.flush();
    await new Promise<void>((resolve) => setImmediate(resolve));
    if (system.idle) return;
  }
  throw new MessagesOutError(poolOf(system).leaks());
}

/** A message without a pool, for a direct call of a handler. It needs no release. */
export function messageOf<Body, Meta = undefined>(
  path: string,
  body: Body,
  meta?: Meta,
): Message<Body, Meta | undefined> {
  return new Message<Body, Meta | undefined>(undefined, PLAIN, path, body, meta);
}
