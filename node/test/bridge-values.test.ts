// Values that cross a bridge, in short frames through the ring and in long ones through the port.
import assert from "node:assert/strict";
import { test } from "node:test";
import { runInNewContext } from "node:vm";
import { markAsUntransferable, MessageChannel, type MessagePort } from "node:worker_threads";
import fc from "fast-check";
import { type Message, MessageSystem, type SettingError, type Transfer, WorkerBridge } from "millpond";

const RING_BYTES = 4_096;
const PADS = ["", "x".repeat(RING_BYTES)];

/** Two systems in one thread. `far/echo` replies with the value in its body, `far/reply` with the result of `reply`. */
function joined(transfer: (message: Message) => Transfer = () => [], reply: () => unknown = () => undefined) {
  const near = new MessageSystem();
  const far = new MessageSystem();
  const nearEnd = new WorkerBridge(near, undefined, { ringBytes: RING_BYTES });
  const farEnd = new WorkerBridge(far, nearEnd.port, { ringBytes: RING_BYTES });
  nearEnd.forward("far/*", { transfer });
  let seen: unknown;
  far.on("far/echo", (message) => {
    seen = (message.body as { readonly value: unknown }).value;
    return seen;
  });
  far.on("far/see", (message) => void (seen = (message.body as { readonly value: unknown }).value));
  far.on("far/reply", (message) => [reply(), (message.body as { readonly pad: string }).pad]);
  const send = (path: string, value: unknown, pad: string, meta?: unknown): Promise<unknown> =>
    Promise.resolve(near.send(path, { value, pad }, { meta }));
  const close = async (): Promise<void> => {
    await Promise.all([nearEnd.close(), farEnd.close()]);
    assert.equal(near.pool.stats().inUse + far.pool.stats().inUse, 0);
  };
  return { send, close, seen: () => seen };
}

test("data arrives as structuredClone copies it, in short and long frames, as body, meta and reply", async () => {
  const { send, close, seen } = joined();
  const anything = fc.anything({
    withBigInt: true,
    withBoxedValues: true,
    withDate: true,
    withMap: true,
    withNullPrototype: true,
    withSet: true,
    withSparseArray: true,
    withTypedArray: true,
  });
  await fc.assert(
    fc.asyncProperty(anything, async (value) => {
      const copy: unknown = structuredClone(value);
      for (const pad of PADS) {
        const reply = await send("far/echo", value, pad, value);
        assert.deepEqual(seen(), copy);
        assert.deepEqual(reply, copy);
      }
    }),
    { numRuns: 300 },
  );
  await close();
});

test("views arrive as views of the same kind, a Buffer as a Buffer, on memory that holds only their bytes", async () => {
  const { send, close } = joined();
  const memory = Uint8Array.from({ length: 64 }, (_, n) => n).buffer;
  const views: NodeJS.ArrayBufferView[] = [
    Buffer.from("from the pool of buffers"),
    Buffer.alloc(0),
    Buffer.from(memory, 8, 16),
    new DataView(memory, 3, 7),
    new Uint8Array(memory, 1, 9),
    new Uint8ClampedArray(memory, 1, 9),
    new Int8Array(memory, 1, 9),
    new Int16Array(memory, 2, 3),
    new Uint16Array(memory, 2, 3),
    new Int32Array(memory, 4, 3),
    new Uint32Array(memory, 4, 3),
    new Float32Array(memory, 4, 3),
    new Float64Array(memory, 8, 3),
    new BigInt64Array(memory, 8, 3),
    new BigUint64Array(memory, 8, 3),
  ];
  const { Float16Array: Half } = globalThis as unknown as { Float16Array?: typeof Uint16Array };
  if (Half !== undefined) views.push(new Half(memory, 2, 3));
  for (const pad of PADS) {
    const back = (await send("far/echo", views, pad)) as typeof views;
    assert.deepEqual(back, views);
    for (const [at, view] of views.entries()) {
      assert.equal(Buffer.isBuffer(back[at]), Buffer.isBuffer(view));
      assert.deepEqual([back[at]!.byteOffset, back[at]!.buffer.byteLength], [0, view.byteLength]);
    }
  }
  await close();
});

class Point {
  readonly x = 1;
}
const detached = new ArrayBuffer(8);
const onDetached = new Uint8Array(detached);
structuredClone(detached, { transfer: [detached] });
const cyclic: Record<string, unknown> = { list: [1, new Map([["deep", new Set([new Point()])]])] };
cyclic["self"] = cyclic;
function failing(): never {
  throw new Error("a trap");
}

function argumentsOf(..._values: unknown[]): unknown {
  // eslint-disable-next-line prefer-rest-params
  return arguments;
}

const revocable = Proxy.revocable({}, {});
revocable.revoke();
const revoked: unknown = revocable.proxy;

const REFUSED: readonly (readonly [string, unknown, RegExp])[] = [
  ["a URL", new URL("https://example.org"), /an instance of URL/],
  ["a Blob", new Blob(["text"]), /an instance of Blob/],
  ["an instance of a class", new Point(), /an instance of Point/],
  ["an instance deep inside", cyclic, /an instance of Point/],
  ["an instance as a key", new Map([[new Point(), 1]]), /an instance of Point/],
  ["an instance as a cause", new Error("text", { cause: new Point() }), /an instance of Point/],
  ["a message of a pool", new MessageSystem().pool.acquire("a", 1), /an instance of PooledMessage/],
  ["a function", [() => 0], /a function/],
  ["a symbol", { symbol: Symbol("s") }, /a symbol/],
  ["a promise", Promise.resolve(1), /an instance of Promise/],
  ["a WeakMap", new WeakMap(), /an instance of WeakMap/],
  ["shared memory", new SharedArrayBuffer(8), /a SharedArrayBuffer/],
  ["a view on shared memory", new Int32Array(new SharedArrayBuffer(8)), /a SharedArrayBuffer/],
  ["a detached buffer", detached, /a detached array buffer/],
  ["a view on a detached buffer", [onDetached], /a detached array buffer/],
  ["a port that is not moved", new MessageChannel().port1, /an instance of MessagePort/],
  ["a DOMException", new DOMException("given up", "AbortError"), /an instance of DOMException/],
  ["a cause that is a DOMException", new Error("x", { cause: new DOMException("x") }), /an instance of DOMException/],
  ["a Proxy", new Proxy({ a: 1 }, {}), /a Proxy/],
  ["a Proxy of an array", { list: new Proxy([1], {}) }, /a Proxy/],
  ["a Proxy that throws", new Proxy({}, { ownKeys: failing, getPrototypeOf: failing, get: failing }), /a Proxy/],
  ["a revoked Proxy", revoked, /a Proxy/],
  ["a boxed symbol", Object(Symbol("s")), /a symbol/],
  ["an arguments object", argumentsOf(1, 2), /an arguments object/],
  ["a module", await import("node:path"), /a module/],
  ["an instance whose constructor is none", Object.create({ constructor: { name: 5 } }), /an unknown class/],
];

for (const [name, value, words] of REFUSED) {
  test(`${name} is refused by name, in short and long frames`, async () => {
    const { send, close, seen } = joined(undefined, () => value);
    for (const pad of PADS) {
      const refused = (error: SettingError): boolean => {
        assert.match(error.message, words);
        assert.match(
          error.message,
          /^a part of the (body|meta) of far\/see is .*: it must be a primitive, a plain object/,
        );
        return error.name === "SettingError";
      };
      await assert.rejects(send("far/see", value, pad), refused);
      await assert.rejects(send("far/see", 1, pad, value), refused);
      await assert.rejects(send("far/reply", 1, pad), ({ name, message }: Error) => {
        assert.match(message, words);
        assert.match(message, /^a part of the reply of far\/reply is/);
        return name === "RemoteError";
      });
      assert.equal(await send("far/echo", pad, pad), pad);
    }
    assert.equal(seen(), PADS[1]);
    await close();
  });
}

test("transfer moves buffers with their views, in short and long frames", async () => {
  const { send, close, seen } = joined((message) => {
    const { value } = message.body as { readonly value: { readonly moved?: Transfer } };
    return value.moved ?? [];
  });
  for (const pad of PADS) {
    const buffer = Uint8Array.from({ length: 64 }, (_, n) => n).buffer;
    const views = [new Uint8Array(buffer, 3, 5), Buffer.from(buffer, 8, 8), new Float64Array(buffer, 16, 2)];
    const expected = views.map((view) => (Buffer.isBuffer(view) ? Buffer.from(view) : view.slice()));
    const { port1, port2 } = new MessageChannel();
    await send("far/see", { moved: [buffer, port2], views, other: Buffer.from("copied") }, pad);
    const came = seen() as { moved: [ArrayBuffer, MessagePort]; views: typeof views; other: Buffer };
    assert.deepEqual(came.views, expected);
    for (const view of came.views) assert.equal(view.buffer, came.moved[0]);
    assert.deepEqual([views[0]!.byteOffset, came.views[0]!.byteOffset, came.views[2]!.byteOffset], [0, 3, 16]);
    assert.equal(String(came.other), "copied");
    assert.equal(buffer.byteLength, 0);
    const answered = new Promise((resolve) => port1.once("message", resolve));
    came.moved[1].postMessage("through the moved port");
    assert.equal(await answered, "through the moved port");
    port1.close();
  }
  await close();
});

test("a transfer with an immovable part is refused by name, and moves nothing", async () => {
  let moved: unknown[] = [];
  const { send, close } = joined(() => moved as never);
  const whole = new ArrayBuffer(8);
  const wrong: readonly (readonly [unknown, RegExp])[] = [
    [detached, /^a part of the transfer of far\/see is a detached array buffer/],
    [5, /^a part of the transfer of far\/see is a number: it must be an array buffer/],
    [undefined, /^a part of the transfer of far\/see is undefined/],
    [new Uint8Array(8), /is an instance of Uint8Array/],
    [new SharedArrayBuffer(8), /is a SharedArrayBuffer/],
    [whole, /^transfer of far\/see is a list with repetitions/],
  ];
  for (const [one, message] of wrong) {
    moved = [whole, one];
    for (const pad of PADS) await assert.rejects(send("far/see", 1, pad), { name: "SettingError", message });
    assert.equal(whole.byteLength, 8);
  }
  await close();
});

/** `levels` nested objects, made by `wrap`. */
function nested(levels: number, wrap: (inner: unknown) => unknown): unknown {
  let value: unknown = 0;
  for (let level = 0; level < levels; level++) value = wrap(value);
  return value;
}

const WRAPS: readonly (readonly [string, (inner: unknown) => unknown])[] = [
  ["objects", (inner) => ({ inner })],
  ["arrays", (inner) => [inner]],
  ["maps", (inner) => new Map([[1, inner]])],
  ["keys of maps", (inner) => new Map([[inner, 1]])],
  ["sets", (inner) => new Set([inner])],
  ["errors", (inner) => new Error("outer", { cause: inner })],
];

for (const [name, wrap] of WRAPS) {
  test(`1,000 levels of ${name} arrive, and more are refused, as body, meta and reply`, async () => {
    let reply: unknown;
    const { send, close, seen } = joined(undefined, () => reply);
    for (const pad of PADS) {
      // The body is one level itself.
      await send("far/see", nested(999, wrap), pad, nested(1_000, wrap));
      let depth = 0;
      const inner = (value: object): unknown => {
        if (value instanceof Map) return typeof [...value.keys()][0] === "number" ? value.get(1) : [...value.keys()][0];
        if (value instanceof Set) return [...(value as Set<unknown>)][0];
        return value instanceof Error ? value.cause : Object.values(value)[0];
      };
      for (let one = seen(); typeof one === "object"; one = inner(one!)) depth++;
      assert.equal(depth, 999);
      for (const levels of [1_001, 20_000]) {
        const message = /^the depth of the (body|meta|reply) of far\/\w+ is more than 1000: it must be at most 1000$/;
        await assert.rejects(send("far/see", nested(levels, wrap), pad), { name: "SettingError", message });
        await assert.rejects(send("far/see", 1, pad, nested(levels, wrap)), { name: "SettingError", message });
        reply = nested(levels, wrap);
        await assert.rejects(send("far/reply", 1, pad), { name: "RemoteError", message });
      }
    }
    await close();
  });
}

test("the depth of a shared reference is that of its first occurrence, as in the copy", async () => {
  const { send, close } = joined();
  const chain = Array.from({ length: 20_000 }, (): { next?: unknown } => ({}));
  for (const [at, one] of chain.entries()) one.next = chain[at + 1];
  await assert.rejects(send("far/see", chain, ""), { name: "SettingError", message: /^the depth of the body/ });
  // Reached from the end, no object is deeper than its array.
  await send("far/see", [...chain].reverse(), "");
  await close();
});

test("values that change or throw while they are read are refused by name, and the bridge goes on", async () => {
  const { send, close } = joined();
  const message = /^the (body|message) (of )?far\/see is not readable \(.*\): it must be a primitive/;
  for (const pad of PADS) {
    const boom = {
      get boom(): unknown {
        throw new Error("boom");
      },
    };
    await assert.rejects(send("far/see", boom, pad), { name: "SettingError", message });
    let reads = 0;
    const changing = {
      get value(): unknown {
        return reads++ === 0 ? 1 : () => 0;
      },
    };
    await assert.rejects(send("far/see", changing, pad), { name: "SettingError", message });
    const endless = (): unknown => ({
      get more(): unknown {
        return endless();
      },
    });
    await assert.rejects(send("far/see", endless(), pad), { name: "SettingError", message: /^the depth of the body/ });
    let first = true;
    const deeper = {
      get value(): unknown {
        const was = first;
        first = false;
        return was ? 1 : nested(200_000, (inner) => [inner]);
      },
    };
    await assert.rejects(send("far/see", deeper, pad), { name: "SettingError", message });
    assert.equal(await send("far/echo", pad, pad), pad);
  }
  await close();
});

test("a call fails if an accessor of its body closes the bridge", async () => {
  const near = new MessageSystem();
  const bridge = new WorkerBridge(near);
  bridge.forward("far/*");
  for (const closing of [1, 2]) {
    let reads = 0;
    const body = {
      get value(): number {
        if (++reads === closing) void bridge.close(0);
        return 1;
      },
    };
    await assert.rejects(near.send("far/x", body) as Promise<unknown>, { name: "RemoteError" });
  }
  assert.equal(near.pool.stats().inUse, 0);
});

test("untransferable buffers are copied, and other Buffers keep their bytes", async () => {
  let moved: Transfer = [];
  const { send, close, seen } = joined(() => moved);
  const marked = Uint8Array.from([1, 2, 3]).buffer;
  markAsUntransferable(marked);
  for (const pad of PADS) {
    const small = Buffer.from("small");
    const other = Buffer.from("other");
    const whole = Uint8Array.from([4, 5, 6]).buffer;
    moved = [small.buffer as ArrayBuffer, marked, whole];
    await send("far/see", { small, marked, whole }, pad);
    const came = seen() as { small: Buffer; marked: ArrayBuffer; whole: ArrayBuffer };
    assert.deepEqual([String(came.small), String(small), String(other)], ["small", "small", "other"]);
    assert.equal(came.small.buffer.byteLength, small.buffer.byteLength);
    assert.deepEqual(
      [new Uint8Array(came.marked), new Uint8Array(came.whole)],
      [Uint8Array.of(1, 2, 3), Uint8Array.of(4, 5, 6)],
    );
    assert.deepEqual([marked.byteLength, whole.byteLength], [3, 0]);
  }
  await close();
});

test("a port that was closed or moved before is refused, and nothing is moved", async () => {
  let moved: Transfer = [];
  const { send, close } = joined(() => moved);
  const closed = new MessageChannel();
  closed.port1.close();
  const gone = new MessageChannel();
  const { port1 } = new MessageChannel();
  port1.postMessage(0, [gone.port2]);
  const message = /^a part of the transfer of far\/see is not movable \(.*\): it must be an array buffer/;
  const whole = new ArrayBuffer(8);
  for (const port of [closed.port1, gone.port2]) {
    moved = [whole, port];
    for (const pad of PADS) await assert.rejects(send("far/see", 1, pad), { name: "SettingError", message });
    assert.equal(whole.byteLength, 8);
  }
  gone.port1.close();
  port1.close();
  await close();
});

test("buffers of another realm are moved, and such objects and errors copied", async () => {
  let moved: Transfer = [];
  const { send, close, seen } = joined(() => moved);
  const other = runInNewContext(
    "({ buffer: new ArrayBuffer(8), list: [1], map: new Map([[1, 2]]), error: new TypeError('t') })",
  ) as {
    buffer: ArrayBuffer;
  };
  moved = [other.buffer];
  await send("far/see", other, "");
  const came = seen() as { buffer: ArrayBuffer; error: Error; list: unknown; map: unknown };
  assert.deepEqual([other.buffer.byteLength, came.buffer.byteLength], [0, 8]);
  assert.ok(came.error instanceof TypeError);
  assert.deepEqual([came.list, came.map], [[1], new Map([[1, 2]])]);
  await close();
});
