// A WebSocket of the gateway, which knows how far behind it is.

import { token } from "./connection.js";

/** Lag from which data counts as late; more than the longest conflation interval (subscription.js). */
const LATE_MS = 2_000;
const ECHO_EVERY_MS = 1_000;
/** The gateway takes requests of at most 4,096 bytes. */
const REQUEST_CHARACTERS = 3_500;

/** Encodes a token as the name of a WebSocket protocol: a script can send no other header with the request. */
const asProtocol = (text) => `millpond.base64url.${btoa(text).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "")}`;

/**
 * Handlers:
 *   open()         the socket is open: everything known before is out of date
 *   lines(lines)   parsed lines of one message
 *   close()        it has closed; connect() opens another one
 *   change()       `live` or `lag` may have changed
 */
export class Socket {
  #handlers;
  #socket = null;
  #pending = null; // the echo request without an answer: {number, at}
  #echoes = 0;
  #lag = 0;
  #confirmed = 0; // Date.now() up to which all published data has arrived here
  /** Date.now() of the newest data; 0 before the first. */
  heard = 0;

  constructor(handlers) {
    this.#handlers = handlers;
    setInterval(() => this.#echo(), ECHO_EVERY_MS);
  }

  get live() {
    return this.#socket?.readyState === WebSocket.OPEN;
  }

  /** Whether it is neither open nor about to be. */
  get closed() {
    return this.#socket === null;
  }

  /** Milliseconds by which the data is behind the gateway: an echo arrives after all data published before it. */
  get lag() {
    return this.#pending === null ? this.#lag : Math.max(this.#lag, Date.now() - this.#pending.at);
  }

  /** Whether the data is older than a working connection's would be. */
  get late() {
    return this.lag > LATE_MS;
  }

  /** Date.now() at which late data was current; 0 if unknown. */
  get confirmed() {
    return this.#confirmed;
  }

  connect() {
    const url = new URL("ws", location.href);
    url.protocol = url.protocol.replace("http", "ws");
    const protocols = token.get() === "" ? [] : ["millpond", asProtocol(token.get())];
    const socket = new WebSocket(url, protocols);
    this.#socket = socket;
    socket.onopen = () => {
      this.#pending = null;
      this.#lag = 0;
      this.#handlers.open();
      this.#handlers.change();
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
      if (this.#socket !== socket) return;
      this.#socket = null;
      this.#handlers.close();
      this.#handlers.change();
    };
  }

  close() {
    this.#socket?.close();
    this.#socket = null;
  }

  /** Sends a request; false when the socket is not open. */
  send(request) {
    if (!this.live) return false;
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

  #echo() {
    if (this.#pending === null && this.send({ echo: this.#echoes + 1 })) {
      this.#echoes += 1;
      this.#pending = { number: this.#echoes, at: Date.now() };
    }
    this.#handlers.change();
  }
}
