export type { BridgePort } from "./frame-link.js";
export type { Transfer } from "./frame-value.js";
export { RemoteError } from "./remote-error.js";
export { MpscRing, SpscRing } from "./thread-ring.js";
export { type ForwardOptions, WorkerBridge, type WorkerBridgeOptions } from "./worker-bridge.js";
