// The chart in real Chromium after a reload: its past is out of the gateway's journal.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";

import { faults, launch, open, picture, shifts } from "./browser.js";
import { startGateway } from "./gateway.js";
import { ItchSender } from "./itch.js";

const folder = mkdtempSync(join(tmpdir(), "millpond-past-"));
let browser;

before(async () => { browser = await launch(); });
after(async () => {
  await browser?.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Notes what the chart passes to dygraphs, by the id of the element. */
const note = () => {
  let Graph;
  globalThis.rows = {};
  Object.defineProperty(globalThis, "Dygraph", {
    get: () => Graph,
    set(value) {
      Graph = class extends value {
        updateOptions(options, ...more) {
          if (options.file) globalThis.rows[this.maindiv_.id] = options.file.map(([, ...values]) => values);
          return super.updateOptions(options, ...more);
        }
      };
    },
  });
};

/** Runs with a gateway that has sent three quotes and two trades of AAPL to a page that was then closed, and another page. */
async function withPast(more, use) {
  const gateway = await startGateway(more, { format: "itch,depth=10" });
  const venue = new ItchSender(gateway.feedPort);
  const openPage = async () => {
    const page = await open(browser, "about:blank", { viewport: { width: 1440, height: 900 } });
    await page.addInitScript(note);
    await page.goto(`${gateway.url}#/XNAS/AAPL`);
    await page.waitForFunction(() => document.querySelector("#chart-now").textContent.startsWith("bid "));
    await page.locator("#ladder[data-book=complete]").waitFor();
    return page;
  };
  try {
    await venue.start(["AAPL"]);
    await venue.order(1, "AAPL", "B", 1_892_400, 100);
    await venue.order(2, "AAPL", "S", 1_892_600, 100);
    const first = await openPage();
    await venue.order(3, "AAPL", "B", 1_892_500, 100);
    await venue.execute(3, "AAPL", 40);
    await venue.execute(2, "AAPL", 40);
    await first.locator("#tape").getByText("189.2600").first().waitFor();
    await first.context().close();
    const page = await openPage();
    await use(page, venue);
    assert.deepEqual(await shifts(page), []);
    await page.context().close();
  } finally {
    venue.close();
    await gateway.stop();
  }
}

test("after a reload the chart has the quotes and candles from before it", async () => {
  await withPast(["--journal", `folder=${folder}/journal`], async (page, venue) => {
    await page.waitForFunction(() => globalThis.rows.prices?.some(([bid]) => bid === 189.24) && globalThis.rows.prices.at(-1)[0] === 189.25);
    assert.equal(await page.evaluate(() => globalThis.rows.spreads.length), await page.evaluate(() => globalThis.rows.prices.length));
    await page.getByLabel("Chart of").selectOption("candles");
    await page.waitForFunction(() => globalThis.rows.prices.flat().includes(189.26));
    await venue.execute(3, "AAPL", 60);
    await page.waitForFunction(() => globalThis.rows.prices.at(-1)[3] === 189.25);
    await picture(page, "candles");
    assert.deepEqual(await faults(page), []);
  });
});

test("without a journal the chart begins with the current quote", async () => {
  await withPast([], async (page, venue) => {
    await venue.order(4, "AAPL", "B", 1_892_550, 100);
    await page.waitForFunction(() => globalThis.rows.prices?.at(-1)[0] === 189.255);
    assert.equal(await page.evaluate(() => globalThis.rows.prices.some(([bid]) => bid === 189.24)), false);
  });
});
