// Checks the packed package: publint, types for both module systems, size, and a scratch project that
// imports and requires it. MILLPOND_NODE_BINARIES: further Node binaries to test, separated by colons.
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** Bytes of the packed file: types for both module formats, the bundle, the modules and their source maps with sources. */
const BUDGET = 409_600;

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const scratch = mkdtempSync(join(tmpdir(), "millpond-package-"));
const run = (command, args, cwd) => execFileSync(command, args, { cwd, encoding: "utf8" });

try {
  const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const scripts = ["preinstall", "install", "postinstall", "prepare"].filter((name) => manifest.scripts[name]);
  if (scripts.length > 0) throw new Error(`install scripts: ${scripts}`);
  if (Object.keys(manifest.dependencies ?? {}).length > 0) throw new Error("the package has run-time dependencies");

  const [packed] = JSON.parse(run("npm", ["pack", "--json", "--pack-destination", scratch], root));
  const tarball = join(scratch, packed.filename);
  console.log(`${packed.filename}: ${packed.size} bytes, budget ${BUDGET}`);
  if (packed.size > BUDGET) throw new Error("the package is over its size budget");
  console.log(run(join(root, "node_modules/.bin/publint"), ["run", tarball, "--strict"], root));
  console.log(
    run(join(root, "node_modules/.bin/attw"), [tarball, "--profile", "node16", "--no-color", "--no-emoji"], root),
  );

  if (process.argv.includes("--types"))
    console.log(run(process.execPath, [join(root, "tools/check-types.mjs"), tarball], root));

  // Without the package of the native part, opening a ring throws a named error.
  const shm = join(root, "shm");
  const prebuilt = existsSync(join(shm, "mapping.node"));
  const tarballs = [tarball];
  if (prebuilt) {
    const [addon] = JSON.parse(run("npm", ["pack", "--json", "--pack-destination", scratch], shm));
    const files = addon.files.map((file) => file.path).sort();
    if (!files.includes("mapping.node") || !files.includes("index.js")) throw new Error(`shm holds ${files}`);
    console.log(`${addon.filename}: ${addon.size} bytes`);
    tarballs.push(join(scratch, addon.filename));
  }
  const fault = prebuilt ? "not_found" : "no_addon";
  writeFileSync(join(scratch, "package.json"), '{ "name": "scratch", "private": true }\n');
  run("npm", ["install", "--offline", "--no-audit", "--no-fund", ...tarballs], scratch);
  const use = `
    const system = new MessageSystem();
    system.on("a/{b}", (message) => message.param("b") + message.body);
    if (system.send("a/c", 1) !== "c1") throw new Error("wrong reply");
    assertAllReturned(system);
    MarketRing.open("none").catch((error) => {
      if (error.fault !== "${fault}") throw new Error(error.fault);
    });`;
  writeFileSync(
    join(scratch, "use.mjs"),
    `import { MarketRing, MessageSystem } from "millpond";\nimport { assertAllReturned } from "millpond/testing";${use}`,
  );
  writeFileSync(
    join(scratch, "use.cjs"),
    `const { MarketRing, MessageSystem } = require("millpond");\nconst { assertAllReturned } = require("millpond/testing");${use}`,
  );
  const others = (process.env.MILLPOND_NODE_BINARIES ?? "").split(":").filter((path) => path !== "");
  for (const node of [process.execPath, ...others]) {
    for (const file of ["use.mjs", "use.cjs"]) run(node, [file], scratch);
    console.log(`scratch project: import and require work on ${run(node, ["--version"], scratch).trim()}`);
  }
} finally {
  rmSync(scratch, { recursive: true, force: true });
}
