// Code that must not compile, marked by @ts-expect-error: the build of the tests fails if it compiles.
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Message, MessagePool, MessageSystem, type ParamsOf, RecordLayout, SlotPool } from "millpond";

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const same = <A, B>(_: Equal<A, B>): void => {};

interface Quote {
  readonly bid: number;
}
interface Routes {
  "bbo://{symbol}": { body: Quote; reply: undefined };
  "math://square": { body: number; reply: number };
  "files://{volume}/*": { body: string; reply: { size: number } };
}

test("a template names its parameters", () => {
  same<ParamsOf<"bbo://{symbol}">, "symbol">(true);
  same<ParamsOf<"a/{x}/b/{y}/*">, "x" | "y" | "*">(true);
  same<ParamsOf<"a/b">, never>(true);
  same<ParamsOf<string>, string>(true);
});

test("paths, bodies, replies and parameters are checked where routes are typed", async () => {
  const system = new MessageSystem<Routes>();
  system.on("bbo://{symbol}", (message) => {
    same<typeof message.body, Quote>(true);
    message.param("symbol");
    // @ts-expect-error: no such parameter
    assert.throws(() => message.param("volume"));
    return undefined;
  });
  system.on("math://square", async (message) => message.body ** 2);
  system.on("files://{volume}/*", (message) => ({ size: message.body.length + message.param("*").length }));
  system.subscribe("*", (message) => void message.path);
  // @ts-expect-error: not a route
  system.on("nothing", () => 0);
  // @ts-expect-error: the reply is a number
  assert.throws(() => system.on("math://square", () => "text"), { code: "BUS_HANDLER_EXISTS" });
  system.subscribe("bbo://{symbol}", (message) => {
    // @ts-expect-error: observers read only
    assert.throws(() => (message.body = { bid: 2 }));
    // @ts-expect-error: observers release nothing
    void message.handle;
    message.param("symbol");
  });

  system.send("bbo://AAPL", { bid: 1 });
  // @ts-expect-error: not a quote
  system.send("bbo://AAPL", 1);
  const place = await system.whenReady("math://square");
  // @ts-expect-error: not a number
  assert.ok(Number.isNaN(await place.send("x")));
  // @ts-expect-error: no route of this scheme
  assert.throws(() => system.send("depth://AAPL", { bid: 1 }), { code: "BUS_NO_HANDLER" });
  const squared = await system.request("math://square", 5);
  same<typeof squared, number>(true);
  assert.equal(squared, 25);
  const found = await system.send("files://disk/a/b", "body");
  same<typeof found, { size: number }>(true);
  assert.equal(found.size, 7);
  const target = system.target("math://square");
  assert.equal(await target.send(3), 9);
  // @ts-expect-error: not a number
  assert.ok(Number.isNaN(await target.send("x")));
});

test("pools lend objects of their type", () => {
  class Order {
    id = 0;
  }
  const orders = new MessagePool(4, { factory: () => new Order() });
  same<ReturnType<typeof orders.acquire>, Order>(true);
  const message = new MessagePool(4).acquire("a", { n: 1 }, "note");
  same<typeof message, Message<{ n: number }, string>>(true);
  const layout = new RecordLayout({ price: "f64", time: "i64", symbol: "text8" });
  const slots = new SlotPool(layout, 4);
  const record = slots.at(slots.acquire());
  same<typeof record.price, number>(true);
  same<typeof record.time, bigint>(true);
  same<typeof record.symbol, string>(true);
  // @ts-expect-error: no such type
  assert.throws(() => new RecordLayout({ price: "f128" }));
  assert.equal(message.body.n, 1);
});
