// Pool and bus as a bundle for browsers, which runs in Chromium if that is installed.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = join(dirname(fileURLToPath(import.meta.url)), "../..");
const chromium = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find(existsSync);

const PROGRAM = `
import { MessagePool } from "millpond/pool";
import { MessageSystem, QueueFullError } from "millpond/bus";
const said = [];
const system = new MessageSystem({ tracing: true });
system.on("a/{n}", (message) => message.param("n") + message.traceparent.length);
system.on("q", async (message) => message.body * 2, { queue: { capacity: 2 } });
system.subscribe("a/*", (message) => said.push("seen " + message.param("*")));
said.push(system.send("a/7"));
const replies = await Promise.allSettled([1, 2, 3].map((body) => system.send("q", body)));
said.push(replies[1].value, replies[2].reason instanceof QueueFullError);
said.push(await system.close(), system.pool.stats().inUse, new MessagePool(4).acquire("a", 1).body);
globalThis.document.title = said.join(" ");
`;

async function bundle(): Promise<string> {
  const { outputFiles } = await build({
    stdin: { contents: PROGRAM, resolveDir: root },
    bundle: true,
    platform: "browser",
    format: "esm",
    write: false,
  });
  return outputFiles[0]!.text;
}

test("pool and bus bundle for browsers without Node modules", async () => {
  const text = await bundle();
  assert.doesNotMatch(text, /from "node:|require\(|async_hooks/);
});

test("the bundle runs in Chromium", { skip: chromium === undefined ? "there is no Chromium" : false }, async () => {
  const folder = mkdtempSync(join(tmpdir(), "millpond-browser-"));
  try {
    const page = join(folder, "page.html");
    writeFileSync(page, `<!doctype html><title>none</title><script type="module">${await bundle()}</script>`);
    const flags = [
      "--headless",
      "--no-sandbox",
      "--disable-gpu",
      `--user-data-dir=${folder}/profile`,
      "--virtual-time-budget=5000",
    ];
    const { stdout } = spawnSync(chromium!, [...flags, "--dump-dom", `file://${page}`], {
      encoding: "utf8",
      timeout: 60_000,
    });
    assert.match(stdout, /<title>755 seen 7 4 true true 0 1<\/title>/);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
