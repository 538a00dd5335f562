import * as check from "../pool/checks.js";

const requireFraction = check.numberFrom(0, 1);
const SUB_BITS = 5;
const SUB = 1 << SUB_BITS;
const OCTAVES = 32;

/**
 * Latencies in nanoseconds in log-linear buckets, exact within 1/32, from 0 to about 68 seconds.
 *
 * Memory: 8 bytes per bucket, taken once; `record` allocates nothing.
 * Source: the bucket layout of HdrHistogram.
 */
export class LatencyHistogram {
  readonly #counts = new Float64Array(OCTAVES * SUB);
  #count = 0;
  #sum = 0;
  #max = 0;

  record(nanos: number): void {
    if (Number.isNaN(nanos)) throw new check.SettingError("nanos", nanos, "a number");
    const value = Math.min(nanos < 0 ? 0 : Math.floor(nanos), 2 ** 36 - 1);
    const bucket = value < SUB ? value : this.#bucketOf(value);
    this.#counts[bucket]!++;
    this.#count++;
    this.#sum += value;
    if (value > this.#max) this.#max = value;
  }

  get count(): number {
    return this.#count;
  }

  get sum(): number {
    return this.#sum;
  }

  get max(): number {
    return this.#max;
  }

  /** fraction: 0 to 1. The upper end of its bucket, at most `max`; 0 if nothing was recorded. */
  percentile(fraction: number): number {
    requireFraction("fraction", fraction);
    let left = Math.max(1, Math.ceil(fraction * this.#count));
    for (let bucket = 0; bucket < this.#counts.length; bucket++) {
      left -= this.#counts[bucket]!;
      if (left <= 0 && this.#count > 0) return Math.min(this.#upperEnd(bucket), this.#max);
    }
    return this.#max;
  }

  #bucketOf(value: number): number {
    // clz32 covers 32 bits: larger values are divided first.
    const exponent = value < 2 ** 31 ? 31 - Math.clz32(value) : 31 + (31 - Math.clz32(Math.floor(value / 2 ** 31)));
    const octave = exponent - SUB_BITS + 1;
    return octave * SUB + Math.floor(value / 2 ** (octave - 1)) - SUB;
  }

  #upperEnd(bucket: number): number {
    if (bucket < SUB) return bucket;
    const octave = Math.floor(bucket / SUB);
    return (SUB + (bucket % SUB) + 1) * 2 ** (octave - 1) - 1;
  }
}

/** Builds a text in the Prometheus format. Values of a family are grouped under its help text. */
export class PrometheusText {
  readonly #families = new Map<string, string[]>();

  add(
    name: string,
    type: "counter" | "gauge" | "summary",
    help: string,
    labels: Record<string, string>,
    value: number,
  ): this {
    return this.#line(name, name, type, help, labels, value);
  }

  addHistogram(name: string, help: string, labels: Record<string, string>, histogram: LatencyHistogram): this {
    for (const quantile of [0.5, 0.99, 0.999]) {
      const value = histogram.percentile(quantile) / 1e9;
      this.#line(name, name, "summary", help, { ...labels, quantile: String(quantile) }, value);
    }
    this.#line(name, `${name}_sum`, "summary", help, labels, histogram.sum / 1e9);
    return this.#line(name, `${name}_count`, "summary", help, labels, histogram.count);
  }

  toString(): string {
    return `${[...this.#families.values()].flat().join("\n")}\n`;
  }

  #line(family: string, name: string, type: string, help: string, labels: Record<string, string>, value: number): this {
    let lines = this.#families.get(family);
    if (lines === undefined) {
      lines = [`# HELP ${family} ${help}`, `# TYPE ${family} ${type}`];
      this.#families.set(family, lines);
    }
    const pairs = Object.entries(labels).map(([key, text]) => `${key}="${text.replace(/["\\\n]/g, escapeLabel)}"`);
    lines.push(`${name}${pairs.length === 0 ? "" : `{${pairs.join(",")}}`} ${value}`);
    return this;
  }
}

function escapeLabel(char: string): string {
  return char === "\n" ? "\\n" : `\\${char}`;
}
