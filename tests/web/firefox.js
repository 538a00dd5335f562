// Firefox over WebDriver BiDi, with the few methods of a Playwright page that the tests of two browsers use: Playwright
// itself needs a Firefox of its own. Source: W3C WebDriver BiDi.
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { ws as WebSocket } from "playwright-core/lib/utilsBundle";

const PROGRAM = process.env.MILLPOND_FIREFOX ?? "/usr/bin/firefox-esr";
const LISTENS = /WebDriver BiDi listening on (ws:\/\/\S+)/;
const PATIENCE_MS = 60_000;

export const hasFirefox = existsSync(PROGRAM);

/** Starts Firefox without a window. */
export async function launchFirefox() {
  const profile = mkdtempSync(join(tmpdir(), "millpond-firefox-"));
  const child = spawn(PROGRAM, ["--headless", "--no-remote", "--profile", profile, "--remote-debugging-port", "0", "about:blank"], { env: { ...process.env, HOME: profile } });
  const ended = new Promise((done) => { child.on("exit", done); });
  const address = await new Promise((done, failed) => {
    let said = "";
    child.stderr.on("data", (data) => {
      said += data;
      if (LISTENS.test(said)) done(LISTENS.exec(said)[1]);
    });
    child.on("exit", (code) => failed(new Error(`Firefox ended (${code}): ${said}`)));
  });
  const socket = new WebSocket(`${address}/session`);
  await new Promise((done, failed) => { socket.once("open", done).once("error", failed); });
  const waiting = new Map();
  socket.on("message", (data) => {
    const { id, result, error, message } = JSON.parse(data);
    if (id === undefined) return;
    if (error === undefined) waiting.get(id).done(result);
    else waiting.get(id).failed(new Error(`${error}: ${message}`));
  });
  let last = 0;
  const send = (method, params) => new Promise((done, failed) => {
    last += 1;
    waiting.set(last, { done, failed });
    socket.send(JSON.stringify({ id: last, method, params }));
  });
  await send("session.new", { capabilities: {} });
  return {
    /** Opens a page of this size. */
    async open(url, viewport) {
      const { contexts: [{ context }] } = await send("browsingContext.getTree", {});
      await send("browsingContext.setViewport", { context, viewport });
      await send("script.addPreloadScript", { functionDeclaration: "() => { globalThis.faults = []; addEventListener('error', ({ message }) => globalThis.faults.push(message)); addEventListener('unhandledrejection', ({ reason }) => globalThis.faults.push(String(reason))); }" });
      await send("browsingContext.navigate", { context, url, wait: "complete" });
      const run = async (expression) => {
        const answer = await send("script.evaluate", { target: { context }, awaitPromise: true, expression });
        if (answer.type !== "success") throw new Error(answer.exceptionDetails.text);
        return answer.result.value;
      };
      /** Calls a function without arguments, whose result fits into JSON, or runs the text of a script. */
      const evaluate = async (script) => (typeof script === "string" ? run(`${script};0`)
        : JSON.parse(await run(`Promise.resolve((${script})()).then((value) => JSON.stringify(value ?? null))`)));
      return {
        evaluate,
        /** Waits until the function is true. */
        async waitForFunction(condition) {
          for (const end = Date.now() + PATIENCE_MS; !(await evaluate(condition)); await sleep(100)) {
            if (Date.now() > end) throw new Error(`never: ${condition}`);
          }
        },
        /** Errors of the page's scripts. */
        errors: () => evaluate(() => globalThis.faults),
      };
    },
    async close() {
      socket.close();
      child.kill("SIGTERM");
      await ended;
      rmSync(profile, { recursive: true, force: true });
    },
  };
}
