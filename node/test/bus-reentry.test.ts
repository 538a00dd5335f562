// User functions that a send calls (onDeadLetter, the key of a queue) may use the system: send, flush, abort, register, remove,
// close.
import assert from "node:assert/strict";
import { test } from "node:test";
import { type DeadLetter, MessageSystem, NoHandlerError, RequestTimeoutError } from "millpond";
import { gate, turn } from "./support/gate.js";
import { type Random, randomFrom } from "./support/random.js";

const outcome = (sent: unknown): Promise<unknown> =>
  Promise.resolve(sent).then(
    (value) => value,
    (error: Error) => error.name,
  );
const nameOf = (send: () => unknown): unknown => {
  try {
    return send();
  } catch (error) {
    return (error as Error).name;
  }
};

test("the dead letter of a timed-out message may send to the same full queue", async () => {
  const letters: string[] = [];
  const { opened, open } = gate();
  const ran: unknown[] = [];
  const system = new MessageSystem({
    onDeadLetter({ reason, body }) {
      letters.push(`${reason} ${String(body)}`);
      if (reason === "timed-out") system.emit("q", `again ${String(body)}`);
    },
  });
  const handle = async (message: { readonly body: unknown }): Promise<void> => {
    ran.push(message.body);
    await opened;
  };
  system.on("q", handle, { queue: { capacity: 2, overflow: "drop-oldest" } });
  system.emit("q", "runs");
  await turn();
  const late = system.send("q", "late", { timeoutMs: 1 }) as Promise<unknown>;
  const waits = system.send("q", "waits");
  await assert.rejects(late, RequestTimeoutError);
  open();
  await waits;
  assert.equal(await system.close(), true);
  assert.deepEqual(ran, ["runs", "waits", "again late"]);
  assert.deepEqual(letters, ["timed-out late"]);
  assert.equal(system.pool.stats().inUse, 0);
});

test("a flush in the dead letter of a timed-out message does not run that message", async () => {
  const ran: unknown[] = [];
  const { opened, open } = gate();
  const system = new MessageSystem({ onDeadLetter: () => void system.flush() });
  const handle = (message: { readonly body: unknown }): unknown => (ran.push(message.body), opened);
  system.on("q", handle, { queue: { capacity: 4 } });
  system.emit("q", "first");
  await turn();
  await assert.rejects(system.send("q", "late", { timeoutMs: 1 }) as Promise<unknown>, RequestTimeoutError);
  open();
  assert.equal(await system.close(), true);
  assert.deepEqual(ran, ["first"]);
});

test("the dead letter of a dropped message may abort the others, and itself", async () => {
  const abort = new AbortController();
  const { opened, open } = gate();
  const ran: unknown[] = [];
  const system = new MessageSystem({ onDeadLetter: () => abort.abort() });
  const handle = (message: { readonly body: unknown }): unknown => (ran.push(message.body), opened);
  system.on("q", handle, { queue: { capacity: 2, overflow: "drop-oldest" } });
  system.emit("q", "runs");
  await turn();
  const sent = ["a", "b", "c"].map((body) => outcome(system.send("q", body, { signal: abort.signal })));
  assert.deepEqual(await Promise.all(sent), ["MessageDroppedError", "AbortError", "AbortError"]);
  assert.throws(() => system.send("q", "d", { signal: abort.signal }), { name: "AbortError" });
  open();
  await system.send("q", "later");
  const { dropped, aborted, handled, waiting, running } = system.stats().receivers[0]!;
  assert.deepEqual([dropped, aborted, handled, waiting, running], [1, 2, 2, 0, 0]);
  assert.deepEqual(ran, ["runs", "later"]);
});

test("the dead letter of a replaced message may abort that message: the newer one keeps its place", async () => {
  const aborts = new Map(["a", "b", "c"].map((body) => [body, new AbortController()]));
  const system = new MessageSystem({ onDeadLetter: ({ body }) => aborts.get(body as string)!.abort() });
  system.on("q", (message) => message.body, { queue: { capacity: 4, overflow: "coalesce", key: () => "one" } });
  const sent = [...aborts].map(([body, { signal }]) => outcome(system.send("q", body, { signal })));
  assert.deepEqual(await Promise.all(sent), ["MessageDroppedError", "MessageDroppedError", "c"]);
});

test("a queue never exceeds its capacity, whatever dead letters send", () => {
  let depth = 0;
  const waiting = (): number => system.stats().receivers[0]!.waiting;
  const system = new MessageSystem({
    onDeadLetter() {
      assert.ok(waiting() <= 4);
      if (depth++ === 0) system.emit("q", "again");
      depth--;
    },
  });
  system.on("q", () => new Promise(() => {}), { queue: { capacity: 4, overflow: "drop-oldest" } });
  for (let n = 0; n < 50; n++) {
    system.emit("q", n);
    assert.ok(waiting() <= 4);
  }
});

test("a message that a key function aborts never runs, for queues of handlers and observers", async () => {
  for (const queue of [undefined, { capacity: 4 }]) {
    const abort = new AbortController();
    const ran: unknown[] = [];
    const system = new MessageSystem();
    const key = (): number => (abort.abort(), 1);
    const run = (message: { readonly body: unknown }): void => void ran.push(message.body);
    if (queue === undefined) {
      system.on("q", run);
      system.subscribe("q", run, { queue: { capacity: 4, overflow: "coalesce", key } });
      assert.throws(() => system.send("q", "a", { signal: abort.signal }), { name: "AbortError" });
    } else {
      system.on("q", run, { queue: { ...queue, overflow: "coalesce", key } });
      await assert.rejects(system.send("q", "a", { signal: abort.signal }) as Promise<unknown>, { name: "AbortError" });
    }
    await turn();
    assert.deepEqual(ran, []);
    assert.ok(system.stats().receivers.every(({ aborted, sent }) => sent === 1 && aborted === 1));
    assert.equal(system.pool.stats().inUse, 0);
    assert.ok(system.idle);
  }
});

test("a once handler runs once, even if its key function or dead letter sends another message", async () => {
  const ran: unknown[] = [];
  const inner: unknown[] = [];
  const system = new MessageSystem();
  let keyed = false;
  const key = (): number => {
    if (!keyed) {
      keyed = true;
      inner.push(system.send("q", "inner"));
    }
    return 1;
  };
  const run = (message: { readonly body: unknown }): unknown => (ran.push(message.body), "ran");
  system.once("q", run, { queue: { capacity: 4, overflow: "coalesce", key } });
  await assert.rejects(system.send("q", "outer") as Promise<unknown>, NoHandlerError);
  assert.equal(await inner[0], "ran");
  assert.deepEqual(ran, ["inner"]);
  assert.ok(system.idle);
});

test("the dead letter of a refused message may use the system freely", async () => {
  const seen: unknown[] = [];
  const { opened, open } = gate();
  const system = new MessageSystem({
    onDeadLetter({ body, reason }) {
      seen.push(`${reason} ${String(body)}`);
      if (seen.length > 1) return;
      seen.push(nameOf(() => system.emit("q", "again")));
      system.off("q");
      system.flush();
      void system.close();
    },
  });
  system.on("q", () => opened, { queue: { capacity: 1 } });
  system.emit("q", "runs");
  await turn();
  system.emit("q", "waits");
  await assert.rejects(system.send("q", "refused") as Promise<unknown>, { name: "QueueFullError" });
  open();
  assert.equal(await system.close(), true);
  assert.deepEqual(seen, ["refused refused", "refused again", 0]);
  assert.equal(system.pool.stats().inUse, 0);
});

/** Random work in dead letters, keys, handlers and listeners of signals; the invariants of a system must hold. */
async function disturb(random: Random, asyncContext: boolean): Promise<void> {
  const paths = ["direct", "reject", "drop-oldest", "drop-newest", "coalesce", "wait"] as const;
  const promises: Promise<unknown>[] = [];
  const aborts: AbortController[] = [new AbortController()];
  let budget = 0;
  let settled = 0;
  const act = (): void => {
    if (budget <= 0) return;
    budget--;
    const draw = random(12);
    const path = paths[random(paths.length)]!;
    const signal = aborts[random(aborts.length)]!.signal;
    const options = {
      ...(random(3) === 0 ? { signal } : {}),
      ...(random(6) === 0 ? { timeoutMs: random(2) } : {}),
      ...(random(3) === 0 ? { priority: (["critical", "high", "medium", "low"] as const)[random(4)]! } : {}),
    };
    if (draw < 4) nameOf(() => system.emit(path, random(3), options));
    else if (draw < 8) {
      try {
        const given = system.send(path, random(3), options);
        if (given instanceof Promise) promises.push(given.catch(() => {}).then(() => settled++));
      } catch {
        // The message was refused, or its handler threw.
      }
    } else if (draw === 8) system.flush();
    else if (draw === 9) {
      const abort = aborts[random(aborts.length)]!;
      aborts.push(new AbortController());
      abort.abort();
    } else if (draw === 10)
      system.whenReady(path).then(
        (place) => random(2) === 0 && place.held && place.release(),
        () => {},
      );
    else if (random(8) === 0) register(path);
    for (const { waiting, running, template, dropped, refused, handled, aborted, expired, sent } of system.stats()
      .receivers) {
      assert.ok(waiting >= 0 && running >= 0);
      assert.equal(sent, handled + refused + dropped + aborted + expired + waiting + running);
      if (template !== "wait" && template !== "seen/*") assert.ok(waiting <= 3, `${waiting} wait at ${template}`);
    }
  };
  const system: MessageSystem = new MessageSystem({
    asyncContext,
    onDeadLetter: (_letter: DeadLetter) => act(),
    onError: () => act(),
  });
  const key = (message: { readonly body: unknown }): unknown => (act(), message.body);
  const handle = (message: { readonly body: unknown; readonly signal: AbortSignal | undefined }): unknown => {
    if (random(3) === 0) message.signal?.addEventListener("abort", act, { once: true });
    act();
    if (random(6) === 0) throw new Error("Scripted");
    return random(3) === 0 ? turn().then(act) : message.body;
  };
  const register = (path: (typeof paths)[number]): void => {
    system.off(path);
    const overflow = path as Exclude<typeof path, "direct">;
    const queue = { capacity: 3, overflow, ...(path === "coalesce" ? { key } : {}) };
    const options = { retries: random(2), ...(path === "direct" ? {} : { queue }) };
    nameOf(() => (random(6) === 0 ? system.once(path, handle, options) : system.on(path, handle, options)));
    if (random(2) === 0) {
      nameOf(() => system.subscribe(path, () => act(), { queue: { capacity: 3, overflow: "coalesce", key } }));
    }
  };
  for (const path of paths) register(path);
  for (let round = 0; round < 60; round++) {
    budget = 30;
    act();
    if (random(4) === 0) await turn();
  }
  budget = 0;
  assert.equal(await system.close(), true);
  await Promise.all(promises);
  assert.equal(settled, promises.length);
  assert.equal(system.pool.stats().inUse, 0);
  assert.ok(system.idle);
}

for (const asyncContext of [true, false]) {
  test(`whatever user code does in the middle of a send, nothing is lost or doubled: asyncContext ${asyncContext}`, async () => {
    for (let seed = 1; seed <= 60; seed++) {
      try {
        await disturb(randomFrom(seed), asyncContext);
      } catch (error) {
        throw new Error(`seed ${seed}`, { cause: error });
      }
    }
  });
}
