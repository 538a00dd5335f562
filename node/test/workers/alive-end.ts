import { parentPort, workerData } from "node:worker_threads";
import { type BridgePort, MessageSystem, WorkerBridge } from "millpond";

const system = new MessageSystem();
const joins = (workerData ?? undefined) as BridgePort | undefined;
const bridge = new WorkerBridge(system, joins);
if (joins === undefined) parentPort!.postMessage(bridge.port, bridge.transferList);
// The timer does not keep the worker alive.
system.on("calc://late", (message) => {
  return new Promise((resolve) => void setTimeout(() => resolve(`late ${String(message.body)}`), 50).unref());
});
system.on("calc://unref", () => void bridge.unref());
