// The structure of src/: imports and inheritance.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const src = join(dirname(fileURLToPath(import.meta.url)), "../../src");
const files = readdirSync(src, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".ts"));
const imports = new Map(
  files.map((file) => {
    const text = readFileSync(join(src, file), "utf8");
    const paths = [...text.matchAll(/ from "(\.[^"]+)\.js"/g)].map(([, path]) =>
      normalize(join(dirname(file), `${path}.ts`)),
    );
    return [file, paths] as const;
  }),
);

/** A path from a file back to itself, by depth-first search; undefined if there is none. */
function circle(): string[] | undefined {
  const done = new Set<string>();
  const way: string[] = [];
  const visit = (file: string): string[] | undefined => {
    if (way.includes(file)) return [...way.slice(way.indexOf(file)), file];
    if (done.has(file)) return undefined;
    way.push(file);
    for (const next of imports.get(file)!) {
      const found = visit(next);
      if (found !== undefined) return found;
    }
    way.pop();
    done.add(file);
    return undefined;
  };
  for (const file of files) {
    const found = visit(file);
    if (found !== undefined) return found;
  }
  return undefined;
}

test("no files import each other in a circle, types included", () => {
  assert.ok(files.length > 50);
  assert.equal(circle(), undefined);
});

test("classes do not extend abstract classes, except the kinds of rings", () => {
  const abstract = files.filter((file) => /\babstract class\b/.test(readFileSync(join(src, file), "utf8")));
  assert.deepEqual(abstract, [join("threads", "thread-ring.ts")]);
});

test("pool imports nothing of the other folders, bus only pool, market only pool", () => {
  const folders = { pool: ["pool"], bus: ["bus", "pool"], market: ["market", "pool"] };
  for (const [folder, allowed] of Object.entries(folders)) {
    for (const file of files.filter((one) => one.startsWith(`${folder}/`))) {
      const other = imports.get(file)!.filter((path) => !allowed.includes(path.split("/")[0]!));
      assert.deepEqual(other, [], file);
    }
  }
});
