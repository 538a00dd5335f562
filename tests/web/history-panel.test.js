// History and events on the page, in real Chromium.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";

import { faults, launch, open, overflow, picture } from "./browser.js";
import { Sender, freePort, startGateway } from "./gateway.js";

const QUOTE = { symbol: "AAPL", bid: 1_892_400, ask: 1_892_600 };
const WIDE = { width: 1440, height: 900 };
const CHARTS = ["history-rate", "history-loss", "history-latency", "history-lag"];
let browser;

before(async () => { browser = await launch(); });
after(async () => { await browser?.close(); });

/** Runs the test with a gateway, a sender of its feed and a page. */
async function withGateway(more, options, viewport, run) {
  const gateway = await startGateway(more, options);
  const feed = new Sender(gateway.feedPort);
  const view = await open(browser, gateway.url, { viewport });
  try {
    await run({ gateway, feed, view });
  } finally {
    await view.context().close();
    feed.close();
    await gateway.stop();
  }
}

const events = (view, text) => view.locator("#events tr[data-number]", { hasText: text });

async function plantGap(view, feed) {
  await feed.send([QUOTE]);
  feed.lose(3);
  await feed.send([QUOTE]);
  await events(view, "are missing").first().waitFor();
}

test("a finding leads to the events around it", async () => {
  await withGateway([], {}, WIDE, async ({ feed, view }) => {
    await plantGap(view, feed);
    const finding = view.locator("#findings li", { hasText: "gap: feed 'planted'" });
    await finding.locator("summary").click();
    await finding.getByRole("button", { name: "Events around it" }).click();
    assert.equal(await view.getByLabel("Source").inputValue(), "feed 'planted'");
    await view.getByRole("button", { name: "Back to now" }).waitFor();
    await events(view, "are missing").first().waitFor();
    await events(view, "started").waitFor({ state: "detached" });
    assert.deepEqual(await faults(view), []);
  });
});

test("a gap is an event and every chart is drawn; a click on the event shows the minutes around it", async () => {
  await withGateway([], {}, WIDE, async ({ feed, view }) => {
    await plantGap(view, feed);
    for (const id of CHARTS) await view.locator(`#${id} canvas`).first().waitFor();
    assert.match(await events(view, "gap").first().textContent(), /feed 'planted'/);
    await events(view, "started").waitFor();
    await view.getByLabel("Kind of event").selectOption("start");
    await events(view, "are missing").first().waitFor({ state: "detached" });
    await view.getByLabel("Kind of event").selectOption("");
    assert.equal(await view.locator("#history-now").isVisible(), false);
    await events(view, "sequence numbers").first().click();
    await view.getByRole("button", { name: "Back to now" }).waitFor();
    await picture(view, "history-zoomed");
    await view.getByRole("button", { name: "Back to now" }).click();
    await view.locator("#history-now").waitFor({ state: "hidden" });
    await view.getByLabel("Source").selectOption("sink 'web'");
    await view.locator("#history-rate canvas").first().waitFor({ state: "detached" });
    await view.locator("#history-lag canvas").first().waitFor();
    await events(view, "are missing").first().waitFor({ state: "detached" });
    assert.deepEqual(await faults(view), []);
  });
});

test("a drag in a chart zooms all, a double click goes back to now", async () => {
  await withGateway([], {}, WIDE, async ({ feed, view }) => {
    await plantGap(view, feed);
    const chart = view.locator("#history-rate");
    await chart.locator("canvas").first().waitFor();
    await chart.scrollIntoViewIfNeeded();
    const { x, y, width, height } = await chart.boundingBox();
    await view.mouse.move(x + width * 0.5, y + height / 2);
    await view.mouse.down();
    await view.mouse.move(x + width * 0.8, y + height / 2, { steps: 5 });
    await view.mouse.up();
    await view.locator("#history-now").waitFor();
    await chart.dblclick();
    await view.locator("#history-now").waitFor({ state: "hidden" });
  });
});

test("times are local or UTC, and the choice is kept", async () => {
  await withGateway([], {}, WIDE, async ({ view }) => {
    await events(view, "started").waitFor();
    assert.notEqual(await view.locator("#history-zone-name").textContent(), "");
    await view.getByLabel("Time zone").selectOption("utc");
    assert.equal(await view.locator("#history-zone-name").textContent(), "");
    await view.reload();
    await events(view, "started").waitFor();
    assert.equal(await view.getByLabel("Time zone").inputValue(), "utc");
  });
});

test("after a restart the page has the events and samples from before it", async () => {
  const state = mkdtempSync(join(tmpdir(), "millpond-history-"));
  const options = { web: `listen=127.0.0.1:${await freePort()}`, ring: `test-web-history-${process.pid}` };
  try {
    let asked = "";
    await withGateway(["--state", state], options, WIDE, async ({ feed, view }) => {
      await plantGap(view, feed);
      asked = await view.evaluate(async () => JSON.stringify((await (await fetch("api/history")).json()).now));
    });
    await withGateway(["--state", state], options, WIDE, async ({ view }) => {
      await events(view, "sequence numbers").first().waitFor();
      await events(view, "stopped").waitFor();
      await view.locator("#history-rate canvas").first().waitFor();
      const sampled = await view.evaluate(async (from) => {
        const { sources } = await (await fetch(`api/history?step=1&from=${from}`)).json();
        return sources.find(({ kind }) => kind === "feed").series.missing.some((value) => value !== null);
      }, Number(asked) - 60e9);
      assert.ok(sampled);
      await picture(view, "history-restart");
    });
  } finally {
    rmSync(state, { recursive: true });
  }
});

test("the events are downloaded as a table, also where a token is required", async () => {
  const folder = mkdtempSync(join(tmpdir(), "millpond-history-"));
  const file = join(folder, "token");
  writeFileSync(file, "a-secret-of-some-length\n", { mode: 0o600 });
  try {
    await withGateway([], { web: `listen=127.0.0.1:0,token_file=${file}` }, WIDE, async ({ view }) => {
      await view.getByLabel("Token", { exact: true }).fill("a-secret-of-some-length");
      await view.getByRole("dialog").getByRole("button", { name: "Sign in" }).click();
      await events(view, "started").waitFor();
      const [download] = await Promise.all([view.waitForEvent("download"), view.getByRole("link", { name: "CSV" }).click()]);
      assert.equal(download.suggestedFilename(), "events.csv");
      assert.match(readFileSync(await download.path(), "utf8"), /^number,time,kind,.*\r\n1,\d{4}-.*,start,/);
    });
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("the panel has one height, fits a phone and has both themes", async () => {
  for (const viewport of [WIDE, { width: 390, height: 844 }]) {
    await withGateway([], {}, viewport, async ({ feed, view }) => {
      const height = () => view.locator("#history-panel").evaluate((panel) => panel.clientHeight);
      const before = await height();
      await plantGap(view, feed);
      for (const id of CHARTS) await view.locator(`#${id} canvas`).first().waitFor();
      assert.equal(await height(), before, `${viewport.width}`);
      assert.equal(await overflow(view), 0);
      const { width } = await events(view, "are missing").first().locator(".text").boundingBox();
      assert.ok(width > 200, `the text of an event has ${width} px`);
      await picture(view, `history-${viewport.width}`);
      await view.getByLabel("Theme").selectOption("dark");
      await view.locator("#history-lag canvas").first().waitFor();
      assert.deepEqual(await faults(view), []);
      await picture(view, `history-${viewport.width}-dark`);
    });
  }
});
