// The page of a FIX engine: its sessions and findings, polled.

import { ask, token, TokenError } from "./connection.js";
import { bytes, count, short, span, timeOfDay } from "./format.js";
import { showFindings, summary } from "./findings.js";
import { CHARTS, KINDS, sources } from "./fix-history.js";
import { linkTo, SessionPanel } from "./fix-session.js";
import { HistoryPanel } from "./history-panel.js";
import { make, morph, setText } from "./morph.js";
import { askToken, at, startShell } from "./shell.js";

const REPORT_EVERY_MS = 500;
const CLOCK_EVERY_MS = 1_000;

const COLUMNS = ["State", "Peer", "Next out", "Next in", "Sent", "Received", "Resent", "Rejected", "Unread output", "Last message", "Latency p50", "p99", "max"];

let report = null;
let live = false;
let heard = 0;
let tokenMissing = false;

/** Returns the text of a session's state and its severity. */
function stateOf(session) {
  if (!session.enabled) return ["disabled", "info"];
  if (session.resending) return ["resend in progress", "warning"];
  if (session.awaits_resend) return ["waiting for a resend", "warning"];
  if (session.state === "active") return ["active", "good"];
  if (session.state !== "disconnected") return [session.state, "warning"];
  if (!session.open) return ["outside its schedule", "info"];
  return [session.state, session.role === "initiator" ? "error" : "info"];
}

const ago = (since) => (since === null ? "never" : `${span(Math.max(0, report.now - since))} ago`);
const latest = (session) => Math.max(session.last_received ?? 0, session.last_sent ?? 0) || null;

/** Returns a sentence on the messages that are mirrored to a session. */
function aboutCopies({ sources, types, offered, mirrored, waiting, queue_full, store_full, not_encoded, wrong_version, abandoned, discarded, overwritten, recovered, unusable }) {
  const lost = queue_full + store_full + not_encoded + wrong_version + abandoned + discarded + overwritten;
  return `drop copy of ${types.join(", ")} of ${sources.join(", ")}: ${count(mirrored)} of ${count(offered + recovered)} mirrored, ${count(waiting)} waiting, ${count(lost)} lost${unusable === 0 ? "" : `, ${count(unusable)} files cannot be used`}`;
}

function rowsOf(session) {
  const [text, state] = stateOf(session);
  const latency = session.latency.count === 0 ? ["–", "–", "–"] : ["p50", "p99", "max"].map((key) => span(session.latency[key]));
  const cells = [text, session.peer || "–", count(session.next_sender), count(session.next_target), short(session.sent),
    short(session.received), short(session.resent), short(session.rejected), bytes(session.pending_bytes), ago(latest(session)), ...latency];
  const rows = [make("tr", { "data-name": session.name },
    make("th", { scope: "row", "data-state": state }, make("span", { class: "dot", "aria-hidden": "true" }), make("a", { href: linkTo(session.name) }, session.name), make("small", {}, session.role)),
    ...cells.map((value, index) => make("td", { "data-label": COLUMNS[index], ...(index === 0 && state !== "good" ? { "data-state": state } : {}) }, value)))];
  const note = (words) => rows.push(make("tr", { class: "note" }, make("td", { colspan: COLUMNS.length + 1 }, words)));
  if (session.last_error !== null) note(`last error ${ago(session.last_error_at)}: ${session.last_error}`);
  if (session.standby) {
    const { state: reached, mode, behind, losses, error } = session.standby;
    note(`standby ${reached} (${mode}), ${count(behind)} messages not acknowledged, lost ${count(losses)} times${error ? `: ${error}` : ""}`);
  }
  if (session.drop_copy !== null) note(aboutCopies(session.drop_copy));
  if (session.history_lost > 0) note(`history lost: ${count(session.history_lost)} messages that the counterparty requested were not in the store, or damaged there`);
  return rows;
}

/** Returns the row of a session that runs on another machine and is replicated here. */
function rowOfReplica(replica) {
  const state = replica.whole ? "good" : "warning";
  const cells = [replica.whole ? "standby" : "standby, gaps", replica.peer || "–", count(replica.next_sender), count(replica.next_target), "–",
    short(replica.records), "–", "–", "–", ago(replica.heard), "–", "–", "–"];
  return make("tr", { "data-name": replica.name },
    make("th", { scope: "row", "data-state": state }, make("span", { class: "dot", "aria-hidden": "true" }), make("a", { href: linkTo(replica.name) }, replica.name), make("small", {}, `epoch ${replica.epoch}`)),
    ...cells.map((value, index) => make("td", { "data-label": COLUMNS[index] }, value)));
}

function showSessions() {
  const wanted = at("search").value.trim().toLowerCase();
  const isWanted = ({ name }) => name.toLowerCase().includes(wanted);
  const shown = report.sessions.filter(isWanted);
  const replicas = (report.replicas ?? []).filter(({ promoted }) => !promoted);
  const total = report.sessions.length;
  const words = `${count(total)} ${total === 1 ? "session" : "sessions"}`;
  setText(at("count"), shown.length === total ? words : `${count(shown.length)} of ${words}`);
  at("empty").hidden = shown.length + replicas.length > 0;
  setText(at("empty"), total === 0 ? "No sessions." : `No session contains “${at("search").value}”.`);
  morph(at("sessions"), make("table", { class: "plain" },
    make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "Session"), ...COLUMNS.map((title) => make("th", { scope: "col" }, title)))),
    make("tbody", {}, ...shown.flatMap(rowsOf), ...replicas.filter(isWanted).map(rowOfReplica))));
}

function showReport() {
  showFindings(report, at("findings"));
  showSessions();
  past.offer(report);
  opened.update(report);
  const active = report.sessions.filter(({ state }) => state === "active").length;
  const places = report.acceptors.length === 0 ? "" : `, listening on ${report.acceptors.join(", ")}`;
  setText(at("totals"), `${count(active)} of ${count(report.sessions.length)} logged on${places}`);
}

function showLink() {
  const asOf = `Data as of ${timeOfDay(heard * 1e6).slice(0, 8)}`;
  document.body.dataset.link = live ? "live" : heard === 0 ? "connecting" : "lost";
  at("sign-in").hidden = !tokenMissing;
  let state = "waiting";
  let text = "Connecting";
  if (tokenMissing) [state, text] = ["error", heard === 0 ? "Token required" : `Token required. ${asOf}`];
  else if (live) ({ state, text } = summary(report.findings));
  else if (heard !== 0) [state, text] = ["error", `Connection lost. ${asOf}`];
  at("health").dataset.state = state;
  setText(at("health-text"), text);
  setText(at("retry"), !live && !tokenMissing && heard !== 0 ? "Retrying" : "");
}

async function poll() {
  try {
    report = await ask("api/health");
    token.accepted();
    [live, tokenMissing, heard] = [true, false, Date.now()];
    showReport();
  } catch (error) {
    live = false;
    if (error instanceof TokenError) {
      const wrong = token.get() !== "";
      token.refused();
      tokenMissing = true;
      showLink();
      await askToken(wrong ? "The engine did not accept this token." : "");
    }
  }
  showLink();
  setTimeout(poll, REPORT_EVERY_MS);
}

at("search").addEventListener("input", () => report && showSessions());
const past = new HistoryPanel({ isLive: () => live, charts: CHARTS, kinds: KINDS, sources });
const opened = new SessionPanel((name) => past.choose(name === "" ? "" : `session '${name}'`));
startShell(() => past.recolour());
setInterval(showLink, CLOCK_EVERY_MS);
poll();
