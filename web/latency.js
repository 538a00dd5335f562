// Latencies as bars and percentiles.

import { span } from "./format.js";
import { make, morph } from "./morph.js";

const SVG = "http://www.w3.org/2000/svg";
const LABELS = 7; // as many as fit below the bars on a phone

/** Shows bars of the last seconds, and percentiles of the last seconds and since the start. */
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
  svg.setAttribute("aria-label", `Latency over the last seconds: median ${span(latency.recent.p50)}, 99th percentile ${span(latency.recent.p99)}`);
  bars.forEach(([, number], index) => {
    const height = number === 0 ? 0 : Math.max(1.5, (number / most) * 104);
    const bar = document.createElementNS(SVG, "rect");
    for (const [name, value] of Object.entries({ x: index * width + 1, y: 110 - height, width: Math.max(1, width - 2), height })) bar.setAttribute(name, value);
    svg.append(bar);
  });
  const step = Math.ceil(bars.length / LABELS);
  const isLabelled = (index) => (bars.length - 1 - index) % step === 0;
  const scale = make("div", { class: "scale", "aria-hidden": "true" }, ...bars.map(([upTo], index) => make("span", {}, !isLabelled(index) ? "" : span(upTo).replace(".00", "").replace(/(\.\d)0/, "$1").replace(".0 ", " "))));
  const line = (title, values) => make("tr", {}, make("th", { scope: "row" }, title), ...["p50", "p90", "p99", "p999", "max"].map((key) => make("td", {}, values.count === 0 ? "–" : span(values[key]))));
  morph(place, svg, scale, make("table", { class: "plain" },
    make("thead", {}, make("tr", {}, make("td"), ...["p50", "p90", "p99", "p99.9", "max"].map((title) => make("th", { scope: "col" }, title)))),
    make("tbody", {}, line("last seconds", latency.recent), line("since start", latency.all))));
}
