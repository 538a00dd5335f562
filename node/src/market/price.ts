const PER_UNIT = 1e9;
const HIGH = 2 ** 32;
/** The value of a field without a price. */
const NO_PRICE = 2n ** 63n - 1n;

/** @internal The number that is nearest to a price in 1/1,000,000,000; NaN if there is no price. */
export function priceOf(nanos: bigint): number {
  const whole = Number(nanos);
  if (Number.isSafeInteger(whole)) return whole / PER_UNIT;
  return nanos === NO_PRICE ? NaN : Number(`${nanos}e-9`);
}

/** @internal The same for a price in shared words, without a bigint for prices below 9,007,199. */
export function priceAt(words: Int32Array, numbers: BigInt64Array, place: number): number {
  const whole = words[2 * place + 1]! * HIGH + (words[2 * place]! >>> 0);
  return Number.isSafeInteger(whole) ? whole / PER_UNIT : priceOf(numbers[place]!);
}

/** @internal The price of a decimal text in 1/1,000,000,000, exactly. undefined: not a decimal number, finer, or out of range. */
export function nanosOf(text: string): bigint | undefined {
  const parts = /^(-?)(\d+)(?:\.(\d+))?$/.exec(text);
  if (parts === null) return undefined;
  const decimals = (parts[3] ?? "").replace(/0+$/, "");
  if (decimals.length > 9 || parts[2]!.length > 40) return undefined;
  const nanos = BigInt(parts[2]! + decimals.padEnd(9, "0"));
  if (nanos >= NO_PRICE) return undefined;
  return parts[1] === "-" ? -nanos : nanos;
}
