// The page in real Chromium shows the data that was sent.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";

import { PATIENCE_MS, faults, launch, open as openIn, overflow, picture as pictureOf } from "./browser.js";
import { Sender, freePort, startGateway } from "./gateway.js";

const INCOMPLETE = 1;
const HALTED = 2;
const PLANTED = [
  { symbol: "AAPL", bid: 1_892_400, ask: 1_892_600, bidSize: 300, askSize: 200 },
  { symbol: "BRK.B", bid: 4_101_000, ask: 4_103_000, flags: INCOMPLETE },
  { symbol: "MSFT", bid: 3_705_000, ask: 3_705_500, bidSize: 1_200, askSize: 900 },
  { symbol: "ZVZZT", bid: 100_000, ask: 100_100, flags: HALTED },
  { symbol: "EMPTY", bid: 0, ask: 0, bidSize: 0, askSize: 0 },
];

const folder = mkdtempSync(join(tmpdir(), "millpond-page-"));
const WIDE = { width: 1440, height: 900 };

let gateway;
let sender;
let browser;
let page;

before(async () => {
  gateway = await startGateway();
  browser = await launch();
  sender = new Sender(gateway.feedPort);
  page = await open(gateway.url, { viewport: { width: 1280, height: 1000 } });
});

after(async () => {
  await browser?.close();
  sender?.close();
  await gateway?.stop();
  rmSync(folder, { recursive: true });
});

const open = (url, options) => openIn(browser, url, options);

const row = (symbol) => page.locator("#quotes .body [role=row]:visible", { has: page.getByText(symbol, { exact: true }) });
const shown = () => page.locator("#quotes .body [role=row]:visible");
const column = (key) => page.locator(`#quotes .body [role=row]:visible [data-key=${key}]`).allTextContents();
const picture = (name, of = page) => pictureOf(of, name);

/** Scrolls to the element in its list, which must show it completely. */
async function reach(of, selector) {
  const hidden = await of.locator(selector).evaluate((one) => {
    one.scrollIntoView({ block: "end" });
    const list = one.parentElement.getBoundingClientRect();
    const { top, bottom } = one.getBoundingClientRect();
    return Math.max(0, list.top - top) + Math.max(0, bottom - list.bottom);
  });
  assert.ok(hidden < 1, `${hidden} px of ${selector} are hidden`);
}

const finding = (of, title) => of.locator("#findings li", { has: of.getByText(title, { exact: true }) });

/** The text of a table's cell by row name and column title. */
async function cellOf(of, table, name, title) {
  const titles = await of.locator(`${table} thead th`).allTextContents();
  return of.locator(`${table} tr[data-name="${name}"] > *`).nth(titles.indexOf(title)).textContent();
}

test("the quotes on the page are those that were sent", async () => {
  await sender.send(PLANTED);
  await row("ZVZZT").locator("[data-key=bid]").getByText("10.0000").waitFor();
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
  // The one that was not in view is the last to come: then all are followed.
  for (const [index, symbol] of [[6, "S4999"], [2, "BRK.B"], [3, "MSFT"], [4, "AAPL"]]) {
    await page.locator(`#quotes .body [aria-rowindex="${index}"]`).getByText(symbol, { exact: true }).waitFor();
  }
  await page.getByRole("button", { name: "Symbol" }).click();
  await page.locator("#quotes").evaluate((grid) => { grid.scrollTop = grid.scrollHeight; });
  await row("ZVZZT").waitFor();
  await page.locator("#quotes").evaluate((grid) => { grid.scrollTop = 0; });
  await row("AAPL").waitFor();
});

test("rows sorted by a value are in order whenever they are drawn", async () => {
  const other = await startGateway();
  const feed = new Sender(other.feedPort);
  const view = await open(other.url, { viewport: { width: 1280, height: 1000 } });
  try {
    const symbols = Array.from({ length: 20 }, (_, i) => `S${i}`);
    const move = () => feed.send(symbols.map((symbol) => {
      const bid = 10_000 + Math.floor(Math.random() * 1_000_000);
      return { symbol, bid, ask: bid + 100 };
    }));
    await move();
    await view.locator("#quotes [data-key=bid] button").click();
    await view.locator("[data-key=bid][aria-sort=descending]").waitFor();
    await view.evaluate(() => {
      const seen = { orders: new Set(), faults: [] };
      globalThis.seen = seen;
      const look = () => {
        const rows = [...document.querySelectorAll("#quotes .body [role=row]:not([hidden])")]
          .sort((a, b) => a.getAttribute("aria-rowindex") - b.getAttribute("aria-rowindex"));
        const bids = rows.map((one) => Number(one.querySelector("[data-key=bid]").textContent.replaceAll(",", "")));
        if (bids.some((bid, i) => i > 0 && bids[i - 1] < bid)) seen.faults.push(bids.join(" "));
        seen.orders.add(bids.join(" "));
        requestAnimationFrame(look);
      };
      look();
    });
    while (await view.evaluate(() => globalThis.seen.orders.size) < 4) await move();
    assert.deepEqual(await view.evaluate(() => globalThis.seen.faults.slice(0, 2)), []);
    // The last values are shown without another event after them.
    await feed.send([{ symbol: "S0", bid: 90_000_000, ask: 90_000_100 }]);
    await view.locator("#quotes .body [role=row]:visible", { hasText: "9000.0000" }).waitFor();
  } finally {
    await view.context().close();
    feed.close();
    await other.stop();
  }
});

test("sorted by a value, every one of five thousand symbols is current, and the page says how late it is", async () => {
  await page.setViewportSize(WIDE);
  await page.getByRole("button", { name: "Bid", exact: true }).click();
  await page.locator('#quotes .body [aria-rowindex="2"]').getByText("BRK.B").waitFor();
  for (const round of [1, 2]) {
    for (let i = 0; i < 5_000; i += 25) {
      await sender.send(Array.from({ length: 25 }, (_, n) => ({ symbol: `S${String(i + n).padStart(4, "0")}`, bid: 10_000 * round + i + n, ask: 10_000 * round + i + n + 100 })));
    }
    /** Rows that differ from the sent data; null until those of this scroll position are drawn. */
    const wrong = (top) => page.evaluate(([base, from]) => {
      const rows = [...document.querySelectorAll("#quotes .body [role=row]:not([hidden])")];
      const height = rows[0].offsetHeight;
      const last = Math.max(...rows.map((row) => Number(row.getAttribute("aria-rowindex"))));
      if (last * height < from) return null;
      return rows.map((row) => [row.querySelector("[data-key=symbol]").textContent, row.querySelector("[data-key=bid]").textContent])
        .filter(([symbol, bid]) => /^S\d/.test(symbol) && bid !== ((base + Number(symbol.slice(1))) / 10_000).toFixed(4));
    }, [10_000 * round, top]);
    for (const top of [0, 70_000, 139_000]) {
      await page.locator("#quotes").evaluate((grid, to) => { grid.scrollTop = to; }, top);
      let rows = null;
      for (const end = Date.now() + PATIENCE_MS; (rows === null || rows.length !== 0) && Date.now() < end;) {
        await page.waitForTimeout(50);
        rows = await wrong(top);
      }
      assert.deepEqual(rows, [], `round ${round}, ${top} px`);
      const bids = (await page.locator("#quotes .body [role=row]:visible [data-key=bid]").allTextContents()).filter(Boolean).map(Number);
      assert.ok(bids.length > 10);
    }
    await page.locator("#quotes").evaluate((grid) => { grid.scrollTop = 0; });
  }
  await page.locator("#lag:empty").waitFor({ state: "attached" });
  await page.getByRole("button", { name: "Symbol" }).click();
});

test("a page whose data is held up says by how much, and draws its chart no further", async () => {
  const view = await open("about:blank", { viewport: { width: 1440, height: 900 } });
  let hold = false;
  await view.routeWebSocket(/\/ws$/, (socket) => {
    const server = socket.connectToServer();
    server.onMessage((message) => { if (!hold) socket.send(message); });
  });
  await view.goto(gateway.url);
  await view.getByText("5,005 symbols").waitFor();
  await view.locator("#prices canvas").first().waitFor();
  await view.locator("#lag:empty").waitFor({ state: "attached" });
  hold = true;
  await view.getByText(/^This page is \d+\.\d s behind$/).waitFor();
  assert.equal(await view.locator("body").getAttribute("data-late"), "true");
  await view.context().close();
});

test("a search shows only what it finds: one row, or none with the reason", async () => {
  await page.getByLabel("Search symbols").fill("MSFT");
  await page.getByText("1 of 5,005 symbols").waitFor();
  assert.deepEqual(await column("symbol"), ["MSFT"]);
  await page.getByLabel("Search symbols").fill("no such symbol");
  await page.getByText("No symbol contains “NO SUCH SYMBOL”.").waitFor();
  assert.deepEqual(await column("symbol"), []);
  await page.getByLabel("Search symbols").fill("");
  await row("MSFT").waitFor();
  assert.equal(await page.locator("#empty").isVisible(), false);
});

test("prices, marks and latencies are whole at every width", async () => {
  await page.route(/\/(latency|format|morph)\.js$/, (route) => route.fulfill({ path: `../../web${new URL(route.request().url()).pathname}` }));
  const bid = page.locator("#quotes .body [role=row]:visible [data-key=bid]").first();
  await page.getByText("189.2400", { exact: true }).waitFor();
  await sender.send([{ ...PLANTED[1], flags: INCOMPLETE | HALTED }]);
  await page.locator("#quotes .body .mark.halted").first().waitFor();
  for (const width of [1920, 1501, 1499, 1440, 1300, 1151, 1149, 1000, 861, 859, 600, 390, 360]) {
    await page.setViewportSize({ width, height: 900 });
    const cut = await page.locator("#quotes .body [role=row]:visible .price").evaluateAll((cells) => cells.filter((cell) => cell.scrollWidth > cell.clientWidth).map((cell) => cell.textContent));
    assert.deepEqual(cut, [], `${width} px`);
    const marks = await page.locator("#quotes .body [role=row]:visible [data-key=state]").evaluateAll((cells) => cells.filter((cell) => cell.scrollWidth > cell.clientWidth || cell.scrollHeight > cell.parentElement.clientHeight).map((cell) => cell.textContent));
    assert.deepEqual(marks, [], `${width} px`);
    const tooWide = await page.locator("#latency").evaluate(async (place) => {
      const { showLatency } = await import("/latency.js");
      const wide = { count: 1, p50: 9.99e6, p90: 9.99e6, p99: 9.99e6, p999: 9.99e6, max: 9.99e6 };
      const bars = Array.from({ length: 28 }, (_, power) => [2 ** power, 1]); // a busy machine: 1 ns to 134 ms
      showLatency({ bars, recent: wide, all: wide }, place);
      return place.scrollWidth - place.clientWidth;
    });
    assert.equal(tooWide, 0, `${width} px`);
    assert.equal(await bid.isVisible(), true);
    assert.equal(await overflow(page), 0, `${width} px`);
  }
  await sender.send([PLANTED[1]]);
});

test("state, feeds and sinks are in the first screen", async () => {
  await page.setViewportSize(WIDE);
  for (const place of ["#feeds tr[data-name=planted]", "#sinks tr[data-name=web]", "#quotes"]) {
    await page.locator(place).waitFor();
    const { y, height } = await page.locator(place).boundingBox();
    assert.ok(y + Math.min(height, 200) < 900, `${place}: ${y}`);
  }
});

test("selected text survives updates", async () => {
  await page.locator("#feeds tr[data-name=planted]").waitFor();
  await page.evaluate(() => {
    const range = document.createRange();
    range.selectNodeContents(document.querySelector("#feeds small"));
    getSelection().removeAllRanges();
    getSelection().addRange(range);
  });
  const updates = await page.evaluate(() => new Promise((done) => {
    let seen = 0;
    new MutationObserver(() => { seen += 1; if (seen === 4) done(seen); }).observe(document.querySelector("#feeds"), { subtree: true, childList: true, characterData: true });
  }));
  assert.equal(updates, 4);
  assert.match(await page.evaluate(() => getSelection().toString()), /quotes on 127/);
});

test("the page asks only for the rows in view", async () => {
  const received = [];
  page.on("websocket", (socket) => socket.on("framereceived", ({ payload }) => received.push(...payload.toString().split("\n").filter(Boolean))));
  await page.reload();
  await page.getByText("5,005 symbols").waitFor();
  await page.locator("#quotes .body [role=row]:visible [data-key=bid]").first().getByText("189.2400").waitFor();
  received.length = 0;
  await sender.send([{ symbol: "S4900", bid: 10_000, ask: 10_100 }, { symbol: "AAPL", bid: 1_892_500, ask: 1_892_700 }]);
  await page.getByText("189.2500", { exact: true }).waitFor();
  const quoted = received.filter((line) => line.includes('"type":"quote"'));
  assert.ok(quoted.every((line) => !line.includes("S4900")), quoted.join("\n"));
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
  const begin = Date.now();
  sender.lose(3);
  await sender.send([PLANTED[0]]);
  await finding(page, "gap: feed 'planted'").waitFor();
  t.diagnostic(`shown after ${Date.now() - begin} ms`);
  assert.match(await finding(page, "gap: feed 'planted'").textContent(), /3 sequence numbers are missing/);
  assert.equal(await cellOf(page, "#feeds", "planted", "Missing"), "3");
});

test("light and wide: nothing overflows and axe finds no serious fault", async () => {
  assert.equal(await overflow(page), 0);
  assert.deepEqual(await faults(page), []);
  await picture("light");
});

test("dark on a phone: nothing overflows and axe finds no serious fault", async () => {
  await page.setViewportSize({ width: 390, height: 844 });
  await page.emulateMedia({ colorScheme: "dark", reducedMotion: "reduce" });
  assert.equal(await overflow(page), 0);
  assert.deepEqual(await faults(page), []);
  await picture("dark-phone");
  await page.setViewportSize({ width: 1680, height: 1000 });
  await picture("dark-wide");
  assert.equal(await overflow(page), 0);
  await page.emulateMedia({ colorScheme: "light", reducedMotion: "no-preference" });
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
    assert.match(await finding(view, "sink disconnected: sink 'broker'").textContent(), /it is not connected; .*Connection refused/);
    assert.match(await view.locator("#sinks tr[data-name=broker]").textContent(), /mqtt.*not connected/);
    await picture("no-broker-phone", view);
    assert.equal(await overflow(view), 0);
    assert.deepEqual(await faults(view), []);
    await view.context().close();
  } finally {
    await other.stop();
  }
});

test("a lost gateway: data is grey and dated, and comes back without a reload", async () => {
  const web = `listen=127.0.0.1:${await freePort()}`;
  let other = await startGateway([], { web });
  let feed = new Sender(other.feedPort);
  const view = await open(other.url, { viewport: { width: 1280, height: 900 } });
  try {
    await feed.send(PLANTED);
    await view.getByText("189.2400", { exact: true }).waitFor();
    assert.equal(await view.locator("body").getAttribute("data-link"), "live");
    await other.kill();
    await view.locator("body[data-link=lost]").waitFor();
    assert.match(await view.locator("#health").textContent(), /^Connection lost\. Data as of \d\d:\d\d:\d\d$/);
    await view.getByText(/^(Next retry in \d s|Retrying)$/).waitFor();
    assert.equal(await view.locator("#totals").textContent(), "");
    assert.notEqual(await view.locator("main").evaluate((main) => getComputedStyle(main).filter), "none");
    assert.deepEqual(await faults(view), []);
    await picture("lost", view);
    feed.close();
    other = await startGateway([], { web });
    feed = new Sender(other.feedPort);
    await view.locator("body[data-link=live]").waitFor();
    await view.getByText("No quotes yet.").waitFor();
    await picture("restarted", view);
    await feed.send([{ symbol: "NEW", bid: 10_000, ask: 20_000 }]);
    await view.getByText("1 symbol", { exact: true }).waitFor();
    assert.deepEqual(await view.locator("#quotes .body [role=row]:visible [data-key=symbol]").allTextContents(), ["NEW"]);
  } finally {
    await view.context().close();
    feed.close();
    await other.stop();
  }
});

test("findings are a list, errors first, then the newest; each opens to its meaning and advice; each ring has its latencies", async (t) => {
  const ring = `test-web-second-${process.pid}`;
  const other = await startGateway([
    "--csv", "name=rows,path=/dev/full,flush_ms=50",
    "--ring", `name=${ring},huge_pages=none`, "--feed", `name=second,ring=${ring},listen=127.0.0.1:0,format=quotes,stale_seconds=0`,
  ], { stale: 10, feeds: ["second"] });
  const feed = new Sender(other.feedPort);
  const view = await open(other.url, { viewport: { width: 1440, height: 900 } });
  try {
    await finding(view, "no datagrams: feed 'planted'").waitFor();
    await view.locator("#health[data-state=warning], #health[data-state=waiting]").waitFor();
    const begin = Date.now();
    await feed.send(PLANTED);
    await view.locator("#quotes .body [role=row]:visible").nth(PLANTED.length - 1).waitFor();
    const top = () => view.evaluate(() => ["feeds-panel", "quotes-panel"].map((id) => document.getElementById(id).getBoundingClientRect().top));
    const before = await top();
    await finding(view, "sink behind: sink 'rows'").waitFor();
    t.diagnostic(`a dead sink is shown after ${Date.now() - begin} ms`);
    assert.match(await finding(view, "sink behind: sink 'rows'").textContent(), /No space left on device/);
    await view.locator("#health[data-state=error]", { hasText: /^1 error/ }).waitFor();
    feed.lose(7);
    await feed.send([PLANTED[0]]);
    await finding(view, "gap: feed 'planted'").waitFor();
    const titles = await view.locator("#findings strong").allTextContents();
    assert.deepEqual(titles.filter((title) => /^(gap|sink behind)/.test(title)), ["sink behind: sink 'rows'", "gap: feed 'planted'"]);
    for (const text of await view.locator("#findings summary").allTextContents()) assert.match(text, /, since \d\d:\d\d:\d\d$/);
    assert.match(await finding(view, "gap: feed 'planted'").textContent(), /marked incomplete.*nstat -az UdpRcvbufErrors/);
    assert.ok((await finding(view, "gap: feed 'planted'").locator("code").allTextContents()).includes("nstat -az UdpRcvbufErrors"));
    const behind = finding(view, "sink behind: sink 'rows'");
    assert.equal(await behind.locator("details > p").isVisible(), false);
    await behind.locator("summary").click();
    await behind.locator("details > p").waitFor();
    const age = await behind.locator(".age").textContent();
    await view.waitForFunction((was) => document.querySelector("#findings [open] .age").textContent !== was, age);
    assert.equal(await behind.locator("details > p").isVisible(), true, "an update closes it");
    assert.deepEqual(await faults(view), []);
    assert.deepEqual(await top(), before, "findings move the page");
    assert.equal(await view.locator("#latency-ring").locator("option").count(), 2);
    await view.locator("#latency-ring").selectOption(ring);
    await view.locator("#latency table").waitFor();
    assert.equal(await view.locator("#latency-ring").inputValue(), ring);
    await reach(view, "#findings li:last-child");
    await picture("findings", view);
    await view.setViewportSize({ width: 390, height: 844 });
    await reach(view, "#findings li:last-child");
    assert.equal(await overflow(view), 0);
    await picture("findings-phone", view);
  } finally {
    await view.context().close();
    feed.close();
    await other.stop();
  }
});

test("a wrong token is refused in words, and the right one opens the page", async () => {
  const file = join(folder, "token.txt");
  writeFileSync(file, "a-secret-of-some-length\n", { mode: 0o600 });
  const other = await startGateway([], { web: `listen=127.0.0.1:0,token_file=${file}` });
  const view = await open(other.url, { viewport: { width: 390, height: 844 } });
  try {
    await view.getByRole("dialog").waitFor();
    assert.equal(await view.locator("#health").textContent(), "Token required");
    await view.getByLabel("Token", { exact: true }).fill("another-secret-of-some-length");
    await view.getByRole("dialog").getByRole("button", { name: "Sign in" }).click();
    await view.getByText("The gateway did not accept this token.").waitFor();
    await picture("wrong-token", view);
    for (const [text, fault] of [["“a-secret-of-some-length”", /only ASCII/], ["short", /16 to 1,024/]]) {
      await view.getByLabel("Token", { exact: true }).fill(text);
      await view.getByRole("dialog").getByRole("button", { name: "Sign in" }).click();
      await view.getByText(fault).waitFor();
      assert.equal(await view.getByRole("dialog").isVisible(), true);
    }
    assert.equal(await view.evaluate(() => sessionStorage.getItem("millpond-token")), null);
    await view.keyboard.press("Escape");
    await view.getByText("Sign in to see quotes.").waitFor();
    await view.getByRole("button", { name: "Sign in" }).click();
    await view.getByLabel("Token", { exact: true }).fill("a-secret-of-some-length");
    await view.getByRole("dialog").getByRole("button", { name: "Sign in" }).click();
    await view.locator("body[data-link=live]").waitFor();
    await view.getByText("No quotes yet.").waitFor();
    await picture("empty", view);
    assert.equal(await view.evaluate(() => sessionStorage.getItem("millpond-token")), "a-secret-of-some-length");
  } finally {
    await view.context().close();
    await other.stop();
  }
});

test("a token of any accepted characters opens the page; one that is changed on the gateway is asked for again", async () => {
  const file = join(folder, "token-changed.txt");
  const port = await freePort();
  const web = `listen=127.0.0.1:${port},token_file=${file}`;
  const signIn = async (view, text) => {
    await view.getByLabel("Token", { exact: true }).fill(text);
    await view.getByRole("dialog").getByRole("button", { name: "Sign in" }).click();
    await view.locator("body[data-link=live]").waitFor();
  };
  writeFileSync(file, "c2VjcmV0/dG9rZW4+MTIzNA==,(~)\n", { mode: 0o600 });
  let other = await startGateway([], { web });
  const view = await open(other.url, { viewport: { width: 1280, height: 800 } });
  try {
    await view.getByRole("dialog").waitFor();
    await signIn(view, "c2VjcmV0/dG9rZW4+MTIzNA==,(~)");
    await view.reload();
    await view.locator("body[data-link=live]").waitFor();
    await other.stop();
    writeFileSync(file, "another-secret-of-some-length\n", { mode: 0o600 });
    other = await startGateway([], { web });
    await view.getByRole("dialog").waitFor();
    assert.match(await view.locator("#health").textContent(), /^Token required\. Data as of \d\d:\d\d:\d\d$/);
    assert.equal(await view.evaluate(() => sessionStorage.getItem("millpond-token")), null);
    await signIn(view, " another-secret-of-some-length ");
  } finally {
    await view.context().close();
    await other.stop();
  }
});

test("on a small phone the sort arrow and every value of a feed are visible", async () => {
  await page.setViewportSize({ width: 360, height: 740 });
  for (const key of ["symbol", "bid", "ask"]) {
    await page.locator(`#quotes .head [data-key=${key}] button`).click();
    const [wide, width] = await page.locator(`#quotes .head [data-key=${key}]`).evaluate((head) => [head.scrollWidth, head.clientWidth]);
    assert.ok(wide <= width, `${key}: ${wide} > ${width}`);
  }
  for (const cell of await page.locator("#feeds tr[data-name=planted] td").all()) {
    const { x, width } = await cell.boundingBox();
    assert.ok(x >= 0 && x + width <= 360, await cell.textContent());
  }
  assert.equal(await page.locator("#feeds").evaluate((place) => place.scrollWidth - place.clientWidth), 0);
  assert.equal(await overflow(page), 0);
  await picture("light-phone-360");
});
