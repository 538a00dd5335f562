import assert from "node:assert/strict";
import { tracingChannel } from "node:diagnostics_channel";
import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { test } from "node:test";
import { createServer as createTlsServer } from "node:tls";
import {
  Book,
  type HandleTrace,
  type MarketBook,
  MarketData,
  type MarketEvent,
  type MarketLevel,
  type MarketOrder,
  type MarketQuote,
  MessageSystem,
  SettingError,
} from "millpond";
import { selfSigned } from "./support/certificate.js";
import { gate, turn } from "./support/gate.js";

// The lines that feed/quote_json.hpp, feed/event_json.hpp and gateway/sinks/tcp document.
const QUOTE =
  '{"type":"quote","symbol":"AAPL","timestamp":1580398200000000001,"exchange_timestamp":1580398199999990003,' +
  '"sequence":17,"bid":{"price":189.2400,"shares":300},"ask":{"price":null,"shares":0},"spread":null,"incomplete":false}\n';
const TRADE =
  '{"type":"trade","symbol":"AAPL","timestamp":1580398200000000001,"exchange_timestamp":0,"sequence":18,"price":189.2500,' +
  '"shares":100,"trade_id":4711}\n';
const CLEAR = '{"type":"clear","symbol":null,"channel":0,"timestamp":5,"sequence":21,"reason":"new_session"}\n';

async function gateway(greet: (socket: Socket, connection: number) => void) {
  let connections = 0;
  const requests: string[] = [];
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket);
    socket.on("data", (text) => requests.push(String(text)));
    socket.on("error", () => {});
    greet(socket, ++connections);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const stop = (): void => {
    for (const socket of sockets) socket.destroy();
    server.close();
  };
  return { port: (server.address() as AddressInfo).port, requests, sockets, stop };
}

/** Reads this many events and leaves the client open. */
async function readEvents(market: MarketData, count: number): Promise<MarketEvent[]> {
  const events: MarketEvent[] = [];
  const iterator = market[Symbol.asyncIterator]();
  while (events.length < count) events.push((await iterator.next()).value as MarketEvent);
  return events;
}

test("events arrive as sent, with times in nanoseconds, for any fragmentation of the bytes", async () => {
  const served = await gateway(async (socket) => {
    const text = `${QUOTE}${TRADE}not json\n{"type":"later"}\n${CLEAR}{"type":"missed","count":3}\n`;
    for (let at = 0; at < text.length; at += 7) {
      socket.write(text.slice(at, at + 7));
      await new Promise((resolve) => setImmediate(resolve));
    }
  });
  using market = new MarketData({ port: served.port });
  const events = await readEvents(market, 5);
  assert.deepEqual(
    events.map((event) => event.type),
    ["connected", "quote", "trade", "clear", "missed"],
  );
  const quote = events[1] as MarketQuote;
  assert.equal(quote.timestamp, 1_580_398_200_000_000_001n);
  assert.equal(quote.exchange_timestamp, 1_580_398_199_999_990_003n);
  assert.deepEqual(
    [quote.bid, quote.ask.price, quote.spread],
    [{ price: 189.24, price_nanos: 189_240_000_000n, shares: 300 }, null, null],
  );
  const account = market.account();
  assert.deepEqual([account.badLines, account.missedThere, account.received, account.delivered], [1, 3, 5, 5]);
  served.stop();
});

test("routes get their symbol's events", async () => {
  const served = await gateway((socket) => socket.write(QUOTE + TRADE + CLEAR));
  const system = new MessageSystem();
  const seen: unknown[] = [];
  const done = new Promise<void>((resolve) => {
    system.on(
      "bbo://{symbol}",
      (message) => void seen.push(message.param("symbol"), (message.body as MarketQuote).sequence),
    );
    system.on("trade://AAPL", (message) => void seen.push(message.path));
    system.on("clear://0", () => resolve());
  });
  using market = new MarketData({ port: served.port, system });
  await done;
  assert.deepEqual(seen, ["AAPL", 17, "trade://AAPL"]);
  assert.equal(market.account().received, market.account().delivered + market.account().undelivered);
  served.stop();
});

test("handlers that throw or reject are counted, and the client goes on", async () => {
  const served = await gateway((socket) => socket.write(QUOTE + TRADE + CLEAR));
  const errors: unknown[] = [];
  const system = new MessageSystem({
    onError: (error, path, name) => errors.push((error as Error).message, path, name),
  });
  system.on("bbo://AAPL", () => {
    throw new Error("no quotes");
  });
  system.on("trade://AAPL", () => Promise.reject(new Error("no trades")));
  const done = new Promise<void>((resolve) => system.on("clear://0", () => resolve()));
  using market = new MarketData({ port: served.port, system });
  await done;
  while (market.account().failedHandlers < 2) await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual([market.account().received, market.account().delivered, market.account().undelivered], [4, 3, 1]);
  const reported = ["no quotes", "bbo://AAPL", "bbo://AAPL", "no trades", "trade://AAPL", "trade://AAPL"];
  assert.deepEqual([errors, market.account().lastError], [reported, undefined]);
  served.stop();
});

test("subscriptions ask for levels and orders, and a book is made of the lines that answer", async () => {
  const head = '"symbol":"AAPL","channel":3,"timestamp":1580398200000000001,"exchange_timestamp":2,"sequence":23';
  const served = await gateway((socket) =>
    socket.write(
      `{"type":"level",${head},"side":"none","price":0.0000,"size":0,"count":0,"flags":32}\n` +
        `{"type":"level",${head},"side":"bid","price":9223372036.854775806,"size":300,"count":2,"flags":160}\n` +
        `{"type":"order",${head},"action":"add","side":"bid","order_id":9223372036854775809,"price":-0.0001,` +
        '"size":9,"size_left":9,"trade_id":0,"flags":128}\n' +
        `{"type":"book",${head},"bids":[{"price":1.5000,"size":7,"count":1}],"asks":[],"incomplete":true}\n` +
        `{"type":"book",${head},"bids":[{"price":null,"size":7,"count":1}],"asks":[],"incomplete":true}\n`,
    ),
  );
  for (const [options, requests] of [
    [{ depth: 10, orders: true }, '{"subscribe":["*"],"depth":10,"orders":true}\n'],
    [{ depth: "full", subscribe: ["AAPL"] }, '{"subscribe":["AAPL"],"depth":"full"}\n'],
  ] as const) {
    served.requests.length = 0;
    using market = new MarketData({ port: served.port, ...options });
    const events = await readEvents(market, 5);
    while (market.account().badLines === 0 || served.requests.length === 0) {
      await new Promise((resolve) => setImmediate(resolve));
    }
    assert.equal(served.requests.join(""), requests);
    const [, , level, order, replaced] = events as [unknown, unknown, MarketLevel, MarketOrder, MarketBook];
    assert.deepEqual([level.channel, order.channel, replaced.channel], [3, 3, 3]);
    assert.deepEqual([level.price_nanos, level.size, level.count], [2n ** 63n - 2n, 300, 2]);
    assert.deepEqual([order.order_id_exact, order.price_nanos, order.action], [2n ** 63n + 1n, -100_000n, "add"]);
    assert.deepEqual(replaced.bids, [{ price: 1.5, price_nanos: 1_500_000_000n, size: 7, count: 1 }]);
    const book = new Book();
    const shown = events.map((event) => [book.apply(event), book.complete, book.bids().map(({ size }) => size)]);
    assert.deepEqual(shown.slice(1), [
      [false, false, []],
      [true, true, [300]],
      [true, true, [300]],
      [true, false, [7]],
    ]);
  }
  served.stop();
});

test("options that are out of range are refused at the call", () => {
  const wrong = [
    ...[Number.NaN, -1, 2 ** 31, "5", Number.POSITIVE_INFINITY].map((reconnectMs) => ({ reconnectMs })),
    ...["AAPL", [1]].map((subscribe) => ({ subscribe })),
    ...["x", -1, Number.NaN, new Int32Array(1)].map((wake) => ({ wake })),
    { mode: "x" },
    { depth: -1 },
    { depth: 51 },
    { depth: "all" },
    { orders: 1 },
    { orders: true, mode: "conflate" },
    { host: 5 },
    { token: 5 },
    { tls: 5 },
    { tls: null },
    { port: undefined, url: "wss://localhost/ws", tls: true },
    { system: {} },
    { system: { send: () => 0 } },
    { system: { has: () => true, emit: () => 0, send: () => 0 } },
  ];
  for (const options of wrong) {
    assert.throws(() => new MarketData({ port: 1, ...options } as never), SettingError, JSON.stringify(options));
  }
  for (const options of [[], [undefined], [{}]]) {
    assert.throws(() => new MarketData(...(options as [never])), { name: "SettingError", message: /^port is / });
  }
  using market = new MarketData({ port: 1 });
  assert.throws(() => market.setMode("x" as never), SettingError);
  assert.throws(() => market.subscribe(5 as never), SettingError);
});

test("a lost connection is reported and made again with the same requests", async () => {
  const served = await gateway((socket, connection) => {
    if (connection === 1) socket.end(QUOTE);
    else socket.write(TRADE);
  });
  using market = new MarketData({ port: served.port, subscribe: ["AAPL"], mode: "conflate", reconnectMs: 1 });
  const events = await readEvents(market, 4);
  assert.deepEqual(
    events.map((event) => event.type),
    ["connected", "quote", "connected", "trade"],
  );
  const requests = /\{"mode":"conflate"\}\n\{"subscribe":\["AAPL"\]\}\n/g;
  while (served.requests.join("").match(requests)?.length !== 2) await new Promise((resolve) => setImmediate(resolve));
  market.subscribe("MSFT");
  market.unsubscribe("AAPL");
  market.setMode("every");
  while (!served.requests.join("").includes('{"mode":"every"}')) await new Promise((resolve) => setImmediate(resolve));
  assert.match(served.requests.join(""), /\{"subscribe":\["MSFT"\]\}\n\{"unsubscribe":\["AAPL"\]\}/);
  served.stop();
});

test("a slow reader misses events, which are counted exactly and reported to it", async () => {
  const served = await gateway((socket) => socket.write(TRADE.repeat(50)));
  using market = new MarketData({ port: served.port, buffer: 10 });
  while (market.account().received < 51) await new Promise((resolve) => setImmediate(resolve));
  const { received, missedHere, waiting } = market.account();
  assert.deepEqual([received, missedHere, waiting], [51, 41, 10]);
  const events = await readEvents(market, 11);
  assert.deepEqual(events[10], { type: "missed", count: 41, here: true });
  served.stop();
});

test("a missed event is at the position of the loss, once", async () => {
  const trades = (first: number, count: number): string =>
    Array.from({ length: count }, (_, n) => TRADE.replace('"sequence":18', `"sequence":${first + n}`)).join("");
  const served = await gateway((socket) => socket.write(trades(1, 5)));
  using market = new MarketData({ port: served.port, buffer: 3 });
  const came = async (count: number): Promise<void> => {
    while (market.account().received < count) await turn();
  };
  await came(6);
  assert.deepEqual(await readEvents(market, 1), [{ type: "connected", connections: 1 }]);
  served.sockets[0]!.write(trades(6, 2));
  await came(8);
  const told = (await readEvents(market, 5)).map((event) => (event.type === "trade" ? event.sequence : event));
  const missed = (count: number): unknown => ({ type: "missed", count, here: true });
  assert.deepEqual(told, [1, 2, missed(3), 6, missed(1)]);
  served.sockets[0]!.write(trades(8, 1));
  assert.equal(((await readEvents(market, 1))[0] as { readonly sequence: number }).sequence, 8);
  const { received, delivered, missedHere, waiting } = market.account();
  assert.deepEqual([received, delivered, missedHere, waiting], [9, 5, 4, 0]);
  served.stop();
});

test("the end of an iterator ends each next that waits, and closes the client", async () => {
  for (const end of ["return", "throw", "close", "dispose"] as const) {
    const served = await gateway((socket) => socket.write(TRADE));
    const market = new MarketData({ port: served.port, reconnectMs: 1 });
    const [one, other] = [market[Symbol.asyncIterator](), market[Symbol.asyncIterator]()];
    assert.deepEqual([(await one.next()).done, (await other.next()).done], [false, false]);
    const waiting = Promise.all([one.next(), one.next(), other.next()]);
    const gone = once(served.sockets[0]!, "close");
    if (end === "return") assert.deepEqual(await one.return(), { value: undefined, done: true });
    else if (end === "throw") await assert.rejects(one.throw(new Error("as asked")), /as asked/);
    else if (end === "dispose") await one[Symbol.asyncDispose]();
    else market.close();
    assert.deepEqual(
      (await waiting).map(({ done }) => done),
      [true, true, true],
    );
    await gone;
    assert.equal((await one.next()).done, true);
    served.stop();
  }
});

test("prices are exact, and those that are none are bad lines", async () => {
  const good = ["0", "189", "-0.000000001", "9007199.254740993", "9223372036.854775806", "1.0000000000"];
  const bad = ["0.0000000001", "9223372036.854775807", "9223372037", "1.5e3", "1."];
  const quote = QUOTE.replace('"price":null,"shares":0', '"price":9223372036.854775806,"shares":1').replace(
    '"spread":null',
    '"spread":{"price":18446744073.709551615,"percent":null}',
  );
  const lines = [...good, ...bad].map((price) => TRADE.replace("189.2500", price));
  const served = await gateway((socket) => socket.write(lines.join("") + quote));
  using market = new MarketData({ port: served.port });
  const events = (await readEvents(market, 2 + good.length)).slice(1);
  const trades = events.slice(0, -1) as { readonly price: number; readonly price_nanos: bigint }[];
  assert.deepEqual(
    trades.map(({ price, price_nanos }) => [price, price_nanos]),
    [
      [0, 0n],
      [189, 189_000_000_000n],
      [-1e-9, -1n],
      [9007199.254740993, 9_007_199_254_740_993n],
      [9223372036.854776, 9_223_372_036_854_775_806n],
      [1, 1_000_000_000n],
    ],
  );
  const { ask, spread } = events.at(-1) as MarketQuote;
  assert.deepEqual(ask, { price: 9223372036.854776, price_nanos: 9_223_372_036_854_775_806n, shares: 1 });
  assert.deepEqual(spread, { price: 18446744073.709553, percent: null });
  assert.equal(market.account().badLines, bad.length);
  served.stop();
});

test("trade ids above 2^53 are exact: a break is of one trade only", async () => {
  const ids = ["9007199254740992", "9007199254740993", "18446744073709551615", "7"];
  const broken = TRADE.replace('"trade"', '"trade_break"').replace(/"price".*"trade_id"/, '"trade_id"');
  const lines = ids.flatMap((id) => [TRADE, broken].map((line) => line.replace("4711", id)));
  const served = await gateway((socket) => socket.write(lines.join("")));
  using market = new MarketData({ port: served.port });
  const events = (await readEvents(market, 9)).slice(1) as {
    readonly trade_id: number;
    readonly trade_id_exact: bigint;
  }[];
  assert.deepEqual(
    events.map(({ trade_id_exact }) => trade_id_exact),
    ids.flatMap((id) => [BigInt(id), BigInt(id)]),
  );
  assert.deepEqual(
    events.map(({ trade_id }) => trade_id),
    ids.flatMap((id) => [Number(id), Number(id)]),
  );
  assert.equal(market.account().badLines, 0);
  served.stop();
});

test("refusals of the gateway and endless lines are errors, without a crash", async () => {
  const served = await gateway((socket, connection) => {
    if (connection === 1) socket.end('{"type":"bye","text":"2 clients are connected already"}\n');
    else socket.write("x".repeat(2 ** 22 + 1));
  });
  using market = new MarketData({ port: served.port, reconnectMs: 1 });
  while (market.account().lastError?.startsWith("2 clients") !== true)
    await new Promise((resolve) => setImmediate(resolve));
  while (market.account().lastError?.startsWith("a line of more") !== true)
    await new Promise((resolve) => setImmediate(resolve));
  served.stop();
});

test("a book of 32,768 levels is one line", async () => {
  const side = (first: number): string =>
    Array.from(
      { length: 16_384 },
      (_, i) => `{"price":${first + i}.0000,"size":18446744073709551615,"count":4294967295}`,
    ).join();
  const line =
    '{"type":"book","symbol":"AAPL","channel":0,"timestamp":1580398200000000001,"exchange_timestamp":2,"sequence":23,' +
    `"bids":[${side(1_000_000)}],"asks":[${side(2_000_000)}],"incomplete":false}\n`;
  const served = await gateway((socket) => socket.write(line));
  using market = new MarketData({ port: served.port, depth: "full", mode: "conflate" });
  const [, book] = (await readEvents(market, 2)) as [unknown, MarketBook];
  assert.deepEqual([book.bids.length, book.asks.length, market.account().lastError], [16_384, 16_384, undefined]);
  served.stop();
});

test("the end of a loop closes the client", async () => {
  const served = await gateway((socket) => socket.write(QUOTE + TRADE));
  const market = new MarketData({ port: served.port, reconnectMs: 1 });
  let closed = (): void => {};
  const gone = new Promise<void>((resolve) => (closed = resolve));
  for await (const event of market) {
    if (event.type !== "trade") continue;
    served.sockets[0]!.once("close", closed);
    break;
  }
  await gone;
  assert.equal(served.sockets.length, 1);
  served.stop();
});

test("a token is the first line", async () => {
  const served = await gateway(() => {});
  using market = new MarketData({ port: served.port, token: "secret", subscribe: ["AAPL"] });
  while (!served.requests.join("").includes("AAPL")) await new Promise((resolve) => setImmediate(resolve));
  assert.ok(served.requests.join("").startsWith('{"token":"secret"}\n'));
  assert.equal(market.account().by, "tcp");
  served.stop();
});

test("a symbol with a slash reaches its route, and events without a receiver are counted", async () => {
  const served = await gateway((socket) => socket.write(QUOTE.replace("AAPL", "BRK/B") + TRADE + CLEAR));
  const system = new MessageSystem();
  const seen: unknown[] = [];
  system.on(
    "bbo://{symbol}",
    (message) => void seen.push(message.param("symbol"), (message.body as MarketQuote).symbol),
  );
  const done = system.waitFor("clear://0");
  using market = new MarketData({ port: served.port, system });
  await done;
  assert.deepEqual(seen, ["BRK%2FB", "BRK/B"]);
  const { received, delivered, undelivered } = market.account();
  assert.deepEqual([received, delivered, undelivered], [4, 2, 2]);
  served.stop();
});

test("symbols are UTF-8, even split between packets, and events without a symbol or channel are bad lines", async () => {
  const bad = ["{}", '{"symbol":""}', '{"symbol":5}', '{"symbol":null}'].map((fields) =>
    JSON.stringify({ type: "quote", ...(JSON.parse(fields) as object) }),
  );
  const lines = [...bad, '{"type":"gap"}', '{"type":"clear","symbol":null}', '{"type":"missed"}'];
  const bytes = Buffer.from(`${lines.join("\n")}\n${QUOTE.replace("AAPL", "Öl€")}${TRADE}`);
  const served = await gateway(async (socket) => {
    socket.setNoDelay(true);
    for (const byte of bytes) {
      socket.write(Buffer.from([byte]));
      await turn();
    }
  });
  const system = new MessageSystem();
  const seen: string[] = [];
  system.subscribe("*", (message) => void seen.push(message.path));
  const done = system.waitFor("trade://AAPL");
  using market = new MarketData({ port: served.port, system });
  await done;
  await turn();
  assert.deepEqual(seen, ["connected://", "bbo://Öl€", "trade://AAPL"]);
  assert.deepEqual([market.account().badLines, market.account().received], [lines.length, 3]);
  served.stop();
});

test("a connection whose token is refused was never connected", async () => {
  const served = await gateway((socket, connection) => {
    if (connection < 3) socket.end('{"type":"error","text":"wrong token"}\n');
    else socket.write(TRADE);
  });
  using market = new MarketData({ port: served.port, token: "secret", reconnectMs: 1 });
  const events = await readEvents(market, 2);
  assert.deepEqual(
    events.map((event) => (event.type === "connected" ? event.connections : event.type)),
    [1, "trade"],
  );
  assert.deepEqual([market.account().connections, market.account().lastError], [1, "wrong token"]);
  served.stop();
});

test("the network is used while the ring cannot be read, and the ring is tried again", async () => {
  const served = await gateway((socket) => socket.write(TRADE));
  using market = new MarketData({ ring: `absent-${process.pid}`, port: served.port, reconnectMs: 1 });
  const events = await readEvents(market, 2);
  assert.deepEqual(
    events.map(({ type }) => type),
    ["connected", "trade"],
  );
  assert.equal(market.account().by, "tcp");
  served.stop();
});

test("two iterators share the events, and both end", async () => {
  const served = await gateway((socket) => socket.write(TRADE.repeat(100)));
  using market = new MarketData({ port: served.port });
  let events = 0;
  const read = async (): Promise<void> => {
    for await (const event of market) {
      events++;
      if (event.type === "trade" && events >= 101) market.close();
    }
  };
  await Promise.all([read(), read()]);
  assert.equal(events, 101);
  const { delivered, received } = market.account();
  assert.deepEqual([delivered, received], [101, 101]);
  served.stop();
});

for (const host of ["127.0.0.1", "localhost"]) {
  test(`over TLS to ${host}: events and the token only if the certificate is trusted`, async () => {
    const { key, cert } = selfSigned();
    const warnings: Error[] = [];
    const listen = (warning: Error): void => void warnings.push(warning);
    process.on("warning", listen);
    const requests: string[] = [];
    const server = createTlsServer({ key, cert }, (socket) => {
      socket.on("error", () => {}).on("data", (text) => requests.push(String(text)));
      socket.write(QUOTE + TRADE);
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;

    const distrustful = new MarketData({ host, port, tls: true, token: "secret", reconnectMs: 1 });
    while (distrustful.account().lastError === undefined) await turn();
    assert.match(distrustful.account().lastError!, /self[- ]signed/);
    assert.equal(distrustful.account().connections, 0);
    distrustful.close();
    assert.deepEqual(requests, []);

    using market = new MarketData({ host, port, tls: { ca: cert }, token: "secret", subscribe: ["AAPL"] });
    const events = await readEvents(market, 3);
    assert.deepEqual(
      events.map(({ type }) => type),
      ["connected", "quote", "trade"],
    );
    while (!requests.join("").includes("AAPL")) await turn();
    assert.ok(requests.join("").startsWith('{"token":"secret"}\n'));
    assert.equal(market.account().by, "tcp");
    server.close();
    await turn();
    process.off("warning", listen);
    assert.deepEqual(warnings, []);
  });
}

test("each receiver of an event is traced and counted for itself", async (t) => {
  const served = await gateway((socket) => socket.write(QUOTE + TRADE + CLEAR));
  t.after(served.stop);
  const errors: string[] = [];
  const system = new MessageSystem({
    statistics: "diagnostics",
    onError: (error, path, receiver) => errors.push(`${receiver} ${path} ${String(error)}`),
  });
  const runs: string[] = [];
  const channel = tracingChannel("millpond.handle");
  const describe = (given: unknown): string => {
    const { receiver, kind, template, path } = given as HandleTrace;
    return `${receiver} ${kind} ${template} ${path}`;
  };
  const watching = {
    start: (run: unknown) => void runs.push(describe(run)),
    error: (run: unknown) => void runs.push(`failed: ${describe(run)}`),
  } as never;
  channel.subscribe(watching);
  system.on("bbo://{symbol}", () => {}, { name: "book" });
  system.subscribe("bbo://{s}", () => Promise.reject(new Error("as asked")), { name: "audit" });
  system.subscribe("{kind}//AAPL", () => {}, { name: "all of AAPL" });
  const done = system.waitFor("clear://0");
  using market = new MarketData({ port: served.port, system });
  await done;
  await turn();
  channel.unsubscribe(watching);
  assert.deepEqual(
    runs.filter((run) => !run.includes("clear://")).sort(),
    [
      "all of AAPL observer {kind}//AAPL bbo://AAPL",
      "all of AAPL observer {kind}//AAPL trade://AAPL",
      "audit observer bbo://{s} bbo://AAPL",
      "book handler bbo://{symbol} bbo://AAPL",
      "failed: audit observer bbo://{s} bbo://AAPL",
    ].sort(),
  );
  assert.deepEqual(errors, ["audit bbo://AAPL Error: as asked"]);
  const counts = new Map(system.stats().receivers.map(({ name, sent, failed }) => [name, [sent, failed]]));
  assert.deepEqual(
    ["book", "audit", "all of AAPL"].map((name) => counts.get(name)),
    [
      [1, 0],
      [1, 1],
      [2, 0],
    ],
  );
  const { received, delivered, undelivered, failedHandlers } = market.account();
  assert.deepEqual([received, delivered, undelivered, failedHandlers], [4, 3, 1, 0]);
});

test("events that a full queue refuses warn the process once, without onDeadLetter", async (t) => {
  const served = await gateway((socket) => socket.write(TRADE.repeat(10)));
  t.after(served.stop);
  const warnings: Error[] = [];
  const watch = (warning: Error): void => void warnings.push(warning);
  process.on("warning", watch);
  t.after(() => process.off("warning", watch));
  const system = new MessageSystem();
  const { opened, open } = gate();
  system.on("trade://{symbol}", () => opened, { name: "tape", queue: { capacity: 1 } });
  using market = new MarketData({ port: served.port, system });
  while (market.account().failedHandlers < 2 || warnings.length === 0) await turn();
  open();
  const lost = warnings.filter((warning) => (warning as { code?: string }).code === "MILLPOND_MESSAGE_LOST");
  assert.equal(lost.length, 1);
  assert.match(lost[0]!.message, /^a message to tape was refused by a full queue; /);
});

for (const statistics of ["counters", "latency", "diagnostics"] as const) {
  for (const overflow of ["reject", "drop-newest", "drop-oldest", "coalesce"] as const) {
    test(`an event that overflows is counted once, under its receiver's name: ${overflow}, ${statistics}`, async (t) => {
      const count = 50;
      const served = await gateway((socket) => socket.write(QUOTE + TRADE.repeat(count)));
      t.after(served.stop);
      const letters: string[] = [];
      const errors: unknown[] = [];
      const system = new MessageSystem({
        statistics,
        onDeadLetter: ({ path, reason, receiver, error }) =>
          letters.push(`${receiver} ${path} ${reason} ${(error as Error).name}`),
        onError: (error) => errors.push(error),
      });
      const runs: string[] = [];
      const watching = { start: (run: unknown) => void runs.push((run as HandleTrace).receiver) } as never;
      const channel = tracingChannel("millpond.handle");
      channel.subscribe(watching);
      t.after(() => channel.unsubscribe(watching));
      const { opened, open } = gate();
      const key = overflow === "coalesce" ? { key: () => "one" } : {};
      const queue = { capacity: 4, overflow, ...key };
      system.on("trade://{symbol}", () => opened, { name: "tape", queue });
      system.subscribe("trade://*", () => opened, { name: "audit", queue: { capacity: 3 } });
      using market = new MarketData({ port: served.port, system, buffer: 8 });
      const iterator = market[Symbol.asyncIterator]();
      await iterator.next();
      while (market.account().received < count + 2) await turn();
      open();
      while (!system.idle) await turn();
      const receivers = new Map(system.stats().receivers.map((receiver) => [receiver.name, receiver]));
      const { sent, handled, failed, refused, dropped } = receivers.get("tape")!;
      const lost = overflow === "reject" ? refused : dropped;
      assert.deepEqual([sent, handled + lost, failed, refused + dropped], [count, count, 0, lost]);
      assert.ok(lost > 0);
      const [reason, error] =
        overflow === "reject" ? ["refused", "QueueFullError"] : ["dropped", "MessageDroppedError"];
      assert.deepEqual(
        letters.filter((letter) => letter.startsWith("tape")),
        new Array(lost).fill(`tape trade://AAPL ${reason} ${error}`),
      );
      const audit = receivers.get("audit")!;
      assert.deepEqual([audit.handled + audit.dropped, audit.failed, audit.refused], [audit.sent, 0, 0]);
      assert.deepEqual(errors, []);
      const traced = (name: string): number => runs.filter((run) => run === name).length;
      const expected = statistics === "diagnostics" ? [handled, audit.handled] : [0, 0];
      assert.deepEqual([traced("tape"), traced("audit")], expected);
      const series = system
        .prometheus()
        .split("\n")
        .filter((line) => line !== "" && !line.startsWith("#"));
      const names = series.map((line) => line.slice(0, line.lastIndexOf(" ")));
      assert.equal(new Set(names).size, names.length);
      assert.ok(
        series.some((line) => /queue_(refused|dropped).*receiver="tape"/.test(line) && line.endsWith(` ${lost}`)),
      );
      const account = market.account();
      assert.equal(account.failedHandlers, lost);
      assert.deepEqual(
        [account.received, account.delivered, account.undelivered, account.missedHere, account.waiting],
        [count + 2, 1, 0, count + 1 - 8, 8],
      );
    });
  }
}

test("an iterator that lags uses memory for waiting events only", async (t) => {
  const BEHIND = 501;
  const served = await gateway(() => {});
  t.after(served.stop);
  using market = new MarketData({ port: served.port });
  const iterator = market[Symbol.asyncIterator]();
  await iterator.next();
  const socket = served.sockets[0]!;
  const pass = async (rounds: number): Promise<void> => {
    for (let round = 0; round < rounds; round++) {
      socket.write(TRADE.repeat(2_000));
      for (let n = 0; n < 2_000; n++) await iterator.next();
    }
  };
  socket.write(TRADE.repeat(BEHIND));
  while (market.account().waiting < BEHIND) await turn();
  await pass(5);
  globalThis.gc!();
  const before = process.memoryUsage().heapUsed;
  await pass(60);
  globalThis.gc!();
  assert.ok(process.memoryUsage().heapUsed - before < 2e6);
  assert.equal(market.account().missedHere, 0);
});
