// Measured:     throughput of 128-byte messages from a worker to the main thread; the consumer reads a number of each.
// Not measured: starting the worker.
import { MessageChannel, Worker } from "node:worker_threads";
import { MpscRing, SpscRing } from "millpond";
import { compare, quick } from "./harness.mjs";

const producer = new URL("./support/ring-producer.mjs", import.meta.url);
const sumTo = (count) => (count * (count - 1)) / 2;

async function throughRing(Ring, count) {
  const ring = Ring.create(8_192, 128);
  const words = new Uint32Array(ring.buffer);
  const worker = new Worker(producer, { workerData: { kind: Ring.name, buffer: ring.buffer, count } });
  await new Promise((resolve) => worker.once("message", resolve));
  let sum = 0;
  let left = count;
  const read = (offset) => {
    sum += words[offset >> 2];
  };
  const ended = new Promise((resolve) => worker.once("exit", resolve));
  worker.postMessage("go");
  const start = process.hrtime.bigint();
  while (left > 0) {
    const polled = ring.poll(read, 1_024);
    left -= polled;
    if (polled === 0) ring.wait(1);
  }
  const nanos = Number(process.hrtime.bigint() - start);
  await ended;
  return { value: (1_000 * count) / nanos, answer: sum, expected: sumTo(count) };
}

async function throughPort(count) {
  const { port1, port2 } = new MessageChannel();
  const worker = new Worker(producer, { workerData: { kind: "port", port: port2, count }, transferList: [port2] });
  await new Promise((resolve) => worker.once("message", resolve));
  const ended = new Promise((resolve) => worker.once("exit", resolve));
  let sum = 0;
  let left = count;
  const start = process.hrtime.bigint();
  worker.postMessage("go");
  await new Promise((resolve) => {
    port1.on("message", (bytes) => {
      sum += new Uint32Array(bytes.buffer, bytes.byteOffset, 1)[0];
      left--;
      if (left === 0) resolve();
    });
  });
  const nanos = Number(process.hrtime.bigint() - start);
  port1.close();
  await ended;
  return { value: (1_000 * count) / nanos, answer: sum, expected: sumTo(count) };
}

const MANY = quick ? 200_000 : 2_000_000;
await compare(
  {
    name: "threads",
    question: "How many messages of 128 bytes go from a worker to the main thread?",
    unit: "million/s",
    runs: quick ? 6 : 9,
    ratioTo: "postMessage",
    goals: [
      { contender: "SpscRing", atLeast: 5 },
      { contender: "SpscRing", to: "postMessage", atLeast: 15 },
    ],
  },
  [
    { name: "postMessage", run: () => throughPort(MANY / 20) },
    { name: "SpscRing", run: () => throughRing(SpscRing, MANY) },
    { name: "MpscRing", run: () => throughRing(MpscRing, MANY) },
  ],
);
