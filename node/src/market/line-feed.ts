import { MARKET_ROUTES, type MarketEvent, parseMarketLine } from "./market-event.js";
import { type MarketFeed, type MarketFeedOwner, type MarketSelection, unwant, want } from "./market-feed.js";

/** A line of the gateway is at most some hundred bytes long; what is longer is no gateway. */
const LONGEST_LINE = 65_536;
/** Symbols of one request, which the gateway takes up to 4,096 bytes of. */
const SYMBOLS = 200;
/** For connecting, including the handshakes of TLS and the WebSocket. */
const CONNECT_MS = 10_000;
/** @internal Silence after which the kernel asks whether the gateway's machine is still there. */
export const KEEP_ALIVE_MS = 10_000;
/** The pause between two attempts doubles, so many times at most, until events come. */
const DOUBLINGS = 5;

/** @internal A connection that carries lines. */
export interface LineConnection {
  /** Lost when the connection is not open. */
  send(text: string): void;
  destroy(): void;
}

/** @internal What becomes of a connection. */
export interface LineReader {
  opened(): void;
  read(text: string): void;
  error(text: string): void;
  /** Once, after everything else. */
  closed(): void;
}

/** @internal The JSON lines of a gateway over any transport: sends requests, and reconnects when they end. */
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
    /** The default mode of the gateway. */
    private readonly silentMode: "every" | "conflate",
    private readonly reconnectMs: number,
    private readonly selection: MarketSelection,
    private readonly owner: MarketFeedOwner,
    /** An open connection may still be refused for its token: it counts from its first event on. */
    private readonly mayBeRefused = false,
  ) {
    this.#begin();
  }

  subscribe(symbols: readonly string[]): void {
    want(this.selection, symbols);
    this.#askFor("subscribe", symbols);
  }

  unsubscribe(symbols: readonly string[]): void {
    unwant(this.selection, symbols);
    this.#askFor("unsubscribe", symbols);
  }

  setMode(mode: "every" | "conflate"): void {
    this.#ask({ mode });
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
        const { mode, symbols } = this.selection;
        if (mode !== this.silentMode) this.#ask({ mode });
        if (symbols !== undefined) this.#askFor("subscribe", [...symbols]);
        if (!this.mayBeRefused) this.#connect();
      },
      read: (text) => this.#read(text),
      error: (text) => this.owner.error(text),
      closed: () => {
        clearTimeout(limit);
        this.#open = this.#connected = false;
        if (this.#closed) return;
        const pauseMs = this.reconnectMs * 2 ** Math.min(this.#failures, DOUBLINGS);
        this.#failures++;
        this.#retry = setTimeout(() => this.#begin(), pauseMs);
      },
    });
    const limit = setTimeout(() => {
      this.owner.error(`no connection within ${CONNECT_MS} ms`);
      this.#connection?.destroy();
    }, CONNECT_MS);
  }

  #connect(): void {
    if (this.#connected) return;
    this.#connected = true;
    this.owner.connected();
  }

  #askFor(what: "subscribe" | "unsubscribe", symbols: readonly string[]): void {
    for (let first = 0; first === 0 || first < symbols.length; first += SYMBOLS) {
      this.#ask({ [what]: symbols.slice(first, first + SYMBOLS) });
    }
  }

  #ask(request: object): void {
    if (this.#open) this.#connection?.send(`${JSON.stringify(request)}\n`);
  }

  #read(text: string): void {
    const lines = (this.#rest + text).split("\n");
    this.#rest = lines.pop()!;
    if (this.#rest.length > LONGEST_LINE) {
      this.owner.error(`a line of more than ${LONGEST_LINE} bytes: this is no gateway`);
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
      this.owner.take(event as MarketEvent);
    }
  }
}
