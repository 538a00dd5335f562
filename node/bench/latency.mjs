// Measured:     from the time at which a message was due, at 100,000 per second, until it was made, sent and handled and the oldest
//               in flight was released. A late message counts from the time at which it was due.
// Not measured: making the pools.
import { MessagePool } from "millpond";
import { compare, quick } from "./harness.mjs";

const INTERVAL_NS = 10_000;
const COUNT = quick ? 20_000 : 80_000;
const body = { resident: true };

class Order {
  constructor(path, given) {
    this.path = path;
    this.body = given;
    this.price = 0;
    this.size = 0;
    this.side = 0;
    this.link = null;
  }
}
const now = () => {
  const [seconds, nanos] = process.hrtime();
  return seconds * 1e9 + nanos;
};

function paced(name, inFlight, make) {
  return {
    name,
    async run() {
      const { acquire, release } = make();
      const out = new Array(Math.max(1, inFlight)).fill(undefined);
      const latencies = new Float64Array(COUNT);
      let handled = 0;
      for (let n = 0; n < out.length; n++) out[n] = acquire("svc://orders", body);
      globalThis.gc();
      const start = now() + INTERVAL_NS;
      for (let n = 0; n < COUNT; n++) {
        const due = start + n * INTERVAL_NS;
        while (now() < due);
        const at = n % out.length;
        if (out[at].body === body) handled++;
        release(out[at]);
        out[at] = acquire("svc://orders", body);
        latencies[n] = (now() - due) / 1_000;
      }
      for (const message of out) release(message);
      const value = latencies.reduce((sum, latency) => sum + latency, 0) / COUNT;
      return { value, answer: handled, expected: COUNT, latencies: [...latencies] };
    },
  };
}
const pooled = () => {
  const pool = new MessagePool("auto", { warmup: 50_001 });
  return { acquire: (path, given) => pool.acquire(path, given), release: (message) => pool.release(message) };
};
const plain = () => ({ acquire: (path, given) => new Order(path, given), release: () => {} });
for (const inFlight of [0, 50_000]) {
  await compare(
    {
      name: `latency-${inFlight}`,
      question: `How late is a message at 100,000 a second, with ${inFlight} in flight?`,
      unit: "us",
      runs: 6,
      warmups: 1,
      goals: inFlight === 0 ? [] : [{ contender: "MessagePool", of: "p999", atMost: 50 }],
    },
    [paced("new", inFlight, plain), paced("MessagePool", inFlight, pooled)],
  );
}
