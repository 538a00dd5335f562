import { types } from "node:util";
import * as threads from "node:worker_threads";
import { SettingError } from "../pool/checks.js";
import type { Transfer } from "./frame-value.js";
import { textsOf } from "./remote-error.js";

const COPYABLE =
  "a primitive, a plain object, an array, Map, Set, Date, RegExp, Error, array buffer or view, " +
  "or what `transfer` moves: nothing else can be copied to another thread";

const MOVABLE = "an array buffer with its memory, or an open message port";

/** Most levels of nested objects. The stack of each thread must be large enough to copy them. */
const MAX_DEPTH = 1_000;

/** Whether a buffer is detached. Node 20 has no such property. */
function isDetached(buffer: ArrayBufferLike): boolean {
  if (buffer.byteLength > 0) return false;
  try {
    return new Uint8Array(buffer).length > 0;
  } catch {
    return true;
  }
}

function isPlain(value: object): boolean {
  // Objects that look plain and cannot be copied.
  if (types.isArgumentsObject(value) || types.isModuleNamespaceObject(value) || types.isExternal(value)) return false;
  const prototype = Object.getPrototypeOf(value) as object | null;
  // Accepts the Object.prototype of another realm.
  return prototype === null || prototype === Object.prototype || Object.getPrototypeOf(prototype) === null;
}

/** The values copied with an object, in that order; undefined if the object cannot be copied. */
function partsOf(value: object): readonly unknown[] | undefined {
  // Any other look at a Proxy calls its traps. In some versions of Node a DOMException is an Error.
  if (types.isProxy(value) || types.isSymbolObject(value) || value instanceof DOMException) return undefined;
  if (Array.isArray(value) || isPlain(value)) return Object.values(value);
  if (types.isMap(value)) return [...value].flat();
  if (types.isSet(value)) return [...value];
  if (types.isNativeError(value)) return [value.cause];
  const buffer = ArrayBuffer.isView(value) ? value.buffer : value;
  if (types.isArrayBuffer(buffer)) return isDetached(buffer) ? undefined : [];
  return types.isDate(value) || types.isRegExp(value) || types.isBoxedPrimitive(value) ? [] : undefined;
}

function described(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (typeof value !== "object") return `a ${typeof value}`;
  if (types.isProxy(value)) return "a Proxy";
  if (types.isSymbolObject(value)) return "a symbol";
  if (types.isArgumentsObject(value)) return "an arguments object";
  if (types.isModuleNamespaceObject(value)) return "a module";
  const buffer = ArrayBuffer.isView(value) ? value.buffer : value;
  if (types.isArrayBuffer(buffer) && isDetached(buffer)) return "a detached array buffer, or a view on one";
  if (types.isSharedArrayBuffer(buffer)) return "a SharedArrayBuffer, or a view on one";
  const name: unknown = (value as { constructor?: { name?: unknown } }).constructor?.name;
  return `an instance of ${typeof name === "string" ? name : "an unknown class"}`;
}

function isLeaf(value: unknown): boolean {
  return value === null || (typeof value !== "object" && typeof value !== "function" && typeof value !== "symbol");
}

/** Checks a value in the order in which it is copied: depth first, each object once. Propagates exceptions of accessors. */
function checkParts(name: string, value: unknown, moved: Transfer): void {
  const left = [value];
  const depths = [1];
  const seen = new Set<unknown>(moved);
  while (left.length > 0) {
    const one = left.pop();
    const depth = depths.pop()!;
    if (seen.has(one)) continue;
    seen.add(one);
    const parts = typeof one === "object" ? partsOf(one!) : undefined;
    if (parts === undefined) throw new SettingError(`a part of the ${name}`, described(one), COPYABLE);
    if (depth > MAX_DEPTH)
      throw new SettingError(`the depth of the ${name}`, `more than ${MAX_DEPTH}`, `at most ${MAX_DEPTH}`);
    for (let at = parts.length - 1; at >= 0; at--) {
      if (isLeaf(parts[at])) continue;
      left.push(parts[at]);
      depths.push(depth + 1);
    }
  }
}

/**
 * Throws SettingError for a value that cannot be copied to another thread without a change, is too deep or cannot be read.
 * moved: parts that are moved instead. Cost: one step per object in it.
 *
 * @internal
 */
export function requireCopyable(name: string, value: unknown, moved: Transfer): void {
  if (isLeaf(value)) return;
  try {
    checkParts(name, value, moved);
  } catch (error) {
    throw error instanceof SettingError ? error : unreadable(name, error);
  }
}

/** @internal The error for an accessor that threw, or a value that changed between check and copy. */
export function unreadable(name: string, error: unknown): SettingError {
  return new SettingError(`the ${name}`, `not readable (${textsOf(error)[0]})`, COPYABLE);
}

// Undefined in Node 20, which copies such buffers.
const { isMarkedAsUntransferable } = threads as { isMarkedAsUntransferable?: (one: unknown) => boolean };

/** @internal Whether Node refuses to move it: it holds pooled Buffers, or the program has marked it. */
export function isUntransferable(one: unknown): boolean {
  return isMarkedAsUntransferable?.(one) === true;
}

/** @internal Throws SettingError unless all parts can be moved. */
export function requireMovable(path: string, moved: unknown): asserts moved is Transfer {
  const name = `transfer of ${path}`;
  if (!Array.isArray(moved)) throw new SettingError(name, moved, "an array of array buffers and message ports");
  for (const one of moved as readonly unknown[]) {
    if (one instanceof threads.MessagePort || (types.isArrayBuffer(one) && !isDetached(one))) continue;
    throw new SettingError(`a part of the ${name}`, described(one), MOVABLE);
  }
  if (new Set(moved).size < moved.length) throw new SettingError(name, "a list with repetitions", "of different parts");
}

/** @internal The error for a part that the message port refuses: a closed port, or memory of WebAssembly. */
export function unmovable(path: string, error: unknown): SettingError {
  return new SettingError(`a part of the transfer of ${path}`, `not movable (${textsOf(error)[0]})`, MOVABLE);
}
