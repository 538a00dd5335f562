// One contender of fresh.mjs in a separate isolate, so that its code sees only one kind of messages.
import { parentPort, workerData } from "node:worker_threads";
import { MessagePool, MessageSystem } from "millpond";
import { nowNanos } from "../harness.mjs";
import { Order } from "./order.mjs";

const { kind, size, inFlight } = workerData;

const meta = { resident: true };
const out = new Array(inFlight).fill(undefined);

/** Each contender returns the sum of the values read: 1 per message that was in flight before. */
const passes = {
  new() {
    return () => {
      let sum = 0;
      for (let n = 0; n < out.length; n++) {
        const old = out[n];
        if (old !== undefined) sum += old.body.one;
        out[n] = new Order("svc://orders/7", { n, one: 1 }, meta);
      }
      return sum;
    };
  },
  pool() {
    const pool = new MessagePool(size);
    return () => {
      let sum = 0;
      for (let n = 0; n < out.length; n++) {
        const old = out[n];
        if (old !== undefined) {
          sum += old.body.one;
          pool.release(old);
        }
        out[n] = pool.acquire("svc://orders/7", { n, one: 1 }, meta);
      }
      return sum;
    };
  },
  send() {
    const system = new MessageSystem({ pool: size });
    system.on("svc://orders", (message) => message.body.one);
    return () => {
      let sum = 0;
      for (let n = 0; n < inFlight; n++) sum += system.send("svc://orders", { n, one: 1 });
      return sum;
    };
  },
  queue() {
    const system = new MessageSystem({ pool: size });
    let sum = 0;
    system.on("svc://orders", (message) => void (sum += message.body.one), { queue: { capacity: inFlight } });
    return () => {
      sum = 0;
      for (let n = 0; n < inFlight; n++) system.emit("svc://orders", { n, one: 1 });
      system.flush();
      return sum;
    };
  },
};

const pass = passes[kind]();
pass();
parentPort.on("message", (count) => {
  let answer = 0;
  const start = nowNanos();
  for (let done = 0; done < count; done += inFlight) answer += pass();
  const value = (nowNanos() - start) / answer;
  parentPort.postMessage({ value, answer });
});
