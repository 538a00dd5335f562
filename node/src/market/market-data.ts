import { checkMarketOptions, requireMode, requireSymbols } from "./check-options.js";
import { EventBuffer, EventIterator } from "./event-buffer.js";
import { type LineConnection, LineFeed, type LineReader } from "./line-feed.js";
import { type MarketEvent, pathOf } from "./market-event.js";
import type { MarketFeed, MarketFeedOwner, MarketSelection } from "./market-feed.js";
import { limitArguments } from "../pool/argument-limits.js";
import * as check from "../pool/checks.js";
import type { MarketAccount, MarketDataOptions, MarketSystem } from "./market-options.js";
import { MarketRing } from "./market-ring.js";
import { RingFeed } from "./ring-feed.js";
import { tcpLines } from "./tcp-lines.js";
import { webLines } from "./web-lines.js";

/**
 * Market data of a millpond gateway, over TCP, over WebSocket or, on the same machine, from its ring in shared memory: the board
 * first, then every event. Reconnects when the connection or the ring ends. A `connected` event then voids all earlier data. With a
 * ring and a network address, the network is used while the ring cannot be read. A client without a network address ends if its ring
 * can never be read, because the native package is missing or the layout is unknown: the iterator rejects with MarketRingError,
 * which the system's `onError` gets too.
 *
 * Threads: one.
 * Memory:  a bounded buffer and an object per event (MarketRing has neither). Events that wait for a system's queue with overflow
 *          `wait` are not bounded.
 */
export class MarketData implements AsyncIterable<MarketEvent> {
  readonly #options: MarketDataOptions;
  readonly #selection: MarketSelection;
  readonly #owner: MarketFeedOwner;
  #feed: MarketFeed;
  #closed = false;
  readonly #buffer: EventBuffer;
  #ringTimer: NodeJS.Timeout | undefined;
  #connections = 0;
  #received = 0;
  #delivered = 0;
  #undelivered = 0;
  #missedThere = 0;
  #badLines = 0;
  #failedHandlers = 0;
  #lastError: string | undefined;

  /** Starts connecting. */
  constructor(options: MarketDataOptions) {
    check.argumentCount("new MarketData", arguments.length, 1);
    checkMarketOptions(options);
    this.#options = options;
    const { ring } = options;
    this.#buffer = new EventBuffer(options.buffer ?? 65_536);
    const symbols = options.subscribe === undefined ? undefined : new Set(options.subscribe);
    const { mode = "every", depth = 0, orders = false } = options;
    this.#selection = { mode, symbols, depth, orders };
    this.#owner = {
      connected: () => {
        if (!this.#closed) this.#receive({ type: "connected", connections: ++this.#connections });
      },
      receive: (event) => this.#receive(event),
      badLine: () => this.#badLines++,
      error: (text) => {
        this.#lastError = text;
      },
      unreadable: (why, fatal) => {
        this.#lastError = why;
        if (options.port !== undefined || options.url !== undefined) this.#fallBack(fatal);
        else if (fatal !== undefined) this.#fail(fatal);
      },
    };
    this.#feed = ring === undefined ? this.#lines() : this.#ring(ring);
  }

  /** Adds symbols. The first call replaces the subscription to all symbols. */
  subscribe(...symbols: readonly string[]): void {
    requireSymbols("symbols", symbols);
    this.#feed.subscribe(symbols);
  }

  unsubscribe(...symbols: readonly string[]): void {
    requireSymbols("symbols", symbols);
    this.#feed.unsubscribe(symbols);
  }

  setMode(mode: "every" | "conflate"): void {
    requireMode("mode", mode);
    if (mode === "conflate" && this.#selection.orders) throw new check.SettingError("mode", mode, "every with orders");
    this.#selection.mode = mode;
    this.#feed.setMode(mode);
  }

  account(): MarketAccount {
    return {
      by: this.#feed.by,
      connections: this.#connections,
      received: this.#received,
      delivered: this.#delivered + this.#buffer.delivered,
      undelivered: this.#undelivered,
      missedThere: this.#missedThere,
      missedHere: this.#buffer.missed,
      waiting: this.#buffer.waiting,
      badLines: this.#badLines,
      failedHandlers: this.#failedHandlers,
      lastError: this.#lastError,
    };
  }

  /** Closes the connection. The iterator ends after the remaining events. */
  close(): void {
    this.#closed = true;
    clearTimeout(this.#ringTimer);
    this.#feed.close();
    this.#buffer.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  /**
   * The events from now on. Iterators share the events. The end of a loop, and `return` of an iterator, close the client and end
   * each pending `next`.
   */
  [Symbol.asyncIterator](): AsyncGenerator<MarketEvent, void, void> {
    return new EventIterator(this.#buffer, () => this.close());
  }

  #lines(): MarketFeed {
    const { host = "127.0.0.1", port, tls, token, url, reconnectMs = 1_000 } = this.#options;
    if (url === undefined) {
      const connect = (reader: LineReader): LineConnection => tcpLines(host, port!, tls, token, reader);
      return new LineFeed("tcp", connect, "every", reconnectMs, this.#selection, this.#owner, token !== undefined);
    }
    const where = new URL(url);
    const connect = (reader: LineReader): LineConnection => webLines(where, token, reader);
    return new LineFeed("web", connect, "conflate", reconnectMs, this.#selection, this.#owner);
  }

  #ring(name: string): MarketFeed {
    const { reconnectMs = 1_000, wake = 1 } = this.#options;
    return new RingFeed(name, wake, reconnectMs, this.#selection, this.#owner);
  }

  /** Switches to the network, and back when the ring can be read again, unless it never can. */
  #fallBack(fatal: Error | undefined): void {
    this.#feed.close();
    this.#feed = this.#lines();
    if (fatal === undefined) this.#watchRing();
  }

  /** Ends the client. The iterator and the system's `onError` get the error. */
  #fail(error: Error): void {
    this.#closed = true;
    this.#feed.close();
    this.#buffer.close(error);
    this.#options.system?._report?.(error, "connected://");
  }

  /** Checks at intervals whether the ring has a writer, and then switches to it. */
  #watchRing(): void {
    const { ring, reconnectMs = 1_000 } = this.#options;
    this.#ringTimer = setTimeout(() => {
      void hasWriter(ring!).then((there) => {
        if (this.#closed) return;
        if (!there) return this.#watchRing();
        this.#feed.close();
        this.#feed = this.#ring(ring!);
      });
    }, reconnectMs);
    this.#ringTimer.unref();
  }

  #receive(event: MarketEvent): void {
    // The feed may have read events before a handler closed the client.
    if (this.#closed) return;
    this.#received++;
    if (event.type === "missed") this.#missedThere += event.count;
    const { system } = this.#options;
    if (system !== undefined) {
      const accepted = this.#emit(system, pathOf(event), event);
      if (!this.#buffer.reading) {
        if (accepted) this.#delivered++;
        else this.#undelivered++;
        return;
      }
    }
    this.#buffer.push(event);
  }

  /** Sends an event to the system. False if it has no receiver. An exception of a handler does not end the connection. */
  #emit(system: MarketSystem, path: string, event: MarketEvent): boolean {
    const failed = (error: unknown): void => {
      this.#failedHandlers++;
      system._report?.(error, path);
    };
    try {
      if (!system.has(path)) return false;
      if (!system.handles(path)) return system.emit(path, event) > 0;
      const reply = system.send(path, event);
      if (reply instanceof Promise) reply.catch(failed);
    } catch (error) {
      failed(error);
    }
    return true;
  }
}

limitArguments(MarketData.prototype, { setMode: 1, account: 0, close: 0 });

/** Whether the ring exists and its writer is alive: a killed writer leaves its ring behind. */
async function hasWriter(name: string): Promise<boolean> {
  try {
    const ring = await MarketRing.open(name);
    const alive = ring.writerState() === "alive";
    ring.close();
    return alive;
  } catch {
    return false;
  }
}
