// The link to the gateway: reports over HTTP, quotes over a WebSocket, and one answer to "is what the page shows current?".

import { ask, token, TokenError } from "./connection.js";
import { Socket } from "./socket.js";

const REPORT_EVERY_MS = 500;
const FIRST_PAUSE_MS = 250;
const MAX_PAUSE_MS = 5_000;

const pause = (ms) => new Promise((done) => { setTimeout(done, ms); });

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
  #socket;
  #reported = false;
  #reportedAt = 0;
  #pause = FIRST_PAUSE_MS;
  /** Date.now() of the next attempt while the link is lost. */
  retryAt = 0;

  constructor(handlers) {
    this.#handlers = handlers;
    this.#socket = new Socket({
      open: () => {
        this.send({ name: "page" });
        handlers.open();
      },
      lines: (lines) => handlers.lines(lines),
      // The next report reopens it, so that reports and quotes are lost and return together.
      close: () => { this.retryAt = Date.now() + REPORT_EVERY_MS; },
      change: () => handlers.change(),
    });
    this.#poll();
  }

  get live() {
    return this.#reported && this.#socket.live;
  }

  get lag() {
    return this.#socket.lag;
  }

  get late() {
    return this.#socket.late;
  }

  /** Date.now() of the newest data; 0 before the first. */
  get heard() {
    return Math.max(this.#reportedAt, this.#socket.heard);
  }

  /** Date.now() at which the data shown was current; 0 before the first. */
  get asOf() {
    return this.late && this.#socket.confirmed !== 0 ? this.#socket.confirmed : this.heard;
  }

  send(request) {
    return this.#socket.send(request);
  }

  sendSymbols(key, symbols) {
    this.#socket.sendSymbols(key, symbols);
  }

  async #poll() {
    for (;;) {
      try {
        const report = await ask("api/health");
        token.accepted();
        this.#reported = true;
        this.#pause = FIRST_PAUSE_MS;
        this.#reportedAt = Date.now();
        this.#handlers.report(report);
        if (this.#socket.closed) this.#socket.connect();
        this.#handlers.change();
        await pause(REPORT_EVERY_MS);
      } catch (error) {
        this.#reported = false;
        if (error instanceof TokenError) {
          const wrong = token.get() !== "";
          token.refused();
          this.#handlers.change();
          await this.#handlers.needToken(wrong);
          continue;
        }
        this.retryAt = Date.now() + this.#pause;
        this.#handlers.change();
        await pause(this.#pause);
        this.#pause = Math.min(this.#pause * 2, MAX_PAUSE_MS);
      }
    }
  }
}
