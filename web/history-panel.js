// The panel of the past: charts and the list of events, with one range, source and time zone for both.

import { ask, token } from "./connection.js";
import { Events, showEvents } from "./events.js";
import { History } from "./history.js";
import { HistoryCharts } from "./history-charts.js";
import { setText } from "./morph.js";
import { at } from "./shell.js";

const EVERY_MS = 1_000;
const MINUTE_NS = 60e9;
/** Time around an event that a click on it shows. */
const AROUND_NS = 2 * MINUTE_NS;
const ZONE = "millpond-zone";

/** A query. URLSearchParams would write a space as +, which is a plus to the daemon. */
const query = (parts) => Object.entries(parts).map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join("&");

export class HistoryPanel {
  #history = new History();
  #events = new Events();
  #charts;
  #sources;
  #isLive;
  #zoomed = null; // [from, to] in nanoseconds; null: the newest minutes
  #now = 0; // of the newest report
  #loaded = ""; // what the samples were requested for

  /**
   * isLive(): whether the daemon can be asked. charts: as HistoryCharts has them. kinds: those of its events.
   * sources(report): the names of its sources.
   */
  constructor({ isLive, charts, kinds, sources }) {
    this.#isLive = isLive;
    this.#sources = sources;
    const places = Object.fromEntries(charts.map(({ id }) => [id, at(id)]));
    this.#charts = new HistoryCharts(charts, places, (from, to) => this.#zoom([Math.floor(from * 1e6), Math.ceil(to * 1e6)]));
    at("event-kind").append(...kinds.map((kind) => new Option(kind, kind)));
    at("history-zone").value = localStorage.getItem(ZONE) ?? "local";
    at("history-zone").addEventListener("change", ({ target }) => localStorage.setItem(ZONE, target.value));
    for (const id of ["history-zone", "event-kind"]) at(id).addEventListener("change", () => this.#draw(true));
    for (const id of ["history-range", "history-source"]) {
      at(id).addEventListener("change", () => this.#zoom(id === "history-range" ? null : this.#zoomed));
    }
    at("history-now").addEventListener("click", () => this.#zoom(null));
    for (const place of Object.values(places)) place.addEventListener("dblclick", () => this.#zoom(null));
    for (const type of ["click", "keydown"]) {
      at("events").addEventListener(type, (event) => {
        const number = event.target.closest("tr[data-number]")?.dataset.number;
        if (number === undefined || (type === "keydown" && event.key !== "Enter")) return;
        this.#zoomAround(this.#events.list.find((one) => String(one.number) === number).time);
      });
    }
    at("findings").addEventListener("click", ({ target }) => {
      const { of, since } = target.closest("button.around")?.dataset ?? {};
      if (of === undefined) return;
      at("history-source").value = [...at("history-source").options].some(({ value }) => value === of) ? of : "";
      at("event-kind").value = "";
      this.#zoomAround(Number(since));
      at("history-panel").scrollIntoView();
    });
    at("events-csv").addEventListener("click", (event) => this.#download(event));
    this.#poll();
  }

  /** Everything known is out of date: the daemon may be another one. */
  restart() {
    this.#events.forget();
    this.#loaded = "";
  }

  /** Draws in the current colours. */
  recolour() {
    this.#charts.forget();
    this.#draw(true);
  }

  /** Offers the sources of a report. */
  offer(report) {
    this.#now = report.now;
    const names = ["", ...this.#sources(report)];
    const select = at("history-source");
    if ([...select.options].map(({ value }) => value).join("\n") === names.join("\n")) return;
    const chosen = select.value;
    select.replaceChildren(...names.map((name) => new Option(name === "" ? "All sources" : name, name)));
    select.value = names.includes(chosen) ? chosen : "";
  }

  /** Shows only the lines and events of a source that was offered; an empty text: of all. */
  choose(source) {
    at("history-source").value = source;
    this.#zoom(this.#zoomed);
  }

  #zoomAround(time) {
    this.#zoom([time - AROUND_NS, time + AROUND_NS]);
  }

  /** Shows a range instead of the newest minutes; null: these. */
  #zoom(range) {
    this.#zoomed = range;
    this.#draw(true);
    this.#askSamples().catch(() => {});
  }

  #draw(now = false) {
    if (!at("history-panel").checkVisibility()) return; // graphs need a size
    const utc = at("history-zone").value === "utc";
    const source = at("history-source").value;
    const kind = at("event-kind").value;
    at("history-now").hidden = this.#zoomed === null;
    const [from, to] = this.#zoomed ?? [this.#now - Number(at("history-range").value) * MINUTE_NS, this.#now];
    const events = this.#events.filtered(kind, source).filter(({ time }) => this.#zoomed === null || (time >= from && time <= to));
    this.#charts.draw(this.#history, { range: [from / 1e6, to / 1e6], events, utc, now });
    showEvents(events, utc, at("events"));
    setText(at("history-zone-name"), utc ? "" : Intl.DateTimeFormat().resolvedOptions().timeZone);
    at("events-csv").href = `api/events.csv?${query({ kind, source })}`;
  }

  get #wanted() {
    return `${this.#zoomed ?? at("history-range").value} ${at("history-source").value}`;
  }

  async #askSamples() {
    if (!this.#isLive()) return;
    const wanted = this.#wanted;
    const isKnown = this.#loaded === wanted;
    if (isKnown && this.#zoomed !== null) return;
    const minutes = Number(at("history-range").value);
    // The daemon chooses the length of the samples of a new range, by the number of sources.
    const continued = isKnown && this.#history.last !== 0;
    const parameters = this.#zoomed !== null ? { from: Math.max(0, this.#zoomed[0]), to: this.#zoomed[1] }
      : continued ? { from: this.#history.last, step: this.#history.step } : { from: this.#now - minutes * MINUTE_NS };
    let answer;
    try {
      answer = await ask(`api/history?${query({ ...parameters, source: at("history-source").value })}`);
      setText(at("history-note"), "");
    } catch (error) {
      if (error.status === 400) setText(at("history-note"), "The charts are too large for all sources: choose one.");
      throw error;
    }
    if (wanted !== this.#wanted) return; // the user has chosen another range meanwhile
    if (!isKnown) this.#history.forget();
    this.#history.apply(answer, this.#zoomed === null ? answer.now - (minutes + 1) * MINUTE_NS : 0);
    this.#loaded = wanted;
    this.#draw(!isKnown);
  }

  async #poll() {
    try {
      if (this.#now !== 0 && this.#isLive() && !document.hidden && at("history-panel").checkVisibility()) {
        await this.#events.poll();
        await this.#askSamples();
        this.#draw();
      }
    } catch {
      this.#draw(); // the link reports a daemon that does not answer
    }
    setTimeout(() => this.#poll(), EVERY_MS);
  }

  /** A link cannot send the token: with one, the file is fetched first. */
  async #download(event) {
    if (token.get() === "") return;
    event.preventDefault();
    const response = await fetch(at("events-csv").href, { headers: { Authorization: `Bearer ${token.get()}` } });
    if (!response.ok) return;
    const link = document.createElement("a");
    link.href = URL.createObjectURL(await response.blob());
    link.download = "events.csv";
    link.click();
    URL.revokeObjectURL(link.href);
  }
}
