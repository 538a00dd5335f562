/** What a pool throws when a message is used against its rules. `acquiredAt` is known in checked mode and for sampled messages. */
export class PoolError extends Error {
  readonly acquiredAt: string | undefined;
  constructor(message: string, acquiredAt?: string) {
    super(acquiredAt === undefined ? message : `${message}\n  acquired ${acquiredAt}`);
    this.acquiredAt = acquiredAt;
  }
}

/** A plain message has no number until a caller requests its handle. */
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

/** A message or handle was given to a pool that did not lend it, or that lends it no longer because it was kept. */
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

/** Thrown by `acquire` of a pool with `overflow: "refuse"` when all messages are lent out. To fix: release earlier, or raise the size. */
export class PoolExhaustedError extends PoolError {
  readonly code = "POOL_EXHAUSTED";
  override readonly name = "PoolExhaustedError";
  constructor(readonly capacity: number) {
    super(`message pool is empty: all ${capacity} messages are lent out`);
  }
}

function shown(value: unknown): string {
  try {
    const text = String(value);
    return text.length > 100 ? `${text.slice(0, 100)}...` : text;
  } catch {
    return typeof value;
  }
}

/** A setting or argument is outside its range. */
export class SettingError extends RangeError {
  readonly code = "BAD_SETTING";
  override readonly name = "SettingError";
  constructor(setting: string, value: unknown, bound: string) {
    super(`${setting} is ${shown(value)}: it must be ${bound}`);
  }
}

/** @internal */
export function requireFunction(setting: string, value: unknown): void {
  if (typeof value !== "function") throw new SettingError(setting, value, "a function");
}

/** @internal A duration that a timer can hold; Infinity means none. */
export function requireDuration(setting: string, value: number): number {
  if (typeof value !== "number" || !(value >= 0) || (value > 2 ** 31 - 1 && value !== Number.POSITIVE_INFINITY)) {
    throw new SettingError(setting, value, `milliseconds from 0 to ${2 ** 31 - 1}, or Infinity`);
  }
  return value;
}

/** @internal Refuses arguments and options that would silently be ignored. */
export function requireKnown(setting: string, options: unknown, known: readonly string[]): void {
  if (options === undefined) return;
  if (typeof options !== "object" || options === null) throw new SettingError(setting, options, "an object");
  for (const name of Object.keys(options)) {
    if (!known.includes(name)) throw new SettingError(setting, `{ ${name} }`, `of ${known.join(", ")}`);
    if ((options as Record<string, unknown>)[name] === null) throw new SettingError(name, null, "a value, or left out");
  }
}

/** @internal Refuses arguments that would silently be ignored. */
export function requireArguments(of: string, count: number, most: number): void {
  if (count > most) throw new SettingError(`arguments of ${of}`, count, `at most ${most}`);
}

/** @internal */
export function requireInteger(setting: string, value: number, least: number, most: number): number {
  if (!Number.isInteger(value) || value < least || value > most) {
    throw new SettingError(setting, value, `a whole number from ${least} to ${most}`);
  }
  return value;
}
