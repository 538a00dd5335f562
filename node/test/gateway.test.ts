// A real gateway, read in shared memory, by TCP and by WebSocket side by side. MILLPOND_PROGRAM: the program millpond.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { test } from "node:test";
import { MarketData, type MarketEvent, type MarketQuote, MarketRing } from "millpond";

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
    const gateway = spawn(
      program,
      [
        "gateway",
        "--ring",
        `name=${name}`,
        "--tcp",
        `listen=127.0.0.1:${port},backlog=${BACKLOG}`,
        "--web",
        `listen=127.0.0.1:${webPort},backlog=${BACKLOG}`,
        "--metrics",
        "off",
        "--quiet",
        "--demo",
        "--demo-rate",
        "1000",
      ],
      { stdio: "ignore" },
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
