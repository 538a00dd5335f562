// The page, open for MILLPOND_SOAK_MINUTES with 5,000 symbols: its heap does not grow, nothing moves, no fault of
// accessibility. In Chromium and, without the heap, in Firefox.
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";

import { faults, launch, open, shifts } from "./browser.js";
import { hasFirefox, launchFirefox } from "./firefox.js";
import { Sender, startGateway } from "./gateway.js";

const MINUTES = Number(process.env.MILLPOND_SOAK_MINUTES ?? 0.1);
const VIEWPORT = { width: 1440, height: 900 };
const SYMBOLS = 5_000;
const QUOTES = 25; // in a datagram
const MAX_GROWTH = 2 * 1024 * 1024;
/** The first part of the time is for what is made once, such as compiled functions and the rows of lists. */
const PARTS = 4;

/** Sends quotes of all symbols in turn until `until.over`. */
async function quote(feed, until) {
  for (let first = 0; !until.over; first = (first + QUOTES) % SYMBOLS) {
    await feed.send(Array.from({ length: QUOTES }, (_, i) => {
      const bid = 10_000 + Math.floor(Math.random() * 1_000_000);
      return { symbol: `S${String(first + i).padStart(4, "0")}`, bid, ask: bid + 100 };
    }));
    await sleep(10);
  }
}

const tops = (page) => page.evaluate(() => [...document.querySelectorAll("section")].map((one) => `${one.id} ${one.getBoundingClientRect().top + scrollY}`));

/** Opens the page with open(url), which returns {page, heap, check}, and looks at it for MINUTES. */
async function soak(openPage, t) {
  const gateway = await startGateway(["--tcp", "name=lines,listen=127.0.0.1:0"]);
  const feed = new Sender(gateway.feedPort);
  const until = { over: false };
  const quotes = quote(feed, until);
  try {
    const { page, heap, check } = await openPage(gateway.url);
    await page.waitForFunction(() => document.querySelector("#count").textContent === "5,000 symbols");
    await page.waitForFunction(() => document.querySelector("#prices canvas") !== null && document.querySelector("#clients tr[data-name]") !== null);
    const places = await tops(page);
    const sizes = [];
    for (let part = 0; part < PARTS; part += 1) {
      await sleep(MINUTES * 60_000 / PARTS);
      sizes.push(await heap());
    }
    t.diagnostic(`${MINUTES} minutes, heap in MB: ${sizes.map((bytes) => (bytes / 1e6).toFixed(2)).join(", ")}`);
    assert.ok(sizes.at(-1) - sizes[0] <= MAX_GROWTH, `the heap grows: ${sizes}`);
    assert.deepEqual(await tops(page), places);
    assert.equal(await page.evaluate(() => document.body.dataset.link), "live");
    assert.deepEqual(await faults(page), []);
    await check();
  } finally {
    until.over = true;
    await quotes;
    feed.close();
    await gateway.stop();
  }
}

test("Chromium", async (t) => {
  const browser = await launch();
  try {
    await soak(async (url) => {
      const page = await open(browser, url, { viewport: VIEWPORT });
      const devtools = await page.context().newCDPSession(page);
      return {
        page,
        async heap() {
          await devtools.send("HeapProfiler.collectGarbage");
          return (await devtools.send("Runtime.getHeapUsage")).usedSize;
        },
        check: async () => assert.deepEqual(await shifts(page), []),
      };
    }, t);
  } finally {
    await browser.close();
  }
});

test("Firefox", { skip: !hasFirefox && "there is no Firefox" }, async (t) => {
  const browser = await launchFirefox();
  try {
    await soak(async (url) => {
      const page = await browser.open(url, VIEWPORT);
      return { page, heap: async () => 0, check: async () => assert.deepEqual(await page.errors(), []) };
    }, t);
  } finally {
    await browser.close();
  }
});
