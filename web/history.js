// Samples of the past from `api/history`, kept as one window of columns that grows at its end. Independent of the page.

const NS = 1e9;
/** A response that begins later than this after the window is a new window. */
const MAX_HOLE_S = 3_600;

const keyOf = ({ kind, name, of }) => `${kind}\n${of ?? ""}\n${name}`;

export class History {
  #from = 0; // UTC nanoseconds of the first sample
  #samples = 0;
  #sources = new Map(); // by key: {kind, name, of, series}
  /** Seconds of a sample; 0 without samples. */
  step = 0;

  /** Start of the last sample, which may be unfinished; 0 without samples. */
  get last() {
    return this.#samples === 0 ? 0 : this.#from + (this.#samples - 1) * this.step * NS;
  }

  get sources() {
    return [...this.#sources.values()];
  }

  /** Milliseconds of each sample's start. */
  get times() {
    return Array.from({ length: this.#samples }, (_, i) => (this.#from + i * this.step * NS) / 1e6);
  }

  forget() {
    [this.#from, this.#samples, this.step] = [0, 0, 0];
    this.#sources.clear();
  }

  /**
   * Applies a response: it replaces the samples that it covers, and continues the window if it can, else is the window.
   * What lies before `since` (UTC nanoseconds) is dropped. Time without samples stays a hole.
   */
  apply({ from, step, samples, sources }, since) {
    const at = (from - this.#from) / (step * NS);
    if (step !== this.step || !Number.isInteger(at) || at < 0 || at > this.#samples + MAX_HOLE_S / step) {
      this.forget();
      [this.#from, this.step] = [from, step];
      return this.apply({ from, step, samples, sources }, since);
    }
    const length = Math.max(this.#samples, at + samples);
    for (const source of sources) {
      const key = keyOf(source);
      if (!this.#sources.has(key)) this.#sources.set(key, { kind: source.kind, name: source.name, of: source.of, series: {} });
      const { series } = this.#sources.get(key);
      for (const [name, values] of Object.entries(source.series)) {
        series[name] ??= new Array(this.#samples).fill(null);
        values.forEach((value, i) => { series[name][at + i] = value; });
      }
    }
    this.#samples = length;
    const old = Math.max(0, Math.min(length, Math.floor((since - this.#from) / (step * NS))));
    for (const { series } of this.#sources.values()) {
      for (const values of Object.values(series)) {
        for (let i = 0; i < length; i += 1) values[i] ??= null;
        values.length = length;
        values.splice(0, old);
      }
    }
    this.#samples -= old;
    this.#from += old * step * NS;
    return this;
  }
}

/**
 * The lines of a chart: {name, values} for each source of its kinds.
 * lines: [kind, label, (series, i) => value], where the value is null for a hole.
 */
export function linesOf(history, lines) {
  const { length } = history.times;
  return lines.flatMap(([kind, label, value]) => history.sources.filter((one) => one.kind === kind).map(({ name, of, series }) => ({
    name: `${of === null ? "" : `${of} line `}${name}${label}`,
    values: Array.from({ length }, (_, i) => value(series, i)),
  })));
}
