// The health report as tables of feeds and sinks and as cards of rings.

import { bytes, count, short, span } from "./format.js";
import { make, morph } from "./morph.js";

const bad = (value) => [count(value), value > 0 ? "error" : ""];
const SEVERITIES = ["error", "warning", "info"];

/** The worst severity of the findings about `what`; "good" without any. */
function stateOf(report, what) {
  const severities = report.findings.filter((finding) => finding.of === what).map(({ severity }) => severity);
  return SEVERITIES.find((severity) => severities.includes(severity)) ?? "good";
}

const ago = (since, now) => (since === null ? "never" : `${span(Math.max(0, now - since))} ago`);

/** Returns a row: the name with its state, then a cell for each column. A value may be [text, state]. */
function row(name, more, state, columns, values) {
  return make("tr", { "data-name": name }, make("th", { scope: "row", "data-state": state }, make("span", { class: "dot", "aria-hidden": "true" }),
    name, make("small", {}, more)), ...values.map((value, index) => {
    const [text, mark] = Array.isArray(value) ? value : [value, ""];
    return make("td", { "data-label": columns[index], ...(mark === "" ? {} : { "data-state": mark }) }, text);
  }));
}

function table(first, columns, rows) {
  return make("table", { class: "plain" },
    make("thead", {}, make("tr", {}, make("th", { scope: "col" }, first), ...columns.map((title) => make("th", { scope: "col" }, title)))),
    make("tbody", {}, ...rows));
}

function feeds(report) {
  const columns = ["Last datagram", "Datagrams/s", "Quotes/s", "Exchange delay", "Missing", "Decode errors", "Kernel drops", "Halted", "Incomplete"];
  return table("Feed", columns, report.feeds.map((feed) => row(feed.name, `${feed.format} on ${feed.listen}`, stateOf(report, `feed '${feed.name}'`), columns, [
    ago(feed.last_packet, report.now), short(feed.packets_per_second), short(feed.quotes_per_second), span(feed.delay_ns),
    bad(feed.missing), bad(feed.undecodable), bad(feed.kernel_drops), count(feed.instruments_halted),
    [count(feed.instruments_incomplete), feed.instruments_incomplete > 0 ? "warning" : ""],
  ])));
}

/** Returns the number of the sink's clients, or the state of its own connection. */
function peers(sink) {
  if (sink.connected !== null) return sink.connected ? "connected" : ["not connected", "error"];
  return sink.clients === null ? "" : `${count(sink.clients)} ${sink.clients === 1 ? "client" : "clients"}`;
}

function sinks(report) {
  const columns = ["Peers", "Delivered/s", "Lag", "Delivered", "Filtered", "Conflated", "Missed"];
  return table("Sink", columns, report.sinks.flatMap((sink) => {
    const rows = [row(sink.name, sink.type, stateOf(report, `sink '${sink.name}'`), columns, [
      peers(sink), short(sink.delivered_per_second), `${short(sink.queued)} / ${span(sink.lag_ns)}`, short(sink.delivered),
      short(sink.filtered), short(sink.conflated), bad(sink.missed),
    ])];
    if (sink.last_error !== null) {
      rows.push(make("tr", { class: "note" }, make("td", { colspan: columns.length + 1 }, `last error ${ago(sink.last_error_at, report.now)}: ${sink.last_error}`)));
    }
    return rows;
  }));
}

/** Returns a list of titles and values. A value may be [text, "wide"], which takes a whole line. */
function facts(pairs) {
  return make("dl", {}, ...pairs.map(([title, value]) => {
    const [text, state] = Array.isArray(value) ? value : [value, ""];
    return make("div", state === "wide" ? { class: "wide" } : {}, make("dt", {}, title), make("dd", {}, text));
  }));
}

function ring(report, one) {
  const readers = one.readers.map(({ name, behind, alive }) => `${name} (${alive ? `${short(behind)} behind` : "dead"})`);
  return make("article", { class: "card", "data-name": one.name },
    make("h3", { "data-state": stateOf(report, `ring '${one.name}'`) }, make("span", { class: "dot", "aria-hidden": "true" }), one.name, make("small", {}, `${count(one.capacity)} entries`)),
    facts([
      ["Published/s", short(one.published_per_second)],
      ["Published", short(one.published)],
      ["Instruments", `${count(one.instruments)} of ${count(one.max_instruments)}`],
      ["Mapped", bytes(one.memory.mapped)],
      ["Resident", bytes(one.memory.resident)],
      ["Huge pages", bytes(one.memory.huge)],
      ["Locked", bytes(one.memory.locked)],
      ["Readers", [(readers.join(", ") || "none") + (one.readers_complete ? "" : ", and more"), "wide"]],
      ...(one.memory.shortfall === "" ? [] : [["Not granted", [one.memory.shortfall, "wide"]]]),
    ]));
}

export function showHealth(report, place) {
  morph(place.feeds, feeds(report));
  morph(place.sinks, sinks(report));
  morph(place.rings, ...report.rings.map((one) => ring(report, one)));
}
