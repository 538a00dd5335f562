export type { ForwardOptions, WorkerBridgeOptions } from "./bridge-options.js";
export type { BridgePort } from "./frame-link.js";
export type { Transfer } from "./frame-value.js";
export { RemoteError } from "./remote-error.js";
export { MpscRing, SpscRing } from "./thread-ring.js";
export { WorkerBridge } from "./worker-bridge.js";
