import { workerData } from "node:worker_threads";
import { type BridgePort, MessageSystem, WorkerBridge } from "millpond";

const system = new MessageSystem();
const bridge = new WorkerBridge(system, workerData as BridgePort);
bridge.forward("main://*");
system.on("calc://double", (message) => (message.body as number) * 2);
system.on("calc://fail", async () => Promise.reject(new Error("as asked")));
system.on("calc://unsendable", () => () => 0);
system.on("calc://large", (message) => "x".repeat(message.body as number));
system.on("calc://back/{n}", (message) => system.send(`main://echo/${message.param("n")}`, message.body));
system.on("calc://stop", () => void setImmediate(() => bridge.close()));
