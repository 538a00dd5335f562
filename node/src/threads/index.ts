export type { BridgePort, Transfer } from "./frame-link.js";
export { MpscRing, SpscRing } from "./thread-ring.js";
export { type ForwardOptions, RemoteError, WorkerBridge, type WorkerBridgeOptions } from "./worker-bridge.js";
