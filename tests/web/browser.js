// Chromium for tests of pages: opens pages that fail on errors, and finds faults that a user would see.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

import { chromium } from "playwright-core";

export const PATIENCE_MS = 30_000;
const SCREENSHOTS = process.env.MILLPOND_SCREENSHOTS; // undefined: none are drawn

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

export function launch() {
  return chromium.launch({ executablePath: process.env.MILLPOND_CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
}

/** Opens a page, which notes the layout shifts of its boxes from the start on. */
export async function open(browser, url, options) {
  const context = await browser.newContext({ reducedMotion: "no-preference", ...options });
  context.setDefaultTimeout(PATIENCE_MS);
  const page = await context.newPage();
  page.on("pageerror", (error) => { throw error; });
  await page.addInitScript(() => {
    globalThis.shifts = [];
    new PerformanceObserver((list) => {
      for (const { value, hadRecentInput, sources } of list.getEntries()) {
        // The digits of a right-aligned number that grows count as a shift of its text: boxes do not move for it.
        const moved = sources.filter(({ node }) => node?.nodeType === Node.ELEMENT_NODE);
        if (hadRecentInput || moved.length === 0) continue;
        globalThis.shifts.push(`${value.toFixed(4)}: ${moved.map(({ node, previousRect: from, currentRect: to }) => `${node.id || `${node.nodeName}.${node.className} in ${node.closest("[id]")?.id}`} ${from.x},${from.y} > ${to.x},${to.y}`).join("; ")}`);
      }
    }).observe({ type: "layout-shift", buffered: true });
  });
  await page.goto(url);
  return page;
}

/** The layout shifts since the page was opened, without those after input. */
export const shifts = (page) => page.evaluate(() => globalThis.shifts);

/** Draws the page for people to look at. */
export const picture = async (page, name) => SCREENSHOTS && page.screenshot({ path: `${SCREENSHOTS}/${name}.png`, fullPage: true });

/** Faults that axe-core finds. all: those that are not serious too. */
export async function faults(page, all = false) {
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
  return violations.filter(({ impact }) => all || impact === "serious" || impact === "critical")
    .map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).slice(0, 3).join(" ")}`);
}

/** By how many pixels the page is wider than the window. */
export const overflow = (page) => page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
