import { connect, type Socket } from "node:net";
import { MARKET_ROUTES, type MarketEvent, parseMarketLine } from "./market-event.js";
import { type MarketFeed, type MarketFeedOwner, type MarketWishes, unwant, want } from "./market-feed.js";

/** A line of the gateway is at most some hundred bytes long; what is longer is no gateway. */
const LONGEST_LINE = 65_536;

/** @internal The lines of a gateway's tcp sink. */
export class TcpFeed implements MarketFeed {
  readonly by = "tcp";
  #socket: Socket | undefined;
  #retry: NodeJS.Timeout | undefined;
  #rest = "";
  #closed = false;

  constructor(
    private readonly host: string,
    private readonly port: number,
    private readonly reconnectMs: number,
    private readonly wishes: MarketWishes,
    private readonly owner: MarketFeedOwner,
  ) {
    this.#connect();
  }

  subscribe(symbols: readonly string[]): void {
    want(this.wishes, symbols);
    this.#ask({ subscribe: symbols });
  }

  unsubscribe(symbols: readonly string[]): void {
    unwant(this.wishes, symbols);
    this.#ask({ unsubscribe: symbols });
  }

  setMode(mode: "every" | "conflate"): void {
    this.#ask({ mode });
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#retry);
    this.#socket?.destroy();
  }

  #connect(): void {
    const socket = connect(this.port, this.host);
    this.#socket = socket;
    this.#rest = "";
    socket.setEncoding("latin1").setNoDelay(true);
    socket.on("connect", () => {
      const { mode, symbols } = this.wishes;
      if (mode !== "every") this.#ask({ mode });
      if (symbols !== undefined) this.#ask({ subscribe: [...symbols] });
      this.owner.connected();
    });
    socket.on("data", (text: string) => this.#read(text));
    socket.on("error", (error) => this.owner.error(error.message));
    socket.on("close", () => {
      if (!this.#closed) this.#retry = setTimeout(() => this.#connect(), this.reconnectMs);
    });
  }

  #ask(request: object): void {
    if (this.#socket?.writable === true && !this.#socket.connecting) this.#socket.write(`${JSON.stringify(request)}\n`);
  }

  #read(text: string): void {
    const lines = (this.#rest + text).split("\n");
    this.#rest = lines.pop()!;
    if (this.#rest.length > LONGEST_LINE) {
      this.owner.error(`a line of more than ${LONGEST_LINE} bytes: this is no gateway`);
      this.#socket?.destroy();
      return;
    }
    for (const line of lines) if (line !== "") this.#readLine(line);
  }

  #readLine(line: string): void {
    const event = parseMarketLine(line);
    if (event === undefined) this.owner.badLine();
    else if (event.type === "error" || event.type === "bye") this.owner.error((event as { text?: string }).text ?? "");
    else if (MARKET_ROUTES.has(event.type)) this.owner.take(event as MarketEvent);
  }
}
