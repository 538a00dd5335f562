// Exceptions of user code, refused arguments, and dead letters.
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  MessagePool,
  MessageSystem,
  NoHandlerError,
  RequestTimeoutError,
  QueueFullError,
  SettingError,
  SystemClosedError,
} from "millpond";
import { gate, turn } from "./support/gate.js";

test("a key function that throws, and thenables that throw or call back twice, leak nothing", async () => {
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

test("unknown priorities, invalid durations and unknown options are refused at the call", async () => {
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

test("exceptions of onError and onDeadLetter are ignored", async () => {
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

test("an unhandled rejection of a dropped message does not end the process", async () => {
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

test("a thenable inside middleware keeps its message, and settles once", async () => {
  const after: unknown[] = [];
  const middleware = [{ after: (_message: unknown, reply: unknown) => void after.push(reply) }];
  const system = new MessageSystem();
  // `then` returns nothing, and reads the message late.
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

test("every kind of send without a handler makes a dead letter", async () => {
  const letters: unknown[] = [];
  const system = new MessageSystem({
    onDeadLetter: ({ path, body, meta, reason }) => letters.push([path, body, meta, reason]),
  });
  const target = system.target("a");
  assert.throws(() => system.send("a", 1), NoHandlerError);
  assert.throws(() => target.send(2), NoHandlerError);
  assert.throws(() => system.send("a", 3, { meta: "beside" }), NoHandlerError);
  await assert.rejects(system.request("a", 4), NoHandlerError);
  assert.equal(system.emit("a", 5), 0);
  assert.deepEqual(
    letters,
    [1, 2, 3, 4, 5].map((n) => ["a", n, n === 3 ? "beside" : undefined, "no-handler"]),
  );
  await system.close();
  assert.throws(() => target.send(8), SystemClosedError);
  assert.equal(letters.length, 5);
});

test("dead letters have a reason: no handler, refused, dropped, timed out, expired", async () => {
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

test("invalid paths and traceparents are refused by name at the call", async () => {
  const system = new MessageSystem();
  system.on("a", () => 1);
  for (const path of [undefined, null, 5, {}, { path: "a", body: 1 }, Symbol("x"), ["a"]]) {
    const refused = { name: "SettingError", message: /^path is .*: it must be a string/ };
    assert.throws(() => system.send(path as never, 1), refused);
    assert.throws(() => system.send(path as never, 1, {}), refused);
    assert.throws(() => system.emit(path as never, 1), refused);
    await assert.rejects(system.request(path as never, 1), refused);
  }
  for (const traceparent of ["", "garbage", 5, null, `00-${"0".repeat(31)}-${"0".repeat(16)}-01`]) {
    assert.throws(() => system.send("a", 1, { traceparent: traceparent as never }), /^SettingError: traceparent is /);
  }
  const valid = `00-${"ab".repeat(16)}-${"cd".repeat(8)}-01`;
  assert.equal(system.send("a", 1, { traceparent: valid }), 1);
  assert.equal(system.stats().receivers[0]!.sent, 1);
  for (const name of ["on", "once", "subscribe"]) {
    const register = (system as unknown as Record<string, (...given: unknown[]) => unknown>)[name]!.bind(system);
    assert.throws(() => register("b", () => 0, {}, "more"), {
      message: `arguments of ${name} is 4: it must be at most 3`,
    });
  }
  assert.equal(system.has("b"), false);
});

test("the reason of an abort goes to the sender only; another late error goes to onError", async () => {
  const reported: unknown[] = [];
  const system = new MessageSystem({ onError: (error) => reported.push(error) });
  const late = new Error("late");
  system.on(
    "own",
    (message) =>
      new Promise((_, reject) => message.signal!.addEventListener("abort", () => reject(message.signal!.reason))),
  );
  system.on(
    "other",
    (message) => new Promise((_, reject) => message.signal!.addEventListener("abort", () => reject(late))),
  );
  for (const path of ["own", "other"]) {
    const controller = new AbortController();
    const sent = system.request(path, 1, { signal: controller.signal });
    controller.abort(new Error("enough"));
    await assert.rejects(sent, /enough/);
    await new Promise(setImmediate);
  }
  assert.deepEqual(reported, [late]);
});

/** The process warnings during `run`. */
async function warningsOf(run: () => unknown): Promise<string[]> {
  const seen: string[] = [];
  const watch = (warning: Error & { code?: string }): number => seen.push(`${warning.code}: ${warning.message}`);
  process.on("warning", watch);
  try {
    await run();
    for (let left = 4; left > 0; left--) await turn();
  } finally {
    process.off("warning", watch);
  }
  return seen;
}

/** Errors and losses that no sender gets. */
async function lose(system: MessageSystem): Promise<void> {
  const fail = (message: { readonly body: unknown }): never => {
    throw message.body;
  };
  system.on("fails", fail);
  system.on("rejects", (message) => Promise.reject(new Error(String(message.body))));
  system.subscribe("seen", fail, { name: "watcher" });
  const { opened, open } = gate();
  system.on("full", () => opened, { queue: { capacity: 1 } });
  system.on("drops", () => 0, { queue: { capacity: 1, overflow: "drop-oldest" } });
  system.subscribe("slow", () => opened);
  system.subscribe("slow", () => opened, { queue: { capacity: 1, overflow: "drop-oldest" }, name: "chosen" });
  for (let n = 0; n < 3; n++) {
    system.emit("fails", new Error("boom"));
    system.emit("fails", new TypeError("other"));
    system.emit("rejects", n);
    system.emit("seen", "a text");
    system.emit("drops", n);
  }
  for (let n = 0; n < 1_100; n++) system.emit("slow", n);
  system.emit("full");
  await turn();
  for (let n = 0; n < 3; n++) system.emit("full", n);
  for (let n = 0; n < 3; n++) void system.send("full", n);
  await turn();
  open();
  await system.close();
}

test("without onError and onDeadLetter each cause of a loss warns the process once", async () => {
  const seen = await warningsOf(() => lose(new MessageSystem()));
  const failed = "MILLPOND_UNHANDLED_ERROR";
  const lost = "MILLPOND_MESSAGE_LOST";
  assert.deepEqual(
    seen.map((line) => line.replace(/(.*?: \S+( message)?( to \S+)?).*/, "$1")).sort(),
    [
      `${failed}: fails`,
      `${failed}: fails`,
      `${failed}: rejects`,
      `${failed}: watcher`,
      `${lost}: a message to full`,
      `${lost}: a message to slow`,
    ].sort(),
  );
  assert.match(seen.join(), /boom/);
});

test("with onError and onDeadLetter only losses of an observer with the default queue warn", async () => {
  const errors: unknown[] = [];
  const letters: unknown[] = [];
  const system = new MessageSystem({
    onError: (error) => errors.push(error),
    onDeadLetter: ({ reason }) => letters.push(reason),
  });
  const seen = await warningsOf(() => lose(system));
  assert.deepEqual([seen.length, errors.length], [1, 12]);
  assert.equal(letters.filter((reason) => reason === "refused").length, 5);
});

test("a warning of a lost message says what happened and what to do", async () => {
  const { opened, open } = gate();
  const system = new MessageSystem();
  system.on("full", () => opened, { queue: { capacity: 1 } });
  system.on("late", () => opened, { queue: { capacity: 2 } });
  system.subscribe("slow", () => opened);
  const seen = await warningsOf(async () => {
    for (const path of ["full", "late"]) system.emit(path);
    await turn();
    for (let n = 0; n < 2; n++) system.emit("full");
    system.emit("late", 1, { timeoutMs: 1 });
    const { receivers } = system.stats();
    assert.equal(receivers.find(({ name }) => name === "full")!.refused, 1);
    for (let n = 0; n < 1_100; n++) system.emit("slow");
    while (system.stats().receivers.find(({ name }) => name === "late")!.expired === 0) await turn();
  });
  open();
  await system.close();
  const counted = "further ones are only counted";
  assert.deepEqual(seen.map((line) => line.slice(line.indexOf("a message"))).sort(), [
    `a message to full was refused by a full queue; ${counted}: set onDeadLetter, or a larger capacity`,
    `a message to late expired before it was handled; ${counted}: set a longer timeoutMs`,
    `a message to slow was dropped from a full queue; ${counted}: set its queue`,
  ]);
});

test("no warning for a refused message whose sender gets the error", async () => {
  const { opened, open } = gate();
  const system = new MessageSystem();
  system.on("full", () => opened, { queue: { capacity: 1 } });
  const seen = await warningsOf(async () => {
    system.emit("full");
    await turn();
    system.emit("full");
    await assert.rejects(async () => system.send("full"), QueueFullError);
    await assert.rejects(system.request("full"), QueueFullError);
  });
  open();
  await system.close();
  assert.deepEqual(seen, []);
});

test("the number and the length of warnings are bounded", async () => {
  const system = new MessageSystem();
  const fail = (): never => {
    throw new Error("x".repeat(1e6));
  };
  for (let n = 0; n < 300; n++) system.on(`${"y".repeat(1_000)}${n}`, fail);
  const seen = await warningsOf(() => {
    for (let n = 0; n < 300; n++) system.emit(`${"y".repeat(1_000)}${n}`);
  });
  assert.equal(seen.length, 100);
  assert.ok(seen.every((line) => line.length < 500));
});
