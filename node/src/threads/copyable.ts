import { types } from "node:util";
import * as threads from "node:worker_threads";
import { SettingError } from "../pool/pool-error.js";
import type { Transfer } from "./frame-value.js";
import { textsOf } from "./remote-error.js";

const DATA =
  "a primitive, a plain object, an array, Map, Set, Date, RegExp, Error, array buffer or view, " +
  "or what `transfer` moves: nothing else can be copied to another thread";

const MOVABLE = "an array buffer with its memory, or an open message port";

/** Levels of objects in objects. The stack of each thread must hold them, that of a busy one too. */
const DEEPEST = 1_000;

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
  // These look like plain objects, and cannot be copied.
  if (types.isArgumentsObject(value) || types.isModuleNamespaceObject(value) || types.isExternal(value)) return false;
  const prototype = Object.getPrototypeOf(value) as object | null;
  // The Object.prototype of another realm has no prototype either.
  return prototype === null || prototype === Object.prototype || Object.getPrototypeOf(prototype) === null;
}

/** What is copied with an object, in the order in which it is; undefined if it cannot be. */
function partsOf(value: object): readonly unknown[] | undefined {
  // Nothing else of a Proxy may be looked at without calling its traps. A DOMException is an Error in some versions of Node.
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

/** As `requireCopyable`, which also answers for what accessors throw. Walks as the copy is made: depth first, each object once. */
function walk(name: string, value: unknown, moved: Transfer): void {
  const left = [value];
  const depths = [1];
  const seen = new Set<unknown>(moved);
  while (left.length > 0) {
    const one = left.pop();
    const depth = depths.pop()!;
    if (seen.has(one)) continue;
    seen.add(one);
    const parts = typeof one === "object" ? partsOf(one!) : undefined;
    if (parts === undefined) throw new SettingError(`a part of the ${name}`, described(one), DATA);
    if (depth > DEEPEST)
      throw new SettingError(`the depth of the ${name}`, `more than ${DEEPEST}`, `at most ${DEEPEST}`);
    for (let at = parts.length - 1; at >= 0; at--) {
      if (isLeaf(parts[at])) continue;
      left.push(parts[at]);
      depths.push(depth + 1);
    }
  }
}

/**
 * Throws SettingError for a value that would be another one in the other thread: functions, symbols, instances of classes, shared
 * memory; and for one that is too deep, or that cannot be read. `moved` is moved instead. Cost: one step for each object in it.
 *
 * @internal
 */
export function requireCopyable(name: string, value: unknown, moved: Transfer): void {
  if (isLeaf(value)) return;
  try {
    walk(name, value, moved);
  } catch (error) {
    throw error instanceof SettingError ? error : unreadable(name, error);
  }
}

/** @internal What an accessor has thrown, or the copy of a value that changes while it is read. */
export function unreadable(name: string, error: unknown): SettingError {
  return new SettingError(`the ${name}`, `not readable (${textsOf(error)[0]})`, DATA);
}

/** Node 20 copies such buffers unasked. */
const { isMarkedAsUntransferable } = threads as { isMarkedAsUntransferable?: (one: unknown) => boolean };

/** @internal Node does not let it go: other Buffers lie in it, or the program has marked it. */
export function isHeld(one: unknown): boolean {
  return isMarkedAsUntransferable?.(one) === true;
}

/** @internal Throws SettingError for what cannot be moved. */
export function requireMovable(path: string, moved: unknown): asserts moved is Transfer {
  const name = `transfer of ${path}`;
  if (!Array.isArray(moved)) throw new SettingError(name, moved, "an array of array buffers and message ports");
  for (const one of moved as readonly unknown[]) {
    if (one instanceof threads.MessagePort || (types.isArrayBuffer(one) && !isDetached(one))) continue;
    throw new SettingError(`a part of the ${name}`, described(one), MOVABLE);
  }
  if (new Set(moved).size < moved.length) throw new SettingError(name, "a list with repetitions", "of different parts");
}

/** @internal What only the port finds out: a closed port, memory of WebAssembly. */
export function unmovable(path: string, error: unknown): SettingError {
  return new SettingError(`a part of the transfer of ${path}`, `not movable (${textsOf(error)[0]})`, MOVABLE);
}
