// The frame of both pages: sign-in, theme, and the key that focuses the search.

import { token, tokenFault } from "./connection.js";
import { setText } from "./morph.js";

export const at = (id) => document.getElementById(id);

let tokenGiven = () => {}; // ends the wait for a token

/** Resolves when the user has entered a token. refused: the message about the last one; empty for the first. */
export function askToken(refused) {
  setText(at("token-wrong"), refused);
  if (!at("ask-token").open) at("ask-token").showModal();
  return new Promise((done) => { tokenGiven = done; });
}

/** Starts sign-in, theme and search key. onTheme: called when the colours have changed. */
export function startShell(onTheme = () => {}) {
  const chooseTheme = (theme) => {
    if (theme === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    localStorage.setItem("millpond-theme", theme);
    onTheme();
  };
  at("token-form").addEventListener("submit", (event) => {
    const text = at("token").value.trim();
    const fault = tokenFault(text);
    setText(at("token-wrong"), fault);
    if (fault !== "") {
      event.preventDefault();
      return;
    }
    token.set(text);
    at("token").value = "";
    tokenGiven();
  });
  at("sign-in").addEventListener("click", () => at("ask-token").showModal());
  at("theme").value = localStorage.getItem("millpond-theme") ?? "auto";
  at("theme").addEventListener("change", (event) => chooseTheme(event.target.value));
  chooseTheme(at("theme").value);
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.target.matches("input, select")) return;
    event.preventDefault();
    at("search").focus();
  });
}
