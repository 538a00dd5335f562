export { MpscRing, SpscRing } from "./thread-ring.js";
export { type BridgePort, RemoteError, WorkerBridge, type WorkerBridgeOptions } from "./worker-bridge.js";
