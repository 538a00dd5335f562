// platform.ts for browsers, which have no asynchronous contexts and no diagnostics channels.
import type { Channels, Scope } from "./platform.js";

export type { Channels, Scope };

export function captureScope(): Scope | undefined {
  return undefined;
}

export function runIn<A, Result>(_scope: Scope, run: (argument: A) => Result, argument: A): Result {
  return run(argument);
}

export { runIn as runIsolated };

export function beginMarks(_owner: object): boolean {
  return false;
}

export function endMarks(_owner: object): void {}

export function runMarked<A, Result>(
  _owner: object,
  _value: unknown,
  run: (argument: A) => Result,
  argument: A,
): Result {
  return run(argument);
}

export function markOf(_owner: object): unknown {
  return undefined;
}

export function channelsOf(_name: string): Channels | undefined {
  return undefined;
}

export function fillRandom(bytes: Uint8Array): void {
  (globalThis as unknown as { crypto: { getRandomValues(bytes: Uint8Array): void } }).crypto.getRandomValues(bytes);
}

interface BrowserChannel {
  readonly port1: { onmessage: () => void };
  readonly port2: { postMessage(value: undefined): void };
}

const turns: (() => void)[] = [];
const { port1, port2 } = new MessageChannel() as unknown as BrowserChannel;
port1.onmessage = () => turns.shift()?.();

export function soon(run: () => void): void {
  turns.push(run);
  port2.postMessage(undefined);
}

export function warn(text: string, code: string): void {
  console.warn(`${code}: ${text}`);
}
