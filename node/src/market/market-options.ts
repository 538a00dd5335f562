import type { ConnectionOptions } from "node:tls";
import type { RingWake } from "./ring-feed.js";

/** The methods of a MessageSystem that `MarketData` calls. */
export interface MarketSystem {
  has(path: string): boolean;
  handles(path: string): boolean;
  emit(path: string, body: unknown): number;
  send(path: string, body: unknown): unknown;
  /** @internal */
  _report?(error: unknown, path: string): void;
}

export interface MarketDataOptions {
  /** Name of a ring on this machine, read in shared memory; needs the package millpond-shm-linux-x64. */
  readonly ring?: string;
  readonly host?: string;
  /** Port of the gateway's tcp sink. With `ring`: used while the ring cannot be read. */
  readonly port?: number;
  /** URL of the gateway's web sink, `ws://host:port/ws`. With `ring`: used while the ring cannot be read. */
  readonly url?: string;
  /** The bearer token, if the web sink or the tcp sink requires one. */
  readonly token?: string;
  /** TLS for the tcp sink: options of `tls.connect`, or true. */
  readonly tls?: boolean | ConnectionOptions;
  /** Symbols; all by default. */
  readonly subscribe?: readonly string[];
  /**
   * Levels of a side whose changes are delivered, at most what the feed sends, or "full"; none by default. In the mode `conflate` the
   * newest levels are delivered as `book` events.
   */
  readonly depth?: number | "full";
  /** Whether changes of single orders are delivered; false by default. Needs the mode `every`. */
  readonly orders?: boolean;
  /** `every` event (default), or `conflate`: only the newest quote of each instrument while this client is slow. */
  readonly mode?: "every" | "conflate";
  /**
   * Gets the events too: `bbo://AAPL`, `trade://AAPL`, `trade_break://AAPL`, `status://AAPL`, `gap://0`, `clear://0`,
   * `order://AAPL`, `level://AAPL`, `book://AAPL`, `missed://`, `connected://`. In a path, `/` of a symbol is `%2F` and `%` is `%25`: `bbo://BRK%2FB`.
   */
  readonly system?: MarketSystem;
  /** Most events that wait for the iterator, 65,536 by default; further ones are dropped and counted. */
  readonly buffer?: number;
  /** Pause before a reconnect, 1,000 by default; it doubles up to five times until events arrive. */
  readonly reconnectMs?: number;
  /** When a ring is polled; see RingWake. A timer of 1 ms by default. */
  readonly wake?: RingWake;
}

/** received = delivered + undelivered + missedHere + waiting. An event for the iterator and the system counts once. */
export interface MarketAccount {
  /** The current source. */
  readonly by: "ring" | "tcp" | "web";
  readonly connections: number;
  readonly received: number;
  /** Events read by the iterator or, without one, sent to a handler or observer of the system. */
  readonly delivered: number;
  /** Events without an iterator, and without a handler or observer in the system. */
  readonly undelivered: number;
  /** Events that this client missed at the gateway or ring because it was slow. */
  readonly missedThere: number;
  /** Events dropped because the iterator was slow. */
  readonly missedHere: number;
  readonly waiting: number;
  readonly badLines: number;
  /** Events whose handlers in the system threw or rejected, or whose queues refused or dropped them. */
  readonly failedHandlers: number;
  /** The last error of the gateway or the network. */
  readonly lastError: string | undefined;
}
