// The link to the gateway: reports over HTTP, quotes over a WebSocket, and one answer to "is what the page shows current?".

const TOKEN = "millpond-token";
const REPORT_EVERY_MS = 500;
/** Lag from which the page says that it is behind; more than the longest conflation interval (subscription.js). */
const LATE_MS = 2_000;
const ECHO_EVERY_MS = 1_000;
const ANSWER_WITHIN_MS = 5_000;
const FIRST_PAUSE_MS = 250;
const MAX_PAUSE_MS = 5_000;
/** The gateway takes requests of at most 4,096 bytes. */
const REQUEST_CHARACTERS = 3_500;

/** Returns why a gateway cannot accept this text as a token, in one sentence; empty if it can. */
export function tokenFault(text) {
  if (text.length < 16 || text.length > 1_024) return "A token has 16 to 1,024 characters.";
  if (!/^[!-~]+$/.test(text)) return "A token has only ASCII letters, digits and punctuation, without spaces. Was it changed while being copied?";
  return /["\\]/.test(text) ? "A token must not contain \" or \\." : "";
}

/** The token of this tab. It is stored once the gateway has accepted it. */
export const token = {
  value: tokenFault(sessionStorage.getItem(TOKEN) ?? "") === "" ? sessionStorage.getItem(TOKEN) : "",
  get() { return this.value; },
  set(value) { this.value = value; },
  accepted() {
    if (this.value !== "") sessionStorage.setItem(TOKEN, this.value);
  },
  refused() {
    this.value = "";
    sessionStorage.removeItem(TOKEN);
  },
};

/** Encodes a token as the name of a WebSocket protocol: a script can send no other header with the request. */
const asProtocol = (text) => `millpond.base64url.${btoa(text).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "")}`;

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
 *   needToken(wrong)   resolves when the user has entered a token; wrong: the last one was refused
 */
export class Link {
  #handlers;
  #socket = null;
  #reported = false;
  #pause = FIRST_PAUSE_MS;
  #pending = null; // the echo request without an answer: {number, at}
  #echoes = 0;
  #lag = 0;
  #confirmed = 0; // Date.now() up to which all published data has arrived here
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

  /** Milliseconds by which the page is behind the gateway: an echo arrives after all data published before it. */
  get lag() {
    return this.#pending === null ? this.#lag : Math.max(this.#lag, Date.now() - this.#pending.at);
  }

  /** Whether the page shows older data than a working link would. */
  get late() {
    return this.lag > LATE_MS;
  }

  /** Date.now() at which the data shown was current; 0 before the first. */
  get asOf() {
    return this.late && this.#confirmed !== 0 ? this.#confirmed : this.heard;
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
        token.accepted();
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
          const wrong = token.get() !== "";
          token.refused();
          this.#settle();
          await this.#handlers.needToken(wrong);
          continue;
        }
        this.retryAt = Date.now() + this.#pause;
        this.#settle();
        await pause(this.#pause);
        this.#pause = Math.min(this.#pause * 2, MAX_PAUSE_MS);
      }
    }
  }

  #open() {
    const url = new URL("ws", location.href);
    url.protocol = url.protocol.replace("http", "ws");
    const protocols = token.get() === "" ? [] : ["millpond", asProtocol(token.get())];
    const socket = new WebSocket(url, protocols);
    this.#socket = socket;
    socket.onopen = () => {
      this.#pending = null;
      this.#lag = 0;
      this.#handlers.open();
      this.#settle();
    };
    socket.onmessage = ({ data }) => {
      this.heard = Date.now();
      const lines = data.split("\n").filter(Boolean).map((line) => JSON.parse(line));
      this.#handlers.lines(lines);
      if (lines.some((line) => line.type === "echo" && line.echo === this.#pending?.number)) {
        this.#lag = Date.now() - this.#pending.at;
        this.#confirmed = this.#pending.at;
        this.#pending = null;
        this.#handlers.change();
      }
    };
    socket.onclose = () => {
      // The next report reopens it, so that reports and quotes are lost and return together.
      this.#socket = null;
      this.retryAt = Date.now() + REPORT_EVERY_MS;
      this.#settle();
    };
  }

  #echo() {
    if (this.#pending === null && this.send({ echo: this.#echoes + 1 })) {
      this.#echoes += 1;
      this.#pending = { number: this.#echoes, at: Date.now() };
    }
    this.#handlers.change();
  }

  #settle() {
    this.live = this.#reported && this.#socket?.readyState === WebSocket.OPEN;
    this.#handlers.change();
  }
}
