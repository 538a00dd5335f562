/** @internal A value as text for an error or a warning: its first 100 characters. */
export function shown(value: unknown): string {
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
    super(`${shown(setting)} is ${shown(value)}: it must be ${bound}`);
  }
}

/** @internal Throws SettingError unless the setting may have `value`. */
export type Check = (setting: string, value: unknown) => unknown;

function refuse(setting: string, value: unknown, bound: string): never {
  throw new SettingError(setting, value, bound);
}

function isInteger(value: unknown, min: number, max: number): value is number {
  return Number.isInteger(value) && (value as number) >= min && (value as number) <= max;
}

/** @internal A check that accepts the values for which `test` is true. */
export function checkOf(test: (value: unknown) => boolean, bound: string): Check {
  return (setting, value) => test(value) || refuse(setting, value, bound);
}

/** @internal For options that are checked where they are used. */
export const anything: Check = () => {};
/** @internal */
export const callable = checkOf((value) => typeof value === "function", "a function");
/** @internal */
export const boolean = checkOf((value) => typeof value === "boolean", "true or false");
/** @internal */
export const text = checkOf((value) => typeof value === "string", "a string");
/** @internal */
export const signal = checkOf(
  (value) => typeof (value as AbortSignal | null)?.addEventListener === "function",
  "an AbortSignal",
);
/** @internal Milliseconds that a timer can hold; Infinity means no limit. */
export const duration = checkOf(
  (value) => typeof value === "number" && value >= 0 && (value <= 2 ** 31 - 1 || value === Number.POSITIVE_INFINITY),
  `milliseconds from 0 to ${2 ** 31 - 1}, or Infinity`,
);
/** @internal A maximum number; Infinity means no limit. */
export const count = checkOf(
  (value) => isInteger(value, 0, Number.MAX_VALUE) || value === Number.POSITIVE_INFINITY,
  "a whole number, 0 or more, or Infinity",
);

/** @internal */
export function integer(setting: string, value: unknown, min: number, max: number): number {
  return isInteger(value, min, max) ? value : refuse(setting, value, `a whole number from ${min} to ${max}`);
}

/** @internal */
export function powerOfTwo(setting: string, value: unknown, max: number): number {
  const number = integer(setting, value, 1, max);
  return Number.isInteger(Math.log2(number)) ? number : refuse(setting, value, "a power of two");
}

/** @internal */
export function multipleOf8(setting: string, value: unknown, min: number, max: number): number {
  const number = integer(setting, value, min, max);
  return number % 8 === 0 ? number : refuse(setting, value, "a multiple of 8");
}

/** @internal */
export const integerFrom =
  (min: number, max: number): Check =>
  (setting, value) =>
    integer(setting, value, min, max);

/** @internal */
export const oneOf = (...values: readonly unknown[]): Check =>
  checkOf((value) => values.includes(value), `one of ${values.join(", ")}`);

/** @internal */
export const numberFrom = (min: number, max = Number.POSITIVE_INFINITY): Check =>
  checkOf((value) => typeof value === "number" && value >= min && value <= max, `a number from ${min} to ${max}`);

/** @internal Refuses options that are unknown, null, or fail their check. */
export function options(setting: string, value: unknown, checks: Readonly<Record<string, Check>>): void {
  if (value === undefined) return;
  if (typeof value !== "object" || value === null || Array.isArray(value)) refuse(setting, value, "an object");
  for (const name in value) {
    const option = (value as Record<string, unknown>)[name];
    if (!Object.hasOwn(checks, name)) refuse(setting, `{ ${name} }`, `of ${Object.keys(checks).join(", ")}`);
    const check = checks[name]!;
    if (option === null && check !== anything) refuse(name, null, "a value, or left out");
    if (option !== undefined) check(name, option);
  }
}

/** @internal Refuses arguments that would silently be ignored. */
export function argumentCount(of: string, count: number, max: number): void {
  if (count > max) refuse(`arguments of ${of}`, count, `at most ${max}`);
}
