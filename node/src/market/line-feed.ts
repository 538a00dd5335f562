import { MARKET_ROUTES, type MarketEvent, parseMarketLine } from "./market-event.js";
import {
  type MarketFeed,
  type MarketFeedOwner,
  type MarketSelection,
  addSymbols,
  removeSymbols,
} from "./market-feed.js";

/** Most bytes of a line. A book has up to 32,768 levels of about 60 bytes. */
const MAX_LINE_BYTES = 2 ** 22;
/** Symbols of one request: the gateway accepts requests of up to 4,096 bytes. */
const MAX_SYMBOLS = 200;
/** Time limit for connecting, including the handshakes of TLS and WebSocket. */
const CONNECT_TIMEOUT_MS = 10_000;
/** @internal Idle time after which the kernel sends TCP keep-alive probes. */
export const KEEP_ALIVE_MS = 10_000;
/** Number of times that the pause before a reconnect doubles, until events arrive. */
const MAX_DOUBLINGS = 5;

/** @internal A connection that carries lines. */
export interface LineConnection {
  /** Discards the text if the connection is not open. */
  send(text: string): void;
  destroy(): void;
}

/** @internal Receives the events of a connection. */
export interface LineReader {
  opened(): void;
  read(text: string): void;
  error(text: string): void;
  /** Called once, as the last event. */
  closed(): void;
}

/** @internal The JSON lines of a gateway over any transport: sends requests, and reconnects when the connection ends. */
export class LineFeed implements MarketFeed {
  #connection: LineConnection | undefined;
  #open = false;
  #connected = false;
  #retry: NodeJS.Timeout | undefined;
  #rest = "";
  #closed = false;
  #failures = 0;

  constructor(
    readonly by: "tcp" | "web",
    private readonly connect: (reader: LineReader) => LineConnection,
    /** The gateway's mode until a request changes it. */
    private readonly defaultMode: "every" | "conflate",
    private readonly reconnectMs: number,
    private readonly selection: MarketSelection,
    private readonly owner: MarketFeedOwner,
    /** The gateway may refuse the token after the connection is open: it counts as connected from its first event on. */
    private readonly mayBeRefused = false,
  ) {
    this.#begin();
  }

  subscribe(symbols: readonly string[]): void {
    addSymbols(this.selection, symbols);
    this.#requestSymbols("subscribe", symbols);
  }

  unsubscribe(symbols: readonly string[]): void {
    removeSymbols(this.selection, symbols);
    this.#requestSymbols("unsubscribe", symbols);
  }

  setMode(mode: "every" | "conflate"): void {
    this.#request({ mode });
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#retry);
    this.#connection?.destroy();
  }

  #begin(): void {
    this.#rest = "";
    this.#connection = this.connect({
      opened: () => {
        clearTimeout(limit);
        this.#open = true;
        const { mode, symbols, depth, orders } = this.selection;
        if (mode !== this.defaultMode) this.#request({ mode });
        if (symbols !== undefined || depth !== 0 || orders) this.#requestSymbols("subscribe", [...(symbols ?? ["*"])]);
        if (!this.mayBeRefused) this.#connect();
      },
      read: (text) => this.#read(text),
      error: (text) => this.owner.error(text),
      closed: () => {
        clearTimeout(limit);
        this.#open = this.#connected = false;
        if (this.#closed) return;
        const pauseMs = this.reconnectMs * 2 ** Math.min(this.#failures, MAX_DOUBLINGS);
        this.#failures++;
        this.#retry = setTimeout(() => this.#begin(), pauseMs);
      },
    });
    const limit = setTimeout(() => {
      this.owner.error(`no connection within ${CONNECT_TIMEOUT_MS} ms`);
      this.#connection?.destroy();
    }, CONNECT_TIMEOUT_MS);
  }

  #connect(): void {
    if (this.#connected) return;
    this.#connected = true;
    this.owner.connected();
  }

  #requestSymbols(what: "subscribe" | "unsubscribe", symbols: readonly string[]): void {
    const { depth, orders } = this.selection;
    const books = what === "subscribe" ? { ...(depth !== 0 && { depth }), ...(orders && { orders }) } : {};
    for (let first = 0; first === 0 || first < symbols.length; first += MAX_SYMBOLS) {
      this.#request({ [what]: symbols.slice(first, first + MAX_SYMBOLS), ...books });
    }
  }

  #request(request: object): void {
    if (this.#open) this.#connection?.send(`${JSON.stringify(request)}\n`);
  }

  #read(text: string): void {
    const lines = (this.#rest + text).split("\n");
    this.#rest = lines.pop()!;
    if (this.#rest.length > MAX_LINE_BYTES) {
      this.owner.error(`a line of more than ${MAX_LINE_BYTES} bytes: not a gateway`);
      this.#connection?.destroy();
      return;
    }
    for (const line of lines) if (line !== "") this.#readLine(line);
  }

  #readLine(line: string): void {
    const event = parseMarketLine(line);
    if (event === undefined) this.owner.badLine();
    else if (event.type === "error" || event.type === "bye") this.owner.error((event as { text?: string }).text ?? "");
    else if (MARKET_ROUTES.has(event.type)) {
      this.#failures = 0;
      this.#connect();
      this.owner.receive(event as MarketEvent);
    }
  }
}
