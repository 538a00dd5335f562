// Time limits with late timers, retries that never ran, and timers that keep a process alive.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { type DeadLetter, MessageSystem, RequestTimeoutError } from "millpond";
import { gate, turn } from "./support/gate.js";

const abortError = { name: "AbortError" };

/** A clock that only `block` advances, like a handler that blocks the event loop. */
async function withClock(run: (block: (ms: number) => void) => Promise<void>): Promise<void> {
  const real = performance.now.bind(performance);
  let now = real();
  performance.now = () => now;
  try {
    await run((ms) => void (now += ms));
  } finally {
    performance.now = real;
  }
}

test("a retry is counted when it starts", async () => {
  const system = new MessageSystem();
  const fail = (): never => {
    throw new Error("again");
  };
  system.on("x", fail, { retries: { times: 3, delayMs: 60_000, maxDelayMs: 60_000 } });
  const abort = new AbortController();
  const sent = assert.rejects(system.send("x", 1, { signal: abort.signal }) as Promise<unknown>, abortError);
  const late = assert.rejects(system.request("x", 1, { timeoutMs: 1 }), RequestTimeoutError);
  await turn();
  abort.abort();
  await Promise.all([sent, late]);
  const { retried, handled, failed } = system.stats().receivers[0]!;
  assert.deepEqual([retried, handled, failed], [0, 2, 2]);
});

test("the time limit of an aborted message does not keep the process alive", async () => {
  const started: unknown[] = [];
  const { setTimeout: real } = globalThis;
  const unrefs: unknown[] = [];
  globalThis.setTimeout = ((run: () => void, ms: number) => {
    started.push(ms);
    const timer = real(run, ms);
    const unref = timer.unref.bind(timer);
    timer.unref = () => (unrefs.push(ms), unref());
    return timer;
  }) as never;
  try {
    const system = new MessageSystem();
    system.on("x", () => new Promise(() => {}));
    const abort = new AbortController();
    const sent = system.send("x", 1, { signal: abort.signal, timeoutMs: 60_000 }) as Promise<unknown>;
    abort.abort();
    await assert.rejects(sent, abortError);
  } finally {
    globalThis.setTimeout = real;
  }
  assert.deepEqual([started, unrefs], [[60_000], [60_000]]);
});

test("a reply after the time limit rejects, even if a busy handler delayed the timer", () =>
  withClock(async (block) => {
    for (const queue of [undefined, { capacity: 4 }]) {
      for (const asynchronous of [false, true]) {
        const letters: string[] = [];
        const onDeadLetter = ({ reason, body }: DeadLetter): void => void letters.push(`${reason} ${String(body)}`);
        const system = new MessageSystem({ onDeadLetter });
        const aborted: unknown[] = [];
        const handle = (message: { readonly signal: AbortSignal | undefined }): string => {
          const { signal } = message;
          block(8);
          aborted.push(signal?.aborted);
          return "late";
        };
        const later = async (message: Parameters<typeof handle>[0]): Promise<string> => {
          await undefined;
          return handle(message);
        };
        system.on("x", asynchronous ? later : handle, queue === undefined ? {} : { queue });
        await assert.rejects(system.request("x", "request", { timeoutMs: 2 }), RequestTimeoutError);
        const sent = (): unknown => system.send("x", "send", { timeoutMs: 2 });
        // The reply arrives before its sender could wait for it.
        if (queue === undefined && !asynchronous) assert.equal(sent(), "late");
        else await assert.rejects(sent() as Promise<unknown>, RequestTimeoutError);
        const { handled, failed, running } = system.stats().receivers[0]!;
        assert.deepEqual([handled, failed, running], [2, 0, 0]);
        assert.equal(letters[0], "timed-out request");
        assert.equal(system.pool.stats().inUse, 0);
      }
    }
  }));

test("a message never starts after its time limit, even if a busy handler delayed the timer", () =>
  withClock(async (block) => {
    const letters: string[] = [];
    const system = new MessageSystem({
      onDeadLetter: ({ reason, body }) => letters.push(`${reason} ${String(body)}`),
    });
    const ran: unknown[] = [];
    const handle = (message: { readonly body: unknown }): void => {
      ran.push(message.body);
      if (message.body === "busy") block(8);
    };
    system.on("q", handle, { queue: { capacity: 8, concurrency: 2 } });
    const busy = system.send("q", "busy");
    const late = assert.rejects(system.request("q", "late", { timeoutMs: 2 }), RequestTimeoutError);
    system.emit("q", "expired", { timeoutMs: 2 });
    const after = system.send("q", "after", { timeoutMs: 60_000 });
    await Promise.all([busy, late, after]);
    assert.deepEqual(ran, ["busy", "after"]);
    assert.deepEqual(letters, ["timed-out late", "expired expired"]);
    const { sent, handled, expired, waiting, running } = system.stats().receivers[0]!;
    assert.deepEqual([sent, handled, expired, waiting, running], [4, 2, 2, 0, 0]);
    assert.equal(system.pool.stats().inUse, 0);
  }));

test("no retry starts after the time limit, even if a busy handler delayed the timer", () =>
  withClock(async (block) => {
    for (const delayMs of [0, 1]) {
      const system = new MessageSystem();
      let runs = 0;
      const fail = (): never => {
        runs++;
        block(4);
        throw new Error("again");
      };
      system.on("x", fail, { retries: { times: 1_000, delayMs } });
      await assert.rejects(system.request("x", 1, { timeoutMs: 2 }), RequestTimeoutError);
      assert.equal(await system.close(), true);
      assert.deepEqual([runs, system.stats().receivers[0]!.retried], [1, 0]);
    }
  }));

test("the dead letter of a message that timed out before its start may fill the queue again", async () => {
  const ran: unknown[] = [];
  const { opened, open } = gate();
  let again = 100;
  const system = new MessageSystem({
    onDeadLetter() {
      if (again-- > 0) system.emit("q", `again ${again}`, { timeoutMs: again % 2 === 0 ? 0 : 60_000 });
      system.flush();
    },
  });
  const handle = (message: { readonly body: unknown }): unknown => (ran.push(message.body), opened);
  system.on("q", handle, { queue: { capacity: 4 } });
  system.emit("q", "first");
  for (let n = 0; n < 3; n++) system.emit("q", n, { timeoutMs: 0 });
  await turn();
  open();
  assert.equal(await system.close(), true);
  assert.equal(ran[0], "first");
  const { sent, handled, expired, refused } = system.stats().receivers[0]!;
  assert.equal(sent, handled + expired + refused);
  assert.equal(system.pool.stats().inUse, 0);
});

test("a time limit that ends the pause before a retry leaves no timer that keeps the process alive", () => {
  const program = `
    const { MessageSystem } = require("millpond");
    const system = new MessageSystem();
    const fail = () => { throw new Error("again"); };
    system.on("x", fail, { retries: { times: 3, delayMs: 60_000, maxDelayMs: 60_000 } });
    system.request("x", 1, { timeoutMs: 20 }).catch(({ name }) => console.log(name));`;
  const options = { encoding: "utf8", timeout: 50_000 } as const;
  const { stdout, status } = spawnSync(process.execPath, ["-e", program], options);
  assert.deepEqual([stdout, status], ["RequestTimeoutError\n", 0]);
});
