import assert from "node:assert/strict";
import { channel } from "node:diagnostics_channel";
import { test } from "node:test";
import {
  childTraceparent,
  HandlerExistsError,
  type Message,
  MessageDroppedError,
  MessageInUseError,
  MessagePool,
  MessageSystem,
  NoHandlerError,
  QueueFullError,
  RequestTimeoutError,
  SystemClosedError,
} from "millpond";

/** A handler that settles when the test says so. */
function gate(): { readonly opened: Promise<void>; open(): void } {
  let open = (): void => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test("send gives the reply of a synchronous handler itself and a promise only of an async one", async () => {
  const system = new MessageSystem();
  system.on("sync", (message) => `${message.body}!`);
  system.on("async", async (message) => `${message.body}?`);
  assert.equal(system.send("sync", "a"), "a!");
  const reply = system.send("async", "b");
  assert.ok(reply instanceof Promise);
  assert.equal(await reply, "b?");
  assert.equal(system.pool.stats().inUse, 0);
});

test("parameters are read from the path that was sent", () => {
  const system = new MessageSystem();
  system.on("orders://{account}/{id}/*", (message) => [
    message.param("account"),
    message.paramInt("id"),
    message.paramInt("account"),
    message.param("*"),
  ]);
  for (let round = 0; round < 3; round++) {
    assert.deepEqual(system.send("orders://acme/42/a/b"), ["acme", 42, undefined, "a/b"]);
  }
  system.on("plain", (message) => message.param("x" as never));
  assert.throws(() => system.send("plain"), RangeError);
});

test("the most specific template gets the message, all its handlers get it, and every subscriber", () => {
  const system = new MessageSystem();
  const seen: string[] = [];
  system.on("a/{x}", () => void seen.push("param"));
  system.on("a/b", () => seen.push("static one"));
  system.on("a/b", () => seen.push("static two"));
  system.subscribe("a/*", (message) => seen.push(`wild ${message.param("*")}`));
  system.subscribe("a/{name}", (message) => seen.push(`name ${message.param("name")}`));
  assert.equal(system.send("a/b"), 1);
  assert.deepEqual(seen.splice(0), ["static one", "static two", "wild b", "name b"]);
  system.send("a/c");
  assert.deepEqual(seen.splice(0), ["param", "wild c", "name c"]);
  system.send("a/c/d");
  assert.deepEqual(seen.splice(0), ["wild c/d"]);
  assert.throws(() => system.send("b"), NoHandlerError);
});

test("a registration that is undone gets nothing more, and one that is added gets the next message", () => {
  const system = new MessageSystem();
  let [first, second] = [0, 0];
  const undo = system.on("a", () => void first++);
  const target = system.target("a");
  target.send();
  system.send("a");
  system.on("a", () => void second++);
  target.send();
  undo();
  target.send();
  system.send("a");
  assert.deepEqual([first, second], [3, 3]);
});

test("a handler may send, and each message keeps its own body", () => {
  const system = new MessageSystem();
  system.on("count", (message): number => {
    const left = message.body as number;
    const below = left === 0 ? 0 : (system.send("count", left - 1) as number);
    assert.equal(message.body, left);
    return below + 1;
  });
  assert.equal(system.send("count", 50), 51);
  assert.equal(system.pool.stats().inUse, 0);
});

test("an acquired message stays its owner's: sent as it is, refused for release while a handler has it", async () => {
  const system = new MessageSystem();
  const { opened, open } = gate();
  system.on("slow", async (message) => {
    await opened;
    return message.body;
  });
  const message = system.pool.acquire("slow", 7);
  const reply = system.send(message);
  assert.throws(() => system.pool.release(message), MessageInUseError);
  open();
  assert.equal(await reply, 7);
  assert.equal(message.body, 7);
  system.pool.release(message);
});

test("a handler that releases what is not its own is refused", () => {
  const system = new MessageSystem();
  system.on("a", (message) => system.pool.release(message));
  assert.throws(() => system.send("a"), MessageInUseError);
  system.on("b", (message) => message.body);
  assert.equal(system.send("b", 1), 1);
});

test("a handler may keep its message", async () => {
  const system = new MessageSystem();
  const kept: Message[] = [];
  system.on("sync", (message) => void kept.push(message.keep()));
  system.on("async", async (message) => {
    await null;
    kept.push(message.keep());
  });
  system.on("queued", (message) => void kept.push(message.keep()), { queue: { capacity: 9 } });
  for (let n = 0; n < 3; n++) {
    system.send("sync", n);
    await system.send("async", n + 10);
    await system.send("queued", n + 20);
  }
  assert.deepEqual(
    kept.map((message) => message.body),
    [0, 10, 20, 1, 11, 21, 2, 12, 22],
  );
  assert.equal(system.pool.stats().inUse, 0);
});

test("emit counts receivers, runs all of them even when one throws, and gives each the same message", async () => {
  const system = new MessageSystem();
  const seen: unknown[] = [];
  system.on("a", (message) => void seen.push(message));
  system.subscribe("a", () => {
    throw new Error("mine");
  });
  system.subscribe("*", async (message) => {
    await null;
    seen.push(message.body === undefined ? "gone" : message);
  });
  await assert.rejects(system.emit("a", 1) as Promise<number>, /mine/);
  assert.equal(seen.length, 2);
  assert.equal(seen[0], seen[1]);
  assert.equal(system.pool.stats().inUse, 0);
  assert.equal(new MessageSystem().emit("a"), 0);
});

test("request gives the reply, or its timeout, or the handler's error", async () => {
  const system = new MessageSystem();
  system.on("echo", async (message) => [message.body, message.correlationId]);
  system.on("hang", () => new Promise(() => {}));
  system.on("fail", () => {
    throw new Error("no");
  });
  assert.deepEqual(await system.request("echo", 1), [1, 1]);
  assert.deepEqual(await system.request("echo", 2), [2, 2]);
  await assert.rejects(system.request("hang", 1, { timeoutMs: 5 }), RequestTimeoutError);
  assert.equal(system.pool.stats().inUse, 1);
  await assert.rejects(system.request("fail"), /no/);
  await assert.rejects(system.request("nobody"), NoHandlerError);
});

test("commands and queries have exactly one handler, and reach nothing else", async () => {
  const system = new MessageSystem();
  system.onCommand("do", () => "done");
  system.onQuery("ask", () => "answer");
  system.on("other", () => 0);
  assert.equal(system.command("do"), "done");
  assert.equal(await system.query("ask"), "answer");
  assert.throws(() => system.onCommand("do", () => 0), HandlerExistsError);
  assert.throws(() => system.on("ask", () => 0), HandlerExistsError);
  assert.throws(() => system.command("other"), NoHandlerError);
  await assert.rejects(system.query("do"), NoHandlerError);
});

test("middleware runs around the handler: all, its scheme's, its own; errors from the inside out", async () => {
  const system = new MessageSystem();
  const seen: string[] = [];
  const note = (name: string) => ({
    before: () => void seen.push(`before ${name}`),
    after: (_: Message, reply: unknown) => void seen.push(`after ${name} ${String(reply)}`),
    error: (error: unknown) => {
      seen.push(`error ${name}`);
      throw error;
    },
  });
  system.use(note("all")).use(note("svc"), "svc").use(note("never"), "other");
  system.on("svc://ok", () => "reply", { middleware: [note("own")] });
  system.on("svc://bad", async () => {
    throw new Error("bad");
  });
  system.on("svc://saved", () => Promise.reject(new Error("bad")), { middleware: [{ error: () => "rescued" }] });
  assert.equal(system.send("svc://ok"), "reply");
  assert.deepEqual(seen.splice(0), [
    "before all",
    "before svc",
    "before own",
    "after own reply",
    "after svc reply",
    "after all reply",
  ]);
  await assert.rejects(system.send("svc://bad") as Promise<unknown>, /bad/);
  assert.deepEqual(seen.splice(0), ["before all", "before svc", "error svc", "error all"]);
  assert.equal(await system.send("svc://saved"), "rescued");
  system.on("stopped", () => assert.fail("must not run"), {
    middleware: [{ before: () => Promise.reject(new Error("stop")) }],
  });
  await assert.rejects(system.send("stopped") as Promise<unknown>, /stop/);
  assert.equal(system.pool.stats().inUse, 0);
});

test("a handler is run again after a failure, as often as it was said", async () => {
  const system = new MessageSystem();
  let runs = 0;
  const flaky = (): number => {
    runs++;
    if (runs % 3 !== 0) throw new Error("again");
    return runs;
  };
  system.on("sync", flaky, { retries: 2 });
  system.on("async", async () => flaky(), { retries: 2, retryDelayMs: 1 });
  system.on("never", async () => Promise.reject(new Error("no")), { retries: 1 });
  assert.equal(system.send("sync"), 3);
  assert.equal(await system.send("async"), 6);
  await assert.rejects(system.send("never") as Promise<unknown>, /no/);
});

test("a queue runs the most urgent first, and each priority in order", async () => {
  const system = new MessageSystem();
  const seen: unknown[] = [];
  system.on("q", (message) => void seen.push(message.body), { queue: { capacity: 100 } });
  system.emit("q", "low 1", { priority: "low" });
  system.emit("q", "medium");
  system.emit("q", "low 2", { priority: "low" });
  system.emit("q", "critical", { priority: "critical" });
  const last = system.send("q", "high", { priority: "high" });
  assert.deepEqual(seen, []);
  await last;
  await turn();
  assert.deepEqual(seen, ["critical", "high", "medium", "low 1", "low 2"]);
  assert.equal(system.pool.stats().inUse, 0);
});

test("a full queue refuses, drops the oldest, drops the newest or waits, as it was told", async () => {
  const system = new MessageSystem();
  const seen: Record<string, unknown[]> = { reject: [], "drop-oldest": [], "drop-newest": [], wait: [] };
  const outcomes: Record<string, PromiseSettledResult<unknown>[]> = {};
  for (const overflow of ["reject", "drop-oldest", "drop-newest", "wait"] as const) {
    system.on(overflow, (message) => seen[overflow]!.push(message.body), { queue: { capacity: 2, overflow } });
    const sent = [1, 2, 3, 4].map((body) => system.send(overflow, body) as Promise<unknown>);
    assert.equal(system.canAccept(overflow), false);
    outcomes[overflow] = await Promise.allSettled(sent);
    assert.equal(system.canAccept(overflow), true);
  }
  assert.deepEqual(seen, { reject: [1, 2], "drop-oldest": [3, 4], "drop-newest": [1, 2], wait: [1, 2, 3, 4] });
  const reasons = (overflow: string): unknown[] =>
    outcomes[overflow]!.filter((one) => one.status === "rejected").map((one) => one.reason.constructor);
  assert.deepEqual(reasons("reject"), [QueueFullError, QueueFullError]);
  assert.deepEqual(reasons("drop-oldest"), [MessageDroppedError, MessageDroppedError]);
  assert.deepEqual(reasons("drop-newest"), [MessageDroppedError, MessageDroppedError]);
  assert.deepEqual(reasons("wait"), []);
  assert.equal(system.pool.stats().inUse, 0);
});

test("coalescing keeps one waiting message a key: the newest, at the place of the first", async () => {
  const system = new MessageSystem();
  const seen: unknown[] = [];
  system.on("q/{key}", (message) => void seen.push(`${message.param("key")}${message.body}`), {
    queue: { capacity: 10, overflow: "coalesce", key: (message) => message.path },
  });
  for (const [key, body] of [
    ["a", 1],
    ["b", 2],
    ["a", 3],
    ["c", 4],
    ["b", 5],
  ] as const)
    system.emit(`q/${key}`, body);
  await turn();
  assert.deepEqual(seen, ["a3", "b5", "c4"]);
  system.emit("q/a", 6);
  await turn();
  assert.deepEqual(seen.slice(3), ["a6"]);
  assert.equal(system.pool.stats().inUse, 0);
});

test("as many handlers run at once as the queue allows, and whenReady tells of room", async () => {
  const system = new MessageSystem();
  let [running, most] = [0, 0];
  const gates = Array.from({ length: 6 }, gate);
  system.on(
    "q",
    async (message) => {
      running++;
      most = Math.max(most, running);
      await gates[message.body as number]!.opened;
      running--;
    },
    { queue: { capacity: 4, concurrency: 2 } },
  );
  const sent = [0, 1, 2, 3].map((body) => system.send("q", body));
  const ready = system.whenReady("q");
  await ready;
  assert.equal(running, 2);
  sent.push(system.send("q", 4), system.send("q", 5));
  for (const { open } of gates) open();
  await Promise.all(sent);
  assert.equal(most, 2);
});

test("an aborted message leaves its queue, and one that runs is given up but not taken away", async () => {
  const system = new MessageSystem();
  const { opened, open } = gate();
  const seen: unknown[] = [];
  system.on(
    "q",
    async (message) => {
      await opened;
      seen.push(message.body, message.signal?.aborted);
    },
    { queue: { capacity: 4 } },
  );
  const [runs, waits] = [new AbortController(), new AbortController()];
  const first = system.send("q", 1, { signal: runs.signal }) as Promise<unknown>;
  const second = system.send("q", 2, { signal: waits.signal }) as Promise<unknown>;
  await turn();
  runs.abort(new Error("given up"));
  waits.abort(new Error("not wanted"));
  await assert.rejects(first, /given up/);
  await assert.rejects(second, /not wanted/);
  assert.equal(system.pool.stats().inUse, 1);
  open();
  await turn();
  assert.deepEqual(seen, [1, true]);
  assert.equal(system.stats().routes[0]!.queues[0]!.aborted, 1);
  assert.throws(() => system.send("q", 3, { signal: runs.signal }), /given up/);
});

test("messages that leave a queue leave their places to others, which come in order", async () => {
  for (const key of [undefined, (message: { readonly body: unknown }) => message.body]) {
    const system = new MessageSystem();
    const { opened, open } = gate();
    const seen: unknown[] = [];
    const queue = { capacity: 4, ...(key === undefined ? {} : { key, overflow: "coalesce" as const }) };
    system.on("q", async (message) => void seen.push(await opened.then(() => message.body)), { queue });
    void system.send("q", "runs");
    await turn();
    system.emit("q", "stays");
    for (let n = 0; n < 100; n++) {
      const abort = new AbortController();
      const sent = system.send("q", n, { signal: abort.signal }) as Promise<unknown>;
      abort.abort(new Error("not wanted"));
      await assert.rejects(sent, /not wanted/);
    }
    const last = [system.send("q", "new"), system.send("q", "newer")] as Promise<unknown>[];
    if (key !== undefined) system.emit("q", "stays");
    open();
    await Promise.all(last);
    assert.deepEqual(seen, ["runs", "stays", "new", "newer"]);
  }
});

test("close waits for queues and handlers, refuses what comes later, and says when it took too long", async () => {
  const system = new MessageSystem();
  const { opened, open } = gate();
  const seen: unknown[] = [];
  system.on("q", async (message) => void seen.push(await opened.then(() => message.body)), { queue: { capacity: 9 } });
  for (let n = 0; n < 5; n++) system.emit("q", n);
  assert.equal(await system.close(2), false);
  assert.throws(() => system.send("q"), SystemClosedError);
  assert.equal(system.has("q"), false);
  open();
  assert.equal(await system.close(), true);
  assert.deepEqual(seen, [0, 1, 2, 3, 4]);
});

test("statistics, latencies, traces and diagnostics tell of every message", async () => {
  const system = new MessageSystem({ statistics: "diagnostics", tracing: true, context: true });
  const told: { path: string; failed?: boolean; traceparent: string }[] = [];
  const listen = (message: unknown): void => void told.push(message as (typeof told)[0]);
  channel("millpond.send").subscribe(listen);
  channel("millpond.settle").subscribe(listen);
  const traces: (string | undefined)[] = [];
  system.on("outer", async (message) => {
    await null;
    traces.push(message.traceparent, system.context?.traceparent);
    return system.send("inner/1");
  });
  system.on("inner/{n}", (message) => void traces.push(message.traceparent));
  const parent = childTraceparent();
  await system.send("outer", 0, { traceparent: parent });
  channel("millpond.send").unsubscribe(listen);
  channel("millpond.settle").unsubscribe(listen);
  assert.equal(traces[0], parent);
  assert.equal(traces[1], parent);
  assert.match(traces[2]!, /^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/);
  assert.equal(traces[2]!.slice(0, 35), parent.slice(0, 35));
  assert.notEqual(traces[2], parent);
  assert.deepEqual(
    told.map(({ path, failed }) => [path, failed]),
    [
      ["outer", undefined],
      ["inner/1", undefined],
      ["inner/1", false],
      ["outer", false],
    ],
  );
  const text = system.prometheus();
  assert.match(text, /^# TYPE millpond_messages_total counter$/m);
  assert.match(text, /^millpond_messages_total\{route="inner\/\{n\}"\} 1$/m);
  assert.match(text, /^millpond_latency_seconds_count\{route="outer"\} 1$/m);
  assert.equal(text.match(/# TYPE millpond_latency_seconds /g)?.length, 1);
});

test("errors of queued messages that nobody waits for are told to onError, and counted", async () => {
  const told: unknown[] = [];
  const system = new MessageSystem({ onError: (error, path) => void told.push(path, (error as Error).message) });
  system.on("q", () => Promise.reject(new Error("bad")), { queue: { capacity: 2 } });
  system.emit("q", 1);
  await turn();
  assert.deepEqual(told, ["q", "bad"]);
  assert.equal(system.stats().routes[0]!.failed, 1);
});

test("in a checked system a message that a handler held on to is found out, however often it was lent since", () => {
  const system = new MessageSystem({ checked: true });
  const held: Message[] = [];
  system.on("a", (message) => {
    for (const old of held) assert.throws(() => old.body, { code: "POOL_USE_AFTER_RELEASE" });
    held.push(message);
  });
  for (let n = 0; n < 10; n++) system.send("a", n);
  for (const message of held) assert.throws(() => message.body, { code: "POOL_USE_AFTER_RELEASE" });
});

test("paths are remembered up to the limit, and all paths work beyond it", () => {
  const system = new MessageSystem({ pathCache: 4 });
  system.on("a/{n}", (message) => message.paramInt("n"));
  for (let round = 0; round < 4; round++) {
    for (let n = 0; n < 40; n++) assert.equal(system.send(`a/${n}`), n);
  }
});

test("start makes the messages ahead that warmup asks for", () => {
  const system = new MessageSystem({ pool: 100, warmup: 50 });
  assert.ok(system.pool.stats().size < 50);
  system.start();
  assert.equal(system.pool.stats().size, 50);
});

test("a pool may be shared with the caller", () => {
  const pool = new MessagePool(4);
  const system = new MessageSystem({ pool });
  system.on("a", (message) => message.body);
  using message = pool.acquire("a", 3);
  assert.equal(system.send(message), 3);
});
