// A ring with a composite in real Chromium: its rows, its ladder, and the quotes of its venues.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { faults, launch, open, picture, shifts } from "./browser.js";
import { startGateway } from "./gateway.js";
import { ItchSender } from "./itch.js";

let browser;
let gateway;
let first;
let second;

before(async () => {
  browser = await launch();
  gateway = await startGateway(
    ["--feed", "name=second,venue=XTST,listen=127.0.0.1:0,format=itch,depth=10,stale_seconds=0", "--composite", "depth=10"],
    { format: "itch,depth=10", feeds: ["second"] },
  );
  first = new ItchSender(gateway.feedPort);
  second = new ItchSender(gateway.portOf("second"));
  await first.start(["AAPL", "MSFT"]);
  await second.start(["AAPL"]);
  await first.order(1, "AAPL", "B", 1_892_400, 100);
  await first.order(2, "AAPL", "S", 1_892_700, 200);
  await first.order(3, "MSFT", "B", 3_705_000, 10);
  await second.order(1, "AAPL", "B", 1_892_400, 30);
  await second.order(2, "AAPL", "S", 1_892_600, 40);
});

after(async () => {
  await browser?.close();
  first?.close();
  second?.close();
  await gateway?.stop();
});

const texts = (rows) => rows.evaluateAll((all) => all.map((row) => [...row.children].map((cell) => cell.textContent)));
const ladder = async (page) => (await texts(page.locator("#ladder tbody tr:not(.spread)"))).filter(([, , price]) => price !== "");
const venues = (page) => texts(page.locator("#tape .venues tbody tr"));

/** A row of the list of quotes: the texts of these columns. */
async function quoteOf(page, symbol, keys) {
  const row = page.locator("#quotes .body [role=row]:visible", { hasText: symbol });
  return Promise.all(keys.map((key) => row.locator(`[data-key=${key}]`).textContent()));
}

test("a symbol's row is its composite's, whichever venue's quote comes last", async () => {
  const page = await open(browser, gateway.url, { viewport: { width: 1920, height: 900 } });
  await page.locator("#quotes .body").getByText("189.2600").waitFor();
  assert.deepEqual(await quoteOf(page, "AAPL", ["venue", "bidShares", "bid", "ask", "state"]), ["BEST", "130", "189.2400", "189.2600", ""]);
  await first.order(4, "AAPL", "S", 1_892_650, 7);
  await second.cancel(1, "AAPL");
  await page.locator("#quotes .body [role=row]:visible", { hasText: "AAPL" }).locator("[data-key=bidShares]").getByText("100", { exact: true }).waitFor();
  assert.deepEqual(await quoteOf(page, "AAPL", ["venue", "bidShares", "bid", "ask", "askShares"]), ["BEST", "100", "189.2400", "189.2600", "40"]);
  assert.deepEqual(await quoteOf(page, "MSFT", ["venue", "bid"]), ["BEST", "370.5000"]);
  assert.deepEqual(await shifts(page), []);
  await page.context().close();
});

test("the open composite has sums of levels, the quotes and the trades of its venues, and why one is left out", async () => {
  const page = await open(browser, `${gateway.url}#/BEST/AAPL`, { viewport: { width: 1440, height: 900 } });
  await page.locator("#ladder[data-book=complete]").waitFor();
  await page.locator("#tape .venues .best").nth(1).waitFor();
  assert.deepEqual(await ladder(page), [
    ["", "", "189.2700", "200", "1"], ["", "", "189.2650", "7", "1"], ["", "", "189.2600", "40", "1"], ["1", "100", "189.2400", "", ""],
  ]);
  assert.deepEqual(await venues(page), [["XNAS", "189.2400", "189.2650"], ["", "100", "7"], ["XTST", "", "189.2600"], ["", "", "40"]]);
  assert.deepEqual(await page.locator("#tape .best").allTextContents(), ["189.2400", "189.2600"]);
  await second.execute(2, "AAPL", 10);
  await page.locator("#tape").getByText("189.2600").nth(1).waitFor();
  await second.state("AAPL", "H");
  await page.locator("#tape .venues").locator("[data-of=XTST]", { hasText: "halted" }).waitFor();
  await page.locator("#ladder tbody tr").nth(9).getByText("189.2650").waitFor();
  assert.equal(await page.locator("#ladder").getAttribute("data-book"), "complete");
  await picture(page, "composite");
  assert.deepEqual(await faults(page), []);
  assert.deepEqual(await shifts(page), []);
  await page.context().close();
});

test("an open instrument of one venue has only its own book and trades", async () => {
  const page = await open(browser, `${gateway.url}#/XNAS/AAPL`, { viewport: { width: 1440, height: 900 } });
  await page.locator("#ladder[data-book=complete]").waitFor();
  assert.deepEqual(await ladder(page), [["", "", "189.2700", "200", "1"], ["", "", "189.2650", "7", "1"], ["1", "100", "189.2400", "", ""]]);
  await second.order(9, "AAPL", "B", 1_892_500, 5);
  await first.execute(4, "AAPL", 7);
  await page.locator("#tape").getByText("189.2650").waitFor();
  assert.deepEqual(await ladder(page), [["", "", "189.2700", "200", "1"], ["1", "100", "189.2400", "", ""]]);
  assert.equal(await page.locator("#tape .venues").count(), 0);
  await page.context().close();
});
