// The page in real Chromium: what it shows is what was sent.
import assert from "node:assert/strict";
import { mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { after, before, test } from "node:test";

import { chromium } from "playwright-core";

import { Sender, startGateway } from "./gateway.js";

const PATIENCE_MS = 30_000;
const screenshots = process.env.MILLPOND_SCREENSHOTS ?? "../../build/screenshots";
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

const INCOMPLETE = 1;
const HALTED = 2;
const PLANTED = [
  { symbol: "AAPL", bid: 1_892_400, ask: 1_892_600, bidSize: 300, askSize: 200 },
  { symbol: "BRK.B", bid: 4_101_000, ask: 4_103_000, flags: INCOMPLETE },
  { symbol: "MSFT", bid: 3_705_000, ask: 3_705_500, bidSize: 1_200, askSize: 900 },
  { symbol: "ZVZZT", bid: 100_000, ask: 100_100, flags: HALTED },
  { symbol: "EMPTY", bid: 0, ask: 0, bidSize: 0, askSize: 0 },
];

let gateway;
let sender;
let browser;
let page;

before(async () => {
  mkdirSync(screenshots, { recursive: true });
  gateway = await startGateway();
  browser = await chromium.launch({ executablePath: process.env.MILLPOND_CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
  sender = new Sender(gateway.feedPort);
  page = await open(gateway.url, { viewport: { width: 1280, height: 1000 } });
});

after(async () => {
  await browser?.close();
  sender?.close();
  await gateway?.stop();
});

async function open(url, options) {
  const context = await browser.newContext({ reducedMotion: "no-preference", ...options });
  context.setDefaultTimeout(PATIENCE_MS);
  const opened = await context.newPage();
  opened.on("pageerror", (error) => { throw error; });
  await opened.goto(url);
  return opened;
}

const row = (symbol) => page.locator("#quotes .body [role=row]:visible", { has: page.getByText(symbol, { exact: true }) });
const shown = () => page.locator("#quotes .body [role=row]:visible");
const column = (key) => page.locator(`#quotes .body [role=row]:visible [data-key=${key}]`).allTextContents();
const picture = (name, of = page) => of.screenshot({ path: `${screenshots}/${name}.png`, fullPage: true });

/** Serious faults that axe-core finds. */
async function faults(of) {
  await of.evaluate(axe);
  const { violations } = await of.evaluate(() => globalThis.axe.run(document));
  return violations.filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).slice(0, 3).join(" ")}`);
}

const overflow = (of) => of.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);

test("the quotes on the page are those that were sent", async () => {
  await sender.send(PLANTED);
  await row("ZVZZT").waitFor();
  for (const { symbol, bid, ask, bidSize = 100, askSize = 100, flags = 0 } of PLANTED) {
    const cell = (key) => row(symbol).locator(`[data-key=${key}]`).textContent();
    const empty = bidSize === 0;
    assert.equal(await cell("bid"), empty ? "" : (bid / 10_000).toFixed(4), symbol);
    assert.equal(await cell("ask"), empty ? "" : (ask / 10_000).toFixed(4), symbol);
    assert.equal(await cell("bidShares"), empty ? "" : bidSize.toLocaleString("en"), symbol);
    assert.equal(await cell("askShares"), empty ? "" : askSize.toLocaleString("en"), symbol);
    assert.equal(await cell("state"), { 0: "", [INCOMPLETE]: "incomplete", [HALTED]: "halted" }[flags], symbol);
  }
});

test("a change flashes in its direction", async () => {
  await sender.send([{ symbol: "MSFT", bid: 3_706_000, ask: 3_705_400 }]);
  await row("MSFT").locator("[data-key=bid][data-flash^=u]").waitFor();
  await row("MSFT").locator("[data-key=ask][data-flash^=d]").waitFor();
});

test("five thousand symbols are searched, sorted and scrolled, and few rows are drawn", async () => {
  for (let i = 0; i < 5_000; i += 25) {
    await sender.send(Array.from({ length: 25 }, (_, n) => ({ symbol: `S${String(i + n).padStart(4, "0")}`, bid: 10_000 + i + n, ask: 10_100 + i + n })));
  }
  await page.getByText("5,005 symbols").waitFor();
  assert.ok(await page.locator("#quotes .body [role=row]").count() < 60);
  await page.getByLabel("Search symbols").fill("s49");
  await page.getByText("100 of 5,005 symbols").waitFor();
  assert.ok((await column("symbol")).every((symbol) => symbol.startsWith("S49")));
  await page.getByLabel("Search symbols").fill("");
  await page.getByRole("button", { name: "Bid", exact: true }).click();
  await page.locator("[data-key=bid][aria-sort=descending]").waitFor();
  assert.deepEqual((await column("symbol")).slice(0, 3), ["BRK.B", "MSFT", "AAPL"]);
  await page.getByRole("button", { name: "Symbol" }).click();
  await page.locator("#quotes").evaluate((grid) => { grid.scrollTop = grid.scrollHeight; });
  await row("ZVZZT").waitFor();
  await page.locator("#quotes").evaluate((grid) => { grid.scrollTop = 0; });
  await row("AAPL").waitFor();
});

test("keys choose a symbol, whose chart is drawn", async () => {
  await page.locator("#quotes").focus();
  await page.keyboard.press("Home");
  await page.getByRole("heading", { name: "AAPL" }).waitFor();
  await page.keyboard.press("ArrowDown");
  await page.getByRole("heading", { name: "BRK.B" }).waitFor();
  await page.keyboard.press("Home");
  for (let i = 0; i < 30; i += 1) {
    const bid = 1_892_400 + 100 * Math.round(8 * Math.sin(i / 4));
    await sender.send([{ symbol: "AAPL", bid, ask: bid + 200 + 100 * (i % 3) }]);
    await page.waitForTimeout(40);
  }
  await page.locator("#prices canvas").first().waitFor();
  assert.match(await page.locator("#chart-now").textContent(), /bid \d+\.\d{4}\s+ask \d+\.\d{4}\s+spread 0\.0[234]00/);
  await page.keyboard.press("/");
  assert.equal(await page.evaluate(() => document.activeElement.id), "search");
});

test("a planted gap is shown", async (t) => {
  // Not "good": one of the planted symbols is halted, which is told and is no fault.
  await page.locator("#health[data-state=info]").waitFor();
  const begin = Date.now();
  sender.lose(3);
  await sender.send([PLANTED[0]]);
  await page.locator("#health[data-state=warning]").waitFor();
  t.diagnostic(`shown after ${Date.now() - begin} ms`);
  assert.match(await page.locator("#health").textContent(), /gap: feed 'planted': 3 sequence numbers are missing/);
  assert.match(await page.locator("#feeds").textContent(), /Missing3/);
});

test("light and wide: nothing overflows and axe finds no serious fault", async () => {
  assert.equal(await overflow(page), 0);
  assert.deepEqual(await faults(page), []);
  await picture("light");
});

test("dark on a phone: nothing overflows and axe finds no serious fault", async () => {
  const phone = await open(gateway.url, { viewport: { width: 390, height: 844 }, colorScheme: "dark", reducedMotion: "reduce" });
  await phone.getByText("5,005 symbols").waitFor();
  await phone.locator("#feeds article").waitFor();
  await phone.locator("#prices canvas").first().waitFor();
  assert.equal(await overflow(phone), 0);
  assert.deepEqual(await faults(phone), []);
  await picture("dark-phone", phone);
  await phone.setViewportSize({ width: 1680, height: 1000 });
  await picture("dark-wide", phone);
  assert.equal(await overflow(phone), 0);
  await phone.context().close();
});

test("a dead sink is shown", async (t) => {
  const other = await startGateway(["--csv", "name=rows,path=/dev/full,flush_ms=50"]);
  const feed = new Sender(other.feedPort);
  try {
    const view = await open(other.url, { viewport: { width: 1280, height: 1000 } });
    await view.locator("#health[data-state=good]").waitFor();
    const begin = Date.now();
    await feed.send(PLANTED);
    await view.locator("#health[data-state=error]").waitFor();
    t.diagnostic(`shown after ${Date.now() - begin} ms`);
    assert.match(await view.locator("#health").textContent(), /sink behind: sink 'rows': .*No space left on device/);
    await picture("dead-sink", view);
    await view.context().close();
  } finally {
    feed.close();
    await other.stop();
  }
});

test("a sink whose broker is not there is shown", async (t) => {
  let other;
  try {
    other = await startGateway(["--mqtt", "name=broker,broker=127.0.0.1:1"]);
  } catch (error) {
    if (!/no libmosquitto/.test(error.message)) throw error;
    t.skip("this build has no libmosquitto");
    return;
  }
  try {
    const view = await open(other.url, { viewport: { width: 390, height: 844 } });
    await view.locator("#health[data-state=error]").waitFor();
    assert.match(await view.locator("#health").textContent(), /sink behind: sink 'broker': it is not connected; .*Connection refused/);
    const card = await view.locator("#sinks article[data-name=broker]").textContent();
    assert.match(card, /mqtt/);
    assert.match(card, /Connectedno/);
    assert.equal(await overflow(view), 0);
    assert.deepEqual(await faults(view), []);
    await view.context().close();
  } finally {
    await other.stop();
  }
});
