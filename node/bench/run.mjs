// Runs the benches one after the other, each in a process of its own. Arguments are handed on: --quick, --cpu-time, --results.
import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const folder = dirname(fileURLToPath(import.meta.url));
const helpers = ["run.mjs", "harness.mjs"];
let failed = 0;
for (const file of readdirSync(folder).filter((name) => name.endsWith(".mjs") && !helpers.includes(name))) {
  const { status } = spawnSync(process.execPath, ["--expose-gc", join(folder, file), ...process.argv.slice(2)], {
    stdio: "inherit",
  });
  if (status !== 0) failed++;
}
process.exit(failed === 0 ? 0 : 1);
