// The asynchronous context of the sender: queues, retries, time limits, letters.
import assert from "node:assert/strict";
import { AsyncLocalStorage, AsyncResource } from "node:async_hooks";
import { test } from "node:test";
import { Worker } from "node:worker_threads";
import { MessageSystem, RequestTimeoutError, WorkerBridge } from "millpond";
import { gate, startInTime, turn } from "./support/gate.js";

/** What each promise and each resource of the process carries; stays 0 where contexts are frames, from Node 24 on. */
function stores(): number {
  return Object.getOwnPropertySymbols(new AsyncResource("Test")).length;
}

async function use(system: MessageSystem): Promise<void> {
  system.on("q", (message) => message.body, { queue: { capacity: 1 } });
  assert.equal(await system.send("q", 1), 1);
}

test("a system that is closed, or that nothing refers to any more, leaves nothing in later contexts", async () => {
  const before = stores();
  for (let left = 20; left > 0; left--) {
    const system = new MessageSystem();
    await use(system);
    if (left % 2 === 0) await system.close();
    else {
      // Closed by its own handler.
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

test("a bridge between systems without contexts brings no store into the process", async () => {
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

test("a letter of a dropped message comes in the context of its sender, not of the one that dropped it", async () => {
  const tenants = new AsyncLocalStorage<string>();
  const seen: unknown[] = [];
  const system = new MessageSystem({ onDeadLetter: ({ body }) => seen.push([body, tenants.getStore()]) });
  system.on("q", () => 0, { queue: { capacity: 1, overflow: "drop-oldest" } });
  for (const tenant of ["x", "y"]) tenants.run(tenant, () => system.emit("q", tenant));
  assert.deepEqual(seen, [["x", "x"]]);
  await turn();
});
