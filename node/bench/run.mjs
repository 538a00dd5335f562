// Runs the benches in turn, each in a separate process, and with --results rewrites the page of all results.
// usage: run.mjs [--node PATH]... [--only NAME] [--quick] [--cpu-time] [--results]
// --node: a Node binary to use, the current one by default. Other options are passed to the benches.
import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const folder = dirname(fileURLToPath(import.meta.url));
const top = join(folder, "../..");
const nodes = [];
const handedOn = [];
let only = "";
for (let at = 2; at < process.argv.length; at++) {
  const argument = process.argv[at];
  if (argument === "--node") nodes.push(process.argv[++at]);
  else if (argument === "--only") only = process.argv[++at];
  else handedOn.push(argument);
}
if (nodes.length === 0) nodes.push(process.execPath);
const notBenches = ["run.mjs", "harness.mjs"];
const benches = readdirSync(folder).filter((name) => name.endsWith(".mjs") && !notBenches.includes(name));
const failed = [];
for (const node of nodes) {
  for (const file of benches.filter((name) => name.startsWith(only))) {
    const start = performance.now();
    const { status } = spawnSync(node, ["--expose-gc", join(folder, file), ...handedOn], { stdio: "inherit" });
    console.log(`${file}: ${((performance.now() - start) / 1_000).toFixed(0)} s`);
    if (status !== 0) failed.push(`${file} on ${node}`);
  }
}
if (handedOn.includes("--results")) {
  const report = [join(top, "bench/report"), "bench/results", "--markdown", "docs/reference/benchmarks.md"];
  if (spawnSync("python3", report, { cwd: top, stdio: "inherit" }).status !== 0) failed.push("report");
}
for (const name of failed) console.log(`failed: ${name}`);
process.exit(failed.length === 0 ? 0 : 1);
