// A daemon's event log: the newest events, polled, and a list of them.

import { ask } from "./connection.js";
import { span } from "./format.js";
import { make, morph } from "./morph.js";

/** Events kept in the page. */
const KEPT = 1_000;
/** Rows in the document. */
const SHOWN = 100;

/** The log cuts longer sources. */
const MAX_SOURCE = 61;

const isOf = ({ source }, wanted) => source === wanted || (source.length >= MAX_SOURCE && wanted.startsWith(source));

export class Events {
  /** Newest first. */
  list = [];
  #newest = 0;
  #log = null;

  /** Asks for what is new; returns whether there was anything. */
  async poll() {
    const { log, events } = await ask(this.#newest === 0 ? `api/events?limit=${KEPT}` : `api/events?after=${this.#newest}`);
    if (this.#newest !== 0 && log !== this.#log) {
      this.forget();
      return this.poll();
    }
    this.#log = log;
    this.list = [...events.reverse(), ...this.list].slice(0, KEPT);
    this.#newest = this.list[0]?.number ?? this.#newest;
    return events.length > 0;
  }

  forget() {
    this.list = [];
    this.#newest = 0;
  }

  /** Those of a kind and a source; empty texts are any. */
  filtered(kind, source) {
    return this.list.filter((one) => (kind === "" || one.kind === kind) && (source === "" || isOf(one, source)));
  }
}

/** The time of an event, with its date unless it is today's. */
export function timeText(nanos, utc) {
  const date = new Date(nanos / 1e6);
  const options = { timeZone: utc ? "UTC" : undefined };
  const day = date.toLocaleDateString("en-CA", options);
  const time = date.toLocaleTimeString("en-GB", { ...options, hour12: false });
  return day === new Date().toLocaleDateString("en-CA", options) ? time : `${day} ${time}`;
}

function row({ number, time, kind, severity, source, stage, ended, since, text }, utc) {
  const what = stage === null ? kind : `${stage}${ended ? " ended" : ""}`;
  const lasted = ended && since !== null ? `, lasted ${span(Math.max(0, time - since))}` : "";
  return make("tr", { "data-number": String(number), "data-state": ended ? "good" : severity, tabindex: "0", title: "Shows the minutes around it in the charts" },
    make("td", {}, timeText(time, utc)),
    make("td", {}, make("span", { class: "dot", "aria-hidden": "true" }), make("span", { class: "hidden" }, `${ended ? "ended" : severity}: `), what),
    make("td", {}, source),
    make("td", { class: "text", title: `${text}${lasted}` }, `${text}${lasted}`));
}

/** Shows events. */
export function showEvents(events, utc, place) {
  const rows = events.slice(0, SHOWN).map((one) => row(one, utc));
  const more = events.length - rows.length;
  const last = events.length === 0 ? "No events." : more > 0 ? `${more} older events: narrow the filter, or download them.` : "";
  morph(place, make("table", { class: "plain" },
    make("thead", {}, make("tr", {}, ...[["Time", "When it happened"], ["Event", "What happened"], ["Source", "The part that it happened to"], ["Text", "What exactly, and how long it lasted"]].map(([title, meaning]) => make("th", { scope: "col", title: meaning }, title)))),
    make("tbody", {}, ...rows, ...(last === "" ? [] : [make("tr", { class: "note" }, make("td", { colspan: "4" }, last))]))));
}
