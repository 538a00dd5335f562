// Applies the same random operations to pairs of message systems and to their models, and compares both sides of each pair's bridge.
// The far systems are in one worker, which runs only while the test's thread sleeps, and vice versa.
import assert from "node:assert/strict";
import { Worker } from "node:worker_threads";
import { BridgePair, rest } from "./bridge-pair.js";
import type { Random } from "./random.js";
import { TurnLock, WORKER } from "./turn-lock.js";
import { VirtualClock } from "./virtual-clock.js";

/** Pairs per worker: several, because a change of threads takes longer than a turn of a pair. */
const PAIRS = 32;
/** Turns without new operations before the end. */
const MAX_DRAINED = 64;

export class BridgeDriver {
  readonly #clock = new VirtualClock();
  readonly #lock = new TurnLock();
  readonly #pairs: readonly BridgePair[];
  readonly #worker: Worker;
  /** For each pair, 1 while its bridge closes. */
  readonly #closing = new Int32Array(new SharedArrayBuffer(4 * PAIRS));
  /** Operations of a pair between two turns, on average. */
  readonly #perTurn: number;

  constructor(private readonly random: Random) {
    this.#pairs = Array.from({ length: PAIRS }, (_, at) => new BridgePair(random, at % 2 === 0));
    this.#perTurn = [4, 8, 16, 32][random(4)]!;
    this.#worker = new Worker(new URL("../workers/scripted-end.js", import.meta.url), {
      workerData: { words: this.#lock.words, closing: this.#closing, ends: this.#pairs.map(({ far }) => far) },
      transferList: this.#pairs.flatMap(({ bridge }) => bridge.transferList),
    });
  }

  /** Runs `count` operations of all pairs together, and then everything to its end. */
  async run(count: number): Promise<void> {
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    this.#clock.install();
    try {
      for (let n = 0; n < count; n++) {
        if (this.random(10) > 0) this.#pairs[this.random(PAIRS)]!.operate();
        else if (this.random(PAIRS) === 0) this.#advance();
        if (this.random(this.#perTurn * PAIRS) === 0) await this.#turn();
      }
      await this.#turn();
      if (this.random(3) > 0) await this.#drain();
      await this.#end();
    } finally {
      this.#clock.remove();
      Error.stackTraceLimit = stackTraceLimit;
      await this.#worker.terminate();
    }
  }

  #advance(): void {
    const ms = 4 * this.random(6);
    for (const pair of this.#pairs) pair.advance(ms);
    this.#clock.advance(ms);
  }

  /** Runs both sides in turn until nothing is pending. */
  async #turn(): Promise<void> {
    await rest();
    for (const pair of this.#pairs) pair.settle();
    await this.#exchange();
    if (this.#pairs.filter((pair) => pair.open()).length === 0) return;
    await rest();
    await this.#exchange();
  }

  async #exchange(): Promise<void> {
    for (const pair of this.#pairs) if (pair.moved && !pair.waits) pair.compareNear();
    for (let waiting = this.#waiting(); waiting.length > 0; waiting = this.#waiting()) {
      const reports = waiting.map((pair) => pair.begin(waiting.length));
      this.#letWorkerRun();
      const seen = await Promise.all(reports);
      await rest();
      for (const [at, pair] of waiting.entries()) pair.end(seen[at]!);
    }
  }

  #waiting(): BridgePair[] {
    return this.#pairs.filter((pair) => pair.waits);
  }

  #letWorkerRun(): void {
    this.#lock.pass(WORKER);
    this.#lock.waitForWorker();
  }

  /** Opens gate by gate. If many messages wait behind gates, the rest is left to the end. */
  async #drain(): Promise<void> {
    for (let left = MAX_DRAINED; left > 0 && this.#pairs.some((pair) => !pair.idle); left--) await this.#turn();
  }

  /** Closes in stages: calls of both sides are answered first. */
  async #close(pairs: BridgePair[]): Promise<void> {
    if (pairs.length === 0) return;
    const closed = new Set<BridgePair>();
    const closes = pairs.map(async (pair) => {
      assert.equal(await pair.close(), true);
      closed.add(pair);
    });
    for (const pair of pairs) this.#closing[this.#pairs.indexOf(pair)] = 1;
    this.#lock.closing = true;
    for (let left = 1_000; closed.size < pairs.length; left--) {
      assert.ok(left > 0, "it comes to no end");
      await rest();
      for (const pair of pairs) pair.beforeDraining();
      this.#letWorkerRun();
      await rest();
      for (const pair of pairs) pair.afterDraining();
      for (const pair of closed) assert.ok(pair.drained, "it closed before all was answered");
      await rest();
      for (const pair of pairs) pair.settle();
    }
    this.#lock.closing = false;
    await Promise.all(closes);
    for (const pair of pairs) await pair.ended();
  }

  /** Closes some bridges from this side, in stages or at once, and lets the worker exit. */
  async #end(): Promise<void> {
    // Without contexts the calls of a handler cannot be distinguished, and a close in stages lets them through.
    const fates = this.#pairs.map(({ asyncContext }) => (asyncContext ? this.random(3) : 1 + this.random(2)));
    await this.#close(this.#pairs.filter((_, at) => fates[at] === 0));
    for (const pair of this.#pairs.filter((_, at) => fates[at] === 1)) {
      await pair.bridge.close(0);
      await pair.ended();
    }
    const left = this.#pairs.filter((_, at) => fates[at] === 2);
    if (left.length === 0) return;
    const exits = left.map((pair) => assert.rejects(pair.exit(), { name: "RemoteError" }));
    this.#letWorkerRun();
    await Promise.all(exits);
    for (const pair of left) await pair.ended();
  }
}
