// What a gateway has a history of.

import { span, tick } from "./format.js";
import { of, sum } from "./history-charts.js";

export const KINDS = ["start", "stop", "reload", "gap", "session", "connect", "disconnect", "finding", "latency"];

export const CHARTS = [
  { id: "history-rate", lines: [["feed", "", of("packets_per_second")], ["line", "", of("packets_per_second")]], text: (value) => `${tick(value)}/s` },
  { id: "history-loss", lines: [["feed", "", sum("missing", "kernel_drops", "undecodable")], ["sink", " missed", of("missed")]], text: tick },
  { id: "history-latency", lines: [["ring", " p50", of("wire_p50_ns")], ["ring", " p99", of("wire_p99_ns")]], text: span },
  { id: "history-lag", lines: [["sink", "", of("lag_ns")]], text: span },
];

/** The sources of events and samples that a report has. */
export function sources({ feeds, rings, sinks }) {
  const named = (kind, list) => list.map(({ name }) => `${kind} '${name}'`);
  return [...named("feed", feeds), ...named("ring", rings), ...named("sink", sinks)];
}
