export type { BridgePort, Transfer } from "./frame-link.js";
export { RemoteError } from "./remote-error.js";
export { MpscRing, SpscRing } from "./thread-ring.js";
export { type ForwardOptions, WorkerBridge, type WorkerBridgeOptions } from "./worker-bridge.js";
