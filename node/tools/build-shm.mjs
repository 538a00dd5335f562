// Compiles shm/ and links it into node_modules, like an installed package. Without a C compiler, or on another machine than
// Linux on x64 and arm64, it prints a message and builds nothing. `--only FILE` compiles to FILE and links nothing; with CC it
// cross-compiles.
import { execFileSync } from "node:child_process";
import { rmSync, symlinkSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const { include_dir: headers } = createRequire(import.meta.url)("node-api-headers");
const compiler = process.env.CC ?? "cc";
const flags = ["-std=gnu11", "-O2", "-Wall", "-Wextra", "-DNAPI_VERSION=8", "-fPIC", "-fvisibility=hidden"];
// Used by developers only: users may have other compilers.
if (process.argv.includes("--warnings-as-errors")) flags.push("-Werror");
// Not linked to a C library: the process that loads it has one already.
const linking = ["-shared", "-nostdlib", "-Wl,-s"];

function compile(out) {
  const source = join(root, "shm/src/mapping.c");
  execFileSync(compiler, [...flags, `-I${headers}`, ...linking, "-o", out, source], { stdio: "inherit" });
}

const only = process.argv.indexOf("--only");
if (only !== -1) {
  compile(process.argv[only + 1]);
} else if (process.platform !== "linux" || !["x64", "arm64"].includes(process.arch)) {
  console.log(`shm: not built, this is ${process.platform}-${process.arch}`);
} else {
  const link = join(root, `node_modules/millpond-shm-linux-${process.arch}`);
  rmSync(link, { force: true, recursive: true });
  try {
    compile(join(root, "shm/mapping.node"));
    symlinkSync("../shm", link);
  } catch (error) {
    if (error.code !== "ENOENT") throw error;
    console.log(`shm: not built, there is no C compiler (${compiler})`);
  }
}
