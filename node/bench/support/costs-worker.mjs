// One contender of costs.mjs: the package with parts of its code removed, or the reference.
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { parentPort, threadId, workerData } from "node:worker_threads";
import fastq from "fastq";
import { timeBatches } from "../harness.mjs";
import { Order } from "./order.mjs";

const BATCH = 1_000;
const COUNT = 50_000;
const body = { n: 1 };
const PATHS = Array.from({ length: 64 }, (_, n) => `svc://orders/route${n}`);

function load(patches) {
  const bundle = fileURLToPath(new URL("../../dist/node/millpond.cjs", import.meta.url));
  let text = readFileSync(bundle, "utf8");
  for (const [from, to] of patches) {
    const without = text.replace(from, to);
    if (without === text) throw new Error(`the package has no such text: ${from}`);
    text = without;
  }
  const file = bundle.replace("millpond.cjs", `costs-${process.pid}-${threadId}.cjs`);
  writeFileSync(file, text.replace(/^\/\/# sourceMappingURL.*$/m, ""));
  try {
    return createRequire(import.meta.url)(file);
  } finally {
    rmSync(file);
  }
}

const { MessagePool, MessageSystem, SlotPool } = load(workerData.patches ?? []);
let hits = 0;
const hit = (given) => {
  if (given === body) hits++;
};
const handlers = (read) => [
  (given) => hit(read(given)),
  (given) => hit(read(given)),
  (given) => hit(read(given)),
  (given) => hit(read(given)),
  (given) => hit(read(given)),
  (given) => hit(read(given)),
  (given) => hit(read(given)),
  (given) => hit(read(given)),
];

/** The contenders and their references. */
const kinds = {
  send() {
    const bare = [(given) => hit(given), (given) => hit(given), (given) => hit(given), (given) => hit(given)];
    bare.push(
      (given) => hit(given),
      (given) => hit(given),
      (given) => hit(given),
      (given) => hit(given),
    );
    const calls = new Map(PATHS.map((path, n) => [path, bare[n & 7]]));
    const system = new MessageSystem({ pool: 2_000 });
    const read = handlers((message) => message.body);
    for (const [n, path] of PATHS.entries()) system.on(path, read[n & 7]);
    return [
      () => {
        for (let n = 0; n < BATCH; n++) system.send(PATHS[n & 63], body);
      },
      () => {
        for (let n = 0; n < BATCH; n++) calls.get(PATHS[n & 63])(body);
      },
    ];
  },
  queue() {
    const pool = new MessagePool(2_000);
    const queue = fastq((message, done) => {
      hit(message.body);
      pool.release(message);
      done(null);
    }, 1);
    const queues = new Map([["work", queue]]);
    queue.pause();
    const system = new MessageSystem({ pool: 2_000, asyncContext: false });
    system.on("work", (message) => void hit(message.body), { queue: { capacity: 2 * BATCH } });
    return [
      () => {
        for (let n = 0; n < BATCH; n++) system.emit("work", body);
        system.flush();
      },
      () => {
        for (let n = 0; n < BATCH; n++) queues.get("work").push(pool.acquire("work", body));
        queue.resume();
        queue.pause();
      },
    ];
  },
  slots() {
    const pool = new SlotPool({ id: "i32", path: "i32", price: "i32", size: "i32", side: "i32", body: "i32" }, 2_000);
    const handles = new Float64Array(BATCH);
    const orders = new Array(BATCH).fill(undefined);
    return [
      () => {
        for (let n = 0; n < BATCH; n++) {
          const handle = pool.acquire();
          const { record } = pool;
          record.id = n;
          record.path = n & 63;
          record.body = 1;
          record.price = n;
          record.size = 3;
          record.side = 1;
          handles[n] = handle;
        }
        for (let n = 0; n < BATCH; n++) {
          const handle = handles[n];
          hits += pool.at(handle).side;
          pool.release(handle);
        }
      },
      () => {
        for (let n = 0; n < BATCH; n++) orders[n] = new Order(PATHS[n & 63], body, undefined);
        for (let n = 0; n < BATCH; n++) {
          hit(orders[n].body);
          orders[n] = undefined;
        }
      },
    ];
  },
};

const [measured, beside] = kinds[workerData.kind]();
const batch = workerData.patches === undefined ? beside : measured;
parentPort.on("message", () => {
  hits = 0;
  const { value, operations } = timeBatches(batch, BATCH, COUNT);
  parentPort.postMessage({ value, answer: hits, expected: operations });
});
