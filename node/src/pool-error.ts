/** What a pool throws when a message is used against its rules. `acquiredAt` is known in checked mode and for sampled messages. */
export class PoolError extends Error {
  readonly acquiredAt: string | undefined;
  constructor(message: string, acquiredAt?: string) {
    super(acquiredAt === undefined ? message : `${message}\n  acquired ${acquiredAt}`);
    this.acquiredAt = acquiredAt;
  }
}

/** A plain message has no number until somebody asks for its handle. */
function named(slot: number | undefined): string {
  return slot === undefined ? "a plain message" : `message ${slot}`;
}

/** A message was released a second time. To fix: release in one place, or let `withMessage` or `using` do it. */
export class DoubleReleaseError extends PoolError {
  readonly code = "POOL_DOUBLE_RELEASE";
  override readonly name = "DoubleReleaseError";
  constructor(slot: number | undefined, acquiredAt?: string) {
    super(`${named(slot)} is released already`, acquiredAt);
  }
}

/** A message was read, written or sent after its release. To fix: `keep()` it before, or copy what is needed. */
export class UseAfterReleaseError extends PoolError {
  readonly code = "POOL_USE_AFTER_RELEASE";
  override readonly name = "UseAfterReleaseError";
  constructor(slot: number | undefined, acquiredAt?: string) {
    super(`${named(slot)} is used after its release`, acquiredAt);
  }
}

/** A message was given to a pool that did not lend it, or that lends it no longer because it was kept. */
export class WrongPoolError extends PoolError {
  readonly code = "POOL_WRONG_POOL";
  override readonly name = "WrongPoolError";
  constructor(acquiredAt?: string) {
    super("this message is not on loan from this pool", acquiredAt);
  }
}

/** A message was released while a queue or an async handler still has it. To fix: await `send`, then release. */
export class MessageInUseError extends PoolError {
  readonly code = "POOL_MESSAGE_IN_USE";
  override readonly name = "MessageInUseError";
  constructor(slot: number | undefined, acquiredAt?: string) {
    super(`${named(slot)} is still with its queue or handler`, acquiredAt);
  }
}

/** Thrown by `acquire` of a pool with `overflow: "refuse"` when all messages are lent out. To fix: release earlier, or raise the size. */
export class PoolExhaustedError extends PoolError {
  readonly code = "POOL_EXHAUSTED";
  override readonly name = "PoolExhaustedError";
  constructor(readonly capacity: number) {
    super(`message pool is empty: all ${capacity} messages are lent out`);
  }
}

/** A setting is outside its range. */
export class SettingError extends RangeError {
  readonly code = "BAD_SETTING";
  override readonly name = "SettingError";
  constructor(setting: string, value: unknown, bound: string) {
    super(`${setting} is ${String(value)}: it must be ${bound}`);
  }
}

/** @internal */
export function requireInteger(setting: string, value: number, least: number, most: number): number {
  if (!Number.isInteger(value) || value < least || value > most) {
    throw new SettingError(setting, value, `a whole number from ${least} to ${most}`);
  }
  return value;
}
