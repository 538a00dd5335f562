// Compiles shm/ and links it into node_modules, so that it is found as an installed package is. Where there is no C compiler, or
// another machine than linux-x64, it says so and builds nothing.
import { execFileSync } from "node:child_process";
import { rmSync, symlinkSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const { include_dir: headers } = createRequire(import.meta.url)("node-api-headers");
const link = join(root, "node_modules/millpond-shm-linux-x64");
const compiler = process.env.CC ?? "cc";
const flags = ["-std=gnu11", "-O2", "-Wall", "-Wextra", "-DNAPI_VERSION=8", "-fPIC", "-fvisibility=hidden"];
// For developers only: users have other compilers.
if (process.argv.includes("--warnings-as-errors")) flags.push("-Werror");
// Without a C library of its own: the process that loads it has one, whichever it is.
const linking = ["-shared", "-nostdlib", "-Wl,-s"];

rmSync(link, { force: true, recursive: true });
if (process.platform !== "linux" || process.arch !== "x64") {
  console.log(`shm: not built, this is ${process.platform}-${process.arch}`);
} else {
  try {
    const out = join(root, "shm/mapping.node");
    execFileSync(compiler, [...flags, `-I${headers}`, ...linking, "-o", out, join(root, "shm/src/mapping.c")], {
      stdio: "inherit",
    });
    symlinkSync("../shm", link);
  } catch (error) {
    if (error.code !== "ENOENT") throw error;
    console.log(`shm: not built, there is no C compiler (${compiler})`);
  }
}
