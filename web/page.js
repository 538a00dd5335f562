// The page: what comes in, and what is drawn when.

import { Chart } from "./chart.js";
import { ask, keepOpen, token } from "./connection.js";
import { count, short, span } from "./format.js";
import { Grid } from "./grid.js";
import { showHealth, showLatency } from "./health.js";
import { Quotes } from "./quotes.js";

const LINES_EVERY_MS = 50;
const SORT_EVERY_MS = 500;
const HEALTH_EVERY_MS = 250;

const at = (id) => document.getElementById(id);
const quotes = new Quotes();
const chart = new Chart({ prices: at("prices"), spreads: at("spreads"), title: at("chart-title"), now: at("chart-now") });
const grid = new Grid(at("quotes"), quotes, (symbol) => {
  chart.choose(quotes.find(symbol));
  frame.ask();
});

let connected = false;
let report = null;

/** Draws at most once a frame, and nothing while nobody looks. */
const frame = {
  asked: false,
  sorted: 0,
  ask() {
    if (this.asked) return;
    this.asked = true;
    requestAnimationFrame((now) => {
      this.asked = false;
      const anew = now - this.sorted >= SORT_EVERY_MS;
      if (anew) this.sorted = now;
      grid.draw(anew);
      chart.draw(now);
      const shown = quotes.shown().length;
      const text = shown === quotes.size ? `${count(shown)} symbols` : `${count(shown)} of ${count(quotes.size)} symbols`;
      if (at("count").textContent !== text) at("count").textContent = text;
      if (grid.chosen === "" && shown > 0) grid.choose(quotes.shown()[0].symbol);
    });
  },
};

function showState() {
  const pill = at("health");
  const first = report?.first ?? null;
  let [state, text] = ["good", "all is well"];
  if (!connected) [state, text] = ["error", "not connected to the gateway"];
  else if (first) [state, text] = [first.severity, `${first.stage}: ${first.of}: ${first.text}`];
  pill.dataset.state = state;
  const since = first && connected ? ` (for ${span(Math.max(0, report.now - first.since))})` : "";
  // Screen readers are told of a new finding, not of each second that it lasts.
  pill.title = text + since;
  if (at("health-text").textContent !== text) at("health-text").textContent = text;
}

function showReport() {
  showHealth(report, { feeds: at("feeds"), sinks: at("sinks"), rings: at("rings") });
  if (report.rings.length > 0) showLatency(report.rings[0][at("latency-which").value], at("latency"));
  const sum = (list, key) => list.reduce((total, one) => total + one[key], 0);
  at("totals").textContent = `${short(sum(report.feeds, "packets_per_second"))} packets/s   ${short(sum(report.feeds, "quotes_per_second"))} quotes/s`;
}

async function askHealth() {
  try {
    report = await ask("api/health");
    showReport();
    showState();
  } catch (error) {
    if (error.message === "token") await askToken();
  } finally {
    setTimeout(askHealth, HEALTH_EVERY_MS);
  }
}

function askToken() {
  const dialog = at("ask-token");
  dialog.showModal();
  return new Promise((done) => {
    dialog.addEventListener("close", () => {
      token.set(at("token").value);
      at("token").value = "";
      done();
    }, { once: true });
  });
}

function chooseTheme(theme) {
  if (theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  localStorage.setItem("millpond-theme", theme);
  chart.draw(performance.now(), true);
}

at("search").addEventListener("input", (event) => {
  quotes.search(event.target.value);
  at("quotes").scrollTop = 0;
  frame.ask();
});
at("theme").value = localStorage.getItem("millpond-theme") ?? "auto";
at("theme").addEventListener("change", (event) => chooseTheme(event.target.value));
chooseTheme(at("theme").value);
at("latency-which").addEventListener("change", () => report && showReport());
document.addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.target.matches("input, select")) return;
  event.preventDefault();
  at("search").focus();
});

keepOpen("ws", [{ mode: "conflate", interval_ms: LINES_EVERY_MS }], {
  lines(lines) {
    for (const line of lines) {
      const record = quotes.apply(line);
      if (record && record.symbol === grid.chosen) chart.add(record);
    }
    frame.ask();
  },
  state(state) {
    connected = state === "open";
    if (connected) quotes.forget();
    showState();
    frame.ask();
  },
});
askHealth();
