// The list of findings, newest first, with age, meaning and advice.

import { count, span, timeOfDay } from "./format.js";
import { make, morph } from "./morph.js";

const WORDS = { error: ["error", "errors"], warning: ["warning", "warnings"], info: ["notice", "notices"] };

/** Makes `code` of the parts of the text between backticks. */
const withCode = (text) => text.split("`").map((part, i) => (i % 2 === 1 ? make("code", {}, part) : part));

/** Returns the worst severity and a text with the number of findings of each. */
export function summary(findings) {
  const parts = Object.entries(WORDS).flatMap(([severity, [one, several]]) => {
    const number = findings.filter((finding) => finding.severity === severity).length;
    return number === 0 ? [] : [`${count(number)} ${number === 1 ? one : several}`];
  });
  const state = Object.keys(WORDS).find((severity) => findings.some((finding) => finding.severity === severity)) ?? "good";
  return { state, text: parts.length === 0 ? "Healthy" : parts.join(", ") };
}

export function showFindings({ findings, now }, place) {
  const newestFirst = [...findings].sort((a, b) => b.since - a.since);
  const none = findings.length === 0 ? [make("li", { class: "quiet" }, "No findings.")] : [];
  morph(place, ...none, ...newestFirst.map(({ severity, stage, of, text, since, meaning, advice }) => make("li", { "data-state": severity },
    make("span", { class: "dot", "aria-hidden": "true" }),
    make("div", {},
      make("p", { class: "what" }, make("strong", {}, `${stage}: ${of}`), `: ${text} `),
      make("p", { class: "quiet" }, ...withCode(`${meaning} ${advice}`))),
    make("p", { class: "age quiet" }, `${span(Math.max(0, now - since))}, since ${timeOfDay(since).slice(0, 8)}`))));
}
