// Runs the compiled tests with the flags that some of them need, and writes a line for each failed one to build/failed-tests.
//   run-tests.mjs [PART OF A FILE'S NAME]...
import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const wanted = process.argv.slice(2);
const tests = readdirSync(join(root, "build/test"))
  .filter((file) => file.endsWith(".test.js") && (wanted.length === 0 || wanted.some((part) => file.includes(part))))
  .map((file) => join("build/test", file));
const flags = ["--expose-gc", "--test", "--test-concurrency=1"];
const reporters = [
  ["spec", "stdout"],
  [join(root, "tools/failed-tests.mjs"), join(root, "build/failed-tests")],
].flatMap(([reporter, destination]) => [`--test-reporter=${reporter}`, `--test-reporter-destination=${destination}`]);
const { status } = spawnSync(process.execPath, [...flags, ...reporters, ...tests], { cwd: root, stdio: "inherit" });
process.exit(status ?? 1);
