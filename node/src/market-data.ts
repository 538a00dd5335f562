import { LineFeed } from "./line-feed.js";
import { MARKET_ROUTES, type MarketEvent } from "./market-event.js";
import type { MarketFeed, MarketFeedOwner, MarketWishes } from "./market-feed.js";
import type { MessageSystem } from "./message-system.js";
import { requireInteger, SettingError } from "./pool-error.js";
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
  /** What the web sink asks for, where it asks for one. */
  readonly token?: string;
  /** Symbols; everything unless said otherwise. */
  readonly subscribe?: readonly string[];
  /** `every` event (default), or `conflate`: of each instrument the newest, when this client is slow. */
  readonly mode?: "every" | "conflate";
  /** Events are emitted here as well: `bbo://AAPL`, `trade://AAPL`, `trade_break://AAPL`, `status://AAPL`, `gap://0`, `clear://0`, `missed://`, `connected://`. */
  readonly system?: MessageSystem;
  /** Events that may wait for the iterator; beyond, they are dropped and counted. 65,536 by default. */
  readonly buffer?: number;
  /** Pause before connecting anew, 1,000 by default; it doubles up to five times until events come. */
  readonly reconnectMs?: number;
  /** When a ring is looked at; see RingWake. A timer of 1 ms by default. */
  readonly wake?: RingWake;
}

/** received = delivered + missedHere + waiting, for who reads by the iterator. */
export interface MarketAccount {
  /** How the events come at present. */
  readonly by: "ring" | "tcp" | "web";
  readonly connections: number;
  readonly received: number;
  /** Handed to the iterator or to the system. */
  readonly delivered: number;
  /** Events that this client was too slow for, as the gateway says or the ring's numbers show. */
  readonly missedThere: number;
  /** Events that the iterator was too slow for. */
  readonly missedHere: number;
  readonly waiting: number;
  readonly badLines: number;
  /** Events whose handlers in the system threw or rejected. */
  readonly failedHandlers: number;
  /** The last thing that the gateway, or the network, had to say. */
  readonly lastError: string | undefined;
}

/**
 * Market data of a millpond gateway, by TCP, by WebSocket or, on the same machine, from its ring in shared memory: the board first,
 * then every event. Connects anew when the connection or the ring ends, and says so by a `connected` event, after which all that was known
 * before is void.
 *
 * Threads: one.
 * Memory:  a bounded buffer; an object an event. MarketRing does without the objects.
 */
export class MarketData implements AsyncIterable<MarketEvent> {
  readonly #options: MarketDataOptions;
  readonly #capacity: number;
  readonly #wishes: MarketWishes;
  readonly #owner: MarketFeedOwner;
  #feed: MarketFeed;
  #closed = false;
  #reading = false;
  #events: MarketEvent[] = [];
  #next = 0;
  #untold = 0;
  #wake: (() => void) | undefined;
  #connections = 0;
  #received = 0;
  #delivered = 0;
  #missedThere = 0;
  #missedHere = 0;
  #badLines = 0;
  #failedHandlers = 0;
  #lastError: string | undefined;

  /** Begins to connect. */
  constructor(options: MarketDataOptions) {
    this.#options = options;
    const { port, ring, url } = options;
    if (port !== undefined) requireInteger("port", port, 1, 65_535);
    if (url !== undefined && !/^wss?:\/\/[^/]/.test(url)) throw new SettingError("url", url, "ws://host:port/ws");
    if (port !== undefined && url !== undefined) throw new SettingError("url", url, "absent where there is a port");
    if (port === undefined && url === undefined && ring === undefined) {
      throw new SettingError("port", port, "given, or a url, or the name of a ring");
    }
    this.#capacity = requireInteger("buffer", options.buffer ?? 65_536, 1, 2 ** 24);
    const symbols = options.subscribe === undefined ? undefined : new Set(options.subscribe);
    this.#wishes = { mode: options.mode ?? "every", symbols };
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
    this.#feed.subscribe(symbols);
  }

  unsubscribe(...symbols: readonly string[]): void {
    this.#feed.unsubscribe(symbols);
  }

  setMode(mode: "every" | "conflate"): void {
    this.#wishes.mode = mode;
    this.#feed.setMode(mode);
  }

  account(): MarketAccount {
    return {
      by: this.#feed.by,
      connections: this.#connections,
      received: this.#received,
      delivered: this.#delivered,
      missedThere: this.#missedThere,
      missedHere: this.#missedHere,
      waiting: this.#events.length - this.#next,
      badLines: this.#badLines,
      failedHandlers: this.#failedHandlers,
      lastError: this.#lastError,
    };
  }

  /** Ends the connection; the iterator ends after what it has not read yet. */
  close(): void {
    this.#closed = true;
    this.#feed.close();
    this.#wake?.();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  /** Events from now on. There is one reader: a second iterator shares with the first. */
  async *[Symbol.asyncIterator](): AsyncGenerator<MarketEvent, void, void> {
    this.#reading = true;
    for (;;) {
      while (this.#next < this.#events.length) {
        const event = this.#events[this.#next]!;
        this.#next++;
        if (this.#next === this.#events.length) {
          this.#events = [];
          this.#next = 0;
        }
        this.#delivered++;
        yield event;
      }
      if (this.#untold > 0) {
        const count = this.#untold;
        this.#untold = 0;
        yield { type: "missed", count, here: true };
      } else if (this.#closed) return;
      else {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
        this.#wake = undefined;
      }
    }
  }

  #lines(): MarketFeed {
    const { host = "127.0.0.1", port, token, url, reconnectMs = 1_000 } = this.#options;
    if (url === undefined) {
      return new LineFeed(
        "tcp",
        (reader) => tcpLines(host, port!, reader),
        "every",
        reconnectMs,
        this.#wishes,
        this.#owner,
      );
    }
    const where = new URL(url);
    return new LineFeed(
      "web",
      (reader) => webLines(where, token, reader),
      "conflate",
      reconnectMs,
      this.#wishes,
      this.#owner,
    );
  }

  #ring(name: string): MarketFeed {
    const { reconnectMs = 1_000, wake = 1 } = this.#options;
    return new RingFeed(name, wake, reconnectMs, this.#wishes, this.#owner);
  }

  /** True when events come over the network from now on. */
  #fallBack(): boolean {
    if (this.#options.port === undefined && this.#options.url === undefined) return false;
    this.#feed.close();
    this.#feed = this.#lines();
    return true;
  }

  #take(event: MarketEvent): void {
    this.#received++;
    if (event.type === "missed") this.#missedThere += event.count;
    const { system } = this.#options;
    if (system !== undefined) {
      const path = pathOf(event);
      if (system.has(path)) this.#emit(system, path, event);
      if (!this.#reading) {
        this.#delivered++;
        return;
      }
    }
    if (this.#events.length - this.#next >= this.#capacity) {
      this.#missedHere++;
      this.#untold++;
      return;
    }
    this.#events.push(event);
    this.#wake?.();
  }

  /** A handler that throws must not end the connection. */
  #emit(system: MessageSystem, path: string, event: MarketEvent): void {
    const failed = (error: unknown): void => {
      this.#failedHandlers++;
      this.#lastError = String(error);
    };
    try {
      Promise.resolve(system.emit(path, event)).catch(failed);
    } catch (error) {
      failed(error);
    }
  }
}

function pathOf(event: MarketEvent): string {
  const scheme = MARKET_ROUTES.get(event.type);
  if (event.type === "missed" || event.type === "connected") return `${scheme}://`;
  const symbol = event.type === "gap" ? null : event.symbol;
  return `${scheme}://${symbol ?? (event as { channel: number }).channel}`;
}
