// The pictures of the README: the page and `millpond top` beside a running demo, drawn by Chromium. Each test fails if
// the headings differ from those of the committed picture; `make pictures` then draws it again.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { after, before, test } from "node:test";

import { chromium } from "playwright-core";

import { PROGRAM } from "./gateway.js";

const COMMITTED = "../../docs/pictures";
const drawn = process.env.MILLPOND_SCREENSHOTS ?? "../../build/screenshots";
const again = process.env.MILLPOND_DRAW_PICTURES === "1";

const PAGE = /page: (http:\/\/\S+)/;
const METRICS = /metrics: http:\/\/([\d.:]+)\/metrics/;
/** Seconds of quotes after which the chart shows a line. */
const CHART_SECONDS = 15;
const TERMINAL = { columns: 112, rows: 30 };

let demo;
let ended;
let said = "";
let browser;

before(async () => {
  mkdirSync(drawn, { recursive: true });
  demo = spawn(PROGRAM, ["demo"]);
  ended = new Promise((done) => { demo.on("exit", done); });
  await new Promise((done, failed) => {
    demo.stderr.resume();
    demo.stdout.on("data", (data) => {
      said += data;
      if (PAGE.test(said) && METRICS.test(said)) done();
    });
    demo.on("exit", (code) => failed(new Error(`the demo ended (${code}): ${said}`)));
  });
  browser = await chromium.launch({ executablePath: process.env.MILLPOND_CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
});

after(async () => {
  await browser?.close();
  demo?.kill("SIGINT");
  await ended;
});

/** Draws NAME.png, and compares NAME.txt, the headings of the committed picture, with those of today. */
async function picture(name, page, headings) {
  const folder = again ? COMMITTED : drawn;
  mkdirSync(folder, { recursive: true });
  await page.screenshot({ path: `${folder}/${name}.png` });
  const text = headings.join("\n") + "\n";
  if (again) writeFileSync(`${folder}/${name}.txt`, text);
  assert.ok(existsSync(`${COMMITTED}/${name}.png`));
  assert.equal(text, readFileSync(`${COMMITTED}/${name}.txt`, "utf8"), "run `make pictures`");
}

test("the picture of the page has today's headings", async () => {
  const page = await (await browser.newContext({ viewport: { width: 1280, height: 860 } })).newPage();
  page.setDefaultTimeout(60_000);
  await page.goto(PAGE.exec(said)[1]);
  await page.locator("#quotes .body [role=row]:visible").first().waitFor();
  await page.waitForTimeout(again ? CHART_SECONDS * 1_000 : 0);
  const headings = await page.locator("h1:visible, h2:visible, #quotes [role=columnheader]:visible, thead th:visible").allInnerTexts();
  assert.ok(headings.length > 10);
  await picture("page", page, headings.map((one) => one.replaceAll(/\s+/g, " ").trim()));
});

/** The last complete screen of `millpond top`, as written to a terminal. */
async function screenOfTop() {
  const { columns, rows } = TERMINAL;
  const command = `stty cols ${columns} rows ${rows}; exec '${PROGRAM}' top --gateway ${METRICS.exec(said)[1]}`;
  const top = spawn("script", ["--quiet", "--return", "--command", command, "/dev/null"], { env: { ...process.env, TERM: "xterm", NO_COLOR: "" } });
  let written = "";
  let asked = false;
  top.stdout.on("data", (data) => {
    written += data;
    if (asked || written.split("\x1b[J").length < 5) return;  // the rates need two answers
    asked = true;
    top.stdin.write("q");
  });
  await new Promise((done) => { top.on("exit", done); });
  return written.split("\x1b[J").at(-2).split("\x1b[H").at(-1).replaceAll("\x1b[K", "").replaceAll("\r", "");
}

const COLOURS = { 1: "font-weight:bold", 2: "opacity:0.6", 31: "color:#ff6b68", 32: "color:#7ec87e", 33: "color:#e5c07b", 36: "color:#6cc7d6" };

/** Text with the escapes for colours as HTML. */
function htmlOf(screen) {
  const safe = screen.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
  return safe.replaceAll(/\x1b\[(\d+)m/g, (_, code) => (code === "0" ? "</span>" : `<span style="${COLOURS[code]}">`));
}

test("the picture of top has today's headings", async () => {
  const screen = await screenOfTop();
  const plain = screen.replaceAll(/\x1b\[\d+m/g, "");
  const page = await (await browser.newContext({ viewport: { width: 760, height: 485 } })).newPage();
  await page.setContent(`<body style="margin:0;background:#1e2127;color:#d7dae0"><pre style="margin:16px;font:14px/1.3 'DejaVu Sans Mono',monospace">${htmlOf(screen)}</pre>`);
  const titles = plain.split("\n").filter((line) => /^[A-Z]/.test(line)).map((line) => line.replaceAll(/\s+/g, " ").trim());
  assert.ok(titles.length > 2, plain);
  await picture("top", page, titles);
});
