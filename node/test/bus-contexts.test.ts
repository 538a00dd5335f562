// The asynchronous context of the sender: queues, retries, time limits, dead letters.
import assert from "node:assert/strict";
import { AsyncLocalStorage, AsyncResource } from "node:async_hooks";
import { test } from "node:test";
import { Worker } from "node:worker_threads";
import { type Message, MessageSystem, RequestTimeoutError, WorkerBridge } from "millpond";
import { gate, startInTime, turn } from "./support/gate.js";
import { joined } from "./support/joined.js";

/** Number of stores that promises and resources of the process carry; 0 from Node 24 on, where contexts are frames. */
function stores(): number {
  return Object.getOwnPropertySymbols(new AsyncResource("Test")).length;
}

async function use(system: MessageSystem): Promise<void> {
  system.on("q", (message) => message.body, { queue: { capacity: 1 } });
  assert.equal(await system.send("q", 1), 1);
}

test("any number of open systems and bridges use one store of the process", async () => {
  const before = stores();
  const systems = Array.from({ length: 50 }, () => new MessageSystem());
  await Promise.all(systems.map(use));
  const { near, far, nearEnd, farEnd } = joined();
  far.on("far/echo", (message) => message.body);
  assert.equal(await near.send("far/echo", 1), 1);
  assert.ok(stores() <= before + 1);
  // Each system recognises its own handlers, also nested ones.
  const inner = systems[1]!;
  inner.on("inner", async () => [inner.context?.correlationId, systems[0]!.context?.correlationId]);
  systems[0]!.on("outer", async () => [
    await inner.request("inner"),
    systems[0]!.context?.correlationId,
    inner.context?.correlationId,
  ]);
  await systems[0]!.request("outer");
  assert.deepEqual(await systems[0]!.request("outer"), [[2, 2], 2, undefined]);
  await Promise.all([nearEnd.close(), farEnd.close(), ...[near, far, ...systems].map((system) => system.close())]);
  assert.ok(stores() <= before);
});

test("systems that send to each other forever keep no contexts of ended messages", async () => {
  const [one, other] = [new MessageSystem(), new MessageSystem()];
  const refs: WeakRef<object>[] = [];
  const done = gate();
  const bounce =
    (to: MessageSystem) =>
    async (message: Message): Promise<void> => {
      refs.push(new WeakRef(message.body as object));
      await turn();
      if (refs.length < 50) to.emit("ball", {});
      else done.open();
    };
  one.on("ball", bounce(other), { queue: { capacity: 1 } });
  other.on("ball", bounce(one), { queue: { capacity: 1 } });
  one.emit("ball", {});
  await done.opened;
  const alive = (): number => refs.filter((ref) => ref.deref() !== undefined).length;
  for (let left = 1_000; left > 0 && alive() > 4; left--) {
    await turn();
    gc!();
  }
  assert.ok(alive() <= 4, `${alive()} of ${refs.length}`);
  await Promise.all([one.close(), other.close()]);
});

test("a closed or collected system leaves nothing in later contexts", async () => {
  const before = stores();
  for (let left = 20; left > 0; left--) {
    const system = new MessageSystem();
    await use(system);
    if (left % 2 === 0) await system.close();
    else {
      // The system is closed in its handler.
      system.on("close", () => void system.close().catch(() => {}));
      system.send("close");
      await turn();
    }
  }
  assert.ok(stores() <= before);
  await (async () => {
    for (let left = 20; left > 0; left--) await use(new MessageSystem());
  })();
  for (let left = 1_000; left > 0 && stores() > before; left--) {
    await turn();
    gc!();
  }
  assert.ok(stores() <= before);
});

test("a bridge between systems without contexts uses no store", async () => {
  const before = stores();
  const system = new MessageSystem({ asyncContext: false });
  const bridge = new WorkerBridge(system);
  const { port, transferList } = bridge;
  const worker = new Worker(new URL("./workers/bridge-end.js", import.meta.url), { workerData: port, transferList });
  bridge.forward("calc://*");
  system.on("main://echo/{n}", (message) => message.body);
  assert.equal(await system.send("calc://back/1", 7), 7);
  // A handler that waits for the other side may be called back while the system closes, with contexts or without.
  const { opened, open } = gate();
  system.on("work", async () => {
    await opened;
    return system.send("calc://back/2", 8);
  });
  const reply = system.send("work");
  const closed = system.close();
  open();
  assert.equal(await reply, 8);
  assert.equal(await closed, true);
  await bridge.close();
  await worker.terminate();
  assert.ok(stores() <= before);
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

test("retries after a turn of the event loop stay in their sender's context", async () => {
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

test("a time limit calls dead letters and listeners in its sender's context", async () => {
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
  const late: Promise<void>[] = [];
  await startInTime(() => {
    for (const path of ["hangs", "queued"]) {
      for (const tenant of ["x", "y", "z"]) {
        const sent = tenants.run(tenant, () => system.request(path, tenant, { timeoutMs: 5 }));
        late.push(assert.rejects(sent, RequestTimeoutError));
      }
    }
  });
  await Promise.all(late);
  const ofAll = ["x", "y", "z"].map((tenant) => `letter ${tenant} ${tenant}`);
  assert.deepEqual(seen.filter((line) => line.startsWith("letter")).sort(), [...ofAll, ...ofAll].sort());
  assert.deepEqual(
    seen.filter((line) => line.startsWith("signal")).sort(),
    ["x", "x", "y", "z"].map((tenant) => `signal ${tenant} ${tenant}`),
  );
});

test("the dead letter of a dropped message has the context of its sender, not of the one that displaced it", async () => {
  const tenants = new AsyncLocalStorage<string>();
  const seen: unknown[] = [];
  const system = new MessageSystem({ onDeadLetter: ({ body }) => seen.push([body, tenants.getStore()]) });
  system.on("q", () => 0, { queue: { capacity: 1, overflow: "drop-oldest" } });
  for (const tenant of ["x", "y"]) tenants.run(tenant, () => system.emit("q", tenant));
  assert.deepEqual(seen, [["x", "x"]]);
  await turn();
});

for (const queue of [undefined, { capacity: 8 }]) {
  for (const waits of [false, true]) {
    const how = `${queue === undefined ? "without" : "with"} a queue, ${waits ? "async" : "sync"}`;
    test(`handlers, observers and attempts do not see what others enter with enterWith: ${how}`, async () => {
      const tenants = new AsyncLocalStorage<string>();
      const seen: unknown[] = [];
      const letters: unknown[] = [];
      const system = new MessageSystem({ onDeadLetter: ({ reason }) => letters.push([reason, tenants.getStore()]) });
      const enter = (who: string): void => {
        seen.push([who, tenants.getStore()]);
        tenants.enterWith(who);
      };
      const handle = (message: Message): unknown => {
        enter(`attempt ${message.attempt}`);
        if (message.attempt < 3) {
          if (waits) return turn().then(() => Promise.reject(new Error("again")));
          throw new Error("again");
        }
        return 0;
      };
      const retries = { times: 3, delayMs: queue === undefined ? 0 : 1 };
      system.on("a", handle, queue === undefined ? { retries } : { retries, queue });
      system.subscribe("a", () => enter("one"));
      system.subscribe("*", () => enter("other"));
      const late = (message: Message): Promise<never> => {
        message.signal!.addEventListener("abort", () => enter("listener"));
        enter("late");
        return new Promise(() => {});
      };
      system.on("late", late, queue === undefined ? {} : { queue });
      await tenants.run("sender", async () => {
        await system.send("a");
        const slow = system.request("late", 0, { timeoutMs: 20 });
        await assert.rejects(slow, RequestTimeoutError);
      });
      for (let left = 4; left > 0; left--) await turn();
      // A listener runs in the context of its handler, if that is known.
      const others = seen.filter((one) => !(one as string[])[0]!.startsWith("listener"));
      const names = ["attempt 1", "attempt 2", "attempt 3", "late", "one", "other", "other"];
      assert.deepEqual(
        others.sort(),
        names.map((who) => [who, "sender"]),
      );
      assert.deepEqual(letters, [["timed-out", "sender"]]);
    });
  }
}

test("calls of the other side do not see what handlers of earlier calls have entered", async () => {
  const tenants = new AsyncLocalStorage<string>();
  const { near, far, nearEnd } = joined();
  const seen: unknown[] = [];
  const enter = (message: Message): void => {
    seen.push(tenants.getStore());
    tenants.enterWith(String(message.body));
  };
  far.on("far/enter", enter);
  near.on("near/enter", enter);
  far.on("far/back", async () => {
    for (let n = 0; n < 3; n++) await far.send("near/enter", `back ${n}`);
  });
  for (let n = 0; n < 3; n++) await near.send("far/enter", `call ${n}`);
  await tenants.run("caller", () => near.send("far/back"));
  assert.deepEqual(seen, [undefined, undefined, undefined, "caller", "caller", "caller"]);
  await nearEnd.close();
});
