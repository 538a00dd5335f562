import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  DoubleReleaseError,
  PoolExhaustedError,
  RecordLayout,
  SettingError,
  SlotPool,
  UseAfterReleaseError,
  WrongPoolError,
} from "millpond";

const QUOTE = {
  instrument: "u32",
  channel: "u16",
  flags: "u16",
  bid: "i64n",
  ask: "f64",
  time: "i64",
  count: "u64n",
  symbol: "text8",
  side: "i8",
} as const;

test("fields have the offsets of C++, and are read and written in place", () => {
  const layout = new RecordLayout(QUOTE);
  assert.deepEqual(
    layout.fields.map(({ offset }) => offset),
    [0, 4, 6, 8, 16, 24, 32, 40, 48],
  );
  assert.equal(layout.bytes, 56);
  const pool = new SlotPool(layout, 4);
  const handle = pool.acquire();
  const quote = pool.at(handle);
  quote.instrument = 4_000_000_000;
  quote.channel = 65_535;
  quote.bid = -5;
  quote.ask = 1.25;
  quote.time = 1_700_000_000_000_000_000n;
  quote.count = 2 ** 52 + 1;
  quote.symbol = "AAPL";
  quote.side = -1;
  assert.deepEqual(pool.at(handle).toJSON(), {
    instrument: 4_000_000_000,
    channel: 65_535,
    flags: 0,
    bid: -5,
    ask: 1.25,
    time: 1_700_000_000_000_000_000n,
    count: 2 ** 52 + 1,
    symbol: "AAPL",
    side: -1,
  });
  const bytes = new DataView(pool.buffer);
  assert.equal(bytes.getBigInt64(quote.offset + 8, true), -5n);
  assert.equal(bytes.getUint32(quote.offset, true), 4_000_000_000);
  assert.throws(() => {
    quote.symbol = "TOO LONG BY FAR";
  }, SettingError);
});

test("a stale handle is always detected, and an exhausted pool throws", () => {
  const pool = new SlotPool({ n: "i32" }, 2);
  const [first, second] = [pool.acquire(), pool.acquire()];
  assert.throws(() => pool.acquire(), PoolExhaustedError);
  assert.equal(pool.tryAcquire(), undefined);
  pool.release(first);
  const again = pool.acquire();
  assert.equal(pool.offsetOf(again), 0 * 8);
  assert.throws(() => pool.at(first), UseAfterReleaseError);
  assert.throws(() => pool.release(first), DoubleReleaseError);
  pool.release(second);
  pool.release(again);
  assert.deepEqual(pool.stats(), { capacity: 2, inUse: 0, acquired: 3, highWater: 2 });
});

test("a handle of another pool is refused", () => {
  const pools = Array.from({ length: 100 }, () => new SlotPool({ n: "i32" }, 4));
  const handles = pools.map((pool) => pool.acquire());
  for (const [at, pool] of pools.entries()) {
    for (const [other, handle] of handles.entries()) {
      if (at === other) assert.doesNotThrow(() => pool.at(handle));
      else assert.throws(() => pool.release(handle), WrongPoolError);
    }
  }
});

test("the record is on the slot of the last acquire or at", () => {
  const pool = new SlotPool({ n: "i32" }, 2);
  const first = pool.acquire();
  pool.record.n = 1;
  const second = pool.acquire();
  pool.record.n = 2;
  assert.deepEqual([pool.at(first).n, pool.at(second).n, pool.record.n], [1, 2, 2]);
});

test("slots are adjacent, and may be in shared memory", () => {
  const pool = new SlotPool({ n: "u32", m: "u64n" }, 3, { shared: true });
  assert.ok(pool.buffer instanceof SharedArrayBuffer);
  const handles = [pool.acquire(), pool.acquire()];
  assert.deepEqual(
    handles.map((handle) => pool.offsetOf(handle)),
    [0, 16],
  );
  pool.at(handles[1]!).n = 7;
  assert.equal(new Uint32Array(pool.buffer)[4], 7);
  assert.equal(pool.view().at(16).n, 7);
});

test("invalid layouts and sizes are refused by name", () => {
  assert.throws(() => new RecordLayout({ n: "i128" as "i64" }), /type of n is i128/);
  assert.throws(() => new RecordLayout({ offset: "i32" }), SettingError);
  assert.throws(() => new SlotPool({ n: "i32" }, 0), SettingError);
  assert.throws(() => new SlotPool({ n: "text65537" }, 1), SettingError);
});

test("a slot pool behaves like a plain model under random operations", () => {
  const commands = fc.array(fc.tuple(fc.boolean(), fc.nat(1_000)), { maxLength: 200 });
  fc.assert(
    fc.property(commands, fc.integer({ min: 1, max: 9 }), (script, capacity) => {
      const pool = new SlotPool({ n: "i32" }, capacity);
      const onLoan = new Map<number, number>();
      const stale: number[] = [];
      for (const [acquire, n] of script) {
        if (acquire) {
          const handle = pool.tryAcquire();
          assert.equal(handle === undefined, onLoan.size === capacity);
          if (handle === undefined) continue;
          assert.equal(onLoan.has(handle), false);
          pool.at(handle).n = n;
          onLoan.set(handle, n);
        } else if (onLoan.size > 0) {
          const handle = [...onLoan.keys()][n % onLoan.size]!;
          pool.release(handle);
          onLoan.delete(handle);
          stale.push(handle);
        }
        for (const [handle, value] of onLoan) assert.equal(pool.at(handle).n, value);
        for (const handle of stale) assert.throws(() => pool.release(handle), DoubleReleaseError);
      }
      assert.equal(pool.stats().inUse, onLoan.size);
    }),
    { numRuns: 150 },
  );
});
