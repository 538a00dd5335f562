// The pages' files in real Chromium: how many bytes a first load and a reload need.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { launch, open } from "./browser.js";
import { PAGE, PORT, startFix } from "./fix-engine.js";
import { startGateway } from "./gateway.js";

const MAX_BYTES = 90_000;

/** [name, bytes of the response with its head] of the page and its files. */
const files = (page) => page.evaluate(() => [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")]
  .map(({ name, transferSize }) => [new URL(name).pathname + new URL(name).search, transferSize])
  .filter(([name]) => !name.startsWith("/api/")));

/** script: name of the page's script. */
async function load(url, script, t) {
  const browser = await launch();
  try {
    const page = await open(browser, url, { viewport: { width: 1440, height: 900 } });
    await page.locator("body[data-link=live]").waitFor();
    const first = await files(page);
    const bytes = first.reduce((sum, [, size]) => sum + size, 0);
    const paint = await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime);
    t.diagnostic(`${bytes} bytes in ${first.length} files, first paint after ${paint?.toFixed(0)} ms`);
    assert.ok(first.some(([name]) => new RegExp(`^/${script}\\?v=[0-9a-f]{16}$`).test(name)), JSON.stringify(first));
    assert.ok(bytes <= MAX_BYTES, JSON.stringify(first));
    await page.reload();
    await page.locator("body[data-link=live]").waitFor();
    const again = (await files(page)).filter(([name, size]) => size > 0 && !name.endsWith(".svg"));
    assert.deepEqual(again.map(([name]) => name), ["/"]);
    assert.ok(again[0][1] < 1_000, "the index is sent again");
  } finally {
    await browser.close();
  }
}

test("a first load of the gateway's page needs at most 90 KB, and a reload no script or style sheet", async (t) => {
  const gateway = await startGateway();
  try {
    await load(gateway.url, "page.js", t);
  } finally {
    await gateway.stop();
  }
});

test("a first load of the FIX engine's page likewise", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "millpond-load-"));
  const config = join(folder, "fix.toml");
  writeFileSync(config, '[[web]]\nlisten = "127.0.0.1:0"\n[[acceptor]]\nlisten = "127.0.0.1:0"\n[[session]]\nsender = "HOUSE"\ntarget = "DESK"\n');
  const engine = await startFix(["acceptor", "--config", config], [PAGE, PORT], folder);
  try {
    await load(engine.word(PAGE), "fix.js", t);
  } finally {
    await engine.stop();
    rmSync(folder, { recursive: true });
  }
});
