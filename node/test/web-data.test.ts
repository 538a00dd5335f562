// MarketData over WebSocket, against a server that sends chosen bytes. gateway.test.ts reads a real gateway's web sink.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { type AddressInfo, createServer as createTcpServer, type Socket } from "node:net";
import { test } from "node:test";
import { MarketData, type MarketEvent, SettingError } from "millpond";
import { VirtualClock } from "./support/virtual-clock.js";

const TRADE =
  '{"type":"trade","symbol":"AAPL","timestamp":1580398200000000001,"exchange_timestamp":0,"sequence":18,"price":189.2500,' +
  '"shares":100,"trade_id":4711}\n';

/** A frame of a server, without a mask: RFC 6455 section 5.2. */
function frame(opcode: number, payload: string | Buffer, last = true): Buffer {
  const bytes = Buffer.from(payload);
  const header = Buffer.alloc(bytes.length < 126 ? 2 : bytes.length < 65_536 ? 4 : 10);
  header[0] = (last ? 0x80 : 0) | opcode;
  if (bytes.length < 126) header[1] = bytes.length;
  else if (bytes.length < 65_536) {
    header[1] = 126;
    header.writeUInt16BE(bytes.length, 2);
  } else {
    header[1] = 127;
    header.writeBigUInt64BE(BigInt(bytes.length), 2);
  }
  return Buffer.concat([header, bytes]);
}

/** The opcodes and payloads of short masked frames. */
function unmasked(bytes: Buffer): string[] {
  const found: string[] = [];
  for (let at = 0; at < bytes.length;) {
    const short = bytes[at + 1]! & 0x7f;
    const length = short === 126 ? bytes.readUInt16BE(at + 2) : short;
    const mask = at + (short === 126 ? 4 : 2);
    assert.ok((bytes[at + 1]! & 0x80) !== 0, "clients mask");
    const payload = bytes.subarray(mask + 4, mask + 4 + length).map((byte, n) => byte ^ bytes[mask + (n & 3)]!);
    found.push(`${bytes[at]! & 0x0f}:${Buffer.from(payload).toString("latin1")}`);
    at = mask + 4 + length;
  }
  return found;
}

interface Served {
  readonly url: string;
  readonly received: () => string[];
  readonly headers: Record<string, string | string[] | undefined>[];
  stop(): void;
}

async function serve(greet: (socket: Socket, connection: number) => void, answer?: (key: string) => string) {
  let connections = 0;
  let received = Buffer.alloc(0);
  const sockets: Socket[] = [];
  const served: Served["headers"] = [];
  const server = createServer((_, response) => response.writeHead(401).end()).listen(0, "127.0.0.1");
  server.on("upgrade", (request, socket: Socket) => {
    sockets.push(socket);
    served.push(request.headers);
    socket.on("error", () => {});
    socket.on("data", (bytes) => {
      received = Buffer.concat([received, bytes]);
    });
    const key = request.headers["sec-websocket-key"]!;
    const right = createHash("sha1").update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest("base64");
    socket.write(
      "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n" +
        `Sec-WebSocket-Accept: ${answer?.(key) ?? right}\r\n\r\n`,
    );
    greet(socket, ++connections);
  });
  await once(server, "listening");
  const url = `ws://127.0.0.1:${(server.address() as AddressInfo).port}/ws`;
  const stop = (): void => {
    for (const socket of sockets) socket.destroy();
    server.close();
  };
  return { url, headers: served, received: () => unmasked(received), stop };
}

/** Reads this many events and leaves the client open. */
async function readEvents(market: MarketData, count: number): Promise<MarketEvent[]> {
  const events: MarketEvent[] = [];
  const iterator = market[Symbol.asyncIterator]();
  while (events.length < count) events.push((await iterator.next()).value as MarketEvent);
  return events;
}

test("a message may have all orders and levels of a book", async () => {
  const served = await serve((socket) => socket.write(frame(1, TRADE + " ".repeat(3 * 2 ** 23) + "\n" + TRADE)));
  using market = new MarketData({ url: served.url });
  await readEvents(market, 3);
  assert.equal(market.account().connections, 1);
  served.stop();
});

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test("lines are restored for any fragmentation of frames and bytes", async () => {
  const served = await serve(async (socket) => {
    const half = TRADE.slice(0, 50);
    const bytes = Buffer.concat([
      frame(1, TRADE + TRADE),
      frame(1, half, false),
      frame(9, "are you there"),
      frame(0, TRADE.slice(50)),
      frame(1, TRADE.repeat(10)),
      frame(1, TRADE.repeat(500)),
    ]);
    for (let at = 0; at < bytes.length; at += 997) {
      socket.write(bytes.subarray(at, at + 997));
      await turn();
    }
  });
  using market = new MarketData({ url: served.url, token: "secret" });
  const events = await readEvents(market, 514);
  assert.deepEqual([events[0]!.type, events[513]!.type], ["connected", "trade"]);
  const account = market.account();
  assert.deepEqual([account.by, account.received, account.badLines, account.lastError], ["web", 514, 0, undefined]);
  while (served.received().length < 2) await turn();
  assert.deepEqual(served.received(), ['1:{"mode":"every"}\n', "10:are you there"]);
  assert.equal(served.headers[0]!["authorization"], "Bearer secret");
  served.stop();
});

test("a closed WebSocket is opened again with the same requests, its reason is reported, and a long list is sent in parts", async () => {
  const symbols = Array.from({ length: 450 }, (_, n) => `S${n}`);
  const served = await serve((socket, connection) => {
    socket.write(frame(1, TRADE));
    if (connection === 1) socket.write(frame(8, Buffer.concat([Buffer.from([0x03, 0xf0]), Buffer.from("too slow")])));
  });
  using market = new MarketData({ url: served.url, subscribe: symbols, mode: "conflate", reconnectMs: 1 });
  const events = await readEvents(market, 4);
  assert.deepEqual(
    events.map((event) => event.type),
    ["connected", "trade", "connected", "trade"],
  );
  assert.equal(market.account().lastError, "too slow");
  market.unsubscribe("S1");
  while (!served.received().some((text) => text.includes("unsubscribe"))) await turn();
  const asked = served.received().filter((text) => text.startsWith("1:"));
  const parts = asked.map((text) => JSON.parse(text.slice(2)) as { readonly subscribe?: readonly string[] });
  assert.deepEqual(
    parts.map(({ subscribe }) => subscribe?.length),
    [200, 200, 50, 200, 200, 50, undefined],
  );
  assert.ok(asked.every((text) => text.length < 4_096));
  served.stop();
});

test("a server without WebSocket, a wrong answer, a refusal and a broken frame are errors, and retried", async () => {
  const wrong = await serve(
    () => {},
    () => "another",
  );
  using answered = new MarketData({ url: wrong.url, reconnectMs: 1 });
  while (answered.account().lastError !== "not a WebSocket: the answer is to another request") await turn();
  const broken = await serve((socket) => socket.write(Buffer.from([0xf1, 0x00])));
  using framed = new MarketData({ url: broken.url, reconnectMs: 1 });
  while (framed.account().connections < 2) await turn();
  assert.equal(framed.account().lastError, "a WebSocket frame of an unknown kind");
  const server = createServer((_, response) => response.writeHead(401).end()).listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `ws://127.0.0.1:${(server.address() as AddressInfo).port}/ws`;
  using refused = new MarketData({ url, reconnectMs: 1 });
  while (refused.account().lastError !== "not a WebSocket: 401 Unauthorized") await turn();
  server.close();
  wrong.stop();
  broken.stop();
});

test("invalid settings of a url are refused by name", () => {
  assert.throws(() => new MarketData({ url: "http://127.0.0.1/ws" }), SettingError);
  assert.throws(() => new MarketData({ url: "ws://127.0.0.1/ws", port: 1 }), /absent where there is a port/);
});

/** Whether the kernel sends keep-alive probes on the connection from this port. */
function isKeptAlive(port: number): boolean {
  const local = `0100007F:${port.toString(16).toUpperCase().padStart(4, "0")}`;
  const rows = readFileSync("/proc/net/tcp", "utf8").split("\n");
  const fields = rows.map((row) => row.trim().split(/\s+/)).find((row) => row[1] === local)!;
  return fields[5]!.startsWith("02:"); // the timer of keep-alive probes
}

for (const by of ["tcp", "web"] as const) {
  test(`by ${by}: a vanished gateway, and one that accepts and is silent, are noticed`, async (t) => {
    const server = createTcpServer((socket) => void socket.on("error", () => {}).resume()).listen(0, "127.0.0.1");
    t.after(() => server.close());
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const clock = new VirtualClock();
    clock.install();
    t.after(() => clock.remove());
    const way = by === "tcp" ? { port, host: "127.0.0.1", tls: true } : { url: `ws://127.0.0.1:${port}/ws` };
    using market = new MarketData({ ...way, reconnectMs: 1 });
    const [first] = (await once(server, "connection")) as [Socket];
    while (!isKeptAlive(first.remotePort!)) await new Promise((resolve) => setImmediate(resolve));
    clock.advance(10_000);
    await once(first, "close");
    assert.equal(market.account().lastError, "no connection within 10000 ms");
    clock.advance(1);
    await once(server, "connection");
  });
}
