// Numbers and times as text.

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const compact = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

/** A count with separators of thousands. */
export const count = (value) => whole.format(value);

/** A count; from 100,000 on with a suffix, such as 1.2M. */
export const short = (value) => (value < 100_000 ? whole.format(value) : compact.format(value));

/** A value of a chart's axis: small ones have a decimal. */
export const tick = (value) => (value < 10 ? String(Math.round(value * 10) / 10) : short(value));

/** A price with four decimals, or as many as it has, up to nine; empty if the side has no quote. */
export function price(value) {
  if (value === null || value === undefined) return "";
  const four = value.toFixed(4);
  return Number(four) === value ? four : value.toFixed(9).replace(/0+$/, "");
}

/** A duration given in nanoseconds, in a suitable unit. */
export function span(nanos) {
  if (nanos === null || nanos === undefined) return "–";
  const size = Math.abs(nanos);
  const digits = (value) => value.toFixed(Math.abs(value) < 10 ? 2 : Math.abs(value) < 100 ? 1 : 0);
  if (size < 1_000) return `${nanos.toFixed(0)} ns`;
  if (size < 999_500) return `${digits(nanos / 1e3)} µs`;
  if (size < 999_500_000) return `${digits(nanos / 1e6)} ms`;
  if (size < 60_000_000_000) return `${(nanos / 1e9).toFixed(1)} s`;
  if (size < 3_600_000_000_000) return `${Math.floor(nanos / 60e9)} min`;
  return `${Math.floor(nanos / 3600e9)} h`;
}

/** The local time of day of UTC nanoseconds. */
export function timeOfDay(nanos) {
  if (!nanos) return "";
  const date = new Date(nanos / 1e6);
  const two = (value) => String(value).padStart(2, "0");
  const millis = String(date.getMilliseconds()).padStart(3, "0");
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}.${millis}`;
}

/** A number of bytes in a suitable unit. */
export function bytes(value) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  let left = value;
  for (; left >= 1024 && unit < units.length - 1; unit += 1) left /= 1024;
  return `${unit === 0 ? left : left.toFixed(1)} ${units[unit]}`;
}
