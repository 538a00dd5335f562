import assert from "node:assert/strict";
import { AsyncLocalStorage } from "node:async_hooks";
import { getEventListeners } from "node:events";
import { test } from "node:test";
import { Worker } from "node:worker_threads";
import {
  type Message,
  MessageSystem,
  MpscRing,
  RemoteError,
  RequestTimeoutError,
  SettingError,
  SpscRing,
  WorkerBridge,
} from "millpond";
import { gate, turn } from "./support/gate.js";

const ended = (worker: Worker): Promise<number> =>
  new Promise((resolve, reject) => worker.once("exit", resolve).once("error", reject));

for (const [kind, Ring] of [
  ["spsc", SpscRing],
  ["mpsc", MpscRing],
] as const) {
  test(`${kind}: a full ring refuses, and returns everything in order`, () => {
    const ring = Ring.create(4, 16);
    const message = new Uint8Array(16);
    for (let round = 0; round < 3; round++) {
      for (let n = 0; n < 4; n++) assert.equal(ring.tryPush(message.fill(n)), true);
      assert.equal(ring.tryPush(message), false);
      for (let n = 0; n < 4; n++) {
        assert.equal(ring.tryPop(message), true);
        assert.deepEqual([...message], new Array(16).fill(n));
      }
      assert.equal(ring.tryPop(message), false);
    }
  });

  test(`${kind}: between threads nothing is lost, doubled, torn or out of order`, async () => {
    const ring = Ring.create(256, 128);
    const producers = kind === "spsc" ? 1 : 3;
    const count = 100_000;
    const workers = Array.from({ length: producers }, (_, n) => {
      const workerData = { kind, buffer: ring.buffer, first: n * count, count };
      return new Worker(new URL("./workers/ring-producer.js", import.meta.url), { workerData });
    });
    const ends = workers.map(ended);
    const words = new Uint32Array(ring.buffer);
    const next = workers.map((_, n) => n * count);
    let received = 0;
    while (received < producers * count) {
      received += ring.poll((offset) => {
        const n = words[offset >> 2]!;
        assert.equal(words[(offset >> 2) + 1], ~n >>> 0);
        const producer = Math.floor(n / count);
        assert.equal(n, next[producer]);
        next[producer]!++;
      }, 10_000);
      await ring.waitAsync(50);
    }
    await Promise.all(ends);
    assert.equal(ring.front(), -1);
  });

  test(`${kind}: a sleeping consumer is woken by a message`, async () => {
    const ring = Ring.create(4, 8);
    const sleeping = ring.waitAsync(60_000);
    ring.tryPush(new Uint8Array(8));
    assert.equal(await sleeping, true);
    assert.equal(ring.wait(60_000), true);
    assert.equal(ring.spin(1), true);
    ring.release();
    assert.equal(ring.wait(1), false);
    assert.equal(await ring.waitAsync(1), false);
  });
}

test("a buffer without a ring of the kind is refused", () => {
  assert.throws(() => new SpscRing(new SharedArrayBuffer(1_024)), SettingError);
  assert.throws(() => new MpscRing(SpscRing.create(4, 8).buffer), SettingError);
  assert.throws(() => SpscRing.create(3, 8), /power of two/);
  assert.throws(() => SpscRing.create(4, 12), /multiple of 8/);
});

test("a route may be in a worker: replies, errors and calls back cross the bridge", async () => {
  const system = new MessageSystem();
  const bridge = new WorkerBridge(system, undefined, { ringBytes: 4_096 });
  bridge.forward("calc://*");
  system.on("main://echo/{n}", (message) => [message.param("n"), message.body]);
  const worker = new Worker(new URL("./workers/bridge-end.js", import.meta.url), {
    workerData: bridge.port,
    transferList: bridge.transferList,
  });
  const end = ended(worker);
  const replies = await Promise.all(Array.from({ length: 40 }, (_, n) => system.send("calc://double", n)));
  assert.deepEqual(
    replies,
    Array.from({ length: 40 }, (_, n) => 2 * n),
  );
  await assert.rejects(system.send("calc://fail") as Promise<unknown>, (error: RemoteError) => {
    return error instanceof RemoteError && error.message === "as asked" && /bridge-end/.test(String(error.cause));
  });
  await assert.rejects(system.send("calc://unsendable") as Promise<unknown>, RemoteError);
  await assert.rejects(system.send("calc://missing") as Promise<unknown>, /no handler/);
  assert.equal(((await system.send("calc://large", 1_500)) as string).length, 1_500);
  assert.equal(((await system.send("calc://large", 100_000)) as string).length, 100_000);
  assert.equal(await system.send("calc://length", "x".repeat(100_000)), 100_000);
  assert.deepEqual(await system.send("calc://back/7", { deep: [1n] }), ["7", { deep: [1n] }]);
  for (let round = 0; round < 50; round++) {
    assert.equal(((await system.send("calc://large", (round * 37) % 1_500)) as string).length, (round * 37) % 1_500);
  }
  await system.send("calc://stop");
  assert.equal(await end, 0);
  const unanswered = system.send("calc://double", 1) as Promise<unknown>;
  await Promise.all([assert.rejects(unanswered, /closed|ended/), bridge.close()]);
  await assert.rejects(system.send("calc://double", 1) as Promise<unknown>, /closed|ended/);
  assert.equal(system.pool.stats().inUse, 0);
});

test("meta, traces, aborts, long bodies and moved buffers cross the bridge; the worker's exit fails its calls at once", async () => {
  const system = new MessageSystem();
  const bridge = new WorkerBridge(system, undefined, { ringBytes: 4_096 });
  bridge.forward("calc://*", { transfer: ({ body }) => (body instanceof ArrayBuffer ? [body] : []) });
  let aborted = (_: unknown): void => {};
  const told = new Promise((resolve) => (aborted = resolve));
  system.on("main://aborted", (message) => void aborted(message.body));
  const { port: workerData, transferList } = bridge;
  const worker = new Worker(new URL("./workers/bridge-end.js", import.meta.url), { workerData, transferList });
  const end = ended(worker);
  const traceparent = "00-0123456789abcdef0123456789abcdef-0123456789abcdef-01";
  assert.deepEqual(await system.send("calc://beside", 0, { meta: { note: 1 }, traceparent }), [
    { note: 1 },
    traceparent,
  ]);
  const buffer = new ArrayBuffer(1 << 20);
  assert.equal(await system.send("calc://bytes", buffer), 1 << 20);
  assert.equal(buffer.byteLength, 0);
  await assert.rejects(system.send("calc://length", () => 0) as Promise<unknown>, /is a function/);
  await assert.rejects(system.request("calc://hang", "late", { timeoutMs: 20 }), RequestTimeoutError);
  assert.equal(await told, "late");
  const pending = system.send("calc://hang", 1) as Promise<unknown>;
  const dying = system.send("calc://die") as Promise<unknown>;
  await assert.rejects(pending, RemoteError);
  await assert.rejects(dying, RemoteError);
  await assert.rejects(system.send("calc://double", 1) as Promise<unknown>, RemoteError);
  assert.equal(await end, 3);
  assert.equal(system.pool.stats().inUse, 0);
  await bridge.close();
});

for (const length of [5, 100_000]) {
  test(`a reply of ${length} characters is not lost when the worker's end is noticed first`, async (t) => {
    const system = new MessageSystem();
    const bridge = new WorkerBridge(system);
    bridge.forward("calc://*");
    const { port, transferList } = bridge;
    const worker = new Worker(new URL("./workers/bridge-end.js", import.meta.url), { workerData: port, transferList });
    const ends = ended(worker);
    const hanging = assert.rejects(
      system.send("calc://hang") as Promise<unknown>,
      /the other side of the bridge has ended/,
    );
    assert.equal(await system.send("calc://echo", 1), 1);
    // A late wake-up: from the next one on, this side sleeps until after the worker's exit.
    const late = t.mock.method(Atomics, "waitAsync", () => ({
      async: true,
      value: ends.then(() => new Promise((resolve) => setTimeout(resolve, 1))),
    }));
    while (late.mock.callCount() === 0) await new Promise((resolve) => setImmediate(resolve));
    assert.equal(((await system.send(`calc://last/${length}`)) as string).length, length);
    await hanging;
    await ends;
    await bridge.close();
  });
}

test("bodies and replies are copies, which later frames do not change", async () => {
  const system = new MessageSystem();
  const bridge = new WorkerBridge(system, undefined, { ringBytes: 1_024 });
  bridge.forward("calc://*");
  const worker = new Worker(new URL("./workers/bridge-end.js", import.meta.url), {
    workerData: bridge.port,
    transferList: bridge.transferList,
  });
  const views = [
    Buffer.alloc(40, 1),
    new Uint8Array(40).fill(1),
    new Float64Array(5).fill(1.5),
    new Int16Array([1, -2, 3]),
    new BigUint64Array([1n, 2n]),
    new DataView(new Uint8Array([9, 1, 2, 3]).buffer, 1, 2),
  ];
  const before = await Promise.all(views.map((view) => system.send("calc://echo", { view })));
  for (let n = 0; n < 500; n++) await system.send("calc://echo", new Uint8Array(64).fill(200));
  for (const [at, view] of views.entries()) {
    const back = (before[at] as { readonly view: NodeJS.ArrayBufferView }).view;
    assert.deepEqual(back, view);
    assert.ok(back.buffer instanceof ArrayBuffer);
    assert.equal(back.buffer.byteLength, view.byteLength);
  }
  assert.equal(await system.send("calc://keep", new Uint8Array(64).fill(7)), 1);
  for (let n = 0; n < 100; n++) await system.send("calc://echo", new Uint8Array(64).fill(200));
  assert.deepEqual(await system.send("calc://kept"), [new Uint8Array(64).fill(7)]);
  await bridge.close();
  await worker.terminate();
});

test("an abort crosses the bridge at each stage: in the ring, queued and running; so does the end of the sender's side", async () => {
  const near = new MessageSystem();
  const far = new MessageSystem();
  const nearEnd = new WorkerBridge(near);
  const farEnd = new WorkerBridge(far, nearEnd.port);
  nearEnd.forward("far/*");
  const { opened, open } = gate();
  const started: unknown[] = [];
  const told: unknown[] = [];
  const work = async (message: Message): Promise<unknown> => {
    const { body } = message;
    started.push(body);
    message.signal!.addEventListener("abort", () => told.push(body));
    await opened;
    return body;
  };
  far.on("far/work", work, { queue: { capacity: 9 } });
  const signals = [0, 1, 2, 3].map(() => new AbortController());
  const sent = signals.map(({ signal }, n) => near.send("far/work", n, { signal }) as Promise<unknown>);
  const fates = Promise.allSettled(sent);
  const counts = (): { sent: number; aborted: number; waiting: number } => far.stats().receivers[0]!;
  signals[3]!.abort(new Error("on its way"));
  while (started.length === 0 || counts().waiting < 2) await turn();
  // The other side does not send it.
  assert.deepEqual([started, counts().sent, counts().aborted], [[0], 3, 0]);
  signals[1]!.abort(new Error("queued"));
  while (counts().aborted < 1) await turn();
  signals[0]!.abort(new Error("running"));
  while (told.length === 0) await turn();
  open();
  assert.deepEqual(
    (await fates).map((fate) => (fate.status === "fulfilled" ? fate.value : String(fate.reason))),
    ["Error: running", "Error: queued", 2, "Error: on its way"],
  );
  signals[2]!.abort(new Error("after its reply"));
  assert.deepEqual([started, told], [[0, 2], [0]]);

  far.on("far/hang", (message) => {
    started.push("hang");
    message.signal!.addEventListener("abort", () => told.push("hang"));
    return new Promise(() => {});
  });
  const hanging = assert.rejects(near.send("far/hang") as Promise<unknown>, /the bridge is closed/);
  while (!started.includes("hang")) await turn();
  assert.equal(await nearEnd.close(0), false);
  await hanging;
  while (!told.includes("hang")) await turn();
  await farEnd.close();
  assert.equal(near.pool.stats().inUse, 0);
});

test("a call back for a running handler has its context, and is accepted while the system closes", async (t) => {
  const tenants = new AsyncLocalStorage<string>();
  const system = new MessageSystem();
  const bridge = new WorkerBridge(system);
  const seen: unknown[] = [];
  const { port, transferList } = bridge;
  const worker = new Worker(new URL("./workers/bridge-end.js", import.meta.url), { workerData: port, transferList });
  t.after(() => worker.terminate());
  bridge.forward("calc://*");
  system.on("main://echo", (message) => {
    seen.push([message.body, tenants.getStore()]);
    return message.body;
  });
  // Two round trips: each call is made for the previous one.
  system.on("main://again", (message) => system.send("calc://later/echo", message.body), {
    queue: { capacity: 8, concurrency: 8 },
  });
  const { opened, open } = gate();
  system.on("work", async (message) => {
    await opened;
    await system.send("calc://after", "of no call");
    const one = await system.send("calc://later/echo", `${String(message.body)} once`);
    return [one, await system.send("calc://later/again", `${String(message.body)} twice`)];
  });
  const refused = new Promise((resolve) => worker.once("message", resolve));
  const replies = ["a", "b"].map((tenant) => tenants.run(tenant, async () => system.send("work", tenant)));
  const closed = system.close();
  assert.throws(() => system.send("calc://double", 1), { name: "SystemClosedError" });
  open();
  assert.deepEqual(await Promise.all(replies), [
    ["a once", "a twice"],
    ["b once", "b twice"],
  ]);
  assert.equal(await closed, true);
  assert.deepEqual(seen.map(String).sort(), ["a once,a", "a twice,a", "b once,b", "b twice,b"]);
  // The call has its reply: later messages of the worker are new work.
  assert.match(String(await refused), /closed/);
  await bridge.close();
});

test("the other thread's end is noticed even behind an unfinished frame", async () => {
  const system = new MessageSystem();
  const bridge = new WorkerBridge(system);
  const { port, transferList } = bridge;
  bridge.forward("calc://*");
  const never = system.request("calc://double", 1, { timeoutMs: Infinity });
  // The state that a worker leaves if it ends between posting a frame and writing its placeholder to the ring.
  const program = 'const { workerData } = require("node:worker_threads"); workerData.control.postMessage([0]);';
  const alive = setInterval(() => {}, 1_000);
  new Worker(program, { eval: true, workerData: port, transferList });
  await assert.rejects(never, RemoteError);
  await assert.rejects(system.request("calc://double", 1), RemoteError);
  clearInterval(alive);
  await bridge.close();
});

test("one signal for many calls over a bridge is one listener, and ends all of them", async (t) => {
  const system = new MessageSystem();
  const bridge = new WorkerBridge(system);
  const { port, transferList } = bridge;
  const worker = new Worker(new URL("./workers/bridge-end.js", import.meta.url), { workerData: port, transferList });
  t.after(() => worker.terminate());
  bridge.forward("calc://*");
  const controller = new AbortController();
  const { signal } = controller;
  const calls = Array.from({ length: 20 }, (_, n) => system.request("calc://hang", n, { signal, timeoutMs: Infinity }));
  assert.equal(getEventListeners(signal, "abort").length, 1);
  controller.abort(new Error("Aborted"));
  for (const call of calls) await assert.rejects(call, /Aborted/);
  await bridge.close();
});
