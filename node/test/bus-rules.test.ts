// One test for each rule of docs/reference/node-bus.md that was once broken.
import assert from "node:assert/strict";
import { AsyncLocalStorage } from "node:async_hooks";
import { createRequire } from "node:module";
import { test } from "node:test";
import * as imported from "millpond";
import {
  CloseInHandlerError,
  type DeadLetter,
  MessageInUseError,
  MessagePool,
  MessageSystem,
  NoHandlerError,
  PlaceExpiredError,
  RequestTimeoutError,
  SettingError,
  SpscRing,
  SystemClosedError,
  WrongPoolError,
} from "millpond";
import { gate, turn } from "./support/gate.js";

test("an observer of another shape does not hang the event loop, and reads its own parameters", async () => {
  const system = new MessageSystem();
  const seen: string[] = [];
  system.on("bbo://{symbol}", (message) => message.param("symbol"));
  system.subscribe("{scheme}//{sym}", (message) => seen.push(message.param("scheme"), message.param("sym")));
  assert.equal(system.send("bbo://AAPL"), "AAPL");
  await turn();
  assert.deepEqual(seen, ["bbo:", "AAPL"]);
});

test("each receiver sees the parameters of its own template", async () => {
  const system = new MessageSystem();
  const seen: string[] = [];
  system.on("t/{region}/{tenant}", (message) => `${message.param("region")} ${message.param("tenant")}`);
  system.subscribe("t/{tenant}/*", (message) => seen.push(message.param("tenant"), message.param("*")));
  system.subscribe("t/{a}/{b}", (message) => seen.push(message.param("a"), message.param("b")));
  assert.equal(system.send("t/eu/acme"), "eu acme");
  await turn();
  assert.deepEqual(seen.sort(), ["acme", "acme", "eu", "eu"]);
});

test("two parameters in one segment are refused at registration", () => {
  const system = new MessageSystem();
  assert.throws(() => system.on("{a}-{b}", () => 0), SettingError);
  assert.throws(() => system.subscribe("x/{a}-{b}", () => 0), SettingError);
});

test("ten who wait for four places are served in order, and none is refused", async () => {
  const system = new MessageSystem();
  const gates = Array.from({ length: 10 }, gate);
  const order: number[] = [];
  const handle = async (message: { readonly body: unknown }): Promise<void> => {
    order.push(message.body as number);
    await gates[message.body as number]!.opened;
  };
  system.on("q", handle, { queue: { capacity: 4 } });
  const sent = gates.map(async (_, n) => {
    const place = await system.whenReady("q");
    return place.send(n);
  });
  for (const { open } of gates) {
    await turn();
    open();
  }
  await Promise.all(sent);
  assert.deepEqual(order, [...gates.keys()]);
  assert.equal(system.stats().receivers[0]!.refused, 0);
});

test("eight producers that wait for places starve none and are never refused", async () => {
  const system = new MessageSystem();
  const handled = new Array<number>(8).fill(0);
  const handle = async (message: { readonly body: unknown }): Promise<void> => {
    await null;
    handled[message.body as number]!++;
  };
  system.on("q", handle, { queue: { capacity: 4 } });
  const produce = async (producer: number): Promise<void> => {
    for (let n = 0; n < 100; n++) await (await system.whenReady("q")).send(producer);
  };
  await Promise.all(handled.map((_, producer) => produce(producer)));
  assert.deepEqual(handled, new Array(8).fill(100));
  assert.equal(system.stats().receivers[0]!.refused, 0);
});

test("a place ends with its signal, its time, its release and close, and goes to the next", async () => {
  const system = new MessageSystem();
  system.on("q", () => 0, { queue: { capacity: 1 } });
  const abort = new AbortController();
  const first = await system.whenReady("q", { signal: abort.signal });
  const second = system.whenReady("q", { holdMs: 1 });
  assert.equal(system.canAccept("q"), false);
  abort.abort(new Error("not needed"));
  const held = await second;
  assert.throws(() => first.send(1), PlaceExpiredError);
  const third = await system.whenReady("q");
  assert.equal(held.held, false);
  const waiting = system.whenReady("q");
  third.release();
  const fourth = await waiting;
  const late = assert.rejects(system.whenReady("q"), SystemClosedError);
  assert.equal(await system.close(), true);
  await late;
  assert.throws(() => fourth.send(1), PlaceExpiredError);
});

test("observers that throw, hang or are full change nothing for the sender", async () => {
  const errors: unknown[] = [];
  const system = new MessageSystem({ onError: (error, _, name) => errors.push((error as Error).message, name) });
  system.on("a", (message) => message.body);
  const fail = (): never => {
    throw new Error("mine");
  };
  system.subscribe("a", fail, { name: "throws", queue: { capacity: 100 } });
  system.subscribe("a", () => new Promise(() => {}), { name: "hangs", queue: { capacity: 2 } });
  for (let n = 0; n < 5; n++) assert.equal(system.send("a", n), n);
  await turn();
  assert.deepEqual(errors.slice(0, 2), ["mine", "throws"]);
  assert.equal(errors.length, 10);
  const [, throws, hangs] = system.stats().receivers;
  assert.deepEqual([throws!.failed, throws!.sent], [5, 5]);
  assert.deepEqual([hangs!.dropped, hangs!.running + hangs!.waiting], [3, 2]);
});

test("a request without a handler fails whatever observers there are, and an observer answers none", async () => {
  const system = new MessageSystem();
  system.subscribe("a", () => "mine");
  await assert.rejects(system.request("a"), NoHandlerError);
  assert.throws(() => system.send("a"), NoHandlerError);
});

test("a handler cannot queue its own message again; it forwards it", async () => {
  const system = new MessageSystem();
  const seen: unknown[] = [];
  system.on("audit/{what}", (message) => void seen.push(message.path, message.body), { queue: { capacity: 4 } });
  system.on("work", (message) => void seen.push(message.path, message.body), { queue: { capacity: 4 } });
  system.on("in", (message) => {
    assert.throws(() => system.send(message), MessageInUseError);
    void system.forward(message, "audit/secret");
    return system.forward(message, "work");
  });
  const body = { secret: true };
  await system.send("in", body);
  await turn();
  assert.deepEqual(seen.sort(), ["audit/secret", "work", body, body].sort());
  assert.equal(system.pool.stats().inUse, 0);
});

test("queued and retried handlers and observers run in their sender's asynchronous context", async () => {
  const tenants = new AsyncLocalStorage<string>();
  const system = new MessageSystem();
  const seen: unknown[] = [];
  const handle = (message: { readonly body: unknown; readonly attempt?: number }): void => {
    seen.push([message.body, tenants.getStore()]);
    if (message.attempt === 1) throw new Error("again");
  };
  system.on("q", handle, { queue: { capacity: 10 }, retries: { times: 1, delayMs: 1 } });
  system.subscribe("q", (message) => void seen.push([message.body, tenants.getStore()]));
  await Promise.all(["a", "b", "c"].map((tenant) => tenants.run(tenant, async () => system.send("q", tenant))));
  assert.equal(seen.length, 9);
  for (const [body, tenant] of seen as [string, string][]) assert.equal(body, tenant);
});

test("close lets handlers send on in order, and does not deadlock in a handler", async () => {
  const system = new MessageSystem();
  const seen: unknown[] = [];
  let closed: Promise<boolean> | undefined;
  system.on("first", async (message) => {
    await turn();
    return system.send("second", message.body);
  });
  system.on("second", (message) => void seen.push(message.body), { queue: { capacity: 10 } });
  system.on("stop", async () => {
    await null;
    closed = system.close();
    await assert.rejects(closed, CloseInHandlerError);
  });
  const replies = [1, 2, 3].map((body) => system.send("first", body));
  await system.send("stop");
  assert.throws(() => system.send("first", 4), SystemClosedError);
  assert.equal(await system.close(), true);
  await Promise.all(replies);
  assert.deepEqual(seen, [1, 2, 3]);
});

test("a request that timed out or was aborted before it started never runs; one that runs is told", async () => {
  const letters: DeadLetter[] = [];
  const system = new MessageSystem({ onDeadLetter: (letter) => letters.push(letter) });
  const { opened, open } = gate();
  const ran: unknown[] = [];
  const handle = async (message: {
    readonly body: unknown;
    readonly signal: AbortSignal | undefined;
  }): Promise<void> => {
    ran.push(message.body);
    await opened;
    ran.push(message.signal?.aborted);
  };
  system.on("q", handle, { queue: { capacity: 1, overflow: "wait" } });
  const abort = new AbortController();
  const running = system.request("q", "runs", { timeoutMs: 5 });
  await turn();
  const queued = system.request("q", "queued", { timeoutMs: 5 });
  const waiting = system.request("q", "waits for room", { signal: abort.signal });
  abort.abort(new Error("given up"));
  await assert.rejects(waiting, /given up/);
  await assert.rejects(running, RequestTimeoutError);
  await assert.rejects(queued, RequestTimeoutError);
  open();
  await turn();
  assert.deepEqual(ran, ["runs", true]);
  assert.deepEqual(letters.map(({ reason, body }) => `${reason} ${String(body)}`).sort(), [
    "timed-out queued",
    "timed-out runs",
  ]);
  assert.equal(system.pool.stats().inUse, 0);
});

test("a key that throws, a thenable that throws, and one that calls back twice leave nothing behind", async () => {
  const system = new MessageSystem();
  const key = (): never => {
    throw new Error("no key");
  };
  system.on("keyed", () => 0, { queue: { capacity: 2, overflow: "coalesce", key } });
  await assert.rejects(system.send("keyed", 1) as Promise<unknown>, /no key/);
  const thrower = Object.defineProperty({}, "then", {
    get: () => {
      throw new Error("no then");
    },
  });
  system.on("getter", () => thrower);
  assert.throws(() => system.send("getter"), /no then/);
  const twice = { then: (resolve: (value: number) => void) => (resolve(1), resolve(2)) };
  system.on("twice", () => twice as never, { queue: { capacity: 2 } });
  assert.equal(await system.send("twice"), 1);
  assert.equal(await system.send("twice"), 1);
  assert.equal(system.pool.stats().inUse, 0);
  assert.ok(system.idle);
});

test("unknown priorities, durations that are none and unknown options are refused at the call", async () => {
  const system = new MessageSystem();
  system.on("q", () => 0, { queue: { capacity: 2 } });
  assert.throws(() => system.send("q", 1, { priority: "urgent" as never }), SettingError);
  for (const timeoutMs of [Number.NaN, -1, 2 ** 31, "5" as never]) {
    assert.throws(() => system.send("q", 1, { timeoutMs }), SettingError);
    await assert.rejects(system.request("q", 1, { timeoutMs }), SettingError);
  }
  assert.throws(() => system.send("q", 1, { timeout: 5 } as never), SettingError);
  assert.throws(() => new MessageSystem("main" as never), SettingError);
  assert.throws(() => new MessageSystem({ messagePool: 5 } as never), SettingError);
  assert.throws(() => system.on("x", () => 0, { retryDelayMs: 1 } as never), SettingError);
  assert.throws(() => new MessagePool(5, { enableStats: true } as never), SettingError);
  assert.equal(system.pool.stats().inUse, 0);
});

test("an onError or onDeadLetter that throws ends nothing", async () => {
  const fail = (): never => {
    throw new Error("reporter");
  };
  const warned = new Promise((resolve) => process.once("warning", resolve));
  const system = new MessageSystem({ onError: fail, onDeadLetter: fail });
  let handled = 0;
  const handle = (): never => {
    handled++;
    throw new Error("mine");
  };
  system.on("q", handle, { queue: { capacity: 2 } });
  for (let n = 0; n < 4; n++) system.emit("q");
  await turn();
  assert.equal(handled, 2);
  assert.match(String(await warned), /onError threw/);
  assert.equal(await system.close(), true);
});

test("a record that is longer than a slot is refused, and its neighbours stay", () => {
  const ring = SpscRing.create(4, 8);
  ring.tryPush(new Uint8Array(8).fill(1));
  assert.throws(() => ring.tryPush(new Uint8Array(9)), SettingError);
  assert.ok(ring.tryPush(new Uint8Array(8).fill(2)));
  const into = new Uint8Array(8);
  assert.ok(ring.tryPop(into) && into.every((byte) => byte === 1));
  assert.ok(ring.tryPop(into) && into.every((byte) => byte === 2));
});

test("registering 16,000 routes, with a send after each, looks at each route once", () => {
  const system = new MessageSystem();
  for (let n = 0; n < 16_000; n++) {
    system.on(`svc://route${n}/{id}`, (message) => message.paramInt("id"));
    assert.equal(system.send(`svc://route${n >> 1}/${n}`), n);
  }
  assert.equal(system.off("svc://route7/{id}"), 1);
  assert.throws(() => system.send("svc://route7/1"), NoHandlerError);
  assert.equal(system.send("svc://route77/1"), 1);
});

test("templates of 5,000 parameters and of any characters work, and take memory for what they are", () => {
  const system = new MessageSystem();
  const names = Array.from({ length: 5_000 }, (_, n) => `{p${n}}`);
  system.on(names.join("/"), (message) => message.param("p4999" as never));
  assert.equal(system.send(names.map((_, n) => String(n)).join("/")), "4999");
  const before = process.memoryUsage().rss;
  for (let n = 0; n < 2_000; n++)
    system.on(`${String.fromCharCode(1 + n * 30)}/${n}/{x}`, (message) => message.param("x"));
  for (let n = 0; n < 2_000; n++) assert.equal(system.send(`${String.fromCharCode(1 + n * 30)}/${n}/y`), "y");
  assert.ok(process.memoryUsage().rss - before < 100e6);
});

test("a path does not keep the long text that it was cut from", () => {
  const system = new MessageSystem();
  system.on("a/{n}", () => 0);
  globalThis.gc!();
  const before = process.memoryUsage().heapUsed;
  for (let n = 0; n < 500; n++) {
    const path = `a/${n}aaaaaaaaaaaaaaaa/${"x".repeat(65_536)}`.slice(0, 20 + String(n).length - 2);
    for (let round = 0; round < 3; round++) system.send(path);
  }
  globalThis.gc!();
  assert.ok(process.memoryUsage().heapUsed - before < 5e6);
});

test("a message that gives way and whose sender does not look ends no process", async () => {
  const unhandled: unknown[] = [];
  const listen = (error: unknown): void => void unhandled.push(error);
  process.on("unhandledRejection", listen);
  const system = new MessageSystem();
  system.on("q", () => 0, { queue: { capacity: 1, overflow: "drop-oldest" } });
  for (let n = 0; n < 5; n++) void system.send("q", n);
  await turn();
  await turn();
  process.off("unhandledRejection", listen);
  assert.deepEqual(unhandled, []);
  assert.equal(system.stats().receivers[0]!.dropped, 4);
});

test("a structured clone of a message copies no pool with it", () => {
  const pool = new MessagePool(1_000, { warmup: 1_000 });
  const message = pool.acquire("a", { n: 1 });
  const clone = structuredClone(message) as unknown as Record<string, unknown>;
  assert.ok(JSON.stringify(clone).length < 300);
  assert.deepEqual(
    Object.values(clone).filter((value) => typeof value === "object" && value !== null),
    [{ n: 1 }],
  );
});

test("a handler may fail 50,000 times in a row without a pause", async () => {
  const system = new MessageSystem();
  let runs = 0;
  const handle = (): number => {
    runs++;
    if (runs <= 50_000) throw new Error("again");
    return runs;
  };
  system.on("a", handle, { retries: 50_000 });
  assert.equal(await system.send("a"), 50_001);
});

test("retries without a pause leave the event loop its turns: timers run, time limits and aborts end them", async () => {
  for (const asynchronous of [false, true]) {
    for (const queue of [{}, { queue: { capacity: 4 } }]) {
      const system = new MessageSystem();
      let runs = 0;
      const fail = (): never => {
        runs++;
        throw new Error("again");
      };
      const handle = asynchronous ? async () => fail() : fail;
      system.on("a", handle, { retries: 1_000_000, ...queue });
      await assert.rejects(system.request("a", 1, { timeoutMs: 5 }), RequestTimeoutError);
      const abort = new AbortController();
      setTimeout(() => abort.abort(new Error("given up")), 1);
      await assert.rejects(system.send("a", 1, { signal: abort.signal }) as Promise<unknown>, /given up/);
      assert.equal(await system.close(), true);
      const after = runs;
      await turn();
      assert.equal(runs, after);
    }
  }
});

test("retries that give the event loop a turn stay in their sender's context", async () => {
  const tenants = new AsyncLocalStorage<string>();
  const system = new MessageSystem();
  const seen = new Set<unknown>();
  const handle = (message: { readonly body: unknown; readonly attempt: number }): void => {
    seen.add(`${String(message.body)} ${tenants.getStore()}`);
    if (message.attempt < 300) throw new Error("again");
  };
  system.on("a", handle, { retries: 300 });
  await Promise.all(["x", "y"].map((tenant) => tenants.run(tenant, async () => system.send("a", tenant))));
  assert.deepEqual([...seen].sort(), ["x x", "y y"]);
});

test("each time limit ends in the context of its own sender: letters and listeners", async () => {
  const tenants = new AsyncLocalStorage<string>();
  const seen: string[] = [];
  const system = new MessageSystem({
    onDeadLetter: ({ body }) => seen.push(`letter ${String(body)} ${tenants.getStore()}`),
  });
  const hang = (message: { readonly body: unknown; readonly signal: AbortSignal | undefined }): Promise<never> => {
    const { body } = message;
    message.signal!.addEventListener("abort", () => seen.push(`signal ${String(body)} ${tenants.getStore()}`));
    return new Promise(() => {});
  };
  system.on("hangs", hang);
  system.on("queued", hang, { queue: { capacity: 8 } });
  const late = ["hangs", "queued"].flatMap((path) =>
    ["x", "y", "z"].map((tenant) => tenants.run(tenant, () => system.request(path, tenant, { timeoutMs: 5 }))),
  );
  for (const one of late) await assert.rejects(one, RequestTimeoutError);
  const ofAll = ["x", "y", "z"].map((tenant) => `letter ${tenant} ${tenant}`);
  assert.deepEqual(seen.filter((line) => line.startsWith("letter")).sort(), [...ofAll, ...ofAll].sort());
  assert.deepEqual(
    seen.filter((line) => line.startsWith("signal")).sort(),
    ["x", "x", "y", "z"].map((tenant) => `signal ${tenant} ${tenant}`),
  );
});

test("a letter of a dropped message comes in the context of its sender, not of the one that dropped it", async () => {
  const tenants = new AsyncLocalStorage<string>();
  const seen: unknown[] = [];
  const system = new MessageSystem({ onDeadLetter: ({ body }) => seen.push([body, tenants.getStore()]) });
  system.on("q", () => 0, { queue: { capacity: 1, overflow: "drop-oldest" } });
  for (const tenant of ["x", "y"]) tenants.run(tenant, () => system.emit("q", tenant));
  assert.deepEqual(seen, [["x", "x"]]);
  await turn();
});

test("a thenable inside middleware keeps its message, and settles once", async () => {
  const after: unknown[] = [];
  const middleware = [{ after: (_message: unknown, reply: unknown) => void after.push(reply) }];
  const system = new MessageSystem();
  // Its `then` returns nothing, and it reads the message late.
  system.on(
    "late",
    (message) => ({ then: (resolve: (value: unknown) => void) => void setImmediate(() => resolve(message.body)) }),
    {
      middleware,
    },
  );
  const twice = { then: (resolve: (value: number) => unknown) => Promise.resolve([resolve(1), resolve(2)]) };
  system.on("twice", () => twice as never, { middleware: [...middleware, ...middleware] });
  const late = system.send("late", "mine");
  const other = system.pool.acquire("other", "another's");
  assert.equal(await late, "mine");
  system.pool.release(other);
  assert.equal(await system.request("late", "again"), "again");
  assert.equal(await system.send("twice"), 1);
  assert.deepEqual(after, ["mine", "again", 1, 1]);
  const before = { then: (resolve: (value: number) => void) => (resolve(1), resolve(2)) };
  let runs = 0;
  system.on("before", () => ++runs, { middleware: [{ before: () => before }] });
  assert.equal(await system.send("before"), 1);
  assert.equal(runs, 1);
  assert.equal(system.pool.stats().inUse, 0);
});

test("once is one message: a refused one leaves the handler, and of two places one is used", async () => {
  const system = new MessageSystem();
  let fails = true;
  const key = (): number => {
    if (fails) throw new Error("no key");
    return 1;
  };
  const ran: unknown[] = [];
  const run = (message: { readonly body: unknown }): void => void ran.push(message.body);
  system.once("keyed", run, { queue: { capacity: 4, overflow: "coalesce", key } });
  await assert.rejects(system.send("keyed", 1) as Promise<unknown>, /no key/);
  fails = false;
  await system.send("keyed", 2);
  assert.throws(() => system.send("keyed", 3), NoHandlerError);
  system.once("placed", run, { queue: { capacity: 4 } });
  const [one, other] = [await system.whenReady("placed"), await system.whenReady("placed")];
  await one.send(4);
  assert.throws(() => other.send(5), PlaceExpiredError);
  assert.deepEqual(ran, [2, 4]);
});

test("a place ends with its handler, held or waited for", async () => {
  for (const queue of [undefined, { capacity: 1 }]) {
    const system = new MessageSystem();
    const old = queue === undefined ? {} : { queue };
    const off = system.on("q", () => "old", old);
    const held = await system.whenReady("q");
    const waits = queue === undefined ? undefined : assert.rejects(system.whenReady("q"), NoHandlerError);
    off();
    system.on("q", () => "new");
    assert.throws(() => held.send(1), PlaceExpiredError);
    await waits;
    assert.equal(system.send("q"), "new");
    assert.equal(system.stats().receivers.length, 1);
  }
});

test("close ends what waits for a message; nothing can be registered afterwards", async () => {
  const system = new MessageSystem();
  const next = assert.rejects(system.waitFor("x"), SystemClosedError);
  const stream = system.messages("x");
  const end = stream.next();
  assert.equal(await system.close(), true);
  await next;
  assert.deepEqual(await end, { value: undefined, done: true });
  await assert.rejects(system.waitFor("x"), SystemClosedError);
  assert.throws(() => system.messages("x"), SystemClosedError);
  assert.throws(() => system.on("x", () => 0), SystemClosedError);
  assert.throws(() => system.subscribe("x", () => 0), SystemClosedError);
});

test("close in a handler on the shortest way ends streams and waits too", async () => {
  const system = new MessageSystem();
  system.on("x", (message) => void (message.body === 20 && system.close().catch(() => {})));
  const next = assert.rejects(system.waitFor("y"), SystemClosedError);
  const stream = system.messages("y");
  for (let n = 0; n <= 20; n++) system.send("x", n);
  assert.deepEqual(await stream.next(), { value: undefined, done: true });
  await next;
});

test("a stream gives or counts each message, also in bursts and when it is closed in the turn of the send", async () => {
  const system = new MessageSystem();
  system.on("x", () => 0);
  const stream = system.messages("x", { capacity: 100 });
  const got: unknown[] = [];
  for (let burst = 0; burst < 3; burst++) {
    for (let n = 0; n < 1_000; n++) system.send("x", n);
    if (burst === 1) await turn();
  }
  for (let n = 0; n < 5; n++) system.send("x", `last ${n}`);
  stream.close();
  system.send("x", "after");
  for await (const message of stream) got.push(message.body);
  assert.deepEqual(
    got.slice(-5),
    [0, 1, 2, 3, 4].map((n) => `last ${n}`),
  );
  assert.equal(got.length + stream.lost, 3_005);
});

test("every way to send without a handler leaves a letter", async () => {
  const letters: unknown[] = [];
  const system = new MessageSystem({
    onDeadLetter: ({ path, body, meta, reason }) => letters.push([path, body, meta, reason]),
  });
  system.on("handled", () => 0);
  const target = system.target("a");
  assert.throws(() => system.send("a", 1), NoHandlerError);
  assert.throws(() => target.send(2), NoHandlerError);
  assert.throws(() => system.command("a", 3, { meta: "beside" }), NoHandlerError);
  assert.throws(() => system.command("handled", 4), NoHandlerError);
  await assert.rejects(system.query("a", 5), NoHandlerError);
  await assert.rejects(system.request("a", 6), NoHandlerError);
  assert.equal(system.emit("a", 7), 0);
  assert.deepEqual(
    letters,
    [1, 2, 3, 4, 5, 6, 7].map((n) => [n === 4 ? "handled" : "a", n, n === 3 ? "beside" : undefined, "no-handler"]),
  );
  await system.close();
  assert.throws(() => target.send(8), SystemClosedError);
  assert.throws(() => system.command("a", 9), SystemClosedError);
  assert.equal(letters.length, 7);
});

test("a registration that is refused takes no name", () => {
  const system = new MessageSystem();
  system.on("a", () => 0);
  for (let n = 0; n < 5; n++) assert.throws(() => system.on("a", () => 0));
  for (let n = 0; n < 5; n++) assert.throws(() => system.on("b", () => 0, { queue: { capacity: 0 } }), SettingError);
  system.on("c/{x}", () => 0);
  assert.throws(() => system.on("c/{y}", () => 0, { name: "c/{x}" }));
  system.on("b", () => 0);
  system.subscribe("a", () => 0);
  assert.deepEqual(
    system.stats().receivers.map(({ name }) => name),
    ["a", "c/{x}", "b", "a#2"],
  );
});

test("observers and waits get their messages from a pool that refuses", async () => {
  const system = new MessageSystem({ pool: new MessagePool(2, { overflow: "refuse" }) });
  const { opened, open } = gate();
  system.on("x", () => opened);
  const seen: unknown[] = [];
  system.subscribe("x", (message) => void seen.push(message.body));
  const next = system.waitFor("x");
  const sent = system.send("x", "body");
  assert.equal((await next).body, "body");
  open();
  await sent;
  assert.deepEqual(seen, ["body"]);
});

test("a handler may change its message; a queue's and an observer's may not be changed", async () => {
  const system = new MessageSystem();
  system.on("x", async (message) => {
    message.meta = "noted";
    await turn();
    return [message.body, message.meta];
  });
  system.on("q", () => 0, { queue: { capacity: 1 } });
  const mine = system.pool.acquire("x", 1);
  assert.deepEqual(await system.send(mine as never), [1, "noted"]);
  system.pool.release(mine);
  const queued = system.pool.acquire("q", 1);
  const sent = system.send(queued as never);
  assert.throws(() => (queued.body = 2), MessageInUseError);
  await sent;
  queued.body = 3;
  system.pool.release(queued);
});

test("the high-water mark is of messages that were out together, whatever was resized between", () => {
  const pool = new MessagePool(20);
  const out = Array.from({ length: 5 }, () => pool.acquire("a"));
  for (const message of out) pool.release(message);
  pool.resize(0);
  pool.resize(20);
  pool.warmup(20);
  const three = Array.from({ length: 3 }, () => pool.acquire("a"));
  assert.equal(pool.stats().highWater, 5);
  for (const message of three) pool.release(message);
  assert.equal(pool.stats().highWater, 5);
  for (let n = 0; n < 7; n++) pool.acquire("a");
  assert.equal(pool.stats().highWater, 7);
});

test("a reset or clear that throws loses no object and counts none as lent", () => {
  let fails = true;
  const refuse = (): void => {
    if (fails) throw new Error("not now");
  };
  const pool = new MessagePool(2, { factory: () => ({}), reset: refuse, clear: () => {} });
  for (let n = 0; n < 5; n++) assert.throws(() => pool.acquire("a"), /not now/);
  assert.deepEqual([pool.stats().inUse, pool.stats().size], [0, 1]);
  fails = false;
  const object = pool.acquire("a");
  assert.equal(pool.stats().inUse, 1);
  pool.release(object);
  const strict = new MessagePool(2, { factory: () => ({}), clear: refuse });
  fails = true;
  const lent = strict.acquire("a");
  assert.throws(() => strict.release(lent), /not now/);
  assert.deepEqual([strict.stats().inUse, strict.stats().size], [0, 0]);
});

test("import and require give the same classes", () => {
  const required = createRequire(import.meta.url)("millpond") as typeof imported;
  const pool = createRequire(import.meta.url)("millpond/pool") as typeof imported;
  assert.equal(required.MessagePool, imported.MessagePool);
  assert.equal(pool.globalPool, imported.globalPool);
  const system = new required.MessageSystem();
  system.on("a", (message) => message.body);
  using message = system.pool.acquire("a", 7);
  assert.equal(system.send(message as never), 7);
  assert.throws(() => imported.globalPool.at(message.handle), WrongPoolError);
});

test("a factory gets the path, the body and the meta of its acquire", () => {
  const made: unknown[] = [];
  const factory = (path: string, body: number, meta: string): object => {
    made.push([path, body, meta]);
    return {};
  };
  const pool = new MessagePool(4, { factory });
  const one = pool.acquire("a", 1, "x");
  pool.acquire("b", 2, "y");
  pool.release(one);
  pool.acquire("c", 3, "z");
  assert.deepEqual(made, [
    ["a", 1, "x"],
    ["b", 2, "y"],
  ]);
});

test("a leak is warned of once, and an automatic pool shrinks after a burst", async () => {
  const warned = new Promise<Error>((resolve) => process.once("warning", resolve));
  const watched = new MessagePool(4, { warnAfterMs: 2, checked: true });
  const lost = watched.acquire("lost");
  const alive = setInterval(() => {}, 1_000);
  const warning = await warned;
  assert.match(warning.message, /lost has been out .*bus-rules\.test/);
  watched.release(lost);
  const pool = new MessagePool("auto", { shrinkEveryMs: 1 });
  const out = Array.from({ length: 50_000 }, () => pool.acquire("a"));
  for (const message of out) pool.release(message);
  while (pool.stats().size > 100) await turn();
  clearInterval(alive);
  assert.equal(pool.stats().inUse, 0);
});

test("off, once, signals, waitFor and for await end what they began", async () => {
  const system = new MessageSystem();
  const abort = new AbortController();
  const handler = (): number => 1;
  system.on("a", handler, { signal: abort.signal });
  abort.abort();
  assert.equal(system.has("a"), false);
  system.once("a", () => "once");
  assert.equal(system.send("a"), "once");
  assert.throws(() => system.send("a"), NoHandlerError);
  system.on("a", handler);
  assert.equal(
    system.off("a", () => 2),
    0,
  );
  assert.equal(system.off("a", handler), 1);

  const next = system.waitFor("b/{n}");
  const never = system.waitFor("c", { timeoutMs: 1 });
  system.emit("b/7", "body");
  const message = await next;
  assert.deepEqual([message.param("n"), message.body], ["7", "body"]);
  await assert.rejects(never, RequestTimeoutError);
  const aborted = system.waitFor("c", { signal: AbortSignal.abort(new Error("no")) });
  await assert.rejects(aborted, /no/);

  const stream = system.messages("d/{n}", { capacity: 2 });
  for (let n = 0; n < 5; n++) system.emit(`d/${n}`, n);
  await turn();
  const seen: unknown[] = [];
  for await (const one of stream) {
    seen.push(one.param("n"));
    if (seen.length === 2) break;
  }
  assert.deepEqual(seen, ["3", "4"]);
  const lost = stream.lost + system.stats().receivers.filter(({ template }) => template === "d/{n}").length;
  assert.equal(lost, stream.lost);
  assert.equal(system.has("d/1"), false);
  assert.equal(system.pool.stats().inUse, 0);
});

test("dead letters say why: no handler, refused, dropped, timed out, expired", async () => {
  const reasons: string[] = [];
  const system = new MessageSystem({ onDeadLetter: ({ reason, body }) => reasons.push(`${reason} ${String(body)}`) });
  const { opened, open } = gate();
  system.on("refuse", () => opened, { queue: { capacity: 1 } });
  system.on("drop", () => opened, { queue: { capacity: 1, overflow: "drop-oldest" } });
  system.emit("nothing", 0);
  for (const path of ["refuse", "drop"]) system.emit(path, "runs");
  await turn();
  for (const path of ["refuse", "drop"]) for (const body of [1, 2]) system.emit(path, body);
  system.emit("drop", 3, { timeoutMs: 1 });
  await assert.rejects(system.request("drop", 4, { timeoutMs: 2 }), RequestTimeoutError);
  assert.deepEqual(reasons, ["no-handler 0", "refused 2", "dropped 1", "dropped 2", "dropped 3", "timed-out 4"]);
  system.emit("drop", 5, { timeoutMs: 1 });
  while (reasons.length < 7) await turn();
  assert.equal(reasons[6], "expired 5");
  open();
});

test("pauses between retries grow and are drawn at random", async () => {
  const system = new MessageSystem();
  const at: number[] = [];
  const handle = (): never => {
    at.push(performance.now());
    throw new Error("again");
  };
  system.on("a", handle, { retries: { times: 3, delayMs: 2, factor: 3, jitter: 0.5, maxDelayMs: 10 } });
  await assert.rejects(system.send("a") as Promise<unknown>, /again/);
  assert.equal(at.length, 4);
  assert.ok(at[3]! - at[2]! >= 4.5);
});

test("series of one family differ, and observers count what they were sent", async () => {
  const system = new MessageSystem();
  system.on("a/{n}", () => 0);
  for (let n = 0; n < 3; n++) system.subscribe("a/{n}", () => 0);
  system.send("a/1");
  await turn();
  const lines = system
    .prometheus()
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"));
  const series = lines.map((line) => line.slice(0, line.lastIndexOf(" ")));
  assert.equal(new Set(series).size, series.length);
  assert.deepEqual(
    system.stats().receivers.map(({ name, sent, handled }) => [name, sent, handled]),
    [
      ["a/{n}", 1, 1],
      ["a/{n}#2", 1, 1],
      ["a/{n}#3", 1, 1],
      ["a/{n}#4", 1, 1],
    ],
  );
});

test("queues give their memory back, however much passed through them", async () => {
  const system = new MessageSystem({ asyncContext: false, pool: 0 });
  const { opened, open } = gate();
  system.on("wait", () => opened, { queue: { capacity: 2, overflow: "wait" } });
  const sent = Array.from({ length: 20_000 }, (_, n) => system.send("wait", n));
  open();
  await Promise.all(sent);
  globalThis.gc!();
  const before = process.memoryUsage().heapUsed;
  for (let round = 0; round < 100; round++) {
    await Promise.all(Array.from({ length: 500 }, (_, n) => system.send("wait", n)));
  }
  globalThis.gc!();
  assert.ok(process.memoryUsage().heapUsed - before < 2e6);
});

test("one signal for many messages and registrations is one listener, and ends all of them", async () => {
  const warnings: unknown[] = [];
  const listen = (warning: unknown): void => void warnings.push(warning);
  process.on("warning", listen);
  const system = new MessageSystem();
  const abort = new AbortController();
  const { opened, open } = gate();
  system.on("q", () => opened, { queue: { capacity: 100 } });
  for (let n = 0; n < 20; n++) system.on(`a/${n}`, () => 0, { signal: abort.signal });
  const sent = Array.from({ length: 50 }, (_, n) => system.send("q", n, { signal: abort.signal }) as Promise<unknown>);
  await turn();
  abort.abort(new Error("all of them"));
  for (const one of sent) await assert.rejects(one, /all of them/);
  assert.equal(system.has("a/7"), false);
  open();
  await turn();
  process.off("warning", listen);
  assert.deepEqual(warnings, []);
  assert.equal(system.pool.stats().inUse, 0);
});
