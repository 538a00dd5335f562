// The panel of the past: charts and the list of events, with one range, source and time zone for both.

import { ask, token } from "./connection.js";
import { Events, KINDS, showEvents } from "./events.js";
import { History } from "./history.js";
import { CHARTS, HistoryCharts } from "./history-charts.js";
import { setText } from "./morph.js";
import { at } from "./shell.js";

const EVERY_MS = 1_000;
const NS = 1e9;
const MINUTE_NS = 60 * NS;
/** Ranges longer than this have no samples of one second. */
const LONGEST_FINE_MINUTES = 15;
const AROUND_NS = 2 * MINUTE_NS;

export class HistoryPanel {
  #history = new History();
  #events = new Events();
  #charts;
  #route;
  #change;
  #zoomed = null; // [from, to] in nanoseconds; null: the newest `range` minutes
  #now = 0;
  #loaded = ""; // what the samples were requested for

  /** route(): {range, source, kind, utc}, as in the address. change(parts): changes the address. */
  constructor({ route, change }) {
    this.#route = route;
    this.#change = change;
    this.#charts = new HistoryCharts(Object.fromEntries(CHARTS.map(({ id }) => [id, at(`history-${id}`)])), (from, to) => this.zoom(from * 1e6, to * 1e6));
    at("event-kind").append(...KINDS.map((kind) => new Option(kind, kind)));
    for (const [id, part] of [["history-range", "range"], ["history-source", "source"], ["event-kind", "kind"], ["history-zone", "utc"]]) {
      at(id).addEventListener("change", ({ target }) => {
        if (part === "range") this.#zoomed = null;
        this.#change({ [part]: part === "utc" ? target.value === "utc" : part === "range" ? Number(target.value) : target.value });
        this.draw(true);
      });
    }
    at("history-now").addEventListener("click", () => {
      this.#zoomed = null;
      this.draw(true);
    });
    for (const type of ["click", "keydown"]) {
      at("events").addEventListener(type, (event) => {
        const number = event.target.closest("tr[data-number]")?.dataset.number;
        if (number === undefined || (type === "keydown" && event.key !== "Enter")) return;
        const { time } = this.#events.list.find((one) => String(one.number) === number);
        this.zoom(time - AROUND_NS, time + AROUND_NS);
      });
    }
    at("events-csv").addEventListener("click", (event) => this.#download(event));
    this.#poll();
  }

  /** Shows a range of UTC nanoseconds instead of the newest samples. */
  zoom(from, to) {
    this.#zoomed = [Math.floor(from), Math.ceil(to)];
    this.draw(true);
    this.#askSamples();
  }

  /** Forgets everything, as after a restart of the gateway under the same address. */
  recolour() {
    this.#charts.forget();
    this.draw(true);
  }

  /** Offers the sources of a report. */
  offer(report) {
    this.#now = report.now;
    const names = [...report.feeds.map(({ name }) => `feed '${name}'`), ...report.rings.map(({ name }) => `ring '${name}'`), ...report.sinks.map(({ name }) => `sink '${name}'`)];
    const select = at("history-source");
    if ([...select.options].slice(1).map(({ value }) => value).join("\n") !== names.join("\n")) {
      select.replaceChildren(new Option("All sources", ""), ...names.map((name) => new Option(name, name)));
    }
    select.value = this.#route().source;
  }

  draw(now = false) {
    const { range, source, kind, utc } = this.#route();
    at("history-range").value = String(range);
    at("history-zone").value = utc ? "utc" : "local";
    at("event-kind").value = kind;
    at("history-now").hidden = this.#zoomed === null;
    const [from, to] = this.#zoomed ?? [this.#now - range * MINUTE_NS, this.#now];
    const events = this.#events.filtered(kind, source);
    this.#charts.draw(this.#history, { range: [from / 1e6, to / 1e6], source, events, utc, now });
    showEvents(events, utc, at("events"));
    setText(at("history-zone-name"), utc ? "" : Intl.DateTimeFormat().resolvedOptions().timeZone);
    at("events-csv").href = `api/events.csv?${new URLSearchParams({ ...(kind === "" ? {} : { kind }), ...(source === "" ? {} : { source }) })}`;
  }

  async #askSamples() {
    const { range } = this.#route();
    const wanted = this.#zoomed === null ? `last ${range}` : this.#zoomed.join(" ");
    const isLive = this.#zoomed === null;
    const continues = isLive && this.#loaded === wanted && this.#history.last !== 0;
    if (!isLive && this.#loaded === wanted) return;
    const from = continues ? this.#history.last : isLive ? this.#now - range * MINUTE_NS : this.#zoomed[0];
    const parameters = { from: Math.max(0, Math.floor(from)), ...(isLive ? {} : { to: this.#zoomed[1] }) };
    if (isLive && range <= LONGEST_FINE_MINUTES) parameters.step = 1;
    else if (continues) parameters.step = this.#history.step;
    const answer = await ask(`api/history?${new URLSearchParams(parameters)}`);
    if (!continues) this.#history.forget();
    this.#history.apply(answer, isLive ? answer.now - (range + 1) * MINUTE_NS : 0);
    this.#loaded = wanted;
    this.draw(!continues);
  }

  async #poll() {
    if (this.#now !== 0 && at("history-panel").checkVisibility()) {
      try {
        await this.#askSamples();
        await this.#events.poll();
        this.draw();
      } catch {
        // The link reports a gateway that does not answer.
      }
    }
    setTimeout(() => this.#poll(), EVERY_MS);
  }

  /** A link cannot send the token: with one, the file is fetched first. */
  async #download(event) {
    if (token.get() === "") return;
    event.preventDefault();
    const response = await fetch(at("events-csv").href, { headers: { Authorization: `Bearer ${token.get()}` } });
    const link = document.createElement("a");
    link.href = URL.createObjectURL(await response.blob());
    link.download = "events.csv";
    link.click();
    URL.revokeObjectURL(link.href);
  }
}
