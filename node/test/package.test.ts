// The package as programs use it: its subpaths, and stacks with its sources.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { createRequire } from "node:module";
import { test } from "node:test";

const require = createRequire(import.meta.url);
const SUBPATHS = {
  pool: ["MessagePool", "SlotPool"],
  bus: ["MessageSystem", "PathRouter", "NoHandlerError"],
  threads: ["SpscRing", "MpscRing", "WorkerBridge"],
  market: ["MarketData", "MarketRing"],
  testing: ["assertAllReturned", "flush"],
};

for (const [subpath, names] of Object.entries(SUBPATHS)) {
  test(`millpond/${subpath} exports the same objects to import, require and the whole package`, async () => {
    const imported = (await import(`millpond/${subpath}`)) as Record<string, unknown>;
    const required = require(`millpond/${subpath}`) as Record<string, unknown>;
    const whole = (await import("millpond")) as Record<string, unknown>;
    for (const name of names) {
      assert.equal(typeof imported[name], name.startsWith("global") ? "object" : "function", name);
      assert.equal(required[name], imported[name], name);
      if (subpath !== "testing") assert.equal(whole[name], imported[name], name);
    }
  });
}

test("each class has the name by which it is exported", async () => {
  const whole = (await import("millpond")) as Record<string, unknown>;
  const classes = Object.entries(whole).filter(([, value]) => /^class\b/.test(String(value)));
  assert.deepEqual(
    classes.map(([, value]) => (value as { name: string }).name),
    classes.map(([name]) => name),
  );
  assert.ok(classes.length > 10);
});

test("with source maps a stack names the TypeScript source and its line", () => {
  const program = 'new (require("millpond").MessageSystem)().send("nowhere")';
  const { stderr } = spawnSync(process.execPath, ["--enable-source-maps", "-e", program], { encoding: "utf8" });
  assert.match(stderr, /NoHandlerError/);
  assert.match(stderr, /src\/bus\/dispatcher\.ts:\d+:\d+/);
});
