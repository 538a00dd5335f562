// The sending side of bench/threads.mjs.
import { parentPort, workerData } from "node:worker_threads";
import { MpscRing, SpscRing } from "millpond";

const { kind, buffer, port, count } = workerData;
parentPort.once("message", () => {
  if (kind === "port") {
    for (let n = 0; n < count; n++) {
      const bytes = new Uint8Array(128);
      new Uint32Array(bytes.buffer)[0] = n;
      port.postMessage(bytes);
    }
    port.close();
    return;
  }
  const ring = kind === "SpscRing" ? new SpscRing(buffer) : new MpscRing(buffer);
  const words = new Uint32Array(buffer);
  const pause = new Int32Array(new SharedArrayBuffer(4));
  for (let n = 0; n < count; n++) {
    let offset = ring.claim();
    for (let tries = 0; offset < 0; tries++) {
      if (tries > 1_000) Atomics.wait(pause, 0, 0, 0.05);
      offset = ring.claim();
    }
    words[offset >> 2] = n;
    ring.publish(offset);
  }
});
parentPort.postMessage("ready");
