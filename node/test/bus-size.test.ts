// The growth of time and memory of the bus.
import assert from "node:assert/strict";
import { test } from "node:test";
import { MessageSystem, NoHandlerError } from "millpond";
import { gate } from "./support/gate.js";

/** Counts look-ups in maps during `run`. */
function lookups(run: () => void): number {
  const { get, has } = Map.prototype;
  let calls = 0;
  Map.prototype.get = function (key) {
    calls++;
    return get.call(this, key) as unknown;
  };
  Map.prototype.has = function (key) {
    calls++;
    return has.call(this, key);
  };
  try {
    run();
  } finally {
    Object.assign(Map.prototype, { get, has });
  }
  return calls;
}

test("registering 16,000 routes, with a send after each, costs each as much as the first", () => {
  const system = new MessageSystem();
  const register = (from: number, to: number): void => {
    for (let n = from; n < to; n++) {
      system.on(`svc://route${n}/{id}`, (message) => message.paramInt("id"));
      if (system.send(`svc://route${n >> 1}/${n}`) !== n) throw new Error(`route ${n >> 1} of ${n}`);
    }
  };
  const first = lookups(() => register(0, 50));
  register(50, 15_950);
  const last = lookups(() => register(15_950, 16_000));
  assert.ok(last <= first, `${last} for the last 50, ${first} for the first`);
  assert.equal(system.off("svc://route7/{id}"), 1);
  assert.throws(() => system.send("svc://route7/1"), NoHandlerError);
  assert.equal(system.send("svc://route77/1"), 1);
});

test("a change of the routes does not invalidate other paths", () => {
  const system = new MessageSystem();
  for (let n = 0; n < 2_000; n++) system.on(`svc://route${n}/{id}`, (message) => message.paramInt("id"));
  const sendAll = (): void => {
    for (let n = 0; n < 50; n++) system.send(`svc://route${n}/${n}`);
  };
  sendAll();
  const before = lookups(sendAll);
  system.on("svc://another/{id}", () => 0);
  system.off("svc://route1999/{id}");
  assert.ok(lookups(sendAll) <= before + 50);
});

test("templates of 5,000 parameters and any characters work, in memory proportional to their length", () => {
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

test("queues free their memory after bursts", async () => {
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
