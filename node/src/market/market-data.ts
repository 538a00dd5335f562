import type { ConnectionOptions } from "node:tls";
import { checkMarketOptions, requireMode, requireSymbols } from "./check-options.js";
import { EventBuffer, EventIterator } from "./event-buffer.js";
import { type LineConnection, LineFeed, type LineReader } from "./line-feed.js";
import { type MarketEvent, pathOf } from "./market-event.js";
import type { MarketFeed, MarketFeedOwner, MarketSelection } from "./market-feed.js";
import type { MessageSystem } from "../bus/message-system.js";
import { limitArguments } from "../pool/argument-limits.js";
import { requireArguments, requireInteger } from "../pool/pool-error.js";
import { MarketRing } from "./market-ring.js";
import { RingFeed, type RingWake } from "./ring-feed.js";
import { tcpLines } from "./tcp-lines.js";
import { webLines } from "./web-lines.js";

export interface MarketDataOptions {
  /** Name of a ring of this machine, read in place in shared memory; needs the package millpond-shm-linux-x64. */
  readonly ring?: string;
  readonly host?: string;
  /** Of the gateway's tcp sink. With `ring`: taken where the ring cannot be read. */
  readonly port?: number;
  /** Of the gateway's web sink, `ws://host:port/ws`, by WebSocket. With `ring`: taken where the ring cannot be read. */
  readonly url?: string;
  /** The bearer token, if the web sink or the tcp sink requires one. */
  readonly token?: string;
  /** TLS for the tcp sink: options of `tls.connect`, or true. */
  readonly tls?: boolean | ConnectionOptions;
  /** Symbols; everything unless said otherwise. */
  readonly subscribe?: readonly string[];
  /** `every` event (default), or `conflate`: of each instrument the newest, when this client is slow. */
  readonly mode?: "every" | "conflate";
  /**
   * Events are emitted here as well: `bbo://AAPL`, `trade://AAPL`, `trade_break://AAPL`, `status://AAPL`, `gap://0`,
   * `clear://0`, `missed://`, `connected://`. In a path `/` of a symbol is `%2F` and `%` is `%25`: `bbo://BRK%2FB`; the body has the symbol as it is.
   */
  readonly system?: MessageSystem;
  /** Events that may wait for the iterator; beyond, they are dropped and counted. 65,536 by default. */
  readonly buffer?: number;
  /** Pause before a reconnect, 1,000 by default; it doubles up to five times until events come. */
  readonly reconnectMs?: number;
  /** When a ring is polled; see RingWake. A timer of 1 ms by default. */
  readonly wake?: RingWake;
}

/** received = delivered + undelivered + missedHere + waiting; what the iterator and the system both get counts once. */
export interface MarketAccount {
  /** How the events come at present. */
  readonly by: "ring" | "tcp" | "web";
  readonly connections: number;
  readonly received: number;
  /** Read by the iterator; without one, handed to a handler or observer of the system. */
  readonly delivered: number;
  /** Events for which the system had neither a handler nor an observer, and no iterator reads. */
  readonly undelivered: number;
  /** Events that this client was too slow to read, as reported by the gateway or shown by the ring's numbers. */
  readonly missedThere: number;
  /** Events that the iterator was too slow for. */
  readonly missedHere: number;
  readonly waiting: number;
  readonly badLines: number;
  /** Events whose handlers in the system threw or rejected, or whose queues refused or dropped them. */
  readonly failedHandlers: number;
  /** The last error of the gateway or the network. */
  readonly lastError: string | undefined;
}

/**
 * Market data of a millpond gateway, by TCP, by WebSocket or, on the same machine, from its ring in shared memory: the board first,
 * then every event. Reconnects when the connection or the ring ends, which a `connected` event says; everything known before it is void. With a
 * ring and a network address, the network is used while the ring cannot be read.
 *
 * Threads: one.
 * Memory:  a bounded buffer; an object per event, which MarketRing does without; events that wait for a queue of overflow `wait` in
 *          the system are not bounded.
 */
export class MarketData implements AsyncIterable<MarketEvent> {
  readonly #options: MarketDataOptions;
  readonly #selection: MarketSelection;
  readonly #owner: MarketFeedOwner;
  #feed: MarketFeed;
  #closed = false;
  readonly #buffer: EventBuffer;
  #looking: NodeJS.Timeout | undefined;
  #connections = 0;
  #received = 0;
  #delivered = 0;
  #undelivered = 0;
  #missedThere = 0;
  #badLines = 0;
  #failedHandlers = 0;
  #lastError: string | undefined;

  /** Begins to connect. */
  constructor(options: MarketDataOptions) {
    requireArguments("new MarketData", arguments.length, 1);
    checkMarketOptions(options);
    this.#options = options;
    const { ring } = options;
    this.#buffer = new EventBuffer(requireInteger("buffer", options.buffer ?? 65_536, 1, 2 ** 24));
    const symbols = options.subscribe === undefined ? undefined : new Set(options.subscribe);
    this.#selection = { mode: options.mode ?? "every", symbols };
    this.#owner = {
      connected: () => this.#take({ type: "connected", connections: ++this.#connections }),
      take: (event) => this.#take(event),
      badLine: () => this.#badLines++,
      error: (text) => {
        this.#lastError = text;
      },
      unreadable: () => this.#fallBack(),
    };
    this.#feed = ring === undefined ? this.#lines() : this.#ring(ring);
  }

  /** Wants these symbols too. The first call after "everything" ends that. */
  subscribe(...symbols: readonly string[]): void {
    requireSymbols(symbols);
    this.#feed.subscribe(symbols);
  }

  unsubscribe(...symbols: readonly string[]): void {
    requireSymbols(symbols);
    this.#feed.unsubscribe(symbols);
  }

  setMode(mode: "every" | "conflate"): void {
    requireMode(mode);
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

  /** Closes the connection; the iterator ends after the remaining events. */
  close(): void {
    this.#closed = true;
    clearTimeout(this.#looking);
    this.#feed.close();
    this.#buffer.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  /**
   * Events from now on. There is one reader: a second iterator shares with the first. The end of a loop, and `return` of an iterator,
   * close the client and end each `next` that waits.
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

  /** Events come over the network from now on, where there is one. */
  #fallBack(): void {
    if (this.#options.port === undefined && this.#options.url === undefined) return;
    this.#feed.close();
    this.#feed = this.#lines();
    this.#look();
  }

  /** While events come over the network, looks whether the ring has a writer again. */
  #look(): void {
    const { ring, reconnectMs = 1_000 } = this.#options;
    this.#looking = setTimeout(() => {
      void hasWriter(ring!).then((there) => {
        if (this.#closed) return;
        if (!there) return this.#look();
        this.#feed.close();
        this.#feed = this.#ring(ring!);
      });
    }, reconnectMs);
    this.#looking.unref();
  }

  #take(event: MarketEvent): void {
    this.#received++;
    if (event.type === "missed") this.#missedThere += event.count;
    const { system } = this.#options;
    if (system !== undefined) {
      const taken = this.#emit(system, pathOf(event), event);
      if (!this.#buffer.reading) {
        if (taken) this.#delivered++;
        else this.#undelivered++;
        return;
      }
    }
    this.#buffer.put(event);
  }

  /** False when nothing in the system takes it. A handler that throws must not end the connection. */
  #emit(system: MessageSystem, path: string, event: MarketEvent): boolean {
    const failed = (error: unknown): void => {
      this.#failedHandlers++;
      system._report(error, path);
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

/** A writer that was killed leaves its ring behind. */
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
