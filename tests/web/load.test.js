// The page's files in real Chromium: how many bytes a first load and a reload need.
import assert from "node:assert/strict";
import { test } from "node:test";

import { launch, open } from "./browser.js";
import { startGateway } from "./gateway.js";

const MAX_BYTES = 90_000;

/** [name, bytes of the response with its head] of the page and its files. */
const files = (page) => page.evaluate(() => [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")]
  .map(({ name, transferSize }) => [new URL(name).pathname + new URL(name).search, transferSize])
  .filter(([name]) => !name.startsWith("/api/")));

test("a first load needs at most 90 KB, and a reload no script or style sheet", async (t) => {
  const gateway = await startGateway();
  const browser = await launch();
  try {
    const page = await open(browser, gateway.url, { viewport: { width: 1440, height: 900 } });
    await page.locator("body[data-link=live]").waitFor();
    const first = await files(page);
    const bytes = first.reduce((sum, [, size]) => sum + size, 0);
    const paint = await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime);
    t.diagnostic(`${bytes} bytes in ${first.length} files, first paint after ${paint?.toFixed(0)} ms`);
    assert.ok(first.some(([name]) => /^\/page\.js\?v=[0-9a-f]{16}$/.test(name)), JSON.stringify(first));
    assert.ok(bytes <= MAX_BYTES, JSON.stringify(first));
    await page.reload();
    await page.locator("body[data-link=live]").waitFor();
    const again = (await files(page)).filter(([name, size]) => size > 0 && !name.endsWith(".svg"));
    assert.deepEqual(again.map(([name]) => name), ["/"]);
    assert.ok(again[0][1] < 1_000, "the index is sent again");
  } finally {
    await browser.close();
    await gateway.stop();
  }
});
