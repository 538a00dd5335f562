import assert from "node:assert/strict";
import { test } from "node:test";
import { inspect } from "node:util";
import fc from "fast-check";
import {
  DoubleReleaseError,
  type Message,
  MessagePool,
  PoolExhaustedError,
  SettingError,
  UseAfterReleaseError,
  WrongPoolError,
} from "millpond";

class Order {
  id = 0;
  text = "";
}

test("a released message is lent again, and counted as reused", () => {
  const pool = new MessagePool(10);
  const first = pool.acquire("a", 1);
  pool.release(first);
  const second = pool.acquire("b", 2);
  assert.equal(first, second);
  assert.equal(second.path, "b");
  assert.equal(second.body, 2);
  pool.release(second);
  const stats = pool.stats();
  assert.deepEqual(
    [stats.size, stats.created, stats.acquired, stats.reused, stats.released, stats.inUse, stats.highWater],
    [1, 1, 2, 1, 2, 0, 1],
  );
  assert.equal(stats.reuseRate, 0.5);
});

test("a released message cannot be read", () => {
  const pool = new MessagePool(10);
  const message = pool.acquire("a", { secret: 1 }, { note: 2 });
  pool.release(message);
  assert.throws(() => message.body, UseAfterReleaseError);
  assert.throws(() => message.meta, UseAfterReleaseError);
  assert.throws(() => message.path, UseAfterReleaseError);
  assert.throws(() => {
    message.body = { secret: 2 };
  }, UseAfterReleaseError);
  assert.throws(() => message.param("x"), UseAfterReleaseError);
  assert.throws(() => message.keep(), UseAfterReleaseError);
  assert.throws(() => JSON.stringify(message), UseAfterReleaseError);
  assert.equal(inspect(message), "Message <released>");
});

test("a release to another pool is refused, and the message stays on loan", () => {
  const [mine, other] = [new MessagePool(2), new MessagePool(2)];
  const message = mine.acquire("a");
  assert.throws(() => other.release(message), WrongPoolError);
  assert.throws(() => other.release({} as Message), WrongPoolError);
  mine.release(message);
});

test("a handle is never reused, not even for the next loan of the same object", () => {
  const pool = new MessagePool(1);
  const message = pool.acquire("a", 1);
  const handle = message.handle;
  assert.equal(pool.at(handle), message);
  pool.release(handle);
  const again = pool.acquire("b", 2);
  assert.equal(again, message);
  assert.throws(() => pool.at(handle), UseAfterReleaseError);
  assert.throws(() => pool.release(handle), UseAfterReleaseError);
  assert.equal(again.body, 2);
});

test("a full pool makes plain messages and drops them at release", () => {
  const pool = new MessagePool(2);
  const messages = [1, 2, 3].map((body) => pool.acquire("a", body));
  assert.deepEqual(
    messages.map((message) => message.body),
    [1, 2, 3],
  );
  const handle = messages[2]!.handle;
  assert.equal(pool.at(handle), messages[2]);
  for (const message of messages) pool.release(message);
  assert.throws(() => pool.at(handle), UseAfterReleaseError);
  const stats = pool.stats();
  assert.deepEqual([stats.size, stats.created, stats.discarded, stats.highWater, stats.inUse], [2, 3, 1, 3, 0]);
});

test("a pool grows by half of itself, within its size, and counts only messages that were lent", () => {
  const pool = new MessagePool(1_000);
  const out: Message[] = [];
  const sizes: number[] = [];
  for (const count of [255, 256, 384, 385, 577, 578, 867, 868, 1_000, 1_001]) {
    while (out.length < count) out.push(pool.acquire("a"));
    sizes.push(pool.stats().size);
  }
  assert.deepEqual(sizes, [255, 384, 384, 577, 577, 867, 867, 1_000, 1_000, 1_000]);
  assert.deepEqual([pool.stats().inUse, pool.stats().highWater], [1_001, 1_001]);
  for (const message of out) pool.release(message);
  assert.deepEqual([pool.stats().inUse, pool.stats().discarded], [0, 1]);
});

test("an automatic pool keeps 1,048,576 messages, and makes plain ones beyond", () => {
  const pool = new MessagePool("auto");
  const out = Array.from({ length: 2 ** 20 + 5 }, (_, n) => pool.acquire("a", n));
  assert.ok(out.every((message, n) => message.body === n));
  for (const message of out) pool.release(message);
  const { size, discarded, inUse, highWater } = pool.stats();
  assert.deepEqual([size, discarded, inUse, highWater], [2 ** 20, 5, 0, 2 ** 20 + 5]);
});

test("the error of an exhausted pool has its size", () => {
  const pool = new MessagePool(1, { overflow: "refuse" });
  const message = pool.acquire("a");
  assert.throws(() => pool.acquire("b"), new PoolExhaustedError(1));
  pool.release(message);
  pool.release(pool.acquire("c"));
});

test("withMessage releases its message when the function returns, throws, resolves or rejects", async () => {
  const pool = new MessagePool(2);
  assert.equal(
    pool.withMessage("a", 1, (message) => message.body + 1),
    2,
  );
  assert.throws(() =>
    pool.withMessage("a", 1, () => {
      throw new Error("inside");
    }),
  );
  let seen: Message | undefined;
  const result = pool.withMessage("a", 1, async (message) => {
    await null;
    seen = message;
    return message.body + 2;
  });
  assert.equal(pool.stats().inUse, 1);
  assert.equal(await result, 3);
  assert.equal(seen?.onLoan, false);
  await assert.rejects(pool.withMessage("a", 1, () => Promise.reject(new Error("later"))));
  assert.equal(pool.stats().inUse, 0);
});

test("using releases at the end of the block", () => {
  const pool = new MessagePool(2);
  {
    using message = pool.acquire("a", 5);
    assert.equal(message.body, 5);
    assert.equal(pool.stats().inUse, 1);
  }
  assert.equal(pool.stats().inUse, 0);
});

test("a kept message leaves the pool and stays as it was", () => {
  const pool = new MessagePool(2);
  const kept = (() => {
    using message = pool.acquire("a", 5, "note");
    return message.keep();
  })();
  const next = pool.acquire("b", 6);
  assert.notEqual(next, kept);
  assert.deepEqual([kept.path, kept.body, kept.meta], ["a", 5, "note"]);
  assert.throws(() => pool.release(kept), WrongPoolError);
  assert.deepEqual(kept.toJSON(), { path: "a", body: 5, meta: "note" });
  pool.release(next);
  assert.equal(pool.stats().kept, 1);
  assert.equal(pool.stats().inUse, 0);
});

test("checked mode finds a stale release even after the slot was lent again, and names both places", () => {
  const pool = new MessagePool(1, { checked: true });
  const first = pool.acquire("a", 1);
  pool.release(first);
  const second = pool.acquire("b", 2);
  assert.notEqual(first, second);
  assert.throws(() => pool.release(first), DoubleReleaseError);
  assert.throws(() => first.body, UseAfterReleaseError);
  assert.equal(second.body, 2);
  try {
    assert.fail(first.path);
  } catch (error) {
    assert.match((error as UseAfterReleaseError).acquiredAt!, /message-pool\.test/);
  }
  pool.release(second);
  assert.equal(pool.stats().size, 1);
});

test("outForMs of a leak is at least the time since it was first seen", () => {
  const pool = new MessagePool(4);
  const lost = pool.acquire("lost");
  assert.deepEqual(pool.leaks(), []);
  const watched = performance.now();
  while (performance.now() - watched < 5) assert.deepEqual(pool.leaks(60_000), []);
  pool.release(pool.acquire("back"));
  const [leak] = pool.leaks(5);
  assert.equal(leak!.path, "lost");
  assert.ok(leak!.outForMs >= 5);
  pool.release(lost);
  assert.deepEqual(pool.leaks(), []);
  pool.acquire("again");
  assert.deepEqual(pool.leaks(), []);
});

test("leaks lists the messages that were on loan at the previous call and still are", () => {
  const pool = new MessagePool(4, { checked: true });
  const [lost, fine] = [pool.acquire("lost"), pool.acquire("fine")];
  assert.deepEqual(pool.leaks(), []);
  pool.release(fine);
  pool.release(pool.acquire("fine"));
  const leaks = pool.leaks();
  assert.equal(leaks.length, 1);
  assert.equal(leaks[0]!.path, "lost");
  assert.match(leaks[0]!.acquiredAt!, /message-pool\.test/);
  assert.equal(pool.at(leaks[0]!.handle), lost);
});

test("clear and resize drop free messages now, and those on loan at their release", () => {
  const pool = new MessagePool(8, { warmup: 8 });
  const out = [pool.acquire("a", 1), pool.acquire("a", 2)];
  pool.clear();
  assert.equal(pool.stats().size, 0);
  assert.equal(out[1]!.body, 2);
  for (const message of out) pool.release(message);
  assert.equal(pool.stats().discarded, 8);
  pool.warmup(4);
  pool.resize(1);
  assert.equal(pool.stats().size, 1);
  pool.resize(3);
  assert.equal(pool.warmup(10), 3);
});

test("trim drops messages that were not used since the last trim", () => {
  const pool = new MessagePool(8, { warmup: 8 });
  assert.equal(pool.trim(), 0);
  pool.release(pool.acquire("a"));
  assert.equal(pool.trim(), 7);
  assert.equal(pool.stats().size, 1);
});

test("a pool of a user's class resets and clears its objects, and detects double and foreign releases", () => {
  const pool = new MessagePool(2, {
    factory: () => new Order(),
    reset: (order: Order, path: string, body: number) => {
      order.text = path;
      order.id = body;
    },
    clear: (order) => {
      order.text = "";
      order.id = 0;
    },
  });
  const order = pool.acquire("buy", 7);
  assert.ok(order instanceof Order);
  assert.deepEqual([order.text, order.id], ["buy", 7]);
  const handle = pool.handleOf(order);
  pool.release(order);
  assert.deepEqual([order.text, order.id], ["", 0]);
  assert.throws(() => pool.release(order), DoubleReleaseError);
  assert.throws(() => pool.at(handle), UseAfterReleaseError);
  assert.throws(() => pool.release(new Order()), WrongPoolError);
  assert.equal(pool.acquire("sell", 8), order);
  assert.equal(
    pool.withMessage("x", 9, (one) => one.id),
    9,
  );
});

test("settings outside their range are refused by name", () => {
  assert.throws(() => new MessagePool(-1), SettingError);
  assert.throws(() => new MessagePool(1.5), /pool size is 1.5/);
});

test("a pool behaves like a plain model under random operations", () => {
  const command = fc.oneof(
    { weight: 8, arbitrary: fc.record({ what: fc.constant("acquire" as const), n: fc.nat(1_000) }) },
    { weight: 6, arbitrary: fc.record({ what: fc.constant("release" as const), n: fc.nat(1_000) }) },
    { weight: 2, arbitrary: fc.record({ what: fc.constant("stale" as const), n: fc.nat(1_000) }) },
    fc.record({ what: fc.constantFrom("keep" as const, "trim" as const, "clear" as const), n: fc.nat(1_000) }),
    fc.record({ what: fc.constantFrom("resize" as const, "warmup" as const), n: fc.nat(12) }),
  );
  const property = fc.property(fc.array(command, { maxLength: 120 }), fc.boolean(), (commands, checked) => {
    const pool = new MessagePool(6, { checked });
    const out: { message: Message; body: number; handle: number }[] = [];
    const stale: number[] = [];
    let acquired = 0;
    let kept = 0;
    for (const { what, n } of commands) {
      const at = out.length === 0 ? -1 : n % out.length;
      if (what === "acquire") {
        const message = pool.acquire(`p/${n}`, n, acquired++);
        assert.ok(out.every((other) => other.message !== message));
        out.push({ message, body: n, handle: message.handle });
      } else if (what === "release" && at >= 0) {
        const [gone] = out.splice(at, 1);
        pool.release(n % 2 === 0 ? gone!.message : gone!.handle);
        stale.push(gone!.handle);
        assert.throws(() => gone!.message.body, UseAfterReleaseError);
        assert.throws(() => pool.release(gone!.message), DoubleReleaseError);
      } else if (what === "stale" && stale.length > 0) {
        assert.throws(() => pool.release(stale[n % stale.length]!), UseAfterReleaseError);
      } else if (what === "keep" && at >= 0) {
        const [gone] = out.splice(at, 1);
        stale.push(gone!.handle);
        assert.equal(gone!.message.keep().body, gone!.body);
        kept++;
      } else if (what === "trim") pool.trim();
      else if (what === "clear") pool.clear();
      else if (what === "resize") pool.resize(n);
      else if (what === "warmup") pool.warmup(n);
      for (const { message, body, handle } of out) {
        assert.equal(message.body, body);
        assert.equal(pool.at(handle), message);
      }
      const stats = pool.stats();
      assert.equal(stats.acquired, acquired);
      assert.equal(stats.inUse, out.length);
      assert.equal(stats.kept, kept);
      assert.equal(stats.released, acquired - out.length - kept);
      assert.ok(stats.size <= stats.capacity);
    }
  });
  fc.assert(property, { numRuns: 300 });
});
