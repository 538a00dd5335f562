import { readFileSync } from "node:fs";
import { constants } from "node:os";
import { getSystemErrorName } from "node:util";
import { SettingError } from "../pool/checks.js";
import { MarketRingError } from "./ring-error.js";

const ADDON = `millpond-shm-${process.platform}-${process.arch}`;
const FOLDER = "/dev/shm";

interface Addon {
  map(path: string): ArrayBuffer | number;
}

/** @internal Throws SettingError for a name that a ring cannot have. */
export function requireRingName(setting: string, name: unknown): void {
  const valid = typeof name === "string" && /^[A-Za-z0-9._-]{1,64}$/.test(name);
  if (valid && !name.includes(".reader") && !name.endsWith(".lock")) return;
  const bound = "a string of 1 to 64 letters, digits, '-', '_' or '.', without .reader or .lock at the end";
  throw new SettingError(setting, name, bound);
}

/** @internal Maps a market ring read-only. Searches the mounts of huge pages first, like the C++ library. */
export async function mapRing(name: string): Promise<ArrayBuffer> {
  requireRingName("ring", name);
  const addon = await load();
  for (const folder of [...hugePageMounts(), FOLDER]) {
    const path = `${folder}/millpond.${name}`;
    const mapped = addon.map(path);
    if (typeof mapped !== "number") return mapped;
    if (mapped === constants.errno.EAGAIN) throw new MarketRingError("not_ready", `ring ${path}: is being made`);
    if (mapped !== constants.errno.ENOENT) {
      throw new MarketRingError("memory", `ring ${path}: ${getSystemErrorName(-mapped)}`);
    }
  }
  throw new MarketRingError("not_found", `ring ${name}: not found; is its writer running?`);
}

async function load(): Promise<Addon> {
  try {
    const loaded = (await import(ADDON)) as Addon & { default?: Addon };
    return loaded.default ?? loaded;
  } catch {
    throw new MarketRingError(
      "no_addon",
      `reading shared memory needs the package ${ADDON}: install it, or use a port or url`,
    );
  }
}

function hugePageMounts(): string[] {
  let mounts: string;
  try {
    mounts = readFileSync("/proc/self/mountinfo", "utf8");
  } catch {
    return [];
  }
  const lines = mounts.split("\n").filter((line) => line.includes(" - hugetlbfs "));
  return lines.map((line) => line.split(" ")[4]!);
}
