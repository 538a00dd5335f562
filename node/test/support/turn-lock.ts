/** The side that may run. */
export const TEST = 0;
export const WORKER = 1;

const TURN = 0;
const PULSES = 1;
const CLOSING = 2;
/** Pulses of a worker without an answer: on a busy machine a second of its time may take minutes. */
const PATIENCE = 30;
/** Longest time without a pulse: the worker has not started, or hangs. */
const PULSE_MS = 600_000;

/**
 * Lets the test's thread and its worker run in turns. Only the word decides: a notification may arrive after its reader
 * has gone on, and then ends the reader's next sleep.
 */
export class TurnLock {
  readonly words: Int32Array<ArrayBufferLike>;

  constructor(words: Int32Array<ArrayBufferLike> = new Int32Array(new SharedArrayBuffer(12))) {
    this.words = words;
  }

  pass(to: number): void {
    Atomics.store(this.words, TURN, to);
    Atomics.notify(this.words, TURN);
  }

  /** A pulse of the worker. */
  pulse(): void {
    Atomics.add(this.words, PULSES, 1);
  }

  /** Whether the worker's next turn is for closing bridges. */
  get closing(): boolean {
    return Atomics.load(this.words, CLOSING) === 1;
  }

  set closing(closing: boolean) {
    Atomics.store(this.words, CLOSING, closing ? 1 : 0);
  }

  /** Blocks this thread until it is its turn. */
  wait(who: number): void {
    for (;;) {
      const turn = Atomics.load(this.words, TURN);
      if (turn === who) return;
      Atomics.wait(this.words, TURN, turn);
    }
  }

  /** Like `wait`, for the test; throws if the worker does not answer. */
  waitForWorker(): void {
    Atomics.store(this.words, PULSES, 0);
    for (let pulses = 0, last = Date.now(); Atomics.load(this.words, TURN) === WORKER;) {
      if (Atomics.wait(this.words, TURN, WORKER, 1_000) !== "timed-out") continue;
      const seen = Atomics.exchange(this.words, PULSES, 0);
      if (seen > 0) last = Date.now();
      pulses += seen;
      if (pulses >= PATIENCE || Date.now() - last >= PULSE_MS) throw new Error("the worker sleeps");
    }
  }
}
