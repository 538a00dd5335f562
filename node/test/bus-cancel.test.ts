// Time limits, aborts and retries.
import assert from "node:assert/strict";
import { test } from "node:test";
import { type DeadLetter, MessageSystem, RequestTimeoutError } from "millpond";
import { gate, startInTime, turn } from "./support/gate.js";

test("a request that timed out or was aborted before its start never runs; a running one is aborted", async () => {
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
  let running: Promise<void> | undefined;
  await startInTime(() => {
    running = assert.rejects(system.request("q", "runs", { timeoutMs: 50 }), RequestTimeoutError);
  });
  const queued = assert.rejects(system.request("q", "queued", { timeoutMs: 50 }), RequestTimeoutError);
  const waiting = assert.rejects(system.request("q", "waits for capacity", { signal: abort.signal }), /given up/);
  abort.abort(new Error("given up"));
  await Promise.all([waiting, running, queued]);
  open();
  await turn();
  assert.deepEqual(ran, ["runs", true]);
  assert.deepEqual(letters.map(({ reason, body }) => `${reason} ${String(body)}`).sort(), [
    "timed-out queued",
    "timed-out runs",
  ]);
  assert.equal(system.pool.stats().inUse, 0);
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

test("retries without a pause let timers run, and end with time limits and aborts", async () => {
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

test("pauses between retries grow and have a random share", async () => {
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

test("an abort by a handler on the stack rejects the promise that it then returns", async () => {
  const given = new Error("given up");
  for (const options of [{}, { retries: 3 }, { queue: { capacity: 2 } }]) {
    for (const how of ["send", "request", "place"]) {
      for (const where of ["handler", "before", "after", "error"]) {
        const errors: unknown[] = [];
        const system = new MessageSystem({ onError: (error) => errors.push(error) });
        const { opened, open } = gate();
        const controller = new AbortController();
        const { signal } = controller;
        let runs = 0;
        const late = (): Promise<void> => {
          controller.abort(given);
          return opened;
        };
        system.on(
          "a",
          async () => {
            runs++;
            if (where === "handler") await late();
            else if (where === "before") await opened;
            return "late";
          },
          { ...options, middleware: [{ before: () => (where === "before" ? void late() : undefined) }] },
        );
        system.on("after", () => "late", { ...options, middleware: [{ after: late }] });
        const fail = (): never => {
          throw new Error("failed");
        };
        system.on("error", fail, { ...options, middleware: [{ error: late }] });
        const path = where === "after" || where === "error" ? where : "a";
        const send = async (): Promise<unknown> => {
          if (how === "place") return (await system.whenReady(path)).send(1, { signal });
          return how === "send" ? system.send(path, 1, { signal }) : system.request(path, 1, { signal });
        };
        await assert.rejects(send(), given, `${how} ${where} ${JSON.stringify(options)}`);
        assert.equal(system.idle, false);
        open();
        assert.equal(await system.close(), true);
        assert.deepEqual([errors, runs], [[], path === "a" ? 1 : 0]);
        assert.equal(system.pool.stats().inUse, 0);
      }
    }
  }
});

test("a handler that hangs after such an abort, or fails, leaves its sender rejected", async () => {
  const errors: unknown[] = [];
  const system = new MessageSystem({ onError: (error) => errors.push((error as Error).message) });
  const controllers = [new AbortController(), new AbortController()];
  system.on("hangs", () => {
    controllers[0]!.abort(new Error("given up"));
    return new Promise(() => {});
  });
  system.on(
    "fails",
    async () => {
      controllers[1]!.abort(new Error("given up"));
      await turn();
      throw new Error("failed");
    },
    { retries: 3 },
  );
  const [hangs, fails] = ["hangs", "fails"].map((path, at) =>
    system.send(path, 1, { signal: controllers[at]!.signal }),
  ) as Promise<unknown>[];
  await assert.rejects(hangs!, /given up/);
  await assert.rejects(fails!, /given up/);
  await turn();
  await turn();
  assert.deepEqual(errors, ["failed"]);
});
