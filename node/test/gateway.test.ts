// A real gateway, read from shared memory, over TCP and over WebSocket. MILLPOND_PROGRAM: the program millpond.
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { Book, MarketData, type MarketDataOptions, type MarketEvent, type MarketQuote, MarketRing } from "millpond";
import { selfSigned } from "./support/certificate.js";
import { turn } from "./support/gate.js";

const program = process.env["MILLPOND_PROGRAM"] ?? "";
const addon = await import("millpond-shm-linux-x64" as string).then(
  () => true,
  () => false,
);
const skip =
  program === "" ? "MILLPOND_PROGRAM is not set" : addon ? false : "millpond-shm-linux-x64 is not built here";
const EVENTS = 3_000;
/** Queue of a client: enough for minutes in which this process does not run. */
const BACKLOG = 262_144;

/** A port that no connection of another process gets as its own end: below those that the kernel chooses. */
async function freePort(): Promise<number> {
  for (;;) {
    const port = 10_000 + Math.floor(Math.random() * 20_000);
    const server = createServer();
    const isFree = await new Promise<boolean>((resolve) => {
      server.once("error", () => resolve(false));
      server.listen(port, "127.0.0.1", () => resolve(true));
    });
    if (!isFree) continue;
    server.close();
    await once(server, "close");
    return port;
  }
}

/** Starts the program. If it fails, the tests end instead of waiting for it. */
function launch(...words: readonly string[]): ChildProcess {
  const child = spawn(program, words, { stdio: ["ignore", "ignore", "inherit"] });
  child.once("exit", (code) => {
    if (code === null || code === 0) return;
    process.stderr.write(`millpond ${words.join(" ")} ended with ${code}\n`);
    process.exit(1);
  });
  return child;
}

/** A gateway with the data of the demo. */
function demo(ring: string, ...more: readonly string[]): ChildProcess {
  const silent = ["--metrics", "off", "--quiet"];
  const data = ["--rate", "1000"];
  return launch("demo", "--ring", `name=${ring}`, ...more, ...silent, ...data);
}

async function end(gateway: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  const ended = once(gateway, "exit");
  if (gateway.exitCode === null && gateway.signalCode === null) {
    gateway.kill(signal);
    await ended;
  }
}

/** Removes the files that killed gateways leave in shared memory. */
function sweep(ring: string): void {
  const left = readdirSync("/dev/shm").filter((file) => file.startsWith(`millpond.${ring}`));
  for (const file of left) rmSync(`/dev/shm/${file}`, { force: true });
}

async function collect(market: MarketData): Promise<Map<number, MarketEvent>> {
  const found = new Map<number, MarketEvent>();
  let boards = 0;
  for await (const event of market) {
    if (event.type === "connected") boards++;
    else if (event.type !== "missed" && "sequence" in event) found.set(event.sequence, event);
    if (found.size === EVENTS) break;
  }
  assert.equal(boards, 1);
  return found;
}

/** The books of all instruments, made of a client's events. */
function booksOf(options: MarketDataOptions, depth: number) {
  const market = new MarketData({ reconnectMs: 20, ...options, depth });
  const books = new Map<string, Book>();
  /** Number of the newest change of each book: a snapshot's is above that of quotes which waited when it was sent. */
  const changed = new Map<string, number>();
  const channelEvents: MarketEvent[] = [];
  const state = { last: 0, wrong: 0 };
  const follow = (event: MarketEvent): void => {
    if ("sequence" in event) state.last = event.sequence;
    const symbol = "symbol" in event ? event.symbol : null;
    if (symbol === null) {
      channelEvents.push(event);
      for (const book of books.values()) book.apply(event);
      return;
    }
    let book = books.get(symbol);
    if (book === undefined) {
      book = new Book({ depth });
      for (const earlier of channelEvents) book.apply(earlier);
      books.set(symbol, book);
    }
    book.apply(event);
    if (event.type === "level") changed.set(symbol, Math.max(event.sequence, changed.get(symbol) ?? 0));
    if (event.type !== "quote" || options.mode === "conflate" || !book.complete) return;
    if (event.sequence < (changed.get(symbol) ?? 0)) return;
    const best = [book.bids()[0]?.priceNanos ?? null, book.asks()[0]?.priceNanos ?? null];
    if (best[0] !== event.bid.price_nanos || best[1] !== event.ask.price_nanos) state.wrong++;
  };
  void (async () => {
    for await (const event of market) follow(event);
  })();
  const shown = (): unknown[] =>
    [...books]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([symbol, book]) => [symbol, book.complete, String(book.bids()[0]?.priceNanos), book.asks()[0]?.size]);
  return { market, state, shown };
}

test(
  "clients that join late have the same complete books by ring, TCP and WebSocket, of any depth",
  { skip },
  async () => {
    const [port, webPort, feedPort] = [await freePort(), await freePort(), await freePort()];
    const name = `node-books-${process.pid}`;
    const sinks = ["--tcp", `listen=127.0.0.1:${port}`, "--web", `listen=127.0.0.1:${webPort}`];
    const feed = `name=f,listen=127.0.0.1:${feedPort},format=itch,depth=10,orders=true,stale_seconds=0`;
    const ring = ["--ring", `name=${name},huge_pages=none`];
    const gateway = spawn(program, ["gateway", ...ring, "--feed", feed, ...sinks, "--metrics", "off"]);
    let clients: ReturnType<typeof booksOf>[] = [];
    try {
      let said = "";
      for (const output of [gateway.stdout, gateway.stderr]) output.on("data", (text) => (said += String(text)));
      while (!said.includes("Ctrl-C stops it.")) await new Promise((resolve) => setTimeout(resolve, 1));
      using direct = await MarketRing.open(name);
      const market = ["--live", "--symbols", "5", "--rate", "2000", "--count", "4000"];
      const to = ["--format", "itch", "--to", `127.0.0.1:${feedPort}`, "--quiet"];
      const generator = spawn(program, ["generate", ...market, ...to], { stdio: "ignore" });
      const generated = once(generator, "exit");
      while (direct.newest < 1_000) await new Promise((resolve) => setImmediate(resolve));
      const ways = [{ ring: name }, { port }, { url: `ws://127.0.0.1:${webPort}/ws` }];
      clients = ways.flatMap((way) => [
        booksOf({ ...way, orders: true }, 10),
        booksOf(way, 3),
        booksOf({ ...way, mode: "conflate" }, 2),
      ]);
      await generated;
      const [first] = clients;
      const isEven = (): boolean => {
        const expected = JSON.stringify(first!.shown());
        return (
          first!.state.last === direct.newest && clients.every(({ shown }) => JSON.stringify(shown()) === expected)
        );
      };
      while (!isEven()) await new Promise((resolve) => setTimeout(resolve, 1));
      assert.equal(first!.shown().length, 5);
      for (const { state, shown } of clients) {
        assert.ok(shown().every((book) => (book as unknown[])[1]));
        assert.equal(state.wrong, 0);
      }
    } finally {
      for (const { market } of clients) market.close();
      await end(gateway, "SIGTERM");
      sweep(name);
    }
  },
);

test(
  "a gateway's ring, tcp sink and web sink deliver the same events, and the ring's account balances",
  { skip },
  async () => {
    const [port, webPort] = [await freePort(), await freePort()];
    const name = `node-gateway-${process.pid}`;
    const gateway = demo(
      name,
      "--tcp",
      `listen=127.0.0.1:${port},backlog=${BACKLOG}`,
      "--web",
      `listen=127.0.0.1:${webPort},backlog=${BACKLOG}`,
    );
    const ended = once(gateway, "exit");
    try {
      using byTcp = new MarketData({ port, reconnectMs: 20 });
      using byWeb = new MarketData({ url: `ws://127.0.0.1:${webPort}/ws`, reconnectMs: 20 });
      using byRing = new MarketData({ ring: name, reconnectMs: 20 });
      const ways = [byTcp, byWeb, byRing];
      const [tcp, web, ring] = await Promise.all([collect(byTcp), collect(byWeb), collect(byRing)]);
      assert.deepEqual(
        ways.map((market) => market.account().by),
        ["tcp", "web", "ring"],
      );
      assert.deepEqual(
        ways.map((market) => market.account().missedThere),
        [0, 0, 0],
      );
      for (const lines of [tcp, web]) {
        let compared = 0;
        for (const [sequence, event] of lines) {
          const other = ring.get(sequence);
          if (other === undefined) continue;
          assert.deepEqual(other, event);
          compared++;
        }
        assert.ok(compared > EVENTS / 2, `${compared} events in both`);
      }

      const direct = await MarketRing.open(name);
      let last = 0;
      const handler = {
        quote: (quote: { readonly instrument: number }, number: number) => {
          assert.ok(direct.symbol(quote.instrument) !== undefined);
          last = number;
        },
      };
      direct.join(handler);
      const first = direct.account().since;
      while (last < first + EVENTS) {
        direct.poll(handler);
        const { published, delivered, filtered, missed, queued } = direct.account();
        assert.equal(published, delivered + filtered + missed + queued);
        await new Promise((resolve) => setImmediate(resolve));
      }
      const symbols = new Set([...ring.values()].map((event) => (event as MarketQuote).symbol));
      assert.ok(symbols.size > 1);

      gateway.kill("SIGTERM");
      await ended;
      while (direct.poll(handler) > 0);
      assert.equal(direct.writerState(), "closed");
      direct.close();
    } finally {
      gateway.kill("SIGKILL");
      await ended;
    }
  },
);

/** Reads until the ring, or the network, delivers events after a `connected` event. Returns the number of those. */
async function until(events: AsyncIterator<MarketEvent>, arrived: () => boolean): Promise<number> {
  let connected = 0;
  for (;;) {
    const { value } = (await events.next()) as { readonly value: MarketEvent };
    if (value.type === "connected") connected++;
    else if (arrived() && connected > 0) return connected;
  }
}

test("the network replaces a ring whose gateway was killed, until the ring has a writer again", { skip }, async () => {
  const port = await freePort();
  const name = `node-killed-${process.pid}`;
  const tcp = ["--tcp", `listen=127.0.0.1:${port}`];
  const gateways: ChildProcess[] = [];
  const start = (ring: string): ChildProcess => {
    const gateway = demo(ring, ...tcp);
    gateways.push(gateway);
    return gateway;
  };
  using market = new MarketData({ ring: name, port, reconnectMs: 20 });
  try {
    const events = market[Symbol.asyncIterator]();
    const by = (way: string) => (): boolean => market.account().by === way;
    for (const signal of ["SIGKILL", "SIGTERM"] as const) {
      const first = start(name);
      assert.ok((await until(events, by("ring"))) >= 1);
      await end(first, signal);
      const other = start(`${name}-other`);
      assert.ok((await until(events, by("tcp"))) >= 1);
      await end(other, signal);
    }
    start(name);
    await until(events, by("ring"));
    const { received, delivered, undelivered, missedHere, waiting } = market.account();
    assert.equal(received, delivered + undelivered + missedHere + waiting);
  } finally {
    for (const gateway of gateways) await end(gateway, "SIGKILL");
    sweep(name);
  }
});

test("a new writer of a ring is a connected event, after a kill and after a regular end", { skip }, async () => {
  const name = `node-again-${process.pid}`;
  let gateway = demo(name);
  using market = new MarketData({ ring: name, reconnectMs: 20 });
  try {
    const events = market[Symbol.asyncIterator]();
    assert.equal(await until(events, () => true), 1);
    for (const signal of ["SIGKILL", "SIGTERM", "SIGKILL"] as const) {
      await end(gateway, signal);
      gateway = demo(name);
      // The ended stream may be read once more before the new writer starts.
      assert.ok((await until(events, () => true)) >= 1);
      assert.equal(market.account().by, "ring");
    }
  } finally {
    await end(gateway, "SIGKILL");
    sweep(name);
  }
});

test(
  "over TLS a reload that changes the token disconnects the client until its token is valid again",
  { skip },
  async () => {
    const folder = mkdtempSync(join(tmpdir(), "millpond-token-"));
    const name = `node-token-${process.pid}`;
    const port = await freePort();
    const { key, cert } = selfSigned();
    const write = (file: string, text: string): void => writeFileSync(join(folder, file), text, { mode: 0o600 });
    write("key.pem", key);
    write("cert.pem", cert);
    write("first.token", "first-token-0123456789\n");
    write("second.token", "second-token-0123456789\n");
    const require = (token: string): void =>
      write(
        "gateway.toml",
        `[[tcp]]\nname = "t"\nlisten = "127.0.0.1:${port}"\ntoken_file = "${join(folder, token)}"\n` +
          `tls_certificate = "${join(folder, "cert.pem")}"\ntls_key = "${join(folder, "key.pem")}"\n`,
      );
    require("first.token");
    const feed = `127.0.0.1:${await freePort()}`;
    // The demo's gateway ends on a hang-up instead of reloading.
    const settings = ["--config", join(folder, "gateway.toml"), "--feed", `name=f,format=quotes,listen=${feed}`];
    const given = ["--ring", `name=${name}`, "--metrics", "off", "--quiet", "--state", folder, ...settings];
    const gateway = launch("gateway", ...given);
    const sender = launch("generate", "--rate", "1000", "--to", feed, "--quiet");
    const client = (token: string): MarketData => {
      return new MarketData({ port, tls: { ca: cert }, token: `${token}-token-0123456789`, reconnectMs: 20 });
    };
    using first = client("first");
    using second = client("second");
    const clients = [first, second];
    /** Reads until one client has events of a new connection and the other has been refused. */
    const only = async (reads: MarketData, refused: MarketData): Promise<void> => {
      const { connections } = reads.account();
      const events = reads[Symbol.asyncIterator]();
      for (let current = 0; current <= connections;) {
        const { value } = (await events.next()) as { readonly value: MarketEvent };
        if (value.type === "connected") current = value.connections;
      }
      assert.notEqual(((await events.next()) as { readonly value: MarketEvent }).value.type, "connected");
      while (refused.account().lastError?.startsWith("a token is required") !== true) await turn();
      const before = refused.account();
      const { received } = reads.account();
      while (reads.account().received < received + 100) await turn();
      assert.equal(refused.account().connections, before.connections);
    };
    try {
      await only(first, second);
      require("second.token");
      gateway.kill("SIGHUP");
      await only(second, first);
      require("first.token");
      gateway.kill("SIGHUP");
      await only(first, second);
      assert.deepEqual(
        clients.map((market) => market.account().connections),
        [2, 1],
      );
      for (const market of clients) {
        const { received, delivered, undelivered, missedHere, waiting, badLines, by } = market.account();
        assert.equal(received, delivered + undelivered + missedHere + waiting);
        assert.deepEqual([badLines, by], [0, "tcp"]);
      }
    } finally {
      await end(sender, "SIGKILL");
      await end(gateway, "SIGKILL");
      sweep(name);
      rmSync(folder, { recursive: true });
    }
  },
);
