// What /api/health says, as panels: latency, feeds, sinks, rings.

import { bytes, count, short, span } from "./format.js";

const SVG = "http://www.w3.org/2000/svg";

function make(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

/** Title and value pairs; a value may be [text, state], of which the state "wide" takes a whole line. */
function facts(pairs) {
  const list = make("dl");
  for (const [title, value] of pairs) {
    const [text, state] = Array.isArray(value) ? value : [value, ""];
    list.append(make("div", state === "wide" ? { class: "wide" } : {}, make("dt", {}, title), make("dd", state === "" ? {} : { "data-state": state }, text)));
  }
  return list;
}

const bad = (value) => [count(value), value > 0 ? "error" : ""];

function card(name, more, findings, list) {
  const made = make("article", { class: "card", "data-name": name });
  const worst = findings[0]?.severity ?? "good";
  made.append(make("h3", { "data-state": worst }, make("span", { class: "dot", "aria-hidden": "true" }), name, make("small", {}, more)));
  for (const finding of findings) {
    made.append(make("p", { class: "finding", "data-state": finding.severity }, `${finding.stage}: ${finding.text}`));
  }
  made.append(list);
  return made;
}

/** since: UTC nanoseconds of both clocks. */
const ago = (since, now) => (since === null ? "never" : `${span(Math.max(0, now - since))} ago`);

export function showHealth(report, place) {
  const of = (what) => report.findings.filter((finding) => finding.of === what);
  place.feeds.replaceChildren(...report.feeds.map((feed) => card(feed.name, `${feed.format} on ${feed.listen}`, of(`feed '${feed.name}'`), facts([
    ["Last packet", ago(feed.last_packet, report.now)],
    ["Packets/s", short(feed.packets_per_second)],
    ["Quotes/s", short(feed.quotes_per_second)],
    ["Exchange delay", span(feed.delay_ns)],
    ["Missing", bad(feed.missing)],
    ["Undecodable", bad(feed.undecodable)],
    ["Kernel drops", bad(feed.kernel_drops)],
    ["Halted", count(feed.instruments_halted)],
    ["Incomplete", count(feed.instruments_incomplete)],
  ]))));
  place.sinks.replaceChildren(...report.sinks.map((sink) => card(sink.name, sink.type, of(`sink '${sink.name}'`), facts([
    ...(sink.clients === null ? [] : [["Clients", count(sink.clients)]]),
    ...(sink.connected === null ? [] : [["Connected", sink.connected ? "yes" : ["no", "error"]]]),
    ["Lag", `${short(sink.queued)} / ${span(sink.lag_ns)}`],
    ["Delivered/s", short(sink.delivered_per_second)],
    ["Delivered", short(sink.delivered)],
    ["Filtered", short(sink.filtered)],
    ["Conflated", short(sink.conflated)],
    ["Missed", bad(sink.missed)],
    ...(sink.last_error === null ? [] : [["Last error", [`${sink.last_error} (${ago(sink.last_error_at, report.now)})`, "wide"]]]),
  ]))));
  place.rings.replaceChildren(...report.rings.map((ring) => card(ring.name, `${count(ring.capacity)} entries`, of(`ring '${ring.name}'`), facts([
    ["Published/s", short(ring.published_per_second)],
    ["Published", short(ring.published)],
    ["Instruments", `${count(ring.instruments)} of ${count(ring.max_instruments)}`],
    ["Mapped", bytes(ring.memory.mapped)],
    ["Resident", bytes(ring.memory.resident)],
    ["Huge pages", bytes(ring.memory.huge)],
    ["Locked", bytes(ring.memory.locked)],
    ["Readers", [ring.readers.map((reader) => `${reader.name} (${short(reader.behind)} behind)`).join(", ") || "none", "wide"]],
    ...(ring.memory.shortfall === "" ? [] : [["Not obtained", [ring.memory.shortfall, "wide"]]]),
  ]))));
}

/** Bars of the newest seconds, and percentiles of these and of all. */
export function showLatency(latency, place) {
  const used = latency.bars.map(([, number]) => number > 0);
  const first = Math.max(0, used.indexOf(true) - 1);
  const last = Math.max(first + 8, used.lastIndexOf(true) + 2);
  const bars = latency.bars.slice(first, last);
  const most = Math.max(1, ...bars.map(([, number]) => number));
  const width = 600 / bars.length;
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", "0 0 600 110");
  svg.setAttribute("preserveAspectRatio", "none");
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", `Latencies of the newest seconds: median ${span(latency.recent.p50)}, 99 of 100 below ${span(latency.recent.p99)}`);
  bars.forEach(([, number], index) => {
    const height = number === 0 ? 0 : Math.max(1.5, (number / most) * 104);
    const bar = document.createElementNS(SVG, "rect");
    for (const [name, value] of Object.entries({ x: index * width + 1, y: 110 - height, width: Math.max(1, width - 2), height })) bar.setAttribute(name, value);
    svg.append(bar);
  });
  const scale = make("div", { class: "scale", "aria-hidden": "true" }, ...bars.map(([upTo]) => make("span", {}, span(upTo).replace(".00", "").replace(/(\.\d)0/, "$1").replace(".0 ", " "))));
  const line = (title, values) => make("tr", {}, make("th", { scope: "row" }, title), ...["p50", "p90", "p99", "p999", "max"].map((key) => make("td", {}, values.count === 0 ? "–" : span(values[key]))));
  place.replaceChildren(svg, scale, make("table", { class: "plain" },
    make("thead", {}, make("tr", {}, make("td"), ...["p50", "p90", "p99", "p99.9", "max"].map((title) => make("th", { scope: "col" }, title)))),
    make("tbody", {}, line("newest seconds", latency.recent), line("since the start", latency.all))));
}
