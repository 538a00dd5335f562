/** Base of the errors for wrong uses of messages. `acquiredAt` is known in checked pools and for sampled messages. */
export class PoolError extends Error {
  readonly acquiredAt: string | undefined;
  constructor(message: string, acquiredAt?: string) {
    super(acquiredAt === undefined ? message : `${message}\n  acquired ${acquiredAt}`);
    this.acquiredAt = acquiredAt;
  }
}

/** A plain message has no number until its handle is read. */
function named(slot: number | undefined): string {
  return slot === undefined ? "a plain message" : `message ${slot}`;
}

/** A message was released a second time. To fix: release in one place, or let `withMessage` or `using` do it. */
export class DoubleReleaseError extends PoolError {
  readonly code = "POOL_DOUBLE_RELEASE";
  override readonly name = "DoubleReleaseError";
  constructor(slot: number | undefined, acquiredAt?: string) {
    super(`${named(slot)} was already released`, acquiredAt);
  }
}

/** A message was read, written or sent after its release. To fix: call `keep()` before, or copy the values. */
export class UseAfterReleaseError extends PoolError {
  readonly code = "POOL_USE_AFTER_RELEASE";
  override readonly name = "UseAfterReleaseError";
  constructor(slot: number | undefined, acquiredAt?: string) {
    super(`${named(slot)} is used after its release`, acquiredAt);
  }
}

/** A message or handle was passed to a pool that did not lend it, or that lends it no longer because it was kept. */
export class WrongPoolError extends PoolError {
  readonly code = "POOL_WRONG_POOL";
  override readonly name = "WrongPoolError";
  constructor(acquiredAt?: string) {
    super("this message is not on loan from this pool", acquiredAt);
  }
}

/**
 * A message was sent, queued, changed or released while another owns it: a queue, a handler or an observer. To fix: await
 * `send` before the release; in a handler, pass a message on by `forward`.
 */
export class MessageInUseError extends PoolError {
  readonly code = "POOL_MESSAGE_IN_USE";
  override readonly name = "MessageInUseError";
  constructor(slot: number | undefined, acquiredAt?: string) {
    super(`${named(slot)} has another owner: a queue, a handler or an observer`, acquiredAt);
  }
}

/** Thrown by `acquire` of a pool with `overflow: "refuse"` if all messages are on loan. To fix: release earlier, or raise the size. */
export class PoolExhaustedError extends PoolError {
  readonly code = "POOL_EXHAUSTED";
  override readonly name = "PoolExhaustedError";
  constructor(readonly capacity: number) {
    super(`message pool is empty: all ${capacity} messages are on loan`);
  }
}
