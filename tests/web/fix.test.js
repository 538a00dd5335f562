// The page of a FIX engine in real Chromium shows the actions of its sessions.
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";

import { chromium } from "playwright-core";

import { PAGE, PORT, startFix } from "./fix-engine.js";

const PATIENCE_MS = 30_000;
const HOSTILE = "<img src=x onerror=document.title='broken'>";
const SECRET = "web-secret-0123456789";
const screenshots = process.env.MILLPOND_SCREENSHOTS ?? "../../build/screenshots";
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const folder = mkdtempSync(join(tmpdir(), "millpond-fix-"));
const start = (args, marks) => startFix(args, marks, join(folder, "state"));

let house;
let desk;
let browser;
let page;

const config = join(folder, "fix.toml");
const session = (target, more = "") => `[[session]]\nsender = "HOUSE"\ntarget = "${target}"\n${more}`;
const configure = (sessions) => writeFileSync(config, `[[web]]\nlisten = "127.0.0.1:0"\n[[acceptor]]\nlisten = "127.0.0.1:0"\n${sessions}`);
const dial = (...more) => start(["initiator", "--stay", "--script", "/dev/null", "--session",
  `sender=DESK,target=HOUSE,hosts=127.0.0.1:${house.word(PORT)},reset_on_logon=true,reconnect_ms=50,reconnect_longest_ms=100`, ...more], [/logged on/]);

async function open(url, options) {
  const context = await browser.newContext(options);
  context.setDefaultTimeout(PATIENCE_MS);
  const opened = await context.newPage();
  opened.on("pageerror", (error) => { throw error; });
  await opened.goto(url);
  return opened;
}

const row = (of, name) => of.locator(`#sessions tr[data-name="${name}"]`);
async function cellOf(of, name, title) {
  const titles = await of.locator("#sessions thead th").allTextContents();
  return row(of, name).locator("> *").nth(titles.indexOf(title)).textContent();
}

before(async () => {
  mkdirSync(screenshots, { recursive: true });
  configure(session("DESK") + session(HOSTILE) + session("OUT", "enabled = false\n"));
  house = await start(["acceptor", "--config", config], [PAGE, PORT]);
  desk = await dial();
  browser = await chromium.launch({ executablePath: process.env.MILLPOND_CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
  page = await open(house.word(PAGE), { viewport: { width: 1440, height: 900 } });
});

after(async () => {
  await browser?.close();
  await desk?.stop();
  await house?.stop("SIGKILL");
  rmSync(folder, { recursive: true });
});

test("each session has its state, peer and numbers", async () => {
  await row(page, "FIX.4.4:HOUSE->DESK").getByText("active").waitFor();
  assert.match(await cellOf(page, "FIX.4.4:HOUSE->DESK", "Peer"), /^127\.0\.0\.1:\d+$/);
  assert.equal(await cellOf(page, "FIX.4.4:HOUSE->DESK", "Next out"), "2");
  assert.equal(await cellOf(page, "FIX.4.4:HOUSE->DESK", "Next in"), "2");
  assert.equal(await cellOf(page, "FIX.4.4:HOUSE->OUT", "State"), "disabled");
  await page.getByText("1 of 3 logged on").waitFor();
  await page.locator("#findings li", { hasText: "session 'FIX.4.4:HOUSE->OUT'" }).waitFor();
  await page.screenshot({ path: `${screenshots}/fix.png`, fullPage: true });
});

test("a hostile name is text", async () => {
  await page.locator("#sessions th", { hasText: HOSTILE }).waitFor();
  assert.equal(await page.locator("#sessions img").count(), 0);
  assert.equal(await page.title(), "millpond fix");
});

test("the search keeps the sessions that contain it", async () => {
  await page.getByLabel("Search sessions").fill("desk");
  await page.getByText("1 of 3 sessions", { exact: true }).waitFor();
  assert.equal(await page.locator("#sessions tbody tr[data-name]").count(), 1);
  await page.getByLabel("Search sessions").fill("nothing");
  await page.getByText("No session contains “nothing”.").waitFor();
  await page.getByLabel("Search sessions").fill("");
  await page.getByText("3 sessions", { exact: true }).waitFor();
});

test("a reload adds and removes rows, and the connected session goes on", async () => {
  configure(session("DESK") + session("NEW"));
  house.signal("SIGHUP");
  await row(page, "FIX.4.4:HOUSE->NEW").waitFor();
  await row(page, "FIX.4.4:HOUSE->OUT").waitFor({ state: "detached" });
  assert.equal(await cellOf(page, "FIX.4.4:HOUSE->DESK", "State"), "active");
  await page.locator("#findings li", { hasText: "No findings." }).waitFor();
  assert.equal(await page.locator("#health-text").textContent(), "Healthy");
});

test("a lost connection is seen with its error", async () => {
  await desk.stop("SIGKILL");
  await row(page, "FIX.4.4:HOUSE->DESK").getByText("disconnected").waitFor();
  await page.getByText(/last error .* ago: closed: closed by the peer/).waitFor();
  desk = await dial();
  await row(page, "FIX.4.4:HOUSE->DESK").getByText("active").waitFor();
});

test("there are no serious faults of accessibility, wide or narrow, light or dark", async () => {
  for (const [width, theme] of [[1440, "light"], [1440, "dark"], [390, "light"]]) {
    const view = await open(house.word(PAGE), { viewport: { width, height: 844 }, colorScheme: theme });
    await row(view, "FIX.4.4:HOUSE->DESK").waitFor();
    await view.evaluate(axe);
    const { violations } = await view.evaluate(() => globalThis.axe.run(document));
    assert.deepEqual(violations.filter(({ impact }) => impact === "serious" || impact === "critical").map(({ id, nodes }) => `${id}: ${nodes[0].html}`), []);
    assert.ok(await view.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth) <= 0, `${width}`);
    await view.context().close();
  }
});

test("a token is asked for, a wrong one refused, and the right one kept for the tab", async () => {
  const file = join(folder, "web.token");
  writeFileSync(file, `${SECRET}\n`, { mode: 0o600 });
  const guarded = await start(["acceptor", "--port", "0", "--session", "sender=HOUSE,target=A", "--web", `listen=127.0.0.1:0,token_file=${file}`], [PAGE]);
  try {
    const view = await open(guarded.word(PAGE));
    await view.getByText("Token required").waitFor();
    await view.getByLabel("Token", { exact: true }).fill("wrong-secret-0123456789");
    await view.getByRole("dialog").getByRole("button", { name: "Sign in" }).click();
    await view.getByText("The engine did not accept this token.").waitFor();
    await view.getByLabel("Token", { exact: true }).fill(SECRET);
    await view.getByRole("dialog").getByRole("button", { name: "Sign in" }).click();
    await row(view, "FIX.4.4:HOUSE->A").waitFor();
    await view.reload();
    await row(view, "FIX.4.4:HOUSE->A").waitFor();
  } finally {
    await guarded.stop();
  }
});

test("an engine that ends is seen as lost, and its data as old", async () => {
  await house.stop("SIGKILL");
  await page.getByText(/Connection lost\. Data as of \d\d:\d\d:\d\d/).waitFor();
  assert.equal(await page.evaluate(() => document.body.dataset.link), "lost");
});
