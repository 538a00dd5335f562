// Findings: errors first, then warnings, of each the newest first; each opens to what it means, what to do, and the events
// around it (history-panel.js).

import { count, span, timeOfDay } from "./format.js";
import { make, morph } from "./morph.js";

const WORDS = { error: ["error", "errors"], warning: ["warning", "warnings"], info: ["notice", "notices"] };
const SEVERITIES = Object.keys(WORDS);

const open = new Set(); // titles of the findings whose explanation is shown
const followed = new WeakSet(); // lists whose clicks are followed

/** Makes `code` of the parts of the text between backticks. */
const withCode = (text) => text.split("`").map((part, i) => (i % 2 === 1 ? make("code", {}, part) : part));

/** Returns the worst severity and a text with the number of findings of each. */
export function summary(findings) {
  const parts = Object.entries(WORDS).flatMap(([severity, [one, several]]) => {
    const number = findings.filter((finding) => finding.severity === severity).length;
    return number === 0 ? [] : [`${count(number)} ${number === 1 ? one : several}`];
  });
  const state = SEVERITIES.find((severity) => findings.some((finding) => finding.severity === severity)) ?? "good";
  return { state, text: parts.length === 0 ? "Healthy" : parts.join(", ") };
}

/** Opens and closes findings. Their elements are reused, so what is open is known by title. */
function follow(place) {
  if (followed.has(place)) return;
  followed.add(place);
  place.addEventListener("click", (event) => {
    const details = event.target.closest("summary")?.parentElement;
    if (!details) return;
    event.preventDefault();
    const { title } = details.dataset;
    if (!open.delete(title)) open.add(title);
    details.open = open.has(title);
  });
}

export function showFindings({ findings, now }, place) {
  follow(place);
  const sorted = [...findings].sort((a, b) => SEVERITIES.indexOf(a.severity) - SEVERITIES.indexOf(b.severity) || b.since - a.since);
  const none = findings.length === 0 ? [make("li", { class: "quiet" }, "No findings.")] : [];
  morph(place, ...none, ...sorted.map(({ severity, stage, of, text, since, meaning, advice }) => {
    const title = `${stage}: ${of}`;
    return make("li", { "data-state": severity },
      make("details", { "data-title": title, ...(open.has(title) ? { open: "" } : {}) },
        make("summary", {},
          make("span", { class: "dot", "aria-hidden": "true" }), make("span", { class: "hidden" }, `${severity}: `),
          make("span", { class: "what" }, make("strong", {}, title), `: ${text}`),
          make("span", { class: "age quiet" }, `${span(Math.max(0, now - since))}, since ${timeOfDay(since).slice(0, 8)}`)),
        make("p", { class: "quiet" }, ...withCode(`${meaning} ${advice} `),
          make("button", { type: "button", class: "around", "data-of": of, "data-since": String(since) }, "Events around it"))));
  }));
}
