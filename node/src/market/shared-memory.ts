import { readFileSync } from "node:fs";
import { constants } from "node:os";
import { getSystemErrorName } from "node:util";
import { SettingError } from "../pool/pool-error.js";
import { MarketRingError } from "./ring-error.js";

const ADDON = `millpond-shm-${process.platform}-${process.arch}`;
const FOLDER = "/dev/shm";

interface Addon {
  map(path: string): ArrayBuffer | number;
}

/** @internal The pages of a market ring, read-only, from where C++ puts them: huge pages first. */
export async function mapRing(name: string): Promise<ArrayBuffer> {
  if (!/^[A-Za-z0-9._-]{1,64}$/.test(name) || name.includes(".reader") || name.endsWith(".lock")) {
    throw new SettingError(
      "ring",
      name,
      "1 to 64 letters, digits, '-', '_' or '.', without .reader or .lock at the end",
    );
  }
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
    throw new MarketRingError("no_addon", `shared memory is read by ${ADDON}, which is not installed`);
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
