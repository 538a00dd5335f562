// The link to the gateway: reports over HTTP, quotes over a WebSocket, and one answer to "is what the page shows current?".

const TOKEN = "millpond-token";
const REPORT_EVERY_MS = 500;
const ECHO_EVERY_MS = 1_000;
const ANSWER_WITHIN_MS = 5_000;
const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 5_000;
/** The gateway takes requests of at most 4,096 bytes. */
const REQUEST_CHARACTERS = 3_500;

export const token = {
  get: () => sessionStorage.getItem(TOKEN) ?? "",
  set: (value) => sessionStorage.setItem(TOKEN, value),
};

export class TokenError extends Error {}

const pause = (ms) => new Promise((done) => { setTimeout(done, ms); });

/** Fetches JSON with the token. Throws TokenError when the gateway does not accept it, Error for any other failure. */
export async function ask(path) {
  const headers = token.get() === "" ? {} : { Authorization: `Bearer ${token.get()}` };
  const response = await fetch(path, { headers, cache: "no-store", signal: AbortSignal.timeout(ANSWER_WITHIN_MS) });
  if (response.status === 401) throw new TokenError(path);
  if (!response.ok) throw new Error(`${path}: ${response.status}`);
  return response.json();
}

/**
 * Polls the health report and keeps the WebSocket open. The link is live while both work; it is lost as soon as one
 * fails. Handlers:
 *   report(report)     a new health report
 *   open()             the WebSocket is open: everything known before is out of date
 *   lines(lines)       parsed lines of one message
 *   change()           `live`, `retryAt` or `lag` changed
 *   needToken(wrong)   resolves when the user has entered a token; wrong: the last one was not accepted
 */
export class Link {
  #handlers;
  #socket = null;
  #reported = false;
  #pause = FIRST_PAUSE_MS;
  #echoAsked = 0;
  #lag = 0;
  live = false;
  /** Date.now() of the newest data; 0 before the first. */
  heard = 0;
  /** Date.now() of the next attempt while the link is lost. */
  retryAt = 0;

  constructor(handlers) {
    this.#handlers = handlers;
    this.#poll();
    setInterval(() => this.#echo(), ECHO_EVERY_MS);
  }

  /** Milliseconds from a request over the WebSocket to its answer: how far the page is behind the gateway. */
  get lag() {
    return this.#echoAsked === 0 ? this.#lag : Math.max(this.#lag, performance.now() - this.#echoAsked);
  }

  /** Sends a request; false when the WebSocket is not open. */
  send(request) {
    if (this.#socket?.readyState !== WebSocket.OPEN) return false;
    this.#socket.send(JSON.stringify(request));
    return true;
  }

  /** Sends {key: symbols} in as many requests as the gateway's limit needs. */
  sendSymbols(key, symbols) {
    let part = [];
    let characters = 0;
    for (const symbol of symbols) {
      const length = JSON.stringify(symbol).length + 1;
      if (characters + length > REQUEST_CHARACTERS) {
        this.send({ [key]: part });
        part = [];
        characters = 0;
      }
      part.push(symbol);
      characters += length;
    }
    if (part.length > 0) this.send({ [key]: part });
  }

  async #poll() {
    for (;;) {
      try {
        const report = await ask("api/health");
        this.#reported = true;
        this.#pause = FIRST_PAUSE_MS;
        this.heard = Date.now();
        this.#handlers.report(report);
        if (this.#socket === null) this.#open();
        this.#settle();
        await pause(REPORT_EVERY_MS);
      } catch (error) {
        this.#reported = false;
        if (error instanceof TokenError) {
          this.#settle();
          await this.#handlers.needToken(token.get() !== "");
          continue;
        }
        this.retryAt = Date.now() + this.#pause;
        this.#settle();
        await pause(this.#pause);
        this.#pause = Math.min(this.#pause * 2, LONGEST_PAUSE_MS);
      }
    }
  }

  #open() {
    const url = new URL("ws", location.href);
    url.protocol = url.protocol.replace("http", "ws");
    const protocols = token.get() === "" ? [] : ["millpond", `millpond.${token.get()}`];
    const socket = new WebSocket(url, protocols);
    this.#socket = socket;
    socket.onopen = () => {
      this.#echoAsked = 0;
      this.#lag = 0;
      this.#handlers.open();
      this.#settle();
    };
    socket.onmessage = ({ data }) => {
      this.heard = Date.now();
      const lines = data.split("\n").filter(Boolean).map((line) => JSON.parse(line));
      if (lines.some((line) => line.type === "account")) {
        this.#lag = performance.now() - this.#echoAsked;
        this.#echoAsked = 0;
        this.#handlers.change();
      }
      this.#handlers.lines(lines);
    };
    socket.onclose = () => {
      // The next report opens it again, so that both are lost and come back together.
      this.#socket = null;
      this.retryAt = Date.now() + REPORT_EVERY_MS;
      this.#settle();
    };
  }

  /** Asks for the account: its answer waits behind everything that the gateway still holds for this page. */
  #echo() {
    if (this.#echoAsked === 0 && this.send({ account: true })) this.#echoAsked = performance.now();
    this.#handlers.change();
  }

  #settle() {
    this.live = this.#reported && this.#socket?.readyState === WebSocket.OPEN;
    this.#handlers.change();
  }
}
