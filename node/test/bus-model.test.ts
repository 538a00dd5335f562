// Random operations on a MessageSystem and on a naive model of it: handlers, observers, queues of every policy, aborts, time
// limits, throws, retries, forwards, re-sends, places, acquired messages and closes; and on pairs of systems, one of each in a worker.
// MILLPOND_OPERATIONS: number of operations, 100,000 by default.
import { test } from "node:test";
import { BridgeDriver } from "./support/bridge-driver.js";
import { BusDriver } from "./support/bus-driver.js";
import { randomFrom } from "./support/random.js";

const OPERATIONS = Number(process.env["MILLPOND_OPERATIONS"] ?? 100_000);
const SEED = Number(process.env["MILLPOND_SEED"] ?? 1);
const PART = 2_000;
/** Operations of all pairs that share a worker. */
const BRIDGE_PART = 64_000;

const KINDS = [
  { name: "as it is", share: 0.4, options: {} },
  { name: "without asynchronous contexts", share: 0.2, options: { asyncContext: false } },
  { name: "in a pool that is far too small", share: 0.1, options: { pool: 3 } },
  { name: "with plain messages", share: 0.1, options: { pool: 0 } },
  {
    name: "checked, traced and with latencies",
    share: 0.1,
    options: { checked: true, tracing: true, statistics: "latency" },
  },
] as const;

for (const [kind, { name, share, options }] of KINDS.entries()) {
  test(`a system behaves like the model under random operations: ${name}`, async () => {
    const parts = Math.ceil((OPERATIONS * share) / PART);
    for (let part = 0; part < parts; part++) {
      const seed = SEED * 1_000_003 + kind * 100_003 + part * 7_919;
      try {
        await new BusDriver(randomFrom(seed), options).run(PART);
      } catch (error) {
        throw new Error(`the run with seed ${seed} differs`, { cause: error });
      }
    }
  });
}

test("pairs of systems joined by bridges, one in a worker, behave like two models", async () => {
  const operations = Math.ceil(OPERATIONS * 0.1);
  const parts = Math.ceil(operations / BRIDGE_PART);
  for (let part = 0; part < parts; part++) {
    const seed = SEED * 1_000_003 + KINDS.length * 100_003 + part * 7_919;
    try {
      await new BridgeDriver(randomFrom(seed)).run(Math.ceil(operations / parts));
    } catch (error) {
      throw new Error(`the run with seed ${seed} differs`, { cause: error });
    }
  }
});
