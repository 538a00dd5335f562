// A gateway for one test, and a sender for its feed.
import { spawn } from "node:child_process";
import dgram from "node:dgram";
import { readdirSync, rmSync } from "node:fs";
import net from "node:net";

export const PROGRAM = process.env.MILLPOND_PROGRAM ?? "../../build/dev/apps/millpond/millpond";

const READY = /Ctrl-C stops it\./;
const FEED = /feed 'planted': listens on [\d.]+:(\d+),/;
const PAGE = /web sink 'web': (http:\/\/\S+)\s/;

/** A free TCP port of loopback, below those that the kernel assigns. */
export async function freePort() {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 12_000);
    const free = await new Promise((resolve) => {
      const server = net.createServer().once("error", () => resolve(false));
      server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
    });
    if (free) return port;
  }
}

const uniqueRing = () => `test-web-${process.pid}-${Math.random().toString(36).slice(2, 8)}`;

/**
 * Starts a gateway with one feed and one web sink. more: further arguments. web: settings of the web sink. feeds: names
 * of the further feeds among the arguments. stale: seconds of silence that are a fault; 0: none, a slow machine is not one.
 */
export async function startGateway(more = [], { web = "listen=127.0.0.1:0", program = PROGRAM, format = "quotes", feeds = [], metrics = "off", stale = 0, ring = uniqueRing() } = {}) {
  const child = spawn(program, [
    "gateway", "--ring", `name=${ring},huge_pages=none`, "--feed", `name=planted,listen=127.0.0.1:0,format=${format},stale_seconds=${stale}`,
    "--web", web, "--metrics", metrics, ...more,
  ]);
  let said = "";
  const told = new Promise((done, failed) => {
    const hear = (data) => {
      said += data;
      // Standard output and the log on standard error arrive by two pipes, in any order.
      const marks = [READY, FEED, PAGE, ...feeds.map((name) => new RegExp(`feed '${name}': listens on`))];
      if (marks.every((mark) => mark.test(said))) done();
    };
    child.stdout.on("data", hear);
    child.stderr.on("data", hear);
    child.on("exit", (code) => failed(new Error(`the gateway ended (${code}): ${said}`)));
  });
  const ended = new Promise((done) => { child.on("exit", done); });
  await told;
  const [, feedPort] = FEED.exec(said);
  const [, url] = PAGE.exec(said);
  return {
    url,
    feedPort: Number(feedPort),
    pid: child.pid,
    /** The port of a tcp sink. */
    listening: (name) => Number(new RegExp(`tcp sink '${name}': .*?:(\\d+)\\s`).exec(said)[1]),
    /** The port of another feed. */
    portOf: (name) => Number(new RegExp(`feed '${name}': listens on [\\d.]+:(\\d+),`).exec(said)[1]),
    async stop() {
      child.kill("SIGTERM");
      await ended;
    },
    /** Kills the gateway, like a crash, and removes its objects in shared memory. */
    async kill() {
      child.kill("SIGKILL");
      await ended;
      for (const name of readdirSync("/dev/shm")) {
        if (name.startsWith(`millpond.${ring}`)) rmSync(`/dev/shm/${name}`);
      }
    },
  };
}

/** Sends `quotes` datagrams; include/millpond/feed/quotes_layout.hpp has the layout. */
export class Sender {
  #socket = dgram.createSocket("udp4");
  #port;
  #session = BigInt(Date.now());
  #sequence = 1n;

  constructor(port) {
    this.#port = port;
  }

  /** quotes: {symbol, bid, ask, bidSize, askSize, flags}, prices in 1/10000; at most 32. */
  async send(quotes) {
    const parts = quotes.map(({ symbol, bid, ask, bidSize = 100, askSize = 100, flags = 0 }) => {
      const bytes = Buffer.alloc(48 + symbol.length);
      bytes.writeUInt8(symbol.length, 0);
      bytes.writeUInt16LE(flags, 2);
      bytes.writeUInt8(4, 4); // decimals
      bytes.writeBigInt64LE(BigInt(bid) * 100_000n, 8);
      bytes.writeBigInt64LE(BigInt(ask) * 100_000n, 16);
      bytes.writeBigUInt64LE(BigInt(bidSize), 24);
      bytes.writeBigUInt64LE(BigInt(askSize), 32);
      bytes.writeBigInt64LE(BigInt(Date.now()) * 1_000_000n, 40);
      bytes.write(symbol, 48, "ascii");
      return bytes;
    });
    const header = Buffer.alloc(40);
    header.write("MPQT", 0, "ascii");
    header.writeUInt8(2, 4);
    header.writeBigUInt64LE(this.#session, 8);
    header.writeBigUInt64LE(this.#sequence, 16);
    header.writeBigInt64LE(BigInt(Date.now()) * 1_000_000n, 24);
    header.writeUInt16LE(quotes.length, 36);
    header.writeUInt16LE(40 + parts.reduce((sum, part) => sum + part.length, 0), 38);
    this.#sequence += BigInt(quotes.length);
    await new Promise((done) => { this.#socket.send(Buffer.concat([header, ...parts]), this.#port, "127.0.0.1", done); });
  }

  /** Skips sequence numbers, like lost datagrams. */
  lose(count) {
    this.#sequence += BigInt(count);
  }

  close() {
    this.#socket.close();
  }
}
