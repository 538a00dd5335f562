// Like platform.ts, for browsers, which have no context for asynchronous calls and no diagnostics channels.
import type { Channels, Scope, Store } from "./platform.js";

export type { Channels, Scope, Store };

export function captureScope(): Scope | undefined {
  return undefined;
}

export function makeStore<T>(_owner: object): Store<T> | undefined {
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
