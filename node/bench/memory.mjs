// Measured:     messages made, held and released while the heap is under pressure, from cold and from warm pools, and by `send`.
// Not measured: making the pools, except for cold pools.
import { PerformanceObserver } from "node:perf_hooks";
import { MessagePool, MessageSystem } from "millpond";
import { compare, nowNanos, quick } from "./harness.mjs";
import { Order } from "./support/order.mjs";

const body = { resident: true };
const meta = { resident: true };

/** Runs `work` and measures collections, their pauses and the size of the heap. */
async function watched(work, messages) {
  globalThis.gc();
  let collections = 0;
  let pauseMs = 0;
  let longestMs = 0;
  const note = (entries) => {
    for (const entry of entries) {
      collections++;
      pauseMs += entry.duration;
      longestMs = Math.max(longestMs, entry.duration);
    }
  };
  const observer = new PerformanceObserver((list) => note(list.getEntries()));
  await new Promise((resolve) => setImmediate(resolve));
  observer.observe({ entryTypes: ["gc"] });
  const before = process.memoryUsage().heapUsed;
  const start = nowNanos();
  const notes = work();
  const value = (nowNanos() - start) / messages;
  const heapBytes = process.memoryUsage().heapUsed - before;
  await new Promise((resolve) => setImmediate(resolve));
  note(observer.takeRecords());
  observer.disconnect();
  const bytes = (heapBytes / messages).toFixed(1);
  const text = `${collections} gc, ${pauseMs.toFixed(1)} ms, longest ${longestMs.toFixed(1)} ms, heap +${(heapBytes / 1e6).toFixed(1)} MB, ${bytes} bytes a message${notes ?? ""}`;
  return { value, notes: { collections, pause_ms: pauseMs, longest_ms: longestMs, heap_bytes: heapBytes, text } };
}

const rateOf = (pool) => `, reuse ${(100 * pool.stats().reuseRate).toFixed(1)} %`;

/** Makes separate code per contender, so that they do not share optimised code. */
const ownCode = (work) => new Function(`return ${work}`)();

// 50,000 in flight: a window that slides over 20 times as many messages, with 100 MB of permanent and some temporary data.
const WINDOW = 50_000;
const PASSES = quick ? 4 : 20;
const ballast = Array.from({ length: 100 }, () => Array.from({ length: 10_000 }, (_, n) => ({ n })));
function slide(out, ballast, acquire, release, body, meta) {
  let right = 0;
  for (let n = 0; n < out.length; n++) {
    const old = out[n];
    if (old !== undefined) {
      if (old.body === body) right++;
      release(old);
    }
    if (n % 64 === 0) ballast[n % 100] = Array.from({ length: 100 }, (_, at) => ({ n: at }));
    out[n] = acquire("svc://orders/7", body, meta);
  }
  return right;
}
function sliding(name, make) {
  const messages = WINDOW * PASSES;
  const pass = ownCode(slide);
  return {
    name,
    async run() {
      const { acquire, release, pool } = make();
      const out = new Array(WINDOW).fill(undefined);
      pass(out, ballast, acquire, release, body, meta);
      let right = 0;
      const finding = await watched(() => {
        for (let done = 0; done < PASSES; done++) right += pass(out, ballast, acquire, release, body, meta);
        return pool === undefined ? "" : rateOf(pool);
      }, messages);
      for (const message of out) release(message);
      return { ...finding, answer: right, expected: messages };
    },
  };
}
function pooled(size) {
  const waysOf = ownCode(
    "(pool) => [(path, given, note) => pool.acquire(path, given, note), (message) => pool.release(message)]",
  );
  return () => {
    const pool = new MessagePool(size);
    const [acquire, release] = waysOf(pool);
    return { pool, acquire, release };
  };
}
const plain = () => ({ acquire: (path, given, note) => new Order(path, given, note), release: () => {} });
await compare(
  {
    name: "memory-pressure",
    question: "What does a message cost with 50,000 in flight and other work on the heap?",
    unit: "ns/message",
    runs: quick ? 6 : 9,
  },
  [sliding("new", plain), sliding("MessagePool auto", pooled("auto")), sliding("MessagePool 2,000", pooled(2_000))],
);

ballast.length = 0;

// Warm and cold pools, and pools of several sizes, by messages in flight.
function burst(out, acquire, release, body, meta) {
  let right = 0;
  for (let n = 0; n < out.length; n++) out[n] = acquire("svc://orders/7", body, meta);
  for (let n = 0; n < out.length; n++) {
    if (out[n].body === body) right++;
    release(out[n]);
    out[n] = undefined;
  }
  return right;
}
function bursts(name, inFlight, make) {
  const once = ownCode(burst);
  const rounds = Math.ceil((quick ? 100_000 : 500_000) / inFlight);
  const { acquire, release, pool } = make();
  const out = new Array(inFlight).fill(undefined);
  return {
    name,
    async run() {
      let right = 0;
      const latencies = new Float64Array(rounds);
      const finding = await watched(() => {
        for (let round = 0; round < rounds; round++) {
          const start = process.hrtime();
          right += once(out, acquire, release, body, meta);
          const [seconds, nanos] = process.hrtime(start);
          latencies[round] = (seconds * 1e9 + nanos) / inFlight;
        }
        return pool === undefined ? "" : rateOf(pool);
      }, rounds * inFlight);
      return { ...finding, latencies: [...latencies], answer: right, expected: rounds * inFlight };
    },
  };
}
const first = (name, make) => ({
  name,
  async run() {
    const { acquire, release } = make();
    const out = new Array(1_000).fill(undefined);
    const finding = await watched(() => {
      for (let n = 0; n < 1_000; n++) out[n] = acquire("svc://orders/7", body, meta);
      for (let n = 0; n < 1_000; n++) release(out[n]);
    }, 1_000);
    return { ...finding, answer: 1, expected: 1 };
  },
});
await compare(
  {
    name: "memory-warm",
    question: "What do the first 1,000 messages cost, in flight together?",
    unit: "ns/message",
    runs: quick ? 6 : 11,
  },
  [
    first("new", plain),
    first("cold", pooled(2_000)),
    first("warm", () => {
      const made = pooled(2_000)();
      made.pool.warmup(2_000);
      return made;
    }),
  ],
);
for (const inFlight of [500, 1_000, 2_000, 5_000]) {
  await compare(
    {
      name: `memory-sizes-${inFlight}`,
      question: `What does a message cost in bursts of ${inFlight}, with pools of several sizes?`,
      unit: "ns/message",
      runs: quick ? 6 : 9,
    },
    [
      bursts("new", inFlight, plain),
      ...[500, 1_000, 2_000, 5_000, "auto"].map((size) => bursts(`MessagePool ${size}`, inFlight, pooled(size))),
    ],
  );
}

// Send: bytes and collections per message, with a resident body and with a new body each.
function sending(name, pool, makeBody) {
  return {
    name,
    async run() {
      const system = new MessageSystem({ pool });
      let hits = 0;
      system.on("svc://orders", () => void hits++);
      const count = quick ? 100_000 : 1_000_000;
      const batch = () => {
        for (let n = 0; n < 1_000; n++) system.send("svc://orders", makeBody(n));
      };
      for (let n = 0; n < 20; n++) batch();
      hits = 0;
      const finding = await watched(() => {
        for (let n = 0; n < count; n += 1_000) batch();
      }, count);
      return { ...finding, answer: hits, expected: count };
    },
  };
}
await compare(
  { name: "memory-send", question: "What does a send cost, and leave for the collector?", unit: "ns/message" },
  [
    sending("pooled, resident body", 2_000, () => body),
    sending("pooled, a new body each", 2_000, (n) => ({ n })),
    sending("plain, resident body", 0, () => body),
    sending("plain, a new body each", 0, (n) => ({ n })),
  ],
);
