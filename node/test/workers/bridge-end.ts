import { parentPort, workerData } from "node:worker_threads";
import { type BridgePort, MessageSystem, WorkerBridge } from "millpond";

const system = new MessageSystem();
const bridge = new WorkerBridge(system, workerData as BridgePort);
bridge.forward("main://*");
system.on("calc://double", (message) => (message.body as number) * 2);
system.on("calc://fail", async () => Promise.reject(new Error("as asked")));
system.on("calc://unsendable", () => () => 0);
system.on("calc://large", (message) => "x".repeat(message.body as number));
system.on("calc://back/{n}", (message) => system.send(`main://echo/${message.param("n")}`, message.body));
// Replies through a queue, too.
system.on("calc://later/{n}", (message) => system.send(`main://${message.param("n")}`, message.body), {
  queue: { capacity: 8, concurrency: 8 },
});
// Replies first, then sends to the other side.
system.on("calc://after", (message) => {
  const { body } = message;
  setImmediate(() => {
    Promise.resolve(system.send("main://echo", body)).catch((error: Error) => parentPort!.postMessage(error.message));
  });
});
system.on("calc://length", (message) => (message.body as string | ArrayBuffer as { length?: number }).length);
system.on("calc://bytes", (message) => (message.body as ArrayBuffer).byteLength);
system.on("calc://beside", (message) => [message.meta, message.traceparent]);
system.on("calc://hang", (message) => {
  message.signal?.addEventListener("abort", () => void system.send("main://aborted", message.body));
  return new Promise(() => {});
});
system.on("calc://die", () => process.exit(3));
system.on("calc://last/{length}", (message) => {
  setImmediate(() => process.exit());
  return "x".repeat(Number(message.param("length")));
});
system.on("calc://stop", () => void setImmediate(() => bridge.close()));
system.on("calc://echo", (message) => message.body);
// Reports its start, and blocks the thread until it may go on.
system.on("calc://busy", () => {
  const { busy } = workerData as { busy: Int32Array };
  Atomics.store(busy, 1, 1);
  Atomics.notify(busy, 1);
  Atomics.wait(busy, 0, 0);
  return "free";
});
const kept: unknown[] = [];
system.on("calc://keep", (message) => kept.push(message.body));
system.on("calc://kept", () => kept);
