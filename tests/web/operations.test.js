// The page for operations in real Chromium: states, order, filters, clients, and a layout that does not move.
import assert from "node:assert/strict";
import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import net from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";

import { faults, launch, open, overflow, picture, shifts } from "./browser.js";
import { Sender, startGateway } from "./gateway.js";

const ADMIN = "an-admin-secret-of-some-length";
const QUOTE = { symbol: "AAPL", bid: 1_892_400, ask: 1_892_600 };

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

/** Writes a file that only its owner can read. */
function secret(name, text) {
  const file = join(folder, name);
  writeFileSync(file, `${text}\n`, { mode: 0o600 });
  return file;
}

/** A TCP client of JSON lines. closed: resolves to all that it received, when it is disconnected. */
async function connect(port, request) {
  const socket = net.connect(port, "127.0.0.1");
  let said = "";
  socket.on("data", (data) => { said += data; });
  const closed = new Promise((done) => { socket.once("close", () => done(said)); });
  await new Promise((done, failed) => { socket.once("connect", done).once("error", failed); });
  socket.write(`${JSON.stringify(request)}\n`);
  return { address: `127.0.0.1:${socket.localPort}`, closed, end: () => socket.destroy() };
}

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

test("waiting, connected and healthy are three states, and nothing is green before data", async () => {
  await withGateway([], {}, WIDE, async ({ feed, view }) => {
    await view.locator("#health[data-state=waiting]").waitFor();
    assert.equal(await view.locator("#health-text").textContent(), "Waiting for the first datagram");
    assert.equal(await cell(view, "#feeds", "planted", "State").textContent(), "waiting for the first datagram");
    assert.equal(await view.locator("#feeds th[scope=row], #sinks th[scope=row]").evaluateAll((heads) => heads.filter(({ dataset }) => dataset.state === "good").length), 0);
    await view.waitForFunction(() => document.title.startsWith("○ Waiting for the first datagram – "));
    assert.equal(await view.locator("#icon").getAttribute("href"), "icon-waiting.svg");
    await picture(view, "waiting");
    const silent = await view.locator("#feeds thead th, #sinks thead th, #clients thead th, #quotes [role=columnheader]").evaluateAll((heads) => heads.filter(({ title }) => title.length < 10).map(({ textContent }) => textContent));
    assert.deepEqual(silent, [], "columns do not say what they mean");
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

test("the header and the title name the gateway, its version, uptime and configuration", async () => {
  const file = join(folder, "gateway.toml");
  writeFileSync(file, 'log_level = "info"\n');
  await withGateway(["--name", "md-1", "--config", file], {}, WIDE, async ({ view }) => {
    await view.locator("#gateway-name").getByText(/^md-1 on \S+$/).waitFor();
    assert.match(await view.locator("#gateway-version").textContent(), /^\d+\.\d+\.\d+/);
    assert.match(await view.locator("#gateway-uptime").textContent(), /^up \d/);
    await view.waitForFunction(() => document.title.includes(" – md-1 on "));
    assert.equal(await view.locator("#gateway-config").textContent(), file);
    assert.equal(await view.locator("#gateway-changed").isVisible(), false);
    appendFileSync(file, "# changed\n");
    await view.locator("#gateway-changed").waitFor();
    await picture(view, "changed");
    writeFileSync(file, 'log_level = "info"\n');
    await view.locator("#gateway-changed").waitFor({ state: "hidden" });
    assert.deepEqual(await shifts(view), []);
  });
});

test("clients are listed by address and name, lossy ones first, and the admin token disconnects one", async () => {
  const web = `listen=127.0.0.1:0,token_file=${secret("web.token", "a-secret-of-some-length")}`;
  const more = ["--admin-token-file", secret("admin.token", ADMIN), "--tcp", "name=lines,listen=127.0.0.1:0,mode=every"];
  await withGateway(more, { web }, WIDE, async ({ gateway, feed, view }) => {
    await view.getByLabel("Token", { exact: true }).fill("a-secret-of-some-length");
    await view.getByRole("dialog").getByRole("button", { name: "Sign in" }).click();
    await view.locator("body[data-link=live]").waitFor();
    const client = await connect(gateway.listening("lines"), { name: "pricer" });
    const other = await connect(gateway.listening("lines"), { name: "<b>other</b>" });
    try {
      const row = (text) => view.locator("#clients tr[data-name]", { hasText: text });
      await row(client.address).getByText("pricer").waitFor();
      await row(other.address).getByText("<b>other</b>").waitFor();
      await feed.send([QUOTE]);
      await row(client.address).locator("td[data-label=Delivered]").getByText("1", { exact: true }).waitFor();
      assert.equal(await row(client.address).locator("td[data-label=Of]").textContent(), "lines");
      await row("page").first().waitFor();
      assert.equal(await view.locator("#clients button").count(), 3, "the rings have readers besides");
      await row(client.address).getByRole("button", { name: "Disconnect" }).click();
      await view.getByText(`Client ${client.address} of sink “lines” loses its connection`).waitFor();
      await picture(view, "disconnect");
      assert.deepEqual(await faults(view), []);
      const confirm = async (token) => {
        await view.getByLabel("Admin token").fill(token);
        await view.getByRole("dialog").getByRole("button", { name: "Disconnect" }).click();
      };
      await confirm("a-wrong-secret-of-some-length");
      await view.getByText("The admin token was not accepted.").waitFor();
      await confirm(ADMIN);
      assert.match(await client.closed, /"type":"bye","text":"an operator has closed this connection"/);
      await view.mouse.move(5, 5);
      await row(client.address).waitFor({ state: "detached" });
      await row(other.address).waitFor();
      await view.locator("#events").getByText(`an operator disconnects client ${client.address}`).waitFor();
      assert.equal(await view.evaluate(() => document.querySelector("#act-token").value), "");
      await picture(view, "clients");
    } finally {
      client.end();
      other.end();
    }
  });
});

test("with many clients the page ends at its footer", async () => {
  await withGateway(["--tcp", "name=lines,listen=127.0.0.1:0"], {}, WIDE, async ({ gateway, view }) => {
    const clients = await Promise.all(Array.from({ length: 40 }, () => connect(gateway.listening("lines"), {})));
    try {
      await view.locator("#clients-count").getByText(/^4\d$/).waitFor();
      const below = await view.evaluate(() => document.documentElement.scrollHeight - scrollY - document.querySelector("footer").getBoundingClientRect().bottom);
      assert.ok(below < 40, `${below} pixels`);
    } finally {
      for (const client of clients) client.end();
    }
  });
});

test("without an admin token clients are shown, and none can be disconnected", async () => {
  await withGateway([], {}, WIDE, async ({ gateway, view }) => {
    await view.locator("#clients tr[data-name]", { hasText: "page" }).waitFor();
    assert.equal(await view.locator("#clients button").count(), 0);
    const { status } = await fetch(new URL("api/disconnect?sink=web&id=1", gateway.url), { method: "POST" });
    assert.equal(status, 405);
  });
});

test("bad rows come first, but not while the pointer is on the table", async () => {
  const more = ["a", "b", "c"].flatMap((name) => ["--feed", `name=${name},listen=127.0.0.1:0,format=quotes,stale_seconds=0`]);
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
  const more = ["--feed", "name=second,listen=127.0.0.1:0,format=quotes,stale_seconds=0"];
  await withGateway(more, { feeds: ["second"] }, WIDE, async ({ feed, view }) => {
    await feed.send([QUOTE]);
    await cell(view, "#feeds", "planted", "State").getByText("healthy").waitFor();
    await view.getByRole("button", { name: "Only problems" }).click();
    await view.waitForFunction(() => document.querySelectorAll("#feeds tr[data-name]").length === 1);
    assert.deepEqual(await names(view, "#feeds"), ["second"]);
    await view.locator("#feeds").getByText("The filter hides 1.").waitFor();
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

test("loading, data, and findings that come and go move nothing on the page", async () => {
  const more = ["--csv", "name=rows,path=/dev/full,flush_ms=50"];
  await withGateway(more, { stale: 10 }, WIDE, async ({ gateway, feed, view }) => {
    const phone = await open(browser, gateway.url, { viewport: { width: 390, height: 844 } });
    const both = (look) => Promise.all([view, phone].map(look));
    const finding = (of, title) => of.locator("#findings strong", { hasText: title });
    try {
      await both((of) => finding(of, "no datagrams: feed 'planted'").waitFor());
      await feed.send([QUOTE]);
      await both((of) => finding(of, "sink behind: sink 'rows'").waitFor());
      await both((of) => of.locator("#quotes .body [role=row]:visible [data-key=bid]").first().getByText("189.2400").waitFor());
      feed.lose(3);
      await feed.send([QUOTE]);
      await both((of) => finding(of, "gap: feed 'planted'").waitFor());
      await both((of) => finding(of, "gap: feed 'planted'").waitFor({ state: "detached" }));
      assert.deepEqual(await both(shifts), [[], []]);
      assert.deepEqual(await both(overflow), [0, 0]);
      await picture(view, "operations-1440");
      await picture(phone, "operations-390");
    } finally {
      await phone.context().close();
    }
  });
});

test("thirty feeds: nothing overflows, no serious fault of accessibility, and the quotes are in the first screen", async () => {
  const feeds = Array.from({ length: 29 }, (_, i) => `feed-${i}`);
  const lines = "listen=127.0.0.1:0,line_b=127.0.0.1:0,format=quotes,stale_seconds=0";
  await withGateway(feeds.flatMap((name) => ["--feed", `name=${name},${lines}`]), { feeds }, { width: 2560, height: 1440 }, async ({ feed, view }) => {
    await feed.send([QUOTE]);
    await view.locator("#feeds tr[data-name=feed-28]").waitFor({ state: "attached" });
    const { y } = await view.locator("#quotes").boundingBox();
    assert.ok(y < 1_000, `${y}`);
    assert.deepEqual(await faults(view), []);
    await view.locator("#history-rate canvas").first().waitFor();
    assert.equal(await view.locator("#history-note").textContent(), "");
    await picture(view, "thirty-feeds-2560");
    await view.setViewportSize({ width: 390, height: 844 });
    assert.equal(await overflow(view), 0);
    const { width } = await view.locator("#feeds .note td").first().boundingBox();
    assert.ok(width > 200, `a line has ${width} pixels`);
    await picture(view, "thirty-feeds-390");
  });
});
