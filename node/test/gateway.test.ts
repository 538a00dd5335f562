// A real gateway, read in shared memory, by TCP and by WebSocket side by side. MILLPOND_PROGRAM: the program millpond.
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { MarketData, type MarketEvent, type MarketQuote, MarketRing } from "millpond";
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
/** What a client may fall behind while this process does not get to run: minutes. */
const BACKLOG = 262_144;

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

/** A gateway with the demo's data. */
function demo(ring: string, ...more: readonly string[]): ChildProcess {
  const silent = ["--metrics", "off", "--quiet"];
  const data = ["--demo", "--demo-rate", "1000"];
  return spawn(program, ["gateway", "--ring", `name=${ring}`, ...more, ...silent, ...data], { stdio: "ignore" });
}

async function end(gateway: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  const ended = once(gateway, "exit");
  if (gateway.exitCode === null && gateway.signalCode === null) {
    gateway.kill(signal);
    await ended;
  }
}

/** What killed gateways leave in shared memory. */
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

test(
  "a gateway's ring, its tcp and its web sink tell the same, event by event, and the ring's account closes",
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

/** Reads until the ring, or the network, brings events after a `connected` event; how many of these there were. */
async function until(events: AsyncIterator<MarketEvent>, arrived: () => boolean): Promise<number> {
  let connected = 0;
  for (;;) {
    const { value } = (await events.next()) as { readonly value: MarketEvent };
    if (value.type === "connected") connected++;
    else if (arrived() && connected > 0) return connected;
  }
}

test(
  "a ring whose gateway is killed gives way to the network, and is read again when it has a writer",
  { skip },
  async () => {
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
  },
);

test("a new writer of a ring is a connected event, after a kill as after an end", { skip }, async () => {
  const name = `node-again-${process.pid}`;
  let gateway = demo(name);
  using market = new MarketData({ ring: name, reconnectMs: 20 });
  try {
    const events = market[Symbol.asyncIterator]();
    assert.equal(await until(events, () => true), 1);
    for (const signal of ["SIGKILL", "SIGTERM", "SIGKILL"] as const) {
      await end(gateway, signal);
      gateway = demo(name);
      // The stream of the one that ended may be read once more before the new one writes.
      assert.ok((await until(events, () => true)) >= 1);
      assert.equal(market.account().by, "ring");
    }
  } finally {
    await end(gateway, "SIGKILL");
    sweep(name);
  }
});

test(
  "by TLS a reload that changes the token ends the client, which is not connected again before its token counts again",
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
    // The demo's gateway ends with its terminal instead of reading its settings again.
    const settings = ["--config", join(folder, "gateway.toml"), "--feed", `name=f,format=quotes,listen=${feed}`];
    const given = ["--ring", `name=${name}`, "--metrics", "off", "--quiet", ...settings];
    const gateway = spawn(program, ["gateway", ...given], { stdio: "ignore" });
    const sender = spawn(program, ["generate", "--rate", "1000", "--to", feed, "--quiet"], { stdio: "ignore" });
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
