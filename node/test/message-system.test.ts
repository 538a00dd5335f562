import assert from "node:assert/strict";
import { tracingChannel } from "node:diagnostics_channel";
import { test } from "node:test";
import {
  childTraceparent,
  type HandleTrace,
  HandlerExistsError,
  type Message,
  MessageInUseError,
  MessagePool,
  MessageSystem,
  NoHandlerError,
  RequestTimeoutError,
} from "millpond";
import { gate, turn } from "./support/gate.js";

test("send returns the reply of a synchronous handler, and a promise of an async one", async () => {
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

test("the most specific template's handler gets the message, and every observer", async () => {
  const system = new MessageSystem();
  const seen: string[] = [];
  system.on("a/{x}", () => void seen.push("param"));
  system.on("a/b", () => seen.push("static"));
  system.subscribe("a/*", (message) => seen.push(`wild ${message.param("*")}`));
  system.subscribe("a/{name}", (message) => seen.push(`name ${message.param("name")}`));
  assert.equal(system.send("a/b"), 1);
  await turn();
  assert.deepEqual(seen.splice(0), ["static", "name b", "wild b"]);
  system.send("a/c");
  await turn();
  assert.deepEqual(seen.splice(0), ["param", "name c", "wild c"]);
  assert.equal(system.emit("a/c/d"), 1);
  await turn();
  assert.deepEqual(seen.splice(0), ["wild c/d"]);
  assert.throws(() => system.send("b"), NoHandlerError);
});

test("an undone registration gets nothing more, and the next one gets the next message", () => {
  const system = new MessageSystem();
  let [first, second] = [0, 0];
  const undo = system.on("a", () => void first++);
  const target = system.target("a");
  target.send();
  system.send("a");
  assert.throws(() => system.on("a", () => void second++), HandlerExistsError);
  undo();
  assert.throws(() => target.send(), NoHandlerError);
  system.on("a", () => void second++);
  target.send();
  system.send("a");
  assert.deepEqual([first, second], [2, 2]);
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

test("an acquired message stays with its owner, which cannot release it while a handler has it", async () => {
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

test("a handler cannot release its message", () => {
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

for (const pool of ["auto", 0] as const) {
  test(`a kept message belongs to its handler or observer until that has settled; pool ${pool}`, async () => {
    for (const where of ["synchronous", "asynchronous", "after a promise", "queued", "observer"]) {
      const system = new MessageSystem({ pool });
      const kept: Message[] = [];
      const keep = (message: Message): void => {
        kept.push(message.keep());
        assert.throws(() => system.send(message), MessageInUseError);
        message.body = "own";
      };
      const { opened, open } = gate();
      const receive = (message: unknown): unknown => {
        if (where === "synchronous") return keep(message as Message);
        if (where === "after a promise") return turn().then(() => keep(message as Message));
        keep(message as Message);
        return opened;
      };
      const path = where === "after a promise" || where === "synchronous" ? where : "opened";
      if (where === "observer") system.subscribe(path, receive);
      else system.on(path, receive, where === "queued" ? { queue: { capacity: 9 } } : {});
      let gone = 0;
      const sent = where === "observer" ? system.emit(path, 1) : system.send(path, 1);
      await turn();
      await turn();
      if (path === "opened") assert.throws(() => system.emit(kept[0]!), MessageInUseError, where);
      open();
      await sent;
      await turn();
      assert.equal(kept.length, 1, where);
      assert.equal(kept[0]!.body, "own");
      system.off(path);
      system.on(path, () => gone++);
      system.send(kept[0]!);
      assert.equal(gone, 1, where);
      assert.equal(system.pool.stats().inUse, 0);
    }
  });
}

test("emit counts receivers, waits for none, and passes errors to onError with the receiver's name", async () => {
  const errors: unknown[] = [];
  const system = new MessageSystem({
    onError: (error, path, name) => errors.push((error as Error).message, path, name),
  });
  const seen: unknown[] = [];
  system.on("a", (message) => void seen.push(message.body));
  const fail = (): never => {
    throw new Error("mine");
  };
  system.subscribe("a", fail, { name: "failing" });
  system.subscribe("*", async (message) => {
    await null;
    seen.push(message.body);
  });
  assert.equal(system.emit("a", 1), 3);
  assert.deepEqual(seen, [1]);
  await turn();
  assert.deepEqual(seen, [1, 1]);
  assert.deepEqual(errors, ["mine", "a", "failing"]);
  assert.equal(system.pool.stats().inUse, 0);
  assert.equal(new MessageSystem().emit("a"), 0);
});

test("request resolves to the reply, or rejects with its timeout or the handler's error", async () => {
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
  await assert.rejects(system.request("missing"), NoHandlerError);
});

test("middleware runs around the handler: global, of its scheme, of the handler; errors from the inside out", async () => {
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

test("a failed handler runs again up to its number of retries", async () => {
  const system = new MessageSystem();
  let runs = 0;
  const flaky = (): number => {
    runs++;
    if (runs % 3 !== 0) throw new Error("again");
    return runs;
  };
  system.on("sync", flaky, { retries: 2 });
  system.on("async", async () => flaky(), { retries: { times: 2, delayMs: 1 } });
  system.on("never", async () => Promise.reject(new Error("no")), { retries: 1 });
  assert.equal(system.send("sync"), 3);
  assert.equal(await system.send("async"), 6);
  await assert.rejects(system.send("never") as Promise<unknown>, /no/);
});

test("statistics, latencies, traces and tracing channels cover every message", async () => {
  const system = new MessageSystem({ statistics: "diagnostics", tracing: true });
  const told: [string, string, string | undefined][] = [];
  const channels = tracingChannel<unknown, HandleTrace>("millpond.handle");
  const listen = (event: string) => (trace: object) => {
    const { path, error } = trace as HandleTrace;
    told.push([event, path, (error as Error | undefined)?.message]);
  };
  const subscribers = {
    start: listen("start"),
    end: listen("end"),
    asyncStart: listen("asyncStart"),
    asyncEnd: listen("asyncEnd"),
    error: listen("error"),
  };
  channels.subscribe(subscribers);
  const traces: (string | undefined)[] = [];
  system.on("outer", async (message) => {
    await null;
    traces.push(message.traceparent, system.context?.traceparent);
    return system.send("inner/1");
  });
  system.on("inner/{n}", (message) => void traces.push(message.traceparent));
  system.on("bad", () => {
    throw new Error("bad");
  });
  const parent = childTraceparent();
  await system.send("outer", 0, { traceparent: parent });
  assert.throws(() => system.send("bad"), /bad/);
  channels.unsubscribe(subscribers);
  assert.equal(traces[0], parent);
  assert.equal(traces[1], parent);
  assert.match(traces[2]!, /^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/);
  assert.equal(traces[2]!.slice(0, 35), parent.slice(0, 35));
  assert.notEqual(traces[2], parent);
  assert.deepEqual(told, [
    ["start", "outer", undefined],
    ["end", "outer", undefined],
    ["start", "inner/1", undefined],
    ["end", "inner/1", undefined],
    ["asyncStart", "outer", undefined],
    ["asyncEnd", "outer", undefined],
    ["start", "bad", undefined],
    ["error", "bad", "bad"],
    ["end", "bad", "bad"],
  ]);
  const text = system.prometheus();
  assert.match(text, /^# TYPE millpond_messages_total counter$/m);
  assert.match(text, /^millpond_messages_total\{route="inner\/\{n\}",receiver="inner\/\{n\}",kind="handler"\} 1$/m);
  assert.match(text, /^millpond_latency_seconds_count\{route="outer",receiver="outer",kind="handler"\} 1$/m);
  assert.equal(text.match(/# TYPE millpond_latency_seconds /g)?.length, 1);
});

test("a checked system detects a stale message after any number of later loans", () => {
  const system = new MessageSystem({ checked: true });
  const held: Message[] = [];
  system.on("a", (message) => {
    for (const old of held) assert.throws(() => old.body, { code: "POOL_USE_AFTER_RELEASE" });
    held.push(message);
  });
  for (let n = 0; n < 10; n++) system.send("a", n);
  for (const message of held) assert.throws(() => message.body, { code: "POOL_USE_AFTER_RELEASE" });
});

test("start makes the messages that warmup requests", () => {
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
