// Compiles a program that uses every subpath with TypeScript 5.0 to the newest, as node16, nodenext and bundler, without skipLibCheck
// and without naming @types/node, which TypeScript 7 no longer includes by default.
// npm fetches each version once, into the user's cache. usage: check-types.mjs TARBALL
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const VERSIONS = (process.env.MILLPOND_TYPESCRIPTS ?? "5.0 5.1 5.2 5.3 5.4 5.5 5.6 5.7 5.8 5.9 6.0 7.0").split(" ");
const PROGRAM = `
import { MessageSystem, type Message } from "millpond";
import { MessagePool } from "millpond/pool";
import { type DeadLetter } from "millpond/bus";
import { SpscRing, WorkerBridge } from "millpond/threads";
import { MarketData, MarketRing } from "millpond/market";
import { flush } from "millpond/testing";
interface Routes {
  "bbo://{symbol}": { body: { bid: number }; reply: number };
}
const letters: DeadLetter[] = [];
export const system = new MessageSystem<Routes>({ onDeadLetter: (letter) => letters.push(letter) });
system.on("bbo://{symbol}", (message) => message.param("symbol").length + message.body.bid);
export const reply: number | Promise<number> = system.send("bbo://AAPL", { bid: 1 });
export const message: Message<number> = new MessagePool(4).acquire("a", 1);
export const all = [SpscRing, WorkerBridge, MarketData, MarketRing, flush];
`;

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const cache = process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache");
const scratch = mkdtempSync(join(tmpdir(), "millpond-types-"));
const npm = (folder, ...packages) =>
  execFileSync("npm", ["install", "--prefix", folder, "--no-save", "--no-audit", "--no-fund", ...packages], {
    stdio: "ignore",
  });
let failed = 0;
try {
  const packageFolder = join(scratch, "node_modules/millpond");
  mkdirSync(packageFolder, { recursive: true });
  execFileSync("tar", ["-xzf", process.argv[2], "-C", packageFolder, "--strip-components=1"]);
  mkdirSync(join(scratch, "node_modules/@types"));
  symlinkSync(join(root, "node_modules/@types/node"), join(scratch, "node_modules/@types/node"));
  symlinkSync(join(root, "node_modules/undici-types"), join(scratch, "node_modules/undici-types"));
  writeFileSync(join(scratch, "package.json"), '{ "type": "module" }\n');
  writeFileSync(join(scratch, "use.ts"), PROGRAM);
  writeFileSync(join(scratch, "use.cts"), PROGRAM);
  for (const version of VERSIONS) {
    const folder = join(cache, "millpond-node/typescript", version);
    const tsc = join(folder, "node_modules/typescript/bin/tsc");
    if (!existsSync(tsc)) {
      mkdirSync(folder, { recursive: true });
      npm(folder, `typescript@~${version}.0`);
    }
    for (const [module, resolution] of [
      ["node16", "node16"],
      ["nodenext", "nodenext"],
      ["esnext", "bundler"],
    ]) {
      const options = [
        "--noEmit",
        "--strict",
        "--target",
        "es2022",
        "--module",
        module,
        "--moduleResolution",
        resolution,
      ];
      const files = resolution === "bundler" ? ["use.ts"] : ["use.ts", "use.cts"];
      try {
        execFileSync(process.execPath, [tsc, ...options, "--skipLibCheck", "false", ...files], {
          cwd: scratch,
        });
        console.log(`types: TypeScript ${version}, ${resolution}`);
      } catch (error) {
        failed++;
        console.log(`types: TypeScript ${version}, ${resolution}: FAILED\n${error.stdout}`);
      }
    }
  }
} finally {
  rmSync(scratch, { recursive: true, force: true });
}
process.exit(failed === 0 ? 0 : 1);
