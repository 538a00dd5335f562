import { workerData } from "node:worker_threads";
import { MpscRing, SpscRing } from "millpond";

const { kind, buffer, first, count } = workerData as {
  kind: "spsc" | "mpsc";
  buffer: SharedArrayBuffer;
  first: number;
  count: number;
};
const ring = kind === "spsc" ? new SpscRing(buffer) : new MpscRing(buffer);
const words = new Uint32Array(buffer);
const pause = new Int32Array(new SharedArrayBuffer(4));
for (let n = first; n < first + count; n++) {
  let offset = ring.claim();
  for (let tries = 0; offset < 0; tries++) {
    if (tries > 100) Atomics.wait(pause, 0, 0, 1);
    offset = ring.claim();
  }
  words[offset >> 2] = n;
  words[(offset >> 2) + 1] = ~n;
  ring.publish(offset);
}
