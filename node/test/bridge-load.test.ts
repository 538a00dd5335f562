// Both sides send, serve, call back and abort while the bridge closes: each call has one outcome, and earlier calls are
// answered.
import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import { Worker } from "node:worker_threads";
import { MessageSystem, WorkerBridge } from "millpond";
import { LOAD_RING_BYTES, LoadSide, type Tally } from "./support/load-side.js";
import { randomFrom } from "./support/random.js";

const TURNS = 60;
const EXPECTED = ["replied", "given up", "refused", "closed"];

function check(tally: Tally, system: MessageSystem | undefined, cut = false): void {
  assert.deepEqual(
    Object.keys(tally).filter((outcome) => !EXPECTED.includes(outcome)),
    [],
  );
  assert.ok(cut || (tally["replied"]! > 0 && tally["given up"]! > 0), JSON.stringify(tally));
  if (system === undefined) return;
  assert.equal(system.pool.stats().inUse, 0);
  assert.ok(system.idle);
  for (const { sent, handled, refused, dropped, aborted, expired, waiting, running } of system.stats().receivers) {
    assert.equal(sent, handled + refused + dropped + aborted + expired);
    assert.deepEqual([waiting, running], [0, 0]);
  }
}

/** Checks that no call ran twice, and that each call with a reply ran. */
function compare(replied: readonly string[], starts: ReadonlyMap<string, number>): void {
  for (const times of starts.values()) assert.equal(times, 1);
  for (const id of replied) assert.ok(starts.has(id), id);
}

for (const who of ["near", "far", "both"] as const) {
  test(`calls before a close under load are answered, and none starts after its abort: closes ${who}`, async () => {
    for (let seed = 1; seed <= 12; seed++) {
      const random = randomFrom(seed * 7_919);
      const [nearSystem, farSystem] = [new MessageSystem(), new MessageSystem()];
      const nearEnd = new WorkerBridge(nearSystem, undefined, { ringBytes: LOAD_RING_BYTES });
      const farEnd = new WorkerBridge(farSystem, nearEnd.port);
      nearEnd.forward("far/*");
      farEnd.forward("near/*");
      let closes: Promise<boolean>[] = [];
      const closing = (): boolean => closes.length > 0;
      // In one thread the order of an abort and a start is known.
      const due = (sender: () => LoadSide) => (id: string) =>
        assert.ok(!sender().givenUp.has(id), `${id} was given up`);
      const near: LoadSide = new LoadSide(
        nearSystem,
        "near",
        "far",
        random,
        closing,
        due(() => far),
      );
      const far: LoadSide = new LoadSide(
        farSystem,
        "far",
        "near",
        random,
        closing,
        due(() => near),
      );
      const at = 5 + random(TURNS - 10);
      for (let turn = 0; turn < TURNS; turn++) {
        if (turn === at) {
          const ends = { near: [nearEnd], far: [farEnd], both: [nearEnd, farEnd] }[who];
          closes = ends.map((end) => end.close(Infinity));
        }
        await Promise.all([near.act(), far.act()]);
      }
      const tallies = await Promise.all([near.tally(), far.tally()]);
      closes.push(nearEnd.close(), farEnd.close());
      assert.ok((await Promise.all(closes)).every((complete) => complete));
      compare(near.replied, far.starts);
      compare(far.replied, near.starts);
      await Promise.all([nearSystem.close(), farSystem.close()]);
      check(tallies[0], nearSystem);
      check(tallies[1], farSystem);
    }
  });
}

for (const [who, timeoutMs] of [
  ["near", Infinity],
  ["far", Infinity],
  ["both", Infinity],
  ["near", 1],
] as const) {
  test(`the same with a worker: closes ${who}, within ${timeoutMs} ms`, async () => {
    for (let seed = 1; seed <= 4; seed++) {
      const random = randomFrom(seed * 104_729);
      const system = new MessageSystem();
      const bridge = new WorkerBridge(system, undefined, { ringBytes: LOAD_RING_BYTES });
      bridge.forward("far/*");
      const side = new LoadSide(system, "near", "far", random, () => true);
      const closes = who === "near" ? TURNS : 10 + random(TURNS - 20);
      const { port, transferList } = bridge;
      const worker = new Worker(new URL("./workers/load-end.js", import.meta.url), {
        workerData: { port, seed, turns: TURNS, closes, timeoutMs },
        transferList,
      });
      const told = once(worker, "message") as Promise<[Record<string, unknown>]>;
      const exited = once(worker, "exit");
      // From here on the worker runs in parallel.
      await system.send("far/leaf", 1);
      let closed: Promise<boolean> | undefined;
      const at = who === "far" ? -1 : 10 + random(TURNS - 20);
      for (let turn = 0; turn < TURNS; turn++) {
        if (turn === at) closed = bridge.close(timeoutMs);
        await side.act();
      }
      const [{ complete, tally, starts, replied, inUse }] = await told;
      const complete2 = await (closed ?? bridge.close());
      const own = await side.tally();
      await system.close();
      const cut = timeoutMs < Infinity;
      check(own, system, cut);
      if (!cut) assert.deepEqual([complete, complete2], [true, true]);
      assert.equal(inUse, 0);
      check(tally as Tally, undefined, cut);
      compare(side.replied, starts as Map<string, number>);
      compare(replied as string[], side.starts);
      assert.deepEqual(await exited, [0]);
    }
  });
}
