// The open instrument in real Chromium: ladder, tape, statistics, address and watch list, from ITCH as a venue sends it.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { faults, launch, open, overflow, picture, shifts } from "./browser.js";
import { Sender, freePort, startGateway } from "./gateway.js";
import { ItchSender } from "./itch.js";

const ITCH = "itch,depth=10";

let browser;
let gateway;
let venue;
let page;

before(async () => {
  browser = await launch();
  gateway = await startGateway([], { format: ITCH });
  venue = new ItchSender(gateway.feedPort);
  await venue.start(["AAPL", "MSFT", "EMPTY"]);
  for (let i = 0; i < 12; i += 1) {
    await venue.order(100 + i, "AAPL", "B", 1_892_400 - 100 * i, 100 * (i + 1));
    await venue.order(200 + i, "AAPL", "S", 1_892_600 + 100 * i, 50 * (i + 1));
  }
  await venue.order(300, "AAPL", "B", 1_892_400, 40);
  await venue.order(301, "MSFT", "B", 3_705_000, 10);
  page = await open(browser, `${gateway.url}#/XNAS/AAPL`, { viewport: { width: 1440, height: 900 } });
});

after(async () => {
  await browser?.close();
  venue?.close();
  await gateway?.stop();
});

const bookIs = (of, state) => of.locator(`#ladder[data-book=${state}]`).waitFor();

/** The rows of the ladder with a price: [bid orders, bid size, price, ask size, ask orders]. */
const ladder = (of) => of.locator("#ladder tbody tr:not(.spread)").evaluateAll((rows) => rows
  .map((row) => [...row.children].map((cell) => cell.textContent)).filter(([, , price]) => price !== ""));

/** A value of the statistics. */
const fact = (of, title) => of.locator("#facts div", { has: of.getByText(title, { exact: true }) }).locator("dd");

test("a deep link opens the instrument with its ten best levels, sizes, orders and imbalance", async () => {
  await bookIs(page, "complete");
  await page.locator("#ladder").getByText("140", { exact: true }).waitFor(); // with the last order
  const rows = await ladder(page);
  assert.equal(rows.length, 20);
  assert.deepEqual(rows.map(([, , price]) => Number(price)), Array.from({ length: 20 }, (_, i) => Number((189.35 - 0.01 * i - (i >= 10 ? 0.01 : 0)).toFixed(2))));
  assert.deepEqual(rows[10], ["2", "140", "189.2400", "", ""]);
  assert.deepEqual(rows[9], ["", "", "189.2600", "50", "1"]);
  assert.deepEqual(rows[19], ["1", "1,000", "189.1500", "", ""]);
  // 5,540 bid and 2,750 offered in the ten best levels
  assert.equal(await page.locator("#ladder .spread").textContent(), "spread 0.0200   imbalance ▲ bids 34 %");
  const bar = (row) => page.locator("#ladder tbody tr").nth(row).locator(".bid").evaluate((cell) => cell.style.getPropertyValue("--share"));
  assert.deepEqual([await bar(20), await bar(11)], ["100.0%", "14.0%"]);
  assert.equal(await page.locator("#chart-title").textContent(), "AAPL");
  assert.equal(await page.locator("#chart-venue").textContent(), "XNAS");
  assert.equal(await page.locator("#quotes [aria-selected=true] [data-key=symbol]").textContent(), "AAPL");
});

test("a change of the book is shown, and a level from behind enters", async () => {
  await venue.cancel(100, "AAPL");
  await venue.cancel(300, "AAPL");
  await page.locator("#ladder tbody tr").nth(11).getByText("189.2300").waitFor();
  const rows = await ladder(page);
  assert.deepEqual(rows[19], ["1", "1,100", "189.1400", "", ""]);
  assert.equal(rows.length, 20);
});

test("trades appear with direction and marks, and the statistics follow", async () => {
  await venue.execute(200, "AAPL", 20);
  await page.locator("#tape tbody tr td", { hasText: "189.2600" }).waitFor();
  await venue.hiddenTrade("AAPL", 1_892_500, 7);
  await venue.execute(200, "AAPL", 30);
  const last = await venue.execute(201, "AAPL", 10);
  await page.locator("#tape tbody tr").nth(3).waitFor();
  const tape = await page.locator("#tape tbody tr").evaluateAll((rows) => rows.map((row) => [...row.children].slice(1).map((cell) => cell.textContent.trim())));
  assert.deepEqual(tape, [["▲ 189.2700", "10", ""], ["▲ 189.2600", "30", ""], ["▼ 189.2500", "7", "hidden"], ["189.2600", "20", ""]]);
  await fact(page, "Volume").getByText("67", { exact: true }).waitFor();
  for (const [title, value] of [["Last", "▲ 189.2700"], ["Change", "▲ +0.0100 (0.01 %)"], ["First", "189.2600"], ["High", "189.2700"], ["Low", "189.2500"]]) {
    assert.equal(await fact(page, title).textContent(), value, title);
  }
  await page.getByText(/^4 trades since \d\d:\d\d:\d\d$/).waitFor();
  await venue.breakTrade("AAPL", last);
  await page.locator("#tape tr.broken", { hasText: "189.2700" }).waitFor();
  await page.getByText(/1 of them broken, but still counted/).waitFor();
});

test("bands, the auction and a halt are shown; a halted book does not look tradable", async () => {
  await venue.collar("AAPL", { reference: 1_892_500, lower: 1_797_900, upper: 1_987_100 });
  await fact(page, "Bands").getByText("179.7900 to 198.7100").waitFor();
  await venue.imbalance("AAPL", { paired: 51_200, left: 700, side: "B", near: 1_892_600 });
  await fact(page, "Auction").getByText(/^closing: 51,200 paired, 700 to buy at 189\.2600, \d\d:\d\d:\d\d$/).waitFor();
  await venue.state("AAPL", "H", "T1");
  await bookIs(page, "problem");
  assert.equal(await page.locator("#book-state").textContent(), "Not trading: halted (T1), market hours");
  assert.equal(await fact(page, "State").textContent(), "halted (T1), market hours");
  assert.doesNotMatch(await page.locator("#ladder .spread").textContent(), /imbalance/);
  await venue.state("AAPL", "T");
  await bookIs(page, "complete");
  assert.equal(await page.locator("#book-state").textContent(), "Complete: the best 10 levels");
});

test("statistics survive a reload of the page, and so does the open instrument", async () => {
  await page.reload();
  await bookIs(page, "complete");
  await fact(page, "Volume").getByText("67", { exact: true }).waitFor();
  assert.equal(await page.locator("#chart-title").textContent(), "AAPL");
  await page.getByText(/^No trade since \d\d:\d\d:\d\d$/).waitFor();
  assert.match(await fact(page, "Bands").textContent(), /^none since \d\d:\d\d:\d\d$/); // the wire has no older ones
  assert.match(await fact(page, "Last").textContent(), /^189\.2700 broken\?$/);
  assert.equal(await fact(page, "Change").textContent(), "–");
});

test("choosing another row opens it, the address says so, and Back leads to the overview", async () => {
  const view = await open(browser, gateway.url, { viewport: { width: 1440, height: 900 } });
  const cell = (symbol) => view.locator("#quotes .body [data-key=symbol]:visible", { hasText: symbol });
  await cell("MSFT").waitFor();
  assert.equal(await view.locator("#ladder").isVisible(), false);
  await cell("MSFT").dblclick();
  await view.locator("#ladder").getByText("370.5000").waitFor();
  assert.equal(new URL(view.url()).hash, "#/XNAS/MSFT");
  await cell("AAPL").click();
  await view.locator("#ladder").getByText("189.2300").waitFor();
  assert.equal(new URL(view.url()).hash, "#/XNAS/AAPL");
  assert.equal(await view.locator("#ladder").getByText("370.5000").count(), 0);
  await view.goBack();
  await view.locator("body[data-view=overview]").waitFor();
  await view.locator("#feeds").waitFor();
  await view.context().close();
});

test("an instrument without a book waits for it, and one that does not exist says so", async () => {
  const view = await open(browser, `${gateway.url}#/XNAS/EMPTY`, { viewport: { width: 1440, height: 900 } });
  await fact(view, "State").getByText("trading, market hours").waitFor();
  assert.equal(await view.locator("#book-state").textContent(), "Waiting for the book");
  await view.goto(`${gateway.url}#/XNAS/NONE`);
  await view.getByText("No instrument NONE yet").waitFor();
  assert.deepEqual(await ladder(view), []);
  await view.goto(`${gateway.url}#/XNYS/AAPL`);
  await view.getByText("AAPL has another venue: XNAS").waitFor();
  await view.goto(`${gateway.url}#/-/AAPL`);
  await bookIs(view, "complete");
  await view.waitForFunction(() => location.hash === "#/XNAS/AAPL");
  await view.locator(".skip").focus();
  await view.keyboard.press("Enter");
  assert.deepEqual(await view.evaluate(() => [document.activeElement.id, location.hash]), ["quotes", "#/XNAS/AAPL"]);
  await view.context().close();
});

test("the book of the open instrument is the only one requested", async () => {
  const view = await open(browser, "about:blank", { viewport: { width: 1440, height: 900 } });
  const sent = [];
  const received = [];
  view.on("websocket", (socket) => {
    socket.on("framesent", ({ payload }) => sent.push(JSON.parse(payload)));
    socket.on("framereceived", ({ payload }) => received.push(...payload.toString().split("\n").filter(Boolean).map((line) => JSON.parse(line))));
  });
  await view.goto(`${gateway.url}#/XNAS/MSFT`);
  await view.locator("#ladder").getByText("370.5000").waitFor();
  // The page is ahead of the reports about it.
  while (!received.some(({ type, symbol }) => type === "book" && symbol === "MSFT")) await view.waitForTimeout(20);
  assert.deepEqual(sent.filter(({ depth }) => depth !== undefined), [{ subscribe: ["MSFT"], depth: 10 }]);
  assert.deepEqual(received.filter(({ type, symbol }) => type === "book" && symbol !== "MSFT"), []);
  await view.context().close();
});

test("the watch list is kept in the browser, filters, and is in the address", async () => {
  await page.locator("#watch").click();
  await page.getByRole("button", { name: "★ Watch list (1)" }).click();
  await page.getByText("1 of 3 symbols").waitFor();
  assert.match(page.url(), /\?list=watch$/);
  await page.reload();
  await page.getByText("1 of 3 symbols").waitFor();
  assert.equal(await page.locator("#watch").getAttribute("aria-pressed"), "true");
  await page.locator("#quotes .body [role=row]:visible").first().waitFor();
  assert.deepEqual(await page.locator("#quotes .body [role=row]:visible [data-key=symbol]").allTextContents(), ["AAPL"]);
  await page.getByRole("button", { name: "★ Watch list (1)" }).click();
  await page.getByText("3 symbols", { exact: true }).waitFor();
  await page.getByLabel("Search symbols").fill("ms");
  await page.getByText("1 of 3 symbols").waitFor();
  assert.equal(new URL(page.url()).hash, "#/XNAS/AAPL?search=ms");
  await page.reload();
  await page.getByText("1 of 3 symbols").waitFor();
  assert.equal(await page.getByLabel("Search symbols").inputValue(), "ms");
  await page.getByLabel("Search symbols").fill("");
  await page.locator("#watch").click();
});

test("the open instrument: accessible, nothing wider than the window, at every width and in both themes", async () => {
  for (const [width, height, colorScheme] of [[2560, 1440, "light"], [1440, 900, "dark"], [1100, 800, "light"], [390, 844, "dark"], [360, 740, "light"]]) {
    await page.setViewportSize({ width, height });
    await page.emulateMedia({ colorScheme });
    await bookIs(page, "complete");
    assert.equal(await overflow(page), 0, `${width}`);
    if (width === 1440 || width === 360) assert.deepEqual(await faults(page), [], `${width}`);
    const cut = await page.locator("#ladder td").evaluateAll((cells) => cells.filter((cell) => cell.scrollWidth > cell.clientWidth + 1).map((cell) => cell.textContent));
    assert.deepEqual(cut, [], `${width}`);
    await picture(page, `instrument-${width}-${colorScheme}`);
  }
  await page.setViewportSize({ width: 1440, height: 900 });
  await page.emulateMedia({ colorScheme: "light" });
});

test("opening an instrument and trading move nothing on the page", async () => {
  const view = await open(browser, `${gateway.url}#/XNAS/AAPL`, { viewport: { width: 1440, height: 900 } });
  await bookIs(view, "complete");
  await venue.hiddenTrade("AAPL", 1_892_500, 1_000);
  await view.locator("#tape tbody tr td", { hasText: "189.2500" }).waitFor();
  await fact(view, "Volume").getByText("1,067", { exact: true }).waitFor();
  assert.deepEqual(await shifts(view), []);
  await view.context().close();
});

test("a gap makes the book incomplete: it has no colours, no bars and no imbalance, and the statistics say it too", async () => {
  venue.lose(3);
  await venue.order(400, "AAPL", "B", 1_892_350, 10);
  await bookIs(page, "incomplete");
  assert.equal(await page.locator("#book-state").textContent(), "Incomplete: levels may be missing");
  assert.doesNotMatch(await page.locator("#ladder .spread").textContent(), /imbalance/);
  assert.deepEqual(await page.locator("#ladder .size").evaluateAll((cells) => [...new Set(cells.map((cell) => getComputedStyle(cell).backgroundImage))]), ["none"]);
  await page.getByText(/incomplete: trades were lost in a gap/).waitFor();
  await fact(page, "State").getByText("trading, market hours, may be outdated").waitFor();
  await picture(page, "instrument-incomplete");
  const later = await open(browser, `${gateway.url}#/XNAS/AAPL`, { viewport: { width: 1440, height: 900 } });
  await bookIs(later, "incomplete");
  await fact(later, "State").getByText("trading, market hours, may be outdated").waitFor();
  await later.context().close();
});

test("an ended session is said, and a new one begins with nothing of it", async () => {
  await venue.event("C");
  await page.getByText("Not trading: end of the session. Incomplete").waitFor();
  await bookIs(page, "problem");
  const next = new ItchSender(gateway.feedPort, "NEXT");
  try {
    await next.start(["AAPL"]);
    await page.getByText("No trade seen yet").waitFor();
    await next.order(1, "AAPL", "B", 1_500_000, 10);
    await bookIs(page, "complete");
    assert.deepEqual(await ladder(page), [["1", "10", "150.0000", "", ""]]);
    assert.equal(await fact(page, "Last").textContent(), "–");
  } finally {
    next.close();
  }
});

test("feeds without levels: best prices, which says so; a second venue is a column, and namesakes are marked", async () => {
  const other = await startGateway(["--feed", "name=second,venue=XTST,listen=127.0.0.1:0,format=itch,stale_seconds=0"], { feeds: ["second"] });
  const feed = new Sender(other.feedPort);
  const itch = new ItchSender(other.portOf("second"));
  const view = await open(browser, `${other.url}#/-/MSFT`, { viewport: { width: 1920, height: 900 } });
  const cells = (symbol) => view.locator("#quotes .body [role=row]:visible", { hasText: symbol }).locator("[data-key=venue]");
  try {
    await view.getByText("No instrument MSFT yet").waitFor();
    await feed.send([{ symbol: "MSFT", bid: 3_705_000, ask: 3_705_500, bidSize: 1_200, askSize: 900 }]);
    await view.getByText("Best prices only").waitFor();
    assert.deepEqual(await ladder(view), [["", "", "370.5500", "900", ""], ["", "1,200", "370.5000", "", ""]]);
    await view.getByText(/the feed sends no levels/).waitFor();
    assert.equal(await cells("MSFT").isVisible(), false);
    await feed.send([{ symbol: "MSFT", bid: 3_705_000, ask: 3_705_500, flags: 1 }]);
    await bookIs(view, "incomplete");
    await itch.start(["AAPL"]);
    await itch.order(1, "AAPL", "B", 1_892_400, 100);
    await cells("AAPL").first().waitFor();
    assert.deepEqual(await cells("AAPL").allTextContents(), ["XTST"]);
    assert.deepEqual(await cells("MSFT").allTextContents(), [""]);
    await itch.start(["AAPL", "MSFT"]);
    await itch.order(2, "MSFT", "B", 3_705_000, 100);
    await view.locator("#quotes .body [role=row]:visible", { hasText: "MSFT" }).getByText("mixed").waitFor();
    await view.goto(`${other.url}#/XTST/MSFT`);
    await view.getByText("2 instruments of this ring are called MSFT: their events are mixed here").waitFor();
  } finally {
    await view.context().close();
    itch.close();
    feed.close();
    await other.stop();
  }
});

test("a dead feed and a lost gateway leave no ladder that looks current, and it comes back", async () => {
  const web = `listen=127.0.0.1:${await freePort()}`;
  let other = await startGateway([], { web, format: ITCH, stale: 1 });
  let feed = new ItchSender(other.feedPort);
  const view = await open(browser, `${other.url}#/XNAS/AAPL`, { viewport: { width: 1440, height: 900 } });
  try {
    await feed.start(["AAPL"]);
    await feed.order(1, "AAPL", "B", 1_892_400, 100);
    await view.getByText(/^Not current: feed 'planted': nothing received for \d+.*Incomplete$/).waitFor();
    await bookIs(view, "problem");
    await feed.order(2, "AAPL", "B", 1_892_400, 100);
    await other.kill();
    await view.getByText("Not current: the connection is lost").waitFor();
    await bookIs(view, "problem");
    feed.close();
    other = await startGateway([], { web, format: ITCH });
    feed = new ItchSender(other.feedPort);
    await view.getByText("No instrument AAPL yet").waitFor();
    assert.deepEqual(await ladder(view), []);
    await feed.start(["AAPL"]);
    await feed.order(1, "AAPL", "B", 1_892_300, 100);
    await bookIs(view, "complete");
    await view.locator("#ladder").getByText("189.2300").waitFor();
  } finally {
    await view.context().close();
    feed.close();
    await other.stop();
  }
});
