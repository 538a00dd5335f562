// The health report as tables of feeds and sinks and as cards of rings.

import { bytes, count, short, span } from "./format.js";
import { make, morph } from "./morph.js";
import { statusTable } from "./status-table.js";

const bad = (value, state = "error") => [count(value), value > 0 ? state : ""];
const SEVERITIES = ["error", "warning", "info"];

/** The first of the worst findings; undefined without any. */
const worstOf = (findings) => SEVERITIES.map((severity) => findings.find((finding) => finding.severity === severity)).find((finding) => finding !== undefined);

/** The worst severity of the findings about `what`; `otherwise` without any. */
const stateOf = (report, what, otherwise = "good") => worstOf(report.findings.filter(({ of }) => of === what))?.severity ?? otherwise;

const ago = (since, now) => (since === null ? "never" : `${span(Math.max(0, now - since))} ago`);

/**
 * The state of a feed as a word. Until its first datagram it waits, and until its first quote it is only connected:
 * neither is healthy.
 */
export function feedState(report, feed) {
  const of = `feed '${feed.name}'`;
  const waits = feed.packets === 0;
  const worst = worstOf(report.findings.filter((finding) => finding.of === of && !(waits && finding.stage === "no datagrams" && finding.severity === "warning")));
  if (worst !== undefined) return { state: worst.severity, text: worst.stage };
  if (waits) return { state: "waiting", text: "waiting for the first datagram" };
  return feed.quotes === 0 ? { state: "info", text: "connected" } : { state: "good", text: "healthy" };
}

const FEED_COLUMNS = [
  ["State", "The worst finding; waiting until the first datagram, connected until the first quote, then healthy"],
  ["Last datagram", "Time since the newest datagram, heartbeats included"],
  ["Datagrams/s", "Datagrams of the last second"],
  ["Quotes/s", "Quotes of the last second"],
  ["Exchange delay", "From the exchange's time of the newest quote until it was received; includes differences of the clocks"],
  ["Missing", "Sequence numbers that neither line nor a re-request has brought, since the start"],
  ["Decode errors", "Datagrams that could not be decoded, since the start"],
  ["Kernel drops", "Datagrams that the kernel dropped because the socket's buffer was full, since the start"],
  ["Halted", "Instruments that do not trade"],
  ["Incomplete", "Instruments whose quote is incomplete after a gap"],
];

function lineOf(line, now) {
  return `line ${line.name} on ${line.listen}: last datagram ${ago(line.last_packet, now)}, ${count(line.packets)} datagrams, ${count(line.used)} with messages first, ${count(line.missing)} missing, ${count(line.kernel_drops)} kernel drops`;
}

function feeds(report, place, filter) {
  return statusTable(place, {
    first: "Feed", columns: FEED_COLUMNS, items: report.feeds, key: ({ name }) => name, filter,
    state: (feed) => feedState(report, feed).state,
    row(feed) {
      const { state, text } = feedState(report, feed);
      return {
        name: feed.name, more: `${feed.format} on ${feed.listen}${feed.interface === "" ? "" : ` (${feed.interface})`}`,
        values: [
          [text, state === "good" ? "" : state], ago(feed.last_packet, report.now), short(feed.packets_per_second), short(feed.quotes_per_second), span(feed.delay_ns),
          bad(feed.missing), bad(feed.undecodable), bad(feed.kernel_drops), count(feed.instruments_halted), bad(feed.instruments_incomplete, "warning"),
        ],
        below: feed.lines.map((line) => lineOf(line, report.now)),
      };
    },
  });
}

/** Returns the number of the sink's clients, or the state of its own connection. */
function peers(sink) {
  if (sink.connected !== null) return sink.connected ? "connected" : ["not connected", "error"];
  return sink.clients === null ? "" : `${count(sink.clients)} ${sink.clients === 1 ? "client" : "clients"}`;
}

/** Lag from which what waits counts as a backlog: some sinks delay events on purpose. */
const BACKLOG_NS = 1e9;

/** How long the sink will take to pass on its backlog, at the rates of the last second. */
function drainTime(report, sink) {
  if (sink.queued === 0 || sink.lag_ns < BACKLOG_NS) return "–";
  const ring = report.rings.find(({ name }) => name === sink.ring);
  const gain = sink.delivered_per_second - (ring?.published_per_second ?? 0);
  return gain > 0 ? span((sink.queued / gain) * 1e9) : ["not falling", "warning"];
}

/** A sink that has passed on nothing yet is not healthy either. */
function sinkState(report, sink) {
  return stateOf(report, `sink '${sink.name}'`, sink.published + sink.snapshot === 0 ? "waiting" : "good");
}

const SINK_COLUMNS = [
  ["Peers", "Clients connected now, or whether the connection to the broker is up"],
  ["Delivered/s", "Events passed on in the last second"],
  ["Queued", "Events that wait to be passed on"],
  ["Lag", "Longest time from the receipt of an event until it was passed on, in the last second"],
  ["Drains in", "Time until a backlog of more than a second is passed on, at the rates of the last second"],
  ["Delivered", "Events passed on since the sink started"],
  ["Filtered", "Events that the sink does not pass on by design"],
  ["Conflated", "Events that a newer one has replaced before they were passed on"],
  ["Missed", "Events lost: overwritten before the sink read them, or refused by its receiver"],
  ["Last error", "The newest error or warning of the sink"],
];

function sinks(report, place, filter) {
  return statusTable(place, {
    first: "Sink", columns: SINK_COLUMNS, items: report.sinks, key: ({ name }) => name, filter,
    state: (sink) => sinkState(report, sink),
    row: (sink) => ({
      name: sink.name, more: sink.type,
      values: [
        peers(sink), short(sink.delivered_per_second), short(sink.queued), span(sink.lag_ns), drainTime(report, sink), short(sink.delivered),
        short(sink.filtered), short(sink.conflated), bad(sink.missed),
        sink.last_error === null ? "–" : `${ago(sink.last_error_at, report.now)}: ${sink.last_error}`,
      ],
    }),
  });
}

/** Returns a list of titles and values. A value may be [text, "wide"], which takes a whole line. */
function facts(pairs) {
  return make("dl", {}, ...pairs.map(([title, value]) => {
    const [text, state] = Array.isArray(value) ? value : [value, ""];
    return make("div", state === "wide" ? { class: "wide" } : {}, make("dt", {}, title), make("dd", {}, text));
  }));
}

function ring(report, one) {
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
      ...(one.memory.shortfall === "" ? [] : [["Not granted", [one.memory.shortfall, "wide"]]]),
    ]));
}

/** Shows the report. filter: as of statusTable. */
export function showHealth(report, place, filter) {
  morph(place.feeds, feeds(report, place.feeds, filter));
  morph(place.sinks, sinks(report, place.sinks, filter));
  morph(place.rings, ...report.rings.map((one) => ring(report, one)));
}
