// The functions of Node that the bus uses. Bundlers for browsers use platform-browser.ts instead (`browser` in package.json).
import { AsyncLocalStorage, AsyncResource } from "node:async_hooks";
import { randomFillSync } from "node:crypto";
import { tracingChannel } from "node:diagnostics_channel";

/** @internal A captured asynchronous context. */
export type Scope = AsyncResource;

/** @internal The asynchronous context of the caller. */
export function captureScope(): Scope | undefined {
  return new AsyncResource("MillpondMessage");
}

/** @internal Runs `run` in the scope's context. Before Node 24, `enterWith` in `run` changes the scope. */
export function runIn<A, Result>(scope: Scope, run: (argument: A) => Result, argument: A): Result {
  return scope.runInAsyncScope(run as never, undefined, argument) as Result;
}

const isolate = <A, Result>(run: (argument: A) => Result, argument: A): Result =>
  runIn(new AsyncResource("MillpondMessage"), run, argument);

/** @internal Like `runIn`, without changes of the scope, for a scope that is used again. */
export function runIsolated<A, Result>(scope: Scope, run: (argument: A) => Result, argument: A): Result {
  return scope.runInAsyncScope(isolate as never, undefined, run, argument) as Result;
}

/** The work for which a context runs: for a system its delivery, for a bridge its call. */
interface Mark {
  readonly owner: object;
  readonly value: unknown;
  /** Marks of other owners. */
  readonly outer: Mark | undefined;
}

/** The store of all owners: before Node 24 each store in use slows down every promise of the process. */
const marks = new AsyncLocalStorage<Mark | undefined>();
let owners = 0;

function ownerEnded(): void {
  owners--;
  if (owners === 0) marks.disable();
}

const collected = new FinalizationRegistry<undefined>(ownerEnded);

/** @internal Starts the use of marks by an owner, until `endMarks` or the owner's collection. False without contexts. */
export function beginMarks(owner: object): boolean {
  owners++;
  collected.register(owner, undefined, owner);
  return true;
}

/** @internal Ends the use of marks by an owner. After the last one, the store is disabled. */
export function endMarks(owner: object): void {
  if (collected.unregister(owner)) ownerEnded();
}

function without(mark: Mark | undefined, owner: object): Mark | undefined {
  if (mark === undefined || mark.owner === owner) return mark?.outer;
  const outer = without(mark.outer, owner);
  return outer === mark.outer ? mark : { ...mark, outer };
}

/** @internal Runs `run` in a context whose mark of the owner is `value`. */
export function runMarked<A, Result>(owner: object, value: unknown, run: (argument: A) => Result, argument: A): Result {
  return marks.run({ owner, value, outer: without(marks.getStore(), owner) }, run, argument);
}

/** @internal The owner's mark in the caller's context. */
export function markOf(owner: object): unknown {
  let mark = marks.getStore();
  while (mark !== undefined && mark.owner !== owner) mark = mark.outer;
  return mark?.value;
}

/** @internal The tracing channels of one kind of operation. */
export interface Channels {
  readonly hasSubscribers: boolean;
  /** Runs `run` with the stores that subscribers bound to `start`. */
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

/** @internal Runs `run` after timers and sockets had a turn. */
export const soon: (run: () => void) => void = setImmediate;

/** @internal */
export function warn(text: string, code: string): void {
  process.emitWarning(text, { code });
}
