// The messages of a FIX session: a filter by direction, type and field, and a list that opens each to its fields.

import { timeOfDay } from "./format.js";
import { make, morph } from "./morph.js";

const HEADS = ["Time", "", "Number", "Type", "Fields"];
const COLUMNS = ["Tag", "Name", "Value", "Meaning"];
const SENDING_TIME = "52";

const open = new Set(); // keys of the messages whose fields are shown

/** Distinguishes a message from the others of its session. */
const keyOf = ({ time, direction, message }) => `${time} ${direction} ${message.sequence} ${message.type}`;

const typeText = ({ type, name }) => (name === "" ? type : `${name} (${type})`);

/** Parses "55", "55=MSFT" or "Symbol=MSFT"; returns what tells whether a message has that field. */
export function fieldFilter(text) {
  const [wanted, ...rest] = text.trim().toLowerCase().split("=");
  const value = rest.length === 0 ? null : rest.join("=");
  if (wanted === "") return () => true;
  return ({ fields }) => fields.some(([tag, name, held, meaning]) => (tag === wanted || name.toLowerCase() === wanted)
    && (value === null || held.toLowerCase() === value || meaning.toLowerCase() === value));
}

/** The messages of a direction and a type with a field; empty texts are any. */
export function filtered(messages, { direction, type, field }) {
  const hasField = fieldFilter(field);
  return messages.filter((one) => (direction === "" || one.direction === direction) && (type === "" || one.message.type === type) && hasField(one.message));
}

/** The types of messages, as [type, text], in the order of their texts. */
export function typesOf(messages) {
  const texts = new Map(messages.filter(({ message }) => message.type !== "").map(({ message }) => [message.type, typeText(message)]));
  return [...texts].sort(([, one], [, other]) => one.localeCompare(other));
}

function timeText({ time, message }) {
  if (time !== null) return timeOfDay(time);
  return (message.fields.find(([tag]) => tag === SENDING_TIME)?.[2] ?? "").replace(/^\d{8}-/, "");
}

function fieldsOf(message) {
  if (message.fault !== null) return make("p", { class: "late" }, `Not a message: ${message.fault}`);
  return make("table", { class: "plain fields" },
    make("thead", {}, make("tr", {}, ...COLUMNS.map((title) => make("th", { scope: "col" }, title)))),
    make("tbody", {}, ...message.fields.map(([tag, name, value, meaning, depth]) => make("tr", {},
      make("td", {}, tag), make("td", { "data-depth": String(Math.min(depth, 4)) }, name), make("td", {}, value), make("td", {}, meaning)))));
}

function rowsOf(one) {
  const { direction, message } = one;
  const key = keyOf(one);
  const isOpen = open.has(key);
  const what = message.fault === null ? typeText(message) : "not a message";
  const rows = [make("tr", { "data-key": key, ...(message.fault === null ? {} : { "data-state": "error" }) },
    make("td", { "data-label": HEADS[0] }, timeText(one)),
    make("td", { "data-label": "Direction" }, direction === "in" ? "\u2190 in" : "\u2192 out"),
    make("td", { "data-label": HEADS[2] }, message.sequence === null ? "\u2013" : String(message.sequence)),
    make("td", {}, make("button", { type: "button", "aria-expanded": String(isOpen) }, what)),
    make("td", { class: "text", title: message.text }, message.text, ...(message.masked ? [make("small", {}, " masked")] : [])))];
  if (isOpen) rows.push(make("tr", { class: "note" }, make("td", { colspan: String(HEADS.length) }, fieldsOf(message))));
  return rows;
}

/** Shows messages, newest first. none: the text if there are none. */
export function showMessages(messages, none, place) {
  const note = messages.length === 0 ? [make("tr", { class: "note" }, make("td", { colspan: String(HEADS.length) }, none))] : [];
  morph(place, make("table", { class: "plain" },
    make("thead", {}, make("tr", {}, ...HEADS.map((title) => make("th", { scope: "col" }, title === "" ? make("span", { class: "hidden" }, "Direction") : title)))),
    make("tbody", {}, ...messages.flatMap(rowsOf), ...note)));
}

/** Opens and closes messages of a list; changed(): called then. */
export function followMessages(place, changed) {
  place.addEventListener("click", (event) => {
    const button = event.target.closest("button[aria-expanded]");
    if (!button) return;
    const { key } = button.closest("tr").dataset;
    if (!open.delete(key)) open.add(key);
    changed();
  });
}

/** Whether a message is open. */
export const isAnyOpen = () => open.size > 0;

/** How many messages a list has that another one lacks. */
export function newer(list, than) {
  const known = new Set(than.map(keyOf));
  return list.filter((one) => !known.has(keyOf(one))).length;
}

/** Closes all messages. */
export const closeMessages = () => open.clear();
