export * from "./bus/index.js";
export * from "./market/index.js";
export * from "./pool/index.js";
export * from "./threads/index.js";
