// A call that was aborted before its start never runs on the other side of a bridge, even if that side is busy. With both sides in one
// thread, the other side has no turn of the event loop between the abort and the start: it must check for aborts itself.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Worker } from "node:worker_threads";
import {
  type HandlerOptions,
  type Message,
  MessageSystem,
  RemoteError,
  RequestTimeoutError,
  type WorkerBridge as Bridge,
  WorkerBridge,
} from "millpond";
import { gate, turn } from "./support/gate.js";

interface Joined {
  readonly near: MessageSystem;
  readonly far: MessageSystem;
  readonly nearEnd: Bridge<never>;
  readonly farEnd: Bridge<never>;
  /** The started handlers of `far/second`. */
  readonly started: unknown[];
  readonly controller: AbortController;
  /** Sends `far/second`, which will be aborted. */
  second(body?: unknown): Promise<void>;
}

function joined(options: HandlerOptions = {}, handle: (message: Message) => unknown = () => "done"): Joined {
  const near = new MessageSystem();
  const far = new MessageSystem();
  const nearEnd = new WorkerBridge(near) as unknown as Bridge<never>;
  const farEnd = new WorkerBridge(far, nearEnd.port) as unknown as Bridge<never>;
  nearEnd.forward("far/*" as never);
  const started: unknown[] = [];
  const controller = new AbortController();
  const { signal } = controller;
  far.on(
    "far/second",
    (message) => {
      started.push(message.attempt);
      return handle(message);
    },
    options,
  );
  const second = (body?: unknown): Promise<void> =>
    assert.rejects(near.send("far/second", body, { signal }) as Promise<unknown>, /given up/);
  return { near, far, nearEnd, farEnd, started, controller, second };
}

const ended = async ({ nearEnd, farEnd }: Joined): Promise<void> => {
  assert.deepEqual(await Promise.all([nearEnd.close(), farEnd.close()]), [true, true]);
};
const receiver = (system: MessageSystem, name: string): Record<string, unknown> =>
  system.stats().receivers.find((one) => one.name === name) as never;

for (const [where, body] of [
  ["in the ring", 1],
  ["in the port", "x".repeat(100_000)],
] as const) {
  test(`a call that waits ${where} behind a busy handler does not start when it is aborted`, async () => {
    const pair = joined();
    const { near, far, started, controller } = pair;
    far.on("far/first", () => controller.abort(new Error("given up")));
    const first = near.send("far/first") as Promise<unknown>;
    const aborted = pair.second(body);
    await Promise.all([first, aborted]);
    await ended(pair);
    assert.deepEqual(started, []);
    assert.equal(receiver(far, "far/second")["sent"], 0);
  });
}

for (const asyncContext of [true, false]) {
  test(`a call in the other side's queue does not start either when it is aborted; contexts ${asyncContext ? "on" : "off"}`, async () => {
    const near = new MessageSystem({ asyncContext });
    const far = new MessageSystem({ asyncContext });
    const nearEnd = new WorkerBridge(near);
    const farEnd = new WorkerBridge(far, nearEnd.port);
    nearEnd.forward("far/*");
    const signals = [0, 1, 2, 3].map(() => new AbortController());
    const started: unknown[] = [];
    far.on(
      "far/work",
      ({ body }) => {
        started.push(body);
        if (body === 0) signals[1]!.abort(new Error("given up"));
        if (body === 2) signals[3]!.abort(new Error("given up"));
      },
      { queue: { capacity: 2, overflow: "wait" } },
    );
    const fates = await Promise.allSettled(
      signals.map(({ signal }, n) => near.send("far/work", n, { signal }) as Promise<unknown>),
    );
    assert.deepEqual(
      fates.map(({ status }) => status),
      ["fulfilled", "rejected", "fulfilled", "rejected"],
    );
    assert.deepEqual(await Promise.all([nearEnd.close(), farEnd.close()]), [true, true]);
    assert.deepEqual(started, [0, 2]);
    assert.equal(receiver(far, "far/work")["aborted"], 2);
    assert.equal(far.pool.stats().inUse, 0);
  });
}

test("a queue keeps its concurrency when other threads abort its messages", async () => {
  const { near, far, nearEnd, farEnd } = joined();
  const { opened, open } = gate();
  let most = 0;
  let running = 0;
  const controller = new AbortController();
  far.on(
    "far/work",
    async (message) => {
      running++;
      most = Math.max(most, running);
      // The flush is called while the queue is about to start the next message.
      message.signal!.addEventListener("abort", () => far.flush());
      if (message.body === 0) controller.abort();
      await opened;
      running--;
    },
    { queue: { capacity: 8, concurrency: 2 } },
  );
  const sent = Array.from(
    { length: 6 },
    (_, n) => near.send("far/work", n, n === 0 ? { signal: controller.signal } : {}) as Promise<unknown>,
  );
  const fates = Promise.allSettled(sent);
  while (running < 2) await turn();
  assert.equal(far.flush(), 0);
  open();
  await fates;
  assert.equal(most, 2);
  await Promise.all([nearEnd.close(), farEnd.close()]);
});

for (const [what, options, most] of [
  ["at once", { retries: 5 }, 1],
  ["after a pause", { retries: { times: 5, delayMs: 4 } }, 1],
  ["after many attempts", { retries: 500 }, 63],
] as const) {
  test(`a handler is not retried ${what} after its sender across the bridge has given up`, async () => {
    const pair = joined(options, ({ attempt }) => {
      const abort = (): void => pair.controller.abort(new Error("given up"));
      if (what === "after a pause") setTimeout(abort, 4);
      else if (what === "at once") abort();
      else if (attempt === most) setImmediate(abort);
      throw new Error("again");
    });
    await pair.second();
    for (let turns = 8; turns > 0; turns--) await turn();
    await ended(pair);
    assert.equal(pair.started.length, most);
  });
}

test("a message aborted during an asynchronous before starts on neither side of the bridge", async () => {
  const seen: unknown[] = [];
  const { opened, open } = gate();
  const middleware = {
    before: () => {
      seen.push("far before");
      return opened;
    },
    after: () => void seen.push("far after"),
    error: (error: unknown) => {
      seen.push(`far error: ${(error as Error).message}`);
      throw error;
    },
  };
  const pair = joined({ middleware: [middleware] });
  const { near, far, started, controller } = pair;
  const aborted = pair.second();
  while (seen.length === 0) await turn();
  // The gate opens in the turn of the abort: the far side learns of it in time only by its own check.
  controller.abort(new Error("given up"));
  open();
  await aborted;
  for (let turns = 8; turns > 0; turns--) await turn();
  assert.deepEqual([seen, started], [["far before", "far error: the sender no longer waits"], []]);
  await ended(pair);
  assert.equal(near.pool.stats().inUse + far.pool.stats().inUse, 0);

  const other = new MessageSystem();
  const before = gate();
  other.use({ before: () => before.opened });
  const bridge = new WorkerBridge(other);
  const end = new WorkerBridge(far, bridge.port);
  bridge.forward("far/*");
  const late = new AbortController();
  const call = assert.rejects(other.send("far/second", 0, { signal: late.signal }) as Promise<unknown>, /given up/);
  late.abort(new Error("given up"));
  before.open();
  await call;
  assert.equal(await bridge.close(), true);
  await end.close();
  assert.deepEqual([started, receiver(far, "far/second")["sent"]], [[], 1]);
});

test("middleware sees the abort of a sender across the bridge, and the reply is discarded", async () => {
  const { opened, open } = gate();
  const seen: unknown[] = [];
  const handle = async ({ signal }: Message): Promise<unknown> => {
    await opened;
    seen.push(signal!.aborted);
    return "late";
  };
  const pair = joined({ middleware: [{ after: (_, reply) => void seen.push(reply) }] }, handle);
  const aborted = pair.second();
  while (pair.started.length === 0) await turn();
  pair.controller.abort(new Error("given up"));
  await aborted;
  await turn();
  open();
  while (seen.length < 2) await turn();
  assert.deepEqual(seen, [true, "late"]);
  await ended(pair);
});

test("a close without waiting stops calls that have not started", async () => {
  const { near, far, nearEnd, farEnd, started } = joined({ queue: { capacity: 8 } });
  far.on("far/first", () => void nearEnd.close(0), { queue: { capacity: 1 } });
  const calls = ["far/first", "far/second", "far/second"].map((path) =>
    assert.rejects(near.send(path) as Promise<unknown>, RemoteError),
  );
  await Promise.all(calls);
  for (let turns = 8; turns > 0; turns--) await turn();
  assert.deepEqual(started, []);
  assert.equal(await farEnd.close(), false);
  assert.deepEqual([near.pool.stats().inUse, far.pool.stats().inUse], [0, 0]);
});

test("a blocked worker does not start requests that have timed out", async () => {
  const system = new MessageSystem();
  const bridge = new WorkerBridge(system);
  bridge.forward("calc://*");
  const busy = new Int32Array(new SharedArrayBuffer(8));
  const workerData = { ...bridge.port, busy };
  const { transferList } = bridge;
  const worker = new Worker(new URL("./workers/bridge-end.js", import.meta.url), { workerData, transferList });
  const blocked = system.send("calc://busy") as Promise<unknown>;
  await Atomics.waitAsync(busy, 1, 0).value;
  const calls = ["short", "x".repeat(100_000)].map((body) =>
    assert.rejects(system.request("calc://keep", body, { timeoutMs: 1 }), RequestTimeoutError),
  );
  const kept = system.send("calc://keep", "kept") as Promise<unknown>;
  await Promise.all(calls);
  Atomics.store(busy, 0, 1);
  Atomics.notify(busy, 0);
  assert.deepEqual([await blocked, await kept], ["free", 1]);
  assert.deepEqual(await system.send("calc://kept"), ["kept"]);
  assert.equal(await bridge.close(), true);
  await worker.terminate();
});

test("an abort in `transfer`, or in an accessor of the body, ends the call; the handler does not start", async () => {
  const near = new MessageSystem();
  const far = new MessageSystem();
  const nearEnd = new WorkerBridge(near);
  const farEnd = new WorkerBridge(far, nearEnd.port);
  let started = 0;
  far.on("far/{where}", () => started++);
  let giveUp = (_where: string): void => {};
  nearEnd.forward("far/{where}", {
    transfer: () => {
      giveUp("transfer");
      return [];
    },
  });
  const body = {
    get part() {
      giveUp("accessor");
      return 1;
    },
  };
  for (const where of ["transfer", "accessor"]) {
    const controller = new AbortController();
    giveUp = (here) => {
      if (here === where) controller.abort(new Error("given up"));
    };
    const sent = near.send(`far/${where}`, body, { signal: controller.signal }) as Promise<unknown>;
    await assert.rejects(sent, /given up/);
  }
  assert.deepEqual(await Promise.all([nearEnd.close(), farEnd.close()]), [true, true]);
  assert.equal(started, 0);
});

test("a message sent by an accessor of a body is sent before that body; an abort between the two ends the outer call", async () => {
  const near = new MessageSystem();
  const far = new MessageSystem();
  const nearEnd = new WorkerBridge(near);
  const farEnd = new WorkerBridge(far, nearEnd.port);
  nearEnd.forward("far/{what}");
  const came: string[] = [];
  const inner: unknown[] = [];
  let duringInner = (): void => {};
  far.on("far/{what}", (message) => {
    came.push(`${message.param("what")} ${String(message.body === 1 ? 1 : "outer")}`);
    if (message.body === 1) duringInner();
    return message.param("what");
  });
  for (const giveUp of [false, true]) {
    for (const read of [1, 2]) {
      const controller = new AbortController();
      let reads = 0;
      const body = {
        get part(): number {
          if (++reads === read) inner.push(near.send("far/inner", 1));
          return 2;
        },
      };
      duringInner = () => {
        if (giveUp) controller.abort(new Error("given up"));
      };
      const outer = near.send("far/outer", body, { signal: controller.signal }) as Promise<unknown>;
      if (giveUp) await assert.rejects(outer, /given up/);
      else assert.equal(await outer, "outer");
      assert.equal(reads, 2);
    }
  }
  assert.deepEqual(await Promise.all(inner), ["inner", "inner", "inner", "inner"]);
  // Later calls have their own numbers and replies.
  assert.equal(await near.send("far/last", 3), "last");
  assert.deepEqual(await Promise.all([nearEnd.close(), farEnd.close()]), [true, true]);
  assert.deepEqual(came, ["inner 1", "outer outer", "inner 1", "outer outer", "inner 1", "inner 1", "last outer"]);
  assert.deepEqual([near.pool.stats().inUse, far.pool.stats().inUse], [0, 0]);
});
