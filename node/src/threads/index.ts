export { MpscRing, SpscRing } from "./thread-ring.js";
export {
  type BridgePort,
  type ForwardOptions,
  RemoteError,
  WorkerBridge,
  type WorkerBridgeOptions,
} from "./worker-bridge.js";
