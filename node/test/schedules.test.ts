import assert from "node:assert/strict";
import { test } from "node:test";
import { Worker } from "node:worker_threads";
import {
  type Message,
  MessagePool,
  MessageSystem,
  type MessageSystemOptions,
  type Priority,
  WorkerBridge,
} from "millpond";
import { randomFrom } from "./support/random.js";

const LONG = process.env["MILLPOND_LONG"] === "1";
/** Messages over all modes and pools: 2 * 10^6, in the long run 10^7. */
const SCALE = LONG ? 5 : 1;
const PRIORITIES: readonly Priority[] = ["critical", "high", "medium", "low"];
const MAX_OUTSTANDING = 4_096;

interface Outcome {
  readonly hits: Uint8Array;
  /** Expected number of runs of each message. */
  readonly due: Uint8Array;
  readonly wrong: number;
}

/** Sends `count` messages in random modes. Message n has body n, or a resident object with n. */
async function run(options: MessageSystemOptions, count: number, seed: number): Promise<Outcome> {
  // No request of a schedule may time out on a slow machine.
  const system = new MessageSystem({ timeoutMs: 2 ** 31 - 1, ...options });
  const random = randomFrom(seed);
  const hits = new Uint8Array(count);
  const due = new Uint8Array(count).fill(1);
  const bodies = Array.from({ length: 64 }, () => ({ n: 0 }));
  let wrong = 0;
  let outstanding = 0;
  let hung = 0;
  const releases: (() => void)[] = [];

  const see = (message: Message, path: string): number => {
    const body = message.body as number | { n: number };
    const n = typeof body === "number" ? body : body.n;
    hits[n]!++;
    if (message.path !== path) wrong++;
    return n;
  };
  const late = async (message: Message, path: string): Promise<number> => {
    const before = message.body;
    await null;
    if (random(64) === 0) await new Promise<void>((resolve) => releases.push(resolve));
    if (message.body !== before) wrong++;
    return see(message, path);
  };
  system.on("sync", (message) => see(message, "sync"));
  for (let n = 0; n < 16; n++) {
    system.on(`params/${n}/{a}/{b}`, (message) => {
      if (message.paramInt("b" as never) !== message.body) wrong++;
      return see(message, message.path);
    });
  }
  system.on("async", (message) => late(message, "async"));
  system.on("throwing", (message) => {
    throw new RangeError(String(see(message, "throwing")));
  });
  system.on("rejecting", async (message) => {
    throw new RangeError(String(await late(message, "rejecting")));
  });
  system.on("hanging", (message) => {
    see(message, "hanging");
    hung++;
    return new Promise(() => {});
  });
  system.on("queued", (message) => see(message, "queued"), { queue: { capacity: 8_192 } });
  system.on("pooled", (message) => late(message, "pooled"), { queue: { capacity: 8_192, concurrency: 7 } });
  system.on("waiting", (message) => late(message, "waiting"), { queue: { capacity: 16, overflow: "wait" } });
  system.on("fan", (message) => see(message, "fan"));
  const wide = { queue: { capacity: 8_192 } };
  system.subscribe("fan", (message) => void see(message as Message, "fan"), wide);
  system.subscribe("fan", (message) => late(message as Message, "fan"), {
    queue: { capacity: 8_192, concurrency: 64 },
  });
  const target = system.target("sync");

  const watch = (reply: unknown, n: number | undefined): void => {
    outstanding++;
    (reply as Promise<unknown>).then(
      (value) => {
        outstanding--;
        if (n !== undefined && value !== n) wrong++;
      },
      (error) => {
        outstanding--;
        if (n !== undefined || !(error instanceof RangeError)) wrong++;
      },
    );
  };
  const modes: readonly ((n: number) => void)[] = [
    (n) => watch(system.send("async", n), n),
    (n) => {
      try {
        system.send("throwing", n);
        wrong++;
      } catch (error) {
        if ((error as Error).message !== String(n)) wrong++;
      }
    },
    (n) => watch(system.send("rejecting", n), undefined),
    (n) => void system.emit("queued", n, { priority: PRIORITIES[n & 3]! }),
    (n) => watch(system.send("pooled", n, { priority: PRIORITIES[n & 3]! }), n),
    (n) => watch(system.send("waiting", n), n),
    (n) => {
      due[n] = 3;
      if (system.emit("fan", n) !== 3) wrong++;
    },
    (n) => watch(system.request("async", n), n),
    (n) => {
      const abort = new AbortController();
      const reply = system.send("pooled", n, { signal: abort.signal }) as Promise<unknown>;
      outstanding++;
      reply.then(
        () => outstanding--,
        () => {
          outstanding--;
          // The message may have been handled, or be removed from the queue.
          due[n] = hits[n]!;
        },
      );
      if (random(2) === 0) abort.abort(new RangeError("aborted"));
    },
    (n) => {
      const message = system.pool.acquire("async", n);
      outstanding++;
      (system.send(message) as Promise<unknown>).then((value) => {
        if (value !== n || message.body !== n) wrong++;
        system.pool.release(message);
        outstanding--;
      });
    },
  ];

  const settle = async (): Promise<void> => {
    for (const release of releases.splice(0)) release();
    await new Promise<void>((resolve) => setImmediate(resolve));
  };
  for (let n = 0; n < count; n++) {
    const draw = random(128);
    if (draw < 48) {
      const body = bodies[random(64)]!;
      body.n = n;
      if (system.send("sync", body) !== n) wrong++;
    } else if (draw < 80) {
      if (target.send(n) !== n) wrong++;
    } else if (draw < 110) {
      if (system.send(`params/${n & 15}/x/${n}`, n) !== n) wrong++;
    } else if (draw === 110 && hung < 100) void system.send("hanging", n);
    else modes[draw % modes.length]!(n);
    if (outstanding > MAX_OUTSTANDING || (n & 4_095) === 0) await settle();
  }
  while (outstanding > 0 || system.stats().receivers.some(({ kind, waiting }) => kind === "observer" && waiting > 0)) {
    await settle();
  }
  await settle();
  await settle();
  assert.equal(system.pool.stats().inUse, hung, "only messages of hanging handlers are out");
  return { hits, due, wrong };
}

async function check(options: MessageSystemOptions, count: number, seed: number): Promise<void> {
  const { hits, due, wrong } = await run(options, count, seed);
  assert.equal(wrong, 0);
  let different = 0;
  for (let n = 0; n < count; n++) if (hits[n] !== due[n]) different++;
  assert.equal(different, 0, "hits = sends, none twice");
}

test("random modes with an automatic pool: hits = sends, bodies equal, none twice", async () => {
  await check({ pool: "auto" }, 1_40_000 * SCALE, 1);
});

test("random modes with a pool that is far too small", async () => {
  await check({ pool: 8 }, 400_000 * SCALE, 2);
});

test("random modes with plain messages", async () => {
  await check({ pool: 0 }, 300_000 * SCALE, 3);
});

test("random modes, checked and traced, so that any stale use throws", async () => {
  await check({ pool: new MessagePool("auto", { checked: true }) }, 40_000 * SCALE, 4);
  await check({ statistics: "latency", tracing: true }, 40_000 * SCALE, 5);
});

test("routes in a worker: hits = sends, bodies equal, none twice", async () => {
  const system = new MessageSystem();
  const bridge = new WorkerBridge(system, undefined, { ringBytes: 1 << 20 });
  bridge.forward("calc://*");
  const worker = new Worker(new URL("./workers/bridge-end.js", import.meta.url), {
    workerData: bridge.port,
    transferList: bridge.transferList,
  });
  const count = 20_000 * SCALE;
  const hits = new Uint8Array(count);
  for (let first = 0; first < count; first += 1_000) {
    const numbers = Array.from({ length: 1_000 }, (_, n) => first + n);
    const replies = await Promise.all(numbers.map((n) => system.send("calc://double", n)));
    for (const [at, reply] of replies.entries()) {
      assert.equal(reply, 2 * (first + at));
      hits[(reply as number) / 2]!++;
    }
  }
  assert.ok(hits.every((hit) => hit === 1));
  // The exit may be noticed before the reply.
  const exits = new Promise((resolve) => worker.once("exit", resolve));
  await system.send("calc://stop");
  await exits;
  await bridge.close();
});
