// An open session: its facts and its last messages. Its name is in the address, so that a link opens it.

import { ask } from "./connection.js";
import { Admin } from "./fix-admin.js";
import { closeMessages, filtered, followMessages, isAnyOpen, newer, showMessages, typesOf } from "./fix-messages.js";
import { bytes, count, span, timeOfDay } from "./format.js";
import { make, morph, setText } from "./morph.js";
import { at } from "./shell.js";

/** Asked again after this time also when no count has changed. */
const EVERY_MS = 5_000;
const PREFIX = "#/session/";
const NOTES = {
  raw_log: "",
  store: "Sent messages only: set raw_log to see received ones too.",
  refused: "Messages are shown where [[web]] has a token: set token_file.",
  none: "No messages: set raw_log, or store to see those that were sent.",
};

/** The address of a session on this page. */
export const linkTo = (name) => PREFIX + encodeURIComponent(name);

async function askMessages(name) {
  try {
    return await ask(`api/messages?session=${encodeURIComponent(name)}`);
  } catch (error) {
    if (error.status === 403) return { source: "refused", messages: [] };
    throw error;
  }
}

function nameInAddress() {
  if (!location.hash.startsWith(PREFIX)) return "";
  try {
    return decodeURIComponent(location.hash.slice(PREFIX.length));
  } catch {
    return ""; // not percent-encoded
  }
}

function scheduleText({ schedule, session }) {
  if (schedule === null) return "always open";
  const { start, end, days, start_day: from, end_day: to, timezone } = schedule;
  const when = from === null ? `${start} to ${end}${days === null ? "" : `, ${days}`}` : `${from} ${start} to ${to} ${end}`;
  return `${when}, ${timezone} (${session.open ? "open" : "closed"} now)`;
}

const happened = ({ count: times, newest, newest_at: when }) => (times === 0 ? "none" : `${count(times)}, the newest ${timeOfDay(when).slice(0, 8)}: ${newest}`);

/** The facts about a session, as [title, text]. */
function factsOf(detail) {
  const { session, heartbeat_seconds: heartbeat, connects_to: hosts, acceptor, store, gaps, resends, garbled, rejected, peer_rejects: peers } = detail;
  const rejections = rejected.map(({ messages, newest }) => `${count(messages)}: ${newest}`).join("; ");
  return [
    ["State", `${session.state}${session.peer === "" ? "" : `, ${session.peer}`}`],
    ["Role", acceptor === null ? `initiator, connects to ${hosts.join(", ")}` : `acceptor${acceptor === "" ? "" : ` '${acceptor}'`}${detail.template ? ", by a template" : ""}`],
    ["Connected", session.connected === null ? "no" : `for ${span(session.now - session.connected)}, connections since the start: ${count(session.connections)}`],
    ["Schedule", scheduleText(detail)],
    ["Heartbeat", heartbeat === 0 ? "none" : `${heartbeat} s, as configured`],
    ["Next out, next in", `${count(session.next_sender)}, ${count(session.next_target)}`],
    ["Store", `${store.file ?? "in memory"}: ${bytes(store.bytes)} of at most ${bytes(store.keep_bytes)}`],
    ["Gaps, requested from the peer", happened(gaps)],
    ["Resent to the peer", `${count(resends.resent)}, not in the store any more ${count(resends.lost)}, beyond the last number ${count(resends.beyond)}`],
    ["Rejected by this engine", session.rejected === 0 && rejections === "" ? "none" : `${count(session.rejected)}${rejections === "" ? "" : `, of the last minutes ${rejections}`}`],
    ["Rejected by the peer", happened(peers)],
    ["Garbled", count(garbled)],
  ];
}

const TITLES = ["State", "Role", "Connected", "Schedule", "Heartbeat", "Next out, next in", "Store", "Gaps, requested from the peer", "Resent to the peer", "Rejected by this engine", "Rejected by the peer", "Garbled"];

export class SessionPanel {
  #name = "";
  #report = null;
  #detail = null;
  #messages = [];
  #newest = []; // shown when no message is open any more: what is read does not move
  #source = "raw_log";
  #asked = ""; // counts of the last request
  #askedAt = -EVERY_MS;
  #asking = false;
  #onOpen;
  #admin = new Admin(() => this.#refresh());

  /** onOpen(name): called when another session is open; an empty name: none. */
  constructor(onOpen) {
    this.#onOpen = onOpen;
    addEventListener("hashchange", () => this.#open(nameInAddress(), true));
    at("session-close").addEventListener("click", () => {
      const link = [...document.querySelectorAll("#sessions th a")].find((one) => one.getAttribute("href") === linkTo(this.#name));
      history.pushState(null, "", location.pathname + location.search);
      this.#open("", true);
      link?.focus();
    });
    followMessages(at("messages"), () => {
      if (!isAnyOpen()) this.#messages = this.#newest;
      this.#draw();
    });
    for (const id of ["message-direction", "message-type"]) at(id).addEventListener("change", () => this.#draw());
    at("message-field").addEventListener("input", () => this.#draw());
  }

  /** Takes a new report. The first one opens the session in the address. */
  update(report) {
    const isFirst = this.#report === null;
    this.#report = report;
    if (isFirst) this.#open(nameInAddress(), false);
    if (this.#name !== "") this.#ask();
  }

  #refresh() {
    this.#askedAt = -EVERY_MS;
  }

  #open(name, focus) {
    if (name === this.#name) return;
    [this.#name, this.#detail, this.#messages, this.#newest, this.#asked] = [name, null, [], [], ""];
    this.#refresh();
    closeMessages();
    at("session-panel").hidden = name === "";
    setText(at("session-title"), name);
    setText(at("session-note"), "");
    if (name !== "") {
      this.#draw();
      if (focus) at("session-title").focus();
      if (this.#report !== null) this.#ask();
    }
    this.#onOpen(name);
  }

  async #ask() {
    const session = this.#report.sessions.find(({ name }) => name === this.#name);
    const isReplica = session === undefined && (this.#report.replicas ?? []).some(({ name }) => name === this.#name);
    this.#admin.update(this.#name, { session: session ?? {}, replica: isReplica }, this.#report.admin && (isReplica || session !== undefined));
    if (session === undefined) {
      setText(at("session-note"), isReplica ? "It does not run here: this engine is its standby." : "There is no session of this name.");
      return;
    }
    const { state, sent, received, resent, rejected, peer_rejects: peers, next_sender: out, next_target: next } = session;
    const counts = [state, sent, received, resent, rejected, peers, out, next].join(" ");
    if (this.#asking || (counts === this.#asked && performance.now() - this.#askedAt < EVERY_MS)) return;
    const name = this.#name;
    this.#asking = true;
    try {
      const [detail, { source, messages }] = await Promise.all([
        ask(`api/session?name=${encodeURIComponent(name)}`), askMessages(name)]);
      if (name !== this.#name) return;
      detail.session.now = this.#report.now;
      [this.#detail, this.#source, this.#newest] = [detail, source, messages];
      if (!isAnyOpen()) this.#messages = messages;
      [this.#asked, this.#askedAt] = [counts, performance.now()];
      setText(at("session-note"), "");
      this.#draw();
    } catch (error) {
      if (error.status === 503) setText(at("session-note"), "The messages cannot be read: the log has the reason.");
    } finally {
      this.#asking = false;
    }
  }

  #draw() {
    const facts = this.#detail === null ? TITLES.map((title) => [title, "–"]) : factsOf(this.#detail);
    morph(at("session-facts"), ...facts.map(([title, text]) => make("div", {}, make("dt", {}, title), make("dd", { title: text }, text))));
    this.#offerTypes();
    const shown = filtered(this.#messages, { direction: at("message-direction").value, type: at("message-type").value, field: at("message-field").value });
    const total = this.#messages.length;
    const waiting = newer(this.#newest, this.#messages);
    setText(at("messages-note"), `${shown.length === total ? count(total) : `${count(shown.length)} of ${count(total)}`} ${total === 1 ? "message" : "messages"}. ${waiting === 0 ? "" : `${count(waiting)} newer: close the open ones. `}${NOTES[this.#source]}`);
    at("messages-note").title = at("messages-note").textContent;
    const none = this.#detail === null ? "Loading" : total === 0 ? "No messages." : "No message passes the filter.";
    showMessages(shown, none, at("messages"));
  }

  #offerTypes() {
    const select = at("message-type");
    const types = [["", "All types"], ...typesOf(this.#messages)];
    if ([...select.options].map(({ value }) => value).join("\n") === types.map(([type]) => type).join("\n")) return;
    const chosen = select.value;
    select.replaceChildren(...types.map(([type, text]) => new Option(text, type)));
    select.value = types.some(([type]) => type === chosen) ? chosen : "";
  }
}
