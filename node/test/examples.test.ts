// Every example of the README and of the doc comments runs and prints the output in its comments.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "../..");
const folder = join(root, "build/examples");
mkdirSync(folder, { recursive: true });

function examplesOf(text: string): string[] {
  return [...text.matchAll(/^```js\n([\s\S]*?)^```/gm)].map((match) => match[1]!);
}

const files = readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" }).filter((file) =>
  file.endsWith(".ts"),
);
const sources = files.map((file): [string, string] => {
  const text = readFileSync(join(root, "src", file), "utf8");
  return [file, text.replace(/^ \* ?/gm, "")];
});
for (const [file, text] of [["README.md", readFileSync(join(root, "README.md"), "utf8")], ...sources] as const) {
  for (const [number, code] of examplesOf(text).entries()) {
    test(`example ${number + 1} of ${file} prints what it says`, () => {
      const path = join(folder, `${file.replace(/\W/g, "-")}-${number + 1}.mjs`);
      writeFileSync(path, code);
      const { status, stdout, stderr } = spawnSync(process.execPath, [path], { encoding: "utf8", timeout: 60_000 });
      assert.equal(status, 0, stderr);
      const printed = stdout.trim().split("\n");
      const said = [...code.matchAll(/console\.log\(.*\/\/ (.*)$/gm)].map((match) => match[1]!);
      for (const words of said) {
        for (const part of words.split(", then ")) assert.ok(printed.includes(part), `${part} in ${stdout}`);
      }
    });
  }
}
