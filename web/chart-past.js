// The past of an instrument out of the gateway's journal: a replay over a WebSocket of its own, which closes where the
// live lines begin.

import { Socket } from "./socket.js";

const RANGE_MS = 15 * 60_000;
/** Tried instead for an instrument with too many lines. */
const SHORT_RANGE_MS = 60_000;
const MAX_LINES = 20_000;
/** The user may only pass by an instrument. */
const SETTLE_MS = 300;
const TOO_EARLY = /is before the journal's first event, of (\S+)$/;

const utc = (ms) => new Date(ms).toISOString();

/** Whether a ring of a web sink has a journal. */
const hasJournal = ({ sinks }) => sinks.some(({ type, ring }) => type === "journal" && sinks.some((web) => web.type === "web" && web.ring === ring));

export class ChartPast {
  #socket;
  #done;
  #timer = 0;
  #symbol = "";
  #now = 0;
  #from = "";
  #lines = null; // of the replay; null before it

  /** done(symbol, lines, sequence): the lines of a replay and the sequence number of its last event; none and 0 if it fails. */
  constructor(done) {
    this.#done = done;
    this.#socket = new Socket({
      open: () => this.#request(this.#from),
      lines: (lines) => lines.forEach((line) => this.#apply(line)),
      close: () => this.#finish([], 0),
      change: () => {},
    });
  }

  /** Asks for the past of a symbol once it is another one. report: the newest health report; null before the first. */
  follow(symbol, report) {
    if (symbol === this.#symbol || symbol === "" || report === null || !hasJournal(report)) return;
    clearTimeout(this.#timer);
    this.#socket.close();
    [this.#symbol, this.#now] = [symbol, report.now / 1e6];
    this.#timer = setTimeout(() => this.#begin(RANGE_MS), SETTLE_MS);
  }

  #begin(range) {
    this.#lines = null;
    this.#from = utc(this.#now - range);
    this.#socket.close();
    this.#socket.connect();
  }

  #request(from) {
    this.#socket.send({ unsubscribe: ["*"] });
    this.#socket.send({ subscribe: [this.#symbol], mode: "every", from });
  }

  #finish(lines, sequence) {
    this.#socket.close();
    this.#lines = null;
    this.#done(this.#symbol, lines, sequence);
  }

  #apply(line) {
    if (line.type === "replay") {
      this.#lines = [];
    } else if (line.type === "live") {
      this.#finish(this.#lines, line.sequence);
    } else if (line.type === "error") {
      const begin = TOO_EARLY.exec(line.text)?.[1];
      if (begin !== undefined && begin !== this.#from) this.#request(this.#from = begin);
      else this.#finish([], 0);
    } else if (this.#lines?.push(line) > MAX_LINES) {
      if (this.#from < utc(this.#now - SHORT_RANGE_MS)) this.#begin(SHORT_RANGE_MS);
      else this.#finish([], 0);
    }
  }
}
