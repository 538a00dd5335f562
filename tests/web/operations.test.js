// The page for operations in real Chromium: states, order, filters, and a layout that does not move.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { faults, launch, open, overflow, picture, shifts } from "./browser.js";
import { Sender, startGateway } from "./gateway.js";

const QUOTE = { symbol: "AAPL", bid: 1_892_400, ask: 1_892_600 };

let browser;

before(async () => {
  browser = await launch();
});

after(async () => {
  await browser?.close();
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

test("waiting, connected and healthy are three states, and nothing is green before data", async () => {
  await withGateway([], {}, WIDE, async ({ feed, view }) => {
    await view.locator("#health[data-state=waiting]").waitFor();
    assert.equal(await view.locator("#health-text").textContent(), "Waiting for the first datagram");
    assert.equal(await cell(view, "#feeds", "planted", "State").textContent(), "waiting for the first datagram");
    assert.equal(await view.locator("#feeds th[scope=row], #sinks th[scope=row]").evaluateAll((heads) => heads.filter(({ dataset }) => dataset.state === "good").length), 0);
    await view.waitForFunction(() => document.title.startsWith("○ Waiting for the first datagram – "));
    assert.equal(await view.locator("#icon").getAttribute("href"), "icon-waiting.svg");
    await picture(view, "waiting");
    const silent = await view.locator("#feeds thead th, #sinks thead th, #quotes [role=columnheader]").evaluateAll((heads) => heads.filter(({ title }) => title.length < 10).map(({ textContent }) => textContent));
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
    await view.getByLabel("Filter feeds and sinks").fill("plan");
    await view.locator("#feeds").getByText("The filter hides 2.").waitFor();
    assert.equal(new URL(view.url()).hash, "#/?filter=plan&rows=bad");
    await view.reload();
    await view.locator("#feeds").getByText("The filter hides 2.").waitFor();
    assert.equal(await view.getByLabel("Filter feeds and sinks").inputValue(), "plan");
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
  await withGateway(feeds.flatMap((name) => ["--feed", `name=${name},listen=127.0.0.1:0,format=quotes,stale_seconds=0`]), { feeds }, { width: 2560, height: 1440 }, async ({ feed, view }) => {
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
