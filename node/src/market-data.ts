import { connect, type Socket } from "node:net";
import { type MarketEvent, parseMarketLine } from "./market-event.js";
import type { MessageSystem } from "./message-system.js";
import { requireInteger } from "./pool-error.js";

/** A line of the gateway is at most some hundred bytes long; what is longer is no gateway. */
const LONGEST_LINE = 65_536;

export interface MarketDataOptions {
  readonly host?: string;
  /** Of the gateway's tcp sink. */
  readonly port: number;
  /** Symbols; everything unless said otherwise. */
  readonly subscribe?: readonly string[];
  /** `every` event (default), or `conflate`: of each instrument the newest, when this client is slow. */
  readonly mode?: "every" | "conflate";
  /** Events are emitted here as well: `bbo://AAPL`, `trade://AAPL`, `status://AAPL`, `gap://0`, `clear://0`, `missed://`, `connected://`. */
  readonly system?: MessageSystem;
  /** Events that may wait for the iterator; beyond, they are dropped and counted. 65,536 by default. */
  readonly buffer?: number;
  /** Pause before connecting anew, 1,000 by default. */
  readonly reconnectMs?: number;
}

/** received = delivered + missedHere + waiting, for who reads by the iterator. */
export interface MarketAccount {
  readonly connections: number;
  readonly received: number;
  /** Handed to the iterator or to the system. */
  readonly delivered: number;
  /** Events that the gateway says this client was too slow for. */
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
 * Market data of a millpond gateway, by TCP: the board first, then every event. Connects anew when the connection ends, and
 * says so by a `connected` event, after which all that was known before is void.
 *
 * Threads: one.
 * Memory:  a bounded buffer; an object an event.
 */
export class MarketData implements AsyncIterable<MarketEvent> {
  readonly #options: MarketDataOptions;
  readonly #capacity: number;
  readonly #symbols: Set<string> | undefined;
  #mode: "every" | "conflate";
  #socket: Socket | undefined;
  #retry: NodeJS.Timeout | undefined;
  #rest = "";
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
    requireInteger("port", options.port, 1, 65_535);
    this.#capacity = requireInteger("buffer", options.buffer ?? 65_536, 1, 2 ** 24);
    this.#symbols = options.subscribe === undefined ? undefined : new Set(options.subscribe);
    this.#mode = options.mode ?? "every";
    this.#connect();
  }

  /** Wants these symbols too. The first call after "everything" ends that. */
  subscribe(...symbols: readonly string[]): void {
    for (const symbol of symbols) this.#symbols?.add(symbol);
    this.#ask({ subscribe: symbols });
  }

  unsubscribe(...symbols: readonly string[]): void {
    for (const symbol of symbols) this.#symbols?.delete(symbol);
    this.#ask({ unsubscribe: symbols });
  }

  setMode(mode: "every" | "conflate"): void {
    this.#mode = mode;
    this.#ask({ mode });
  }

  account(): MarketAccount {
    return {
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
    clearTimeout(this.#retry);
    this.#socket?.destroy();
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

  #connect(): void {
    const socket = connect(this.#options.port, this.#options.host ?? "127.0.0.1");
    this.#socket = socket;
    this.#rest = "";
    socket.setEncoding("latin1").setNoDelay(true);
    socket.on("connect", () => {
      this.#connections++;
      if (this.#mode !== "every") this.#ask({ mode: this.#mode });
      if (this.#symbols !== undefined) this.#ask({ subscribe: [...this.#symbols] });
      this.#take({ type: "connected", connections: this.#connections });
    });
    socket.on("data", (text: string) => this.#read(text));
    socket.on("error", (error) => {
      this.#lastError = error.message;
    });
    socket.on("close", () => {
      if (this.#closed) return;
      this.#retry = setTimeout(() => this.#connect(), this.#options.reconnectMs ?? 1_000);
    });
  }

  #ask(request: object): void {
    if (this.#socket?.writable === true && !this.#socket.connecting) this.#socket.write(`${JSON.stringify(request)}\n`);
  }

  #read(text: string): void {
    const lines = (this.#rest + text).split("\n");
    this.#rest = lines.pop()!;
    if (this.#rest.length > LONGEST_LINE) {
      this.#lastError = `a line of more than ${LONGEST_LINE} bytes: this is no gateway`;
      this.#socket?.destroy();
      return;
    }
    for (const line of lines) if (line !== "") this.#readLine(line);
  }

  #readLine(line: string): void {
    const event = parseMarketLine(line);
    if (event === undefined) this.#badLines++;
    else if (event.type === "error" || event.type === "bye") this.#lastError = (event as { text?: string }).text;
    else if (ROUTES.has(event.type)) this.#take(event as MarketEvent);
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

const ROUTES = new Map([
  ["quote", "bbo"],
  ["trade", "trade"],
  ["status", "status"],
  ["gap", "gap"],
  ["clear", "clear"],
  ["missed", "missed"],
  ["connected", "connected"],
]);

function pathOf(event: MarketEvent): string {
  const scheme = ROUTES.get(event.type);
  if (event.type === "missed" || event.type === "connected") return `${scheme}://`;
  const symbol = event.type === "gap" ? null : event.symbol;
  return `${scheme}://${symbol ?? (event as { channel: number }).channel}`;
}
