// Measured:     from the send into a queue until its handler has run; the messages come from the same pool for all.
// Not measured: making queues and pools.
import fastq from "fastq";
import { MessagePool, MessageSystem } from "millpond";
import PQueue from "p-queue";
import { compare, nowNanos, quick } from "./harness.mjs";

const BATCH = 1_000;
const ROUNDS = quick ? 20 : 100;
const body = { n: 1 };

function contender(name, make) {
  let hits = 0;
  const { send, drained } = make(() => hits++);
  return {
    name,
    async run() {
      hits = 0;
      const start = nowNanos();
      for (let round = 0; round < ROUNDS; round++) {
        for (let n = 0; n < BATCH; n++) send();
        await drained();
      }
      return { value: (nowNanos() - start) / (ROUNDS * BATCH), answer: hits, expected: ROUNDS * BATCH };
    },
  };
}
const emitted = (options, observed) => (hit) => {
  const system = new MessageSystem({ pool: 2_000, ...options });
  system.on("work", (message) => void (message.body === body && hit()), { queue: { capacity: 2 * BATCH } });
  if (observed) system.subscribe("work", () => {}, { queue: { capacity: 2 * BATCH } });
  return { send: () => system.emit("work", body), drained: async () => void system.flush() };
};
/** fastq runs a task at once if it can: paused, it queues like the others. Its queue is looked up by path, like ours. */
const withFastq = (heldBack) => (hit) => {
  const pool = new MessagePool(2_000);
  const queue = fastq((message, done) => {
    if (message.body === body) hit();
    pool.release(message);
    done(null);
  }, 1);
  const queues = new Map([["work", queue]]);
  if (heldBack) queue.pause();
  return {
    send: () => queues.get("work").push(pool.acquire("work", body)),
    async drained() {
      queue.resume();
      if (heldBack) queue.pause();
    },
  };
};
const withPQueue = (hit) => {
  const pool = new MessagePool(2_000);
  const queue = new PQueue({ concurrency: 1 });
  return {
    send() {
      const message = pool.acquire("work", body);
      void queue.add(() => {
        if (message.body === body) hit();
        pool.release(message);
      });
    },
    drained: () => queue.onIdle(),
  };
};
await compare(
  {
    name: "queue",
    question: "What does a message cost that goes through a queue to its handler, 1,000 waiting?",
    unit: "ns/message",
    goals: [
      { contender: "emit, no contexts", to: "fastq, queued", atMost: 1.0 },
      { contender: "emit", to: "fastq, queued", atMost: 1.0 },
    ],
  },
  [
    contender("fastq, at once", withFastq(false)),
    contender("fastq, queued", withFastq(true)),
    contender("emit, no contexts", emitted({ asyncContext: false }, false)),
    contender("emit, no contexts, one observer", emitted({ asyncContext: false }, true)),
    contender("emit", emitted({}, false)),
    contender("p-queue", withPQueue),
  ],
);
