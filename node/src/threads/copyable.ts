import { types } from "node:util";
import { MessagePort } from "node:worker_threads";
import { SettingError } from "../pool/pool-error.js";
import type { Transfer } from "./frame-value.js";

const DATA =
  "a primitive, a plain object, an array, Map, Set, Date, RegExp, Error, array buffer or view, " +
  "or what `transfer` moves: nothing else can be copied to another thread";

/** Node 20 cannot be asked. */
function isDetached(buffer: ArrayBufferLike): boolean {
  if (buffer.byteLength > 0) return false;
  try {
    return new Uint8Array(buffer).length > 0;
  } catch {
    return true;
  }
}

function isPlain(value: object): boolean {
  const prototype = Object.getPrototypeOf(value) as object | null;
  // The Object.prototype of another realm has no prototype either.
  return prototype === null || prototype === Object.prototype || Object.getPrototypeOf(prototype) === null;
}

/** What is copied with an object; undefined if it cannot be. */
function partsOf(value: object): readonly unknown[] | undefined {
  if (isPlain(value) || Array.isArray(value)) return Object.values(value);
  if (types.isMap(value)) return [...value.keys(), ...value.values()];
  if (types.isSet(value)) return [...value];
  if (types.isNativeError(value)) return [value.cause];
  const buffer = ArrayBuffer.isView(value) ? value.buffer : value;
  if (types.isArrayBuffer(buffer)) return isDetached(buffer) ? undefined : [];
  return types.isDate(value) || types.isRegExp(value) || types.isBoxedPrimitive(value) ? [] : undefined;
}

function described(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (typeof value !== "object") return `a ${typeof value}`;
  const buffer = ArrayBuffer.isView(value) ? value.buffer : value;
  if (types.isArrayBuffer(buffer) && isDetached(buffer)) return "a detached array buffer, or a view on one";
  if (types.isSharedArrayBuffer(buffer)) return "a SharedArrayBuffer, or a view on one";
  return `an instance of ${(value as { constructor?: { name?: unknown } }).constructor?.name ?? "an unknown class"}`;
}

function isLeaf(value: unknown): boolean {
  return value === null || (typeof value !== "object" && typeof value !== "function" && typeof value !== "symbol");
}

/**
 * Throws SettingError for a value that would be another one in the other thread: functions, symbols, instances of classes, shared
 * memory. `moved` is moved instead. Cost: one step for each object in it.
 *
 * @internal
 */
export function requireCopyable(name: string, value: unknown, moved: Transfer): void {
  if (isLeaf(value)) return;
  const left = [value];
  const seen = new Set<unknown>(moved);
  while (left.length > 0) {
    const one = left.pop();
    if (seen.has(one)) continue;
    seen.add(one);
    const parts = typeof one === "object" ? partsOf(one!) : undefined;
    if (parts === undefined) throw new SettingError(`a part of the ${name}`, described(one), DATA);
    for (const part of parts) if (!isLeaf(part)) left.push(part);
  }
}

/** @internal Throws SettingError for what cannot be moved. */
export function requireMovable(name: string, moved: unknown): asserts moved is Transfer {
  if (!Array.isArray(moved)) throw new SettingError(name, moved, "an array of array buffers and message ports");
  for (const one of moved as readonly unknown[]) {
    if (one instanceof MessagePort || (types.isArrayBuffer(one) && !isDetached(one))) continue;
    throw new SettingError(
      `a part of the ${name}`,
      described(one),
      "an array buffer with its memory, or a message port",
    );
  }
  if (new Set(moved).size < moved.length) throw new SettingError(name, "a list with repetitions", "of different parts");
}
