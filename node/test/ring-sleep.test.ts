// A push between any two steps of falling asleep, and falling asleep between any two steps of a push.
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { MpscRing, SpscRing } from "millpond";
import { turn } from "./support/gate.js";

interface Side {
  push(): boolean;
  waitAsync(timeoutMs: number): Promise<unknown>;
  readonly found: boolean;
}
interface Frames {
  readonly empty: boolean;
  tryPush(frame: Uint8Array): boolean;
  waitAsync(timeoutMs: number): Promise<void>;
}
type FrameRing = (new (buffer: SharedArrayBuffer) => Frames) & {
  create(bytes: number): Frames & { buffer: SharedArrayBuffer };
};

// The ring of the bridge is not exported.
const module = new URL("../../dist/esm/threads/frame-ring.js", import.meta.url).href;
const { FrameRing } = (await import(module)) as { FrameRing: FrameRing };
const record = new Uint8Array(8);
const frameSide = (ring: Frames): Side => ({
  push: () => ring.tryPush(record),
  waitAsync: (timeoutMs) => ring.waitAsync(timeoutMs),
  get found() {
    return !ring.empty;
  },
});
const recordSide = (ring: SpscRing | MpscRing): Side => ({
  push: () => ring.tryPush(record),
  waitAsync: (timeoutMs) => ring.waitAsync(timeoutMs),
  get found() {
    return ring.front() >= 0;
  },
});
const KINDS: Record<string, () => [Side, Side]> = {
  frames() {
    const ring = FrameRing.create(1_024);
    return [frameSide(ring), frameSide(new FrameRing(ring.buffer))];
  },
  spsc() {
    const ring = SpscRing.create(4, 8);
    return [recordSide(ring), recordSide(new SpscRing(ring.buffer))];
  },
  mpsc() {
    const ring = MpscRing.create(4, 8);
    return [recordSide(ring), recordSide(new MpscRing(ring.buffer))];
  },
};

/** Calls `other` before step `number` of `run`; a step is a call of Atomics. False if there are fewer steps. */
function between(t: TestContext, number: number, run: () => void, other: () => void): boolean {
  let step = 0;
  const mocks = (["load", "store", "notify", "waitAsync", "compareExchange"] as const).map((name) => {
    const real = Atomics[name] as (...given: unknown[]) => unknown;
    return t.mock.method(Atomics, name, (...given: unknown[]) => {
      if (step++ === number) other();
      return real(...given);
    });
  });
  run();
  for (const { mock } of mocks) mock.restore();
  return step > number;
}

for (const [kind, make] of Object.entries(KINDS)) {
  for (const first of ["sleep", "push"]) {
    test(`${kind}: no wake-up is lost at any step of a ${first}`, async (t) => {
      // The sleep ends only with a notification.
      t.mock.timers.enable({ apis: ["setTimeout"] });
      for (let number = 0, more = true; more; number++) {
        const [producer, consumer] = make();
        let awake = false;
        const sleep = (): void => void consumer.waitAsync(1_000).then(() => (awake = true));
        const push = (): void => void assert.ok(producer.push());
        more = first === "sleep" ? between(t, number, sleep, push) : between(t, number, push, sleep);
        if (!more) {
          assert.ok(number >= 2);
          break;
        }
        for (let left = 10_000; !awake && left > 0; left--) await turn();
        assert.ok(awake, `before step ${number}`);
        assert.ok(consumer.found);
      }
    });
  }
}
