// What a FIX engine has a history of.

import { bytes, span, tick } from "./format.js";
import { of } from "./history-charts.js";

export const KINDS = ["start", "stop", "reload", "logon", "logout", "disconnect", "gap", "resend", "reject", "reset", "admin", "session", "finding"];

export const CHARTS = [
  { id: "history-rate", lines: [["session", " in", of("received_per_second")], ["session", " out", of("sent_per_second")]], text: (value) => `${tick(value)}/s` },
  { id: "history-resends", lines: [["session", " resent", of("resent")], ["session", " rejected", of("rejected")], ["session", " rejected by the peer", of("peer_rejects")]], text: tick },
  { id: "history-latency", lines: [["session", " p50", of("latency_p50_ns")], ["session", " p99", of("latency_p99_ns")]], text: span },
  { id: "history-output", lines: [["session", "", of("pending_bytes")]], text: bytes },
];

/** The sources of events and samples that a report has. */
export const sources = ({ sessions }) => sessions.map(({ name }) => `session '${name}'`);
