// What the bus takes from Node. Bundlers for browsers take platform-browser.ts in its place (`browser` in package.json).
import { AsyncLocalStorage, AsyncResource } from "node:async_hooks";
import { randomFillSync } from "node:crypto";
import { tracingChannel } from "node:diagnostics_channel";

/** @internal */
export interface Scope {
  runInAsyncScope<Argument>(run: (argument: Argument) => void, self: undefined, argument: Argument): void;
}

/** @internal */
export interface Store<T> {
  run<Argument>(value: T, run: (argument: Argument) => void, argument: Argument): void;
  getStore(): T | undefined;
  disable(): void;
}

/** @internal */
export function captureScope(): Scope | undefined {
  return new AsyncResource("MillpondMessage") as Scope;
}

/** Before Node 24 each store that was ever used slows every promise of the process down, until it is disabled. */
const dropped = new FinalizationRegistry<Store<unknown>>((store) => store.disable());

/** @internal A store that is disabled with its owner's collection at the latest. */
export function makeStore<T>(owner: object): Store<T> | undefined {
  const store = new AsyncLocalStorage<T>() as Store<T>;
  dropped.register(owner, store as Store<unknown>);
  return store;
}

/** @internal The channels of one kind of operation, as `node:diagnostics_channel` has them. */
export interface Channels {
  readonly hasSubscribers: boolean;
  /** Runs `run` with what subscribers bound to `start`. */
  start<T>(context: object, run: () => T): T;
  publish(event: "end" | "asyncStart" | "asyncEnd" | "error", context: object): void;
}

/** @internal */
export function channelsOf(name: string): Channels | undefined {
  const channels = tracingChannel(name);
  const { start, end, asyncStart, asyncEnd, error } = channels;
  return {
    get hasSubscribers() {
      return [start, end, asyncStart, asyncEnd, error].some((channel) => channel.hasSubscribers);
    },
    start: (context, run) => start.runStores(context, run),
    publish: (event, context) => channels[event].publish(context),
  };
}

/** @internal */
export const fillRandom: (bytes: Uint8Array) => void = randomFillSync;

/** @internal Runs `run` after timers and sockets had their turn. */
export const soon: (run: () => void) => void = setImmediate;

/** @internal */
export function warn(text: string, code: string): void {
  process.emitWarning(text, { code });
}
