// Builds src/ into dist/: esm/ for bundlers, with types; cjs/, types for `require`; and node/, one file with everything, behind
// one small file per subpath for `import` and one for `require`, so that a process has one copy of each class.
import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { buildSync } from "esbuild";

/** The subpaths, and their modules in dist/esm. */
const PATHS = {
  index: "index.js",
  pool: "pool/index.js",
  bus: "bus/index.js",
  threads: "threads/index.js",
  market: "market/index.js",
  testing: "testing.js",
};

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const dist = join(root, "dist");
const tsc = createRequire(import.meta.url).resolve("typescript/bin/tsc");
rmSync(dist, { recursive: true, force: true });
for (const project of ["tsconfig.json", "tsconfig.cjs.json"]) {
  execFileSync(process.execPath, [tsc, "-p", project], { cwd: root, stdio: "inherit" });
}
writeFileSync(join(dist, "cjs/package.json"), '{ "type": "commonjs" }\n');
for (const module of Object.values(PATHS)) {
  const file = module.replace(/js$/, "d.ts");
  // Types for browsers, without @types/node.
  if (/pool|bus|testing/.test(file)) {
    copyFileSync(join(dist, "esm", file), join(dist, "esm", file.replace(/d\.ts$/, "browser.d.ts")));
  }
  for (const format of ["esm", "cjs"]) {
    const path = join(dist, format, file);
    writeFileSync(path, `/// <reference types="node" />\n${readFileSync(path, "utf8")}`);
  }
}

mkdirSync(join(dist, "node"));
buildSync({
  stdin: { contents: 'export * from "./index.js";\nexport * from "./testing.js";\n', resolveDir: join(dist, "esm") },
  bundle: true,
  platform: "node",
  target: "node20",
  format: "cjs",
  mainFields: ["main"],
  sourcemap: true,
  outfile: join(dist, "node/millpond.cjs"),
});
giveNamesBack(join(dist, "node/millpond.cjs"));
for (const [path, module] of Object.entries(PATHS)) {
  const names = Object.keys(await import(pathToFileURL(join(dist, "esm", module)).href)).sort();
  const lines = names.map((name) => `exports.${name} = all.${name};\n`).join("");
  writeFileSync(join(dist, `node/${path}.cjs`), `"use strict";\nconst all = require("./millpond.cjs");\n${lines}`);
  const list = names.map((name) => `  ${name},\n`).join("");
  writeFileSync(join(dist, `node/${path}.mjs`), `import all from "./millpond.cjs";\nexport const {\n${list}} = all;\n`);
}

/** Restores class names: the bundler renames a class that uses its name to `_Name`. (Its option keepNames adds a call to every closure.) */
function giveNamesBack(file) {
  const text = readFileSync(file, "utf8");
  const renamed = [...text.matchAll(/^var (\w+) = class _\1\b/gm)].map(([, name]) => name);
  const lines = renamed.map((name) => `Object.defineProperty(${name}, "name", { value: "${name}" });\n`).join("");
  writeFileSync(file, text.replace(/^\/\/# sourceMappingURL/m, `${lines}$&`));
}
