// Measured:     quotes that a C++ process publishes to a market ring and MarketRing reads: quotes per second without loss, and the
//               latency from the publisher's clock until the handler has read the quote.
// Not measured: opening the ring.
import { execFileSync, spawn } from "node:child_process";
import { mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { MarketRing } from "millpond";
import { compare, quick } from "./harness.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const writer = join(root, "build/ring-writer");
mkdirSync(dirname(writer), { recursive: true });
const source = join(root, "bench/support/ring-writer.cpp");
execFileSync("g++", ["-std=c++23", "-O3", "-I", join(root, "../include"), "-o", writer, source], { stdio: "inherit" });

async function opened(name) {
  for (;;) {
    try {
      return await MarketRing.open(name);
    } catch (error) {
      if (error.fault !== "not_found" && error.fault !== "not_ready") throw error;
    }
  }
}

let runs = 0;
/** A stream of `count` quotes at `rate` per second; the latency of every `sample`th is recorded. */
async function stream(count, rate, sample) {
  const name = `bench-${process.pid}-${runs++}`;
  const process_ = spawn(writer, [name, String(count), String(rate)], { stdio: ["pipe", "ignore", "inherit"] });
  const ended = new Promise((resolve) => process_.once("exit", resolve));
  const ring = await opened(name);
  const latencies = [];
  let sum = 0;
  let missed = 0;
  let last = 0;
  const handler = {
    quote(quote, number) {
      sum += quote.bidSize;
      last = number;
      if (number % sample === 0) latencies.push(Number(process.hrtime.bigint() - quote.receiveTicks));
    },
    missed(first, to) {
      missed += to - first + 1;
      // The size of a quote is its number, so that read and missed quotes can be checked.
      sum += sumTo(to) - sumTo(first - 1);
      last = to;
    },
  };
  process_.stdin.write("g");
  while (ring.poll(handler, 1) === 0);
  const start = process.hrtime.bigint();
  while (last < count) ring.poll(handler, 4_096);
  const nanos = Number(process.hrtime.bigint() - start);
  ring.close();
  process_.stdin.end("e");
  await ended;
  return { perSecond: (1_000 * count) / nanos, sum, missed, latencies };
}

const sumTo = (count) => (count * (count + 1)) / 2;
const paced = (rate) => ({
  name: `${rate / 1e6} M/s offered`,
  async run() {
    // About a second each.
    const count = quick ? rate / 10 : rate;
    const { perSecond, sum, missed } = await stream(count, rate, 2 ** 40);
    const text = `${missed} missed`;
    return { value: perSecond, answer: sum, expected: sumTo(count), notes: { missed, text } };
  },
});
await compare(
  {
    name: "shared-memory-rate",
    question: "How many quotes a second does Node take from a C++ writer's ring?",
    unit: "million/s",
    runs: 6,
    warmups: 1,
    goals: [{ contender: "4.5 M/s offered", atLeast: 4 }],
  },
  [paced(1e6), paced(4.5e6)],
);
await compare(
  {
    name: "shared-memory-latency",
    question: "How long does a quote take from a C++ writer to Node's handler, at 100,000 a second?",
    unit: "ns",
    runs: 6,
    warmups: 1,
    goals: [{ contender: "MarketRing", of: "p50", atMost: 1_000 }],
  },
  [
    {
      name: "MarketRing",
      async run() {
        const count = quick ? 20_000 : 100_000;
        const { sum, missed, latencies } = await stream(count, 100_000, 1);
        const value = latencies.reduce((total, latency) => total + latency, 0) / latencies.length;
        return { value, answer: sum, expected: sumTo(count), latencies, notes: { missed } };
      },
    },
  ],
);
