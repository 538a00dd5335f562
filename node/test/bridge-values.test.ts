// What crosses a bridge is the same whatever its length: a frame of the ring, or a longer one that takes the port.
import assert from "node:assert/strict";
import { test } from "node:test";
import { MessageChannel, type MessagePort } from "node:worker_threads";
import fc from "fast-check";
import { type Message, MessageSystem, type SettingError, type Transfer, WorkerBridge } from "millpond";

const RING_BYTES = 4_096;
const PADS = ["", "x".repeat(RING_BYTES)];

/** Two systems of one thread; `far/echo` replies with the value in its body, `far/reply` with what `reply` gives. */
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

test("any data arrives as structuredClone copies it, in short frames and in long ones, as a body, as meta and as a reply", async () => {
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
];

for (const [name, value, words] of REFUSED) {
  test(`${name} is refused by name, in short frames and in long ones`, async () => {
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

test("what transfer moves is moved, with the views on it and whatever the length of the rest", async () => {
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

test("what transfer gives and cannot be moved is refused by name, and moves nothing", async () => {
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
