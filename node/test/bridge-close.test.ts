import assert from "node:assert/strict";
import { test } from "node:test";
import { Worker } from "node:worker_threads";
import { type Message, MessageSystem, RemoteError, WorkerBridge } from "millpond";
import { gate, turn } from "./support/gate.js";
import { closedError, joined, sent } from "./support/joined.js";

for (const asyncContext of [true, false]) {
  test(`calls of both sides are answered in order before the bridge closes; contexts ${asyncContext ? "on" : "off"}`, async () => {
    const { near, far, nearEnd, farEnd } = joined({ asyncContext });
    const { opened, open } = gate();
    const order: unknown[] = [];
    const queue = { capacity: 8 };
    const work = (back: MessageSystem, path: string) => async (message: Message) => {
      await opened;
      order.push(`${path} ${String(message.body)}`);
      // Belongs to a call without a reply: accepted on both sides.
      return `${String(message.body)} ${String(await back.send(path, message.body))}`;
    };
    near.on("near/echo", (message) => `near ${String(message.body)}`);
    far.on("far/echo", (message) => `far ${String(message.body)}`);
    far.on("far/work", work(far, "near/echo") as never, { queue });
    near.on("near/work", work(near, "far/echo") as never, { queue });
    const replies = Promise.all([
      ...[1, 2, 3].map((n) => sent(near, "far/work", n)),
      ...[4, 5, 6].map((n) => sent(far, "near/work", n)),
    ]);
    while (far.stats().receivers.find(({ name }) => name === "far/work")!.sent < 3) await turn();
    while (near.stats().receivers.find(({ name }) => name === "near/work")!.sent < 3) await turn();
    let over = false;
    const closed = nearEnd.close();
    void closed.then(() => (over = true));
    if (asyncContext) await assert.rejects(sent(near, "far/echo", 0), closedError);
    for (let turns = 8; turns > 0; turns--) await turn();
    if (asyncContext) await assert.rejects(sent(far, "near/echo", 0), closedError);
    assert.equal(over, false);
    open();
    assert.deepEqual(await replies, [
      ...[1, 2, 3].map((n) => `${n} near ${n}`),
      ...[4, 5, 6].map((n) => `${n} far ${n}`),
    ]);
    assert.deepEqual(
      order.filter((one) => String(one).startsWith("near")),
      [1, 2, 3].map((n) => `near/echo ${n}`),
    );
    assert.deepEqual(
      order.filter((one) => String(one).startsWith("far")),
      [4, 5, 6].map((n) => `far/echo ${n}`),
    );
    assert.equal(await closed, true);
    assert.equal(await farEnd.close(), true);
    await assert.rejects(sent(near, "far/echo", 0), closedError);
    await assert.rejects(sent(far, "near/echo", 0), closedError);
    assert.equal(near.pool.stats().inUse + far.pool.stats().inUse, 0);
  });
}

for (const which of ["nearEnd", "farEnd"] as const) {
  test(`calls in both rings are answered even if the ${which} closes before it has read them`, async () => {
    const ends = joined();
    const { near, far } = ends;
    near.on("near/echo", (message) => message.body);
    far.once("far/echo", (message) => message.body);
    // An error without a readable message is a failure too.
    far.on("far/odd", () => {
      throw {
        toString() {
          throw new Error("no text");
        },
      };
    });
    const odd = assert.rejects(sent(near, "far/odd"), { name: "RemoteError", message: "an error without a message" });
    const replies = Promise.all([sent(near, "far/echo", 1), sent(far, "near/echo", 2)]);
    const closed = ends[which].close(Infinity);
    assert.deepEqual(await replies, [1, 2]);
    await odd;
    assert.equal(await closed, true);
  });
}

test("both sides close at once, twice, after long bodies and waiting frames", async () => {
  const near = new MessageSystem();
  const far = new MessageSystem();
  const nearEnd = new WorkerBridge(near, undefined, { ringBytes: 1_024 });
  const farEnd = new WorkerBridge(far, nearEnd.port);
  nearEnd.forward("far/*");
  farEnd.forward("near/*");
  for (const [system, path] of [
    [near, "near/echo"],
    [far, "far/echo"],
  ] as const) {
    system.on(path, (message) => message.body);
  }
  const bodies = Array.from({ length: 60 }, (_, n) => "x".repeat(n % 7 === 0 ? 50_000 + n : 30 + n));
  const there = bodies.map((body) => sent(near, "far/echo", body));
  const back = bodies.map((body) => sent(far, "near/echo", body));
  const closes = [nearEnd.close(), farEnd.close(), nearEnd.close(), farEnd.close(Infinity)];
  assert.deepEqual(await Promise.all(there), bodies);
  assert.deepEqual(await Promise.all(back), bodies);
  assert.deepEqual(await Promise.all(closes), [true, true, true, true]);
});

test("close resolves to false after its timeout: pending calls fail on both sides, and their handlers are aborted", async () => {
  for (const limit of [0, 5]) {
    const { near, far, nearEnd, farEnd } = joined();
    const told: unknown[] = [];
    const hang = (message: Message): Promise<never> => {
      message.signal!.addEventListener("abort", () => told.push(message.path));
      return new Promise(() => {});
    };
    far.on("far/hang", hang);
    near.on("near/hang", hang);
    const calls = [sent(near, "far/hang"), sent(far, "near/hang")].map((call) => assert.rejects(call, RemoteError));
    while (far.idle || near.idle || near.stats().receivers.every(({ running }) => running === 0)) await turn();
    while (near.stats().receivers.find(({ name }) => name === "near/hang")!.running === 0) await turn();
    while (far.stats().receivers.find(({ name }) => name === "far/hang")!.running === 0) await turn();
    assert.equal(await nearEnd.close(limit), false);
    await Promise.all(calls);
    while (told.length < 2) await turn();
    assert.equal(await farEnd.close(), false);
  }
  const { nearEnd } = joined();
  assert.throws(() => nearEnd.close(NaN), { name: "SettingError" });
  assert.equal(await nearEnd.close(), true);
});

test("close does not wait for a handler whose sender has given up", async () => {
  const { near, far, nearEnd, farEnd } = joined();
  let started = false;
  far.on("far/hang", () => {
    started = true;
    return new Promise(() => {});
  });
  const controller = new AbortController();
  const call = assert.rejects(near.send("far/hang", 0, { signal: controller.signal }) as Promise<unknown>, /enough/);
  while (!started) await turn();
  const closes = [farEnd.close(Infinity), nearEnd.close(Infinity)];
  await turn();
  controller.abort(new Error("enough"));
  await call;
  assert.deepEqual(await Promise.all(closes), [true, true]);
});

for (const asyncContext of [true, false]) {
  test(`close in a handler that serves the other side stops new calls and does not deadlock; contexts ${asyncContext ? "on" : "off"}`, async () => {
    const { near, far, nearEnd, farEnd } = joined({ asyncContext });
    const seen: unknown[] = [];
    far.on("far/echo", (message) => message.body);
    near.on("near/close", async () => {
      const closing = nearEnd.close(Infinity);
      seen.push(await closing.catch(({ name, message }: Error) => [name, message]));
      return near.send("far/echo", "its own work");
    });
    assert.equal(await sent(far, "near/close"), "its own work");
    assert.match(String(seen[0]), /^CloseInHandlerError,.*the bridge is closing/);
    assert.deepEqual(await Promise.all([nearEnd.close(), farEnd.close()]), [true, true]);
    await assert.rejects(sent(near, "far/echo", 0), closedError);
  });
}

test("a local handler, and one that has replied, may await close", async () => {
  const { near, far, nearEnd } = joined();
  far.on("far/echo", (message) => message.body);
  near.on("stop", async () => {
    const before = await near.send("far/echo", 1);
    return [before, await nearEnd.close()];
  });
  assert.deepEqual(await sent(near, "stop"), [1, true]);

  const later = joined();
  const closes = new Promise((resolve) => {
    later.near.on("near/later", () => void setImmediate(() => setImmediate(() => resolve(later.nearEnd.close()))));
  });
  await sent(later.far, "near/later");
  assert.equal(await closes, true);
});

test("a busy worker delays close, and its exit completes it", async () => {
  const busy = new Int32Array(new SharedArrayBuffer(8));
  const start = async (): Promise<[MessageSystem, WorkerBridge<never>, Worker]> => {
    const system = new MessageSystem();
    const bridge = new WorkerBridge(system);
    bridge.forward("calc://*");
    const { port, transferList } = bridge;
    const workerData = { ...port, busy };
    const worker = new Worker(new URL("./workers/bridge-end.js", import.meta.url), { workerData, transferList });
    assert.equal(await system.send("calc://echo", 1), 1);
    Atomics.store(busy, 0, 0);
    Atomics.store(busy, 1, 0);
    return [system, bridge as never, worker];
  };
  const stopped = (): Promise<unknown> => Promise.resolve(Atomics.waitAsync(busy, 1, 0).value);

  const [system, bridge, worker] = await start();
  const exits = new Promise((resolve) => worker.once("exit", resolve));
  const blocked = sent(system, "calc://busy");
  await stopped();
  // After the frame that blocks the worker.
  const waiting = sent(system, "calc://double", 21);
  let over = false;
  const closed = bridge.close(Infinity);
  void closed.then(() => (over = true));
  for (let turns = 8; turns > 0; turns--) await turn();
  assert.equal(over, false);
  Atomics.store(busy, 0, 1);
  Atomics.notify(busy, 0);
  assert.deepEqual(await Promise.all([blocked, waiting, closed]), ["free", 42, true]);
  // The bridge does not keep the worker alive.
  assert.equal(await exits, 0);

  const [other, second, killed] = await start();
  const failing = assert.rejects(sent(other, "calc://busy"), RemoteError);
  await stopped();
  const cut = second.close(Infinity);
  await killed.terminate();
  await failing;
  assert.equal(await cut, false);

  const [third, bound, late] = await start();
  const given = assert.rejects(sent(third, "calc://busy"), closedError);
  await stopped();
  assert.equal(await bound.close(5), false);
  await given;
  await late.terminate();
});

test("a bridge without a worker closes at once, or with a pending call after its timeout", async () => {
  assert.equal(await new WorkerBridge(new MessageSystem()).close(), true);
  const system = new MessageSystem();
  const bridge = new WorkerBridge(system);
  bridge.forward("far/*");
  const waiting = assert.rejects(sent(system, "far/x"), closedError);
  assert.equal(await bridge.close(5), false);
  await waiting;
});

test("a call is refused if an accessor of its body closes the bridge, in stages or at once", async () => {
  for (const timeoutMs of [undefined, 0]) {
    for (const closing of [1, 2]) {
      const { near, far, nearEnd, farEnd } = joined();
      let started = 0;
      far.on("far/x", () => ++started);
      assert.equal(await sent(near, "far/x"), 1);
      let reads = 0;
      let closed: Promise<boolean> | undefined;
      const body = {
        get value(): number {
          if (++reads === closing) closed = nearEnd.close(timeoutMs);
          return 1;
        },
      };
      await assert.rejects(sent(near, "far/x", body), closedError);
      // A close in stages cuts off no call.
      if (timeoutMs === undefined) assert.equal(await closed, true);
      await farEnd.close();
      assert.deepEqual([started, near.pool.stats().inUse, far.pool.stats().inUse], [1, 0, 0]);
    }
  }
});
