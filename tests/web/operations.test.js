// The page for operations in real Chromium: states, order, filters, clients, and a layout that does not move.
import assert from "node:assert/strict";
import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import net from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";

import { faults, launch, open, overflow, picture, shifts } from "./browser.js";
import { Sender, startGateway } from "./gateway.js";

const QUOTE = { symbol: "AAPL", bid: 1_892_400, ask: 1_892_600 };
const ADMIN = "an-admin-secret-of-some-length";

let browser;
let folder;

before(async () => {
  browser = await launch();
  folder = mkdtempSync(join(tmpdir(), "millpond-operations-"));
});

after(async () => {
  await browser?.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Runs with a gateway and a page, and closes everything afterwards. */
async function withGateway(more, options, viewport, use) {
  const gateway = await startGateway(more, options);
  const feed = new Sender(gateway.feedPort);
  const view = await open(browser, gateway.url, { viewport });
  try {
    await use({ gateway, feed, view });
  } finally {
    await view.context().close();
    feed.close();
    await gateway.stop();
  }
}

const WIDE = { width: 1440, height: 900 };
const names = (view, table) => view.locator(`${table} tr[data-name]`).evaluateAll((rows) => rows.map((row) => row.dataset.name));
const cell = (view, table, name, title) => view.locator(`${table} tr[data-name="${name}"] td[data-label="${title}"]`);

/** A TCP client of JSON lines. */
async function connect(port) {
  const socket = net.connect(port, "127.0.0.1");
  await new Promise((done, failed) => { socket.once("connect", done).once("error", failed); });
  return socket;
}

test("waiting, connected and healthy are three states, and nothing is green before data", async () => {
  await withGateway([], {}, WIDE, async ({ feed, view }) => {
    await view.locator("#health[data-state=waiting]").waitFor();
    assert.equal(await view.locator("#health-text").textContent(), "Waiting for the first datagram");
    assert.equal(await cell(view, "#feeds", "planted", "State").textContent(), "waiting for the first datagram");
    assert.equal(await view.locator("#feeds th[scope=row], #sinks th[scope=row]").evaluateAll((heads) => heads.filter(({ dataset }) => dataset.state === "good").length), 0);
    await view.waitForFunction(() => document.title.startsWith("○ Waiting for the first datagram – "));
    assert.equal(await view.locator("#icon").getAttribute("href"), "icon-waiting.svg");
    await picture(view, "waiting");
    await feed.send([]); // a heartbeat
    await view.locator("#health[data-state=info]").waitFor();
    assert.equal(await view.locator("#health-text").textContent(), "Connected, no quotes yet");
    assert.equal(await cell(view, "#feeds", "planted", "State").textContent(), "connected");
    await feed.send([QUOTE]);
    await view.locator("#health[data-state=good]").waitFor();
    assert.equal(await view.locator("#health-text").textContent(), "Healthy");
    await cell(view, "#feeds", "planted", "State").getByText("healthy").waitFor();
    await view.waitForFunction(() => document.title.startsWith("● Healthy – "));
    assert.equal(await view.locator("#icon").getAttribute("href"), "icon.svg");
  });
});

test("the header says which gateway it is, its version and since when it runs, and the title has its name", async () => {
  await withGateway(["--name", "md-1"], {}, WIDE, async ({ view }) => {
    await view.locator("#gateway-name").getByText(/^md-1 on \S+$/).waitFor();
    assert.match(await view.locator("#gateway-version").textContent(), /^\d+\.\d+\.\d+/);
    assert.match(await view.locator("#gateway-uptime").textContent(), /^up \d/);
    assert.equal(await view.locator("#gateway-config").textContent(), "no configuration file");
    await view.waitForFunction(() => document.title.includes(" – md-1 "));
  });
});

test("a configuration file that has changed since the start is marked", async () => {
  const file = join(folder, "gateway.toml");
  writeFileSync(file, 'log_level = "info"\n');
  await withGateway(["--config", file], {}, WIDE, async ({ view }) => {
    await view.locator("#gateway-config").getByText(file).waitFor();
    assert.equal(await view.locator("#gateway-changed").isVisible(), false);
    appendFileSync(file, "# changed\n");
    await view.locator("#gateway-changed").waitFor();
    writeFileSync(file, 'log_level = "info"\n');
    await view.locator("#gateway-changed").waitFor({ state: "hidden" });
  });
});

test("bad rows come first, but not while the pointer is on the table", async () => {
  const more = ["a", "b", "c"].flatMap((name) => ["--feed", `name=${name},listen=127.0.0.1:0,format=quotes`]);
  await withGateway(more, { feeds: ["a", "b", "c"] }, WIDE, async ({ gateway, feed, view }) => {
    const last = new Sender(gateway.portOf("c"));
    const others = ["a", "b"].map((name) => new Sender(gateway.portOf(name)));
    try {
      for (const sender of [feed, last, ...others]) await sender.send([QUOTE]);
      await view.waitForFunction(() => document.querySelectorAll("#feeds th[data-state=good]").length === 4);
      assert.deepEqual(await names(view, "#feeds"), ["planted", "a", "b", "c"]);
      await view.locator("#feeds").hover();
      last.lose(3);
      await last.send([QUOTE]);
      await cell(view, "#feeds", "c", "Missing").getByText("3").waitFor();
      await cell(view, "#feeds", "c", "State").getByText("gap").waitFor();
      assert.deepEqual(await names(view, "#feeds"), ["planted", "a", "b", "c"]);
      await view.mouse.move(5, 5);
      await view.waitForFunction(() => document.querySelector("#feeds tr[data-name]").dataset.name === "c");
      assert.deepEqual(await names(view, "#feeds"), ["c", "planted", "a", "b"]);
    } finally {
      last.close();
      for (const sender of others) sender.close();
    }
  });
});

test("filters hide rows, say so, and are in the address", async () => {
  const more = ["--feed", "name=second,listen=127.0.0.1:0,format=quotes"];
  await withGateway(more, { feeds: ["second"] }, WIDE, async ({ feed, view }) => {
    await feed.send([QUOTE]);
    await cell(view, "#feeds", "planted", "State").getByText("healthy").waitFor();
    await view.getByRole("button", { name: "Only problems" }).click();
    await view.waitForFunction(() => document.querySelectorAll("#feeds tr[data-name]").length === 1);
    assert.deepEqual(await names(view, "#feeds"), ["second"]);
    assert.equal(new URL(view.url()).hash, "#/?rows=bad");
    await view.getByLabel("Filter feeds, sinks and clients").fill("plan");
    await view.locator("#feeds").getByText("The filter hides 2.").waitFor();
    assert.equal(new URL(view.url()).hash, "#/?filter=plan&rows=bad");
    await view.reload();
    await view.locator("#feeds").getByText("The filter hides 2.").waitFor();
    assert.equal(await view.getByLabel("Filter feeds, sinks and clients").inputValue(), "plan");
    await view.getByRole("button", { name: "Only problems" }).click();
    await view.waitForFunction(() => document.querySelectorAll("#feeds tr[data-name]").length === 1);
    assert.deepEqual(await names(view, "#feeds"), ["planted"]);
  });
});

test("every column says what it means", async () => {
  await withGateway([], {}, WIDE, async ({ view }) => {
    await view.locator("#feeds tr[data-name=planted]").waitFor();
    const silent = await view.locator("#feeds thead th, #sinks thead th, #clients thead th, #quotes [role=columnheader]").evaluateAll((heads) => heads.filter(({ title }) => title.length < 10).map(({ textContent }) => textContent));
    assert.deepEqual(silent, []);
  });
});

test("clients are listed by address and name, and the admin token disconnects one", async () => {
  const token = join(folder, "admin.token");
  writeFileSync(token, `${ADMIN}\n`, { mode: 0o600 });
  const web = join(folder, "web.token");
  writeFileSync(web, "a-secret-of-some-length\n", { mode: 0o600 });
  await withGateway(["--admin-token-file", token, "--tcp", "name=lines,listen=127.0.0.1:0"], { web: `listen=127.0.0.1:0,token_file=${web}` }, WIDE, async ({ feed, gateway, view }) => {
    await view.getByLabel("Token", { exact: true }).fill("a-secret-of-some-length");
    await view.getByRole("dialog").getByRole("button", { name: "Sign in" }).click();
    await view.locator("body[data-link=live]").waitFor();
    const client = await connect(gateway.listening("lines"));
    const left = new Promise((done) => { client.once("close", done); });
    let said = "";
    client.on("data", (data) => { said += data; });
    client.write('{"name":"pricer"}\n');
    await feed.send([QUOTE]);
    const address = `127.0.0.1:${client.localPort}`;
    const row = view.locator("#clients tr[data-name]", { hasText: address });
    await row.getByText("pricer").waitFor();
    assert.equal(await row.locator("td[data-label=Of]").textContent(), "lines");
    await row.locator("td[data-label=Delivered]").getByText("1", { exact: true }).waitFor();
    await view.locator("#clients tr[data-name]", { hasText: "page" }).first().waitFor();
    await row.getByRole("button", { name: "Disconnect" }).click();
    await view.getByText(`${address} of sink “lines” loses its connection`, { exact: false }).waitFor();
    await picture(view, "disconnect");
    await view.getByLabel("Admin token").fill("a-wrong-secret-of-some-length");
    await view.getByRole("dialog").getByRole("button", { name: "Disconnect" }).click();
    await view.getByText("The gateway did not accept this admin token.").waitFor();
    await view.getByLabel("Admin token").fill(ADMIN);
    await view.getByRole("dialog").getByRole("button", { name: "Disconnect" }).click();
    await left;
    assert.match(said, /"type":"bye","text":"an operator has closed this connection"/);
    await row.waitFor({ state: "detached" });
    assert.deepEqual(await faults(view), []);
  });
});

test("without an admin token there is no button to disconnect", async () => {
  await withGateway([], {}, WIDE, async ({ view }) => {
    await view.locator("#clients tr[data-name]", { hasText: "page" }).first().waitFor();
    assert.equal(await view.getByRole("button", { name: "Disconnect" }).count(), 0);
  });
});

test("loading, data, findings that come and go, and clients move nothing on the page", async () => {
  for (const viewport of [WIDE, { width: 390, height: 844 }]) {
    await withGateway(["--csv", "name=rows,path=/dev/full,flush_ms=50"], {}, viewport, async ({ feed, view }) => {
      await view.locator("#health[data-state=waiting]").waitFor();
      await feed.send([QUOTE]);
      await view.locator("#findings strong", { hasText: "sink behind: sink 'rows'" }).waitFor();
      await view.locator("#quotes .body [role=row]:visible [data-key=bid]").first().getByText("189.2400").waitFor();
      feed.lose(3);
      await feed.send([QUOTE]);
      await view.locator("#findings strong", { hasText: "gap: feed 'planted'" }).waitFor();
      await view.locator("#findings strong", { hasText: "gap: feed 'planted'" }).waitFor({ state: "detached" });
      assert.deepEqual(await shifts(view), [], `${viewport.width}`);
      assert.equal(await overflow(view), 0);
      await picture(view, `operations-${viewport.width}`);
    });
  }
});

test("thirty feeds: nothing overflows, no serious fault of accessibility, and the quotes are in the first screen", async () => {
  const feeds = Array.from({ length: 29 }, (_, i) => `feed-${i}`);
  await withGateway(feeds.flatMap((name) => ["--feed", `name=${name},listen=127.0.0.1:0,format=quotes`]), { feeds }, { width: 2560, height: 1440 }, async ({ feed, view }) => {
    await feed.send([QUOTE]);
    await view.locator("#feeds tr[data-name=feed-28]").waitFor({ state: "attached" });
    const { y } = await view.locator("#quotes").boundingBox();
    assert.ok(y < 1_000, `${y}`);
    assert.deepEqual(await faults(view), []);
    await picture(view, "thirty-feeds-2560");
    await view.setViewportSize({ width: 390, height: 844 });
    assert.equal(await overflow(view), 0);
    await picture(view, "thirty-feeds-390");
  });
});

test("the first load is at most 90 KB over the network", async () => {
  await withGateway([], {}, WIDE, async ({ gateway }) => {
    const view = await open(browser, "about:blank", { viewport: WIDE });
    let bytes = 0;
    const session = await view.context().newCDPSession(view);
    await session.send("Network.enable");
    const files = new Map();
    session.on("Network.responseReceived", ({ requestId, response }) => files.set(requestId, new URL(response.url).pathname));
    session.on("Network.loadingFinished", ({ requestId, encodedDataLength }) => {
      if (/^\/(api|health)/.test(files.get(requestId) ?? "")) return;
      bytes += encodedDataLength;
    });
    await view.goto(gateway.url);
    await view.locator("body[data-link=live]").waitFor();
    assert.ok(bytes > 20_000 && bytes <= 90 * 1_024, `${bytes} bytes`);
    await view.context().close();
  });
});
