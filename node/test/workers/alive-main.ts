import { Worker } from "node:worker_threads";
import { type BridgePort, MessageSystem, WorkerBridge } from "millpond";

const system = new MessageSystem();
const bridge = new WorkerBridge(system);
bridge.forward("calc://*");
const { port, transferList } = bridge;
const start = (script: string): Worker =>
  new Worker(new URL(script, import.meta.url), { workerData: port, transferList });

switch (process.argv[2]) {
  case "idle":
    start("./bridge-end.js").unref();
    console.log(await system.send("calc://double", 21));
    break;
  case "in-flight":
    start("./alive-end.js").unref();
    console.log(await system.send("calc://late", 7));
    break;
  case "closing":
    start("./bridge-end.js").unref();
    console.log(await system.send("calc://double", 21));
    console.log(await bridge.close());
    break;
  case "unref-end": {
    const worker = start("./alive-end.js");
    const over = new Promise((resolve) => worker.once("exit", resolve));
    const late = system.send("calc://late", 7);
    await system.send("calc://unref");
    console.log(await late);
    console.log("exit", await over);
    await Promise.resolve(system.send("calc://late", 8)).catch(({ name }: Error) => console.log(name));
    break;
  }
  case "made-there": {
    const worker = new Worker(new URL("./alive-end.js", import.meta.url));
    const over = new Promise((resolve) => worker.once("exit", resolve));
    const made = await new Promise<BridgePort>((resolve) => worker.once("message", resolve));
    const near = new MessageSystem();
    new WorkerBridge(near, made).forward("calc://*");
    // Only the bridge keeps the worker alive.
    await new Promise((resolve) => setTimeout(resolve, 50));
    console.log(await near.send("calc://late", 7));
    await near.send("calc://unref");
    console.log("exit", await over);
    break;
  }
  default: {
    const other = new MessageSystem();
    other.on("calc://echo", (message) => message.body);
    new WorkerBridge(other, port);
    console.log(await system.send("calc://echo", 1));
  }
}
