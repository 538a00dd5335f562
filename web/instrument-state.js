// What is known of the open instrument's trading state, and why its book must not be trusted. Independent of the document.

import { ringOf } from "./composite.js";
import { count } from "./format.js";
import { formatRoute } from "./route.js";

const STATES = { trading: "trading", halted: "halted", paused: "paused", quotation_only: "quotation only", operational_halt: "operational halt" };

/** States of a whole channel. */
const PHASES = {
  start_of_messages: "before system hours", start_of_system_hours: "before market hours", start_of_market_hours: "market hours",
  end_of_market_hours: "after market hours", end_of_system_hours: "end of system hours", end_of_messages: "end of the session",
  halted: "the whole market is halted", paused: "the whole market is paused", circuit_breaker: "market-wide circuit breaker",
};
const HALTS = new Set(["halted", "paused", "circuit_breaker"]);
const ENDS = new Set(["end_of_system_hours", "end_of_messages"]);

/** Findings about a feed or ring that mean that nothing arrives. */
const STOPS = new Set(["receive thread", "link", "group not joined", "connection", "no datagrams", "stale"]);

/** Lag from which a sink's data is late. */
const LATE_NS = 2e9;

const phaseText = ({ state, reason }) => `${PHASES[state]}${state === "circuit_breaker" ? `, level ${reason}` : ""}`;

/** The channel's state if it keeps the instrument from trading: a halt that the instrument has not survived, or an end. */
function stopOf({ phase, status }) {
  if (phase === null) return null;
  // A market-wide halt has no end of its own: the venue then sends the state of each instrument.
  if (HALTS.has(phase.state)) return status !== null && status.sequence > phase.sequence ? null : phase;
  return ENDS.has(phase.state) ? phase : null;
}

/** The instrument's own state as text; empty if it is not known. The quote's halt outlives a status that says "trading". */
function ownState({ status, halted }) {
  const known = status !== null && status.state in STATES;
  if (halted && (!known || status.state === "trading")) return "halted";
  return known ? `${STATES[status.state]}${status.reason ? ` (${status.reason})` : ""}` : "";
}

/** The trading state of the instrument and its market as text, and its mark. */
export function stateOf(instrument) {
  const { status, phase } = instrument;
  const own = ownState(instrument);
  const halts = own !== "" && !own.startsWith(STATES.trading);
  const stop = stopOf(instrument);
  const market = stop ?? (phase !== null && HALTS.has(phase.state) ? null : phase);
  const shown = stop !== null && !halts ? "" : own === "" ? "not reported" : own;
  const outdated = own !== "" && shown === own && instrument.isOutdated(status);
  const text = [
    shown,
    market !== null && market.state in PHASES ? phaseText(market) : "",
    outdated ? "may be outdated" : "",
  ].filter(Boolean).join(", ");
  return [text, halts || stop !== null ? "error" : outdated ? "warning" : ""];
}

/** The feed of the report that sends the instrument; undefined if that is not known. */
function feedOf({ report, facts }) {
  const ring = report && ringOf(report);
  return report?.feeds.find((one) => one.ring === ring && one.channel === facts?.channel);
}

/** What keeps the instrument's events from arriving, by the health report. */
function faultsOf(instrument) {
  const { report } = instrument;
  if (report === null) return [];
  const ring = ringOf(report);
  const feed = feedOf(instrument);
  const faults = report.findings.filter(({ stage, of, severity }) => severity === "error" && STOPS.has(stage)
    && (of === `ring '${ring}'` || (feed !== undefined && of === `feed '${feed.name}'`))).map(({ of, text }) => `Not current: ${of}: ${text}`);
  const web = report.sinks.filter(({ type }) => type === "web");
  const lag = web.length === 1 ? web[0].lag_ns : 0;
  if (lag > LATE_NS) faults.push(`Not current: the gateway sends this page data that is ${(lag / 1e9).toFixed(1)} s old`);
  return faults;
}

/** What is wrong with an instrument that is not the only one of its symbol, or has several sources. */
function mixtureOf({ venues, symbol, sources, composites }) {
  if (composites.size > 0) return []; // quotes name their venues
  if (venues.length > 1) return [`${count(venues.length)} instruments of this ring are called ${symbol}: their events are mixed here`];
  if (sources.length > 1) return [`Channels ${sources.join(" and ")} both send ${symbol}: their events are mixed here`];
  return [];
}

function absenceOf({ venue, venues, symbol }) {
  if (venues.length === 0) return `No instrument ${symbol} yet`;
  if (venues.every((one) => one === "")) return `${symbol} has no venue: its address is ${formatRoute({ symbol })}`;
  return venue === "" ? `Several venues have ${symbol}: ${venues.join(", ")}` : `${symbol} has another venue: ${venues.join(", ")}`;
}

/** Why the book must not be trusted, besides its own state; empty otherwise. */
export function problemOf(instrument) {
  const { facts, live, lost, late, refusal, firm } = instrument;
  if (lost) return "Not current: the connection is lost";
  if (live && late > 0) return `Not current: this page is ${(late / 1_000).toFixed(1)} s behind`;
  if (facts === null) return "";
  if (facts === undefined) return absenceOf(instrument);
  if (refusal !== "") return refusal;
  const [state, mark] = stateOf(instrument);
  const faults = faultsOf(instrument);
  if (mark === "error") faults.push(`Not trading: ${state}`);
  else if (feedOf(instrument)?.session_over) faults.push("The session has ended");
  faults.push(...mixtureOf(instrument));
  if (!firm) faults.push("Not firm: the venue does not guarantee a trade at these prices");
  if (faults.length > 0 && instrument.book.state === "incomplete") faults.push("Incomplete");
  return faults.join(". ");
}
