// An open bridge keeps processes and threads alive, or not.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { test } from "node:test";

/** Runs `main` of test/workers/alive-main in a separate process until it ends. */
function ends(scene: string): string {
  const script = fileURLToPath(new URL("./workers/alive-main.js", import.meta.url));
  const { status, signal, stdout, stderr } = spawnSync(process.execPath, [script, scene], {
    encoding: "utf8",
    timeout: 120_000,
  });
  assert.deepEqual([status, signal, stderr], [0, null, ""]);
  return stdout;
}

test("a process ends with an open bridge if there are no calls and the worker is unreferenced", () => {
  assert.equal(ends("idle"), "42\n");
});

test("a call in flight keeps the process alive until its reply, even to an unreferenced worker", () => {
  assert.equal(ends("in-flight"), "late 7\n");
});

test("a bridge that closes keeps the process alive until it is closed", () => {
  assert.equal(ends("closing"), "42\ntrue\n");
});

test("a worker with an unreferenced end ends after its last reply, and the other end notices it", () => {
  assert.equal(ends("unref-end"), "late 7\nexit 0\nRemoteError\n");
});

test("two ends in the main thread keep it alive only while calls are in flight", () => {
  assert.equal(ends("one-thread"), "1\n");
});

test("a worker stays alive until its end is unreferenced, whether it made or joined the bridge", () => {
  assert.equal(ends("made-there"), "late 7\nexit 0\n");
});
