// Measured:     messages with a new body each: acquired, held while others are in flight, read and released.
// Not measured: making the pools; the first messages of each.
import { Worker } from "node:worker_threads";
import { compare, quick } from "./harness.mjs";

const MESSAGES = quick ? 100_000 : 200_000;
const worker = new URL("./support/fresh-worker.mjs", import.meta.url);
let workers = [];

function contender(name, kind, size, inFlight) {
  const thread = new Worker(worker, { workerData: { kind, size, inFlight }, argv: process.argv.slice(2) });
  workers.push(thread);
  let settle;
  thread.on("message", (finding) => settle.resolve(finding));
  thread.on("error", (error) => settle.reject(error));
  return {
    name,
    async run() {
      const found = new Promise((resolve, reject) => {
        settle = { resolve, reject };
      });
      thread.postMessage(MESSAGES);
      return { ...(await found), expected: MESSAGES };
    },
  };
}

async function question(name, text, contenders, goals) {
  await compare({ name, question: text, unit: "ns/message", runs: quick ? 6 : 25, warmups: 4, goals }, contenders);
  await Promise.all(workers.map((thread) => thread.terminate()));
  workers = [];
}

for (const inFlight of [1_000, 20_000, 50_000]) {
  await question(
    `fresh-${inFlight}`,
    `What does a message with a body of its own cost, ${inFlight} in flight?`,
    [
      contender("new", "new", 0, inFlight),
      contender("MessagePool 0, plain", "pool", 0, inFlight),
      contender("MessagePool 2,000", "pool", 2_000, inFlight),
      contender("MessagePool auto", "pool", "auto", inFlight),
    ],
    [
      { contender: "MessagePool auto", to: "MessagePool 0, plain", atMost: 1.0 },
      { contender: "MessagePool auto", to: "new", atMost: 1.0 },
    ],
  );
}
for (const [kind, inFlight, text] of [
  ["send", 1_000, "What does a send of a body of its own cost?"],
  ["queue", 20_000, "What does a queued message with a body of its own cost, 20,000 waiting?"],
]) {
  await question(
    `fresh-${kind}`,
    text,
    [
      contender("pool: 0, plain", kind, 0, inFlight),
      contender("pool: 2,000", kind, 2_000, inFlight),
      contender("pool: auto", kind, "auto", inFlight),
    ],
    [{ contender: "pool: auto", to: "pool: 0, plain", atMost: 1.0 }],
  );
}
