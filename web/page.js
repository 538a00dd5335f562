// The gateway's page: connects the link, the quotes, the grid, the chart and the open instrument.

import { Chart } from "./chart.js";
import { ChartPast } from "./chart-past.js";
import { Clients } from "./clients.js";
import { compositesOf } from "./composite.js";
import { ask } from "./connection.js";
import { count, short, timeOfDay } from "./format.js";
import { showFindings } from "./findings.js";
import { Grid } from "./grid.js";
import { gatewayState, showGateway, showTab } from "./header.js";
import { showHealth } from "./health.js";
import { HistoryPanel } from "./history-panel.js";
import { CHARTS, KINDS, sources } from "./gateway-history.js";
import { Instrument } from "./instrument.js";
import { InstrumentPanel } from "./instrument-panel.js";
import { showLatency } from "./latency.js";
import { Link } from "./link.js";
import { setText } from "./morph.js";
import { Quotes } from "./quotes.js";
import { formatRoute, parseRoute } from "./route.js";
import { askToken, at, startShell } from "./shell.js";
import { Subscription } from "./subscription.js";
import { WatchList } from "./watchlist.js";

/** Interval at which a view sorted by value is drawn: values and order change together, slowly enough to read. */
const SORT_EVERY_MS = 500;
const NAMES_EVERY_MS = 1_000;
const CLOCK_EVERY_MS = 1_000;
/** A view sorted by value subscribes to its symbols one by one up to this number, and to all beyond. */
const MAX_FOLLOWED = 500;

const quotes = new Quotes();
const watchList = new WatchList();
const instrument = new Instrument(() => frame.ask(), () => {
  view.change({ venue: instrument.venue });
  view.showInstrument();
});
const panel = new InstrumentPanel({ facts: at("facts"), ladder: at("ladder"), tape: at("tape"), book: at("book-state"), time: at("book-time"), note: at("facts-note") });
const chart = new Chart({ prices: at("prices"), spreads: at("spreads"), title: at("chart-title"), now: at("chart-now") });
const chartPast = new ChartPast((symbol, lines, sequence) => {
  chart.addPast(symbol, lines.filter((line) => line.type !== "quote" || quotes.isShown(line)), sequence);
  frame.ask();
});
const grid = new Grid(at("quotes"), quotes, {
  onChoose(symbol) {
    chart.choose(symbol, quotes.find(symbol));
    chartPast.follow(symbol, report);
    if (view.route.symbol !== "" && view.route.symbol !== symbol) view.change({ symbol, venue: quotes.venueOf(symbol) });
    view.showInstrument();
    frame.ask();
  },
  onOpen: (symbol) => view.open(symbol),
  onView: () => frame.ask(true),
  isWatched: (symbol) => watchList.has(symbol),
});

/** What the address says: the overview or an open instrument, and the filters. */
const view = {
  route: parseRoute(location.hash),
  sought: "", // symbol whose row is to be scrolled to once it is known
  /** The filter of feeds, sinks and clients. */
  get filter() {
    return { text: this.route.filter, bad: this.route.bad };
  },
  /** Changes the address in place: choosing a row or typing is no step of the browser's history. */
  change(parts) {
    this.route = { ...this.route, ...parts };
    history.replaceState(null, "", formatRoute(this.route));
  },
  /** Opens an instrument, as a step of the history. */
  open(symbol) {
    location.hash = formatRoute({ ...this.route, symbol, venue: quotes.venueOf(symbol) });
  },
  /** Follows the address, at the start and when the user has changed it. */
  follow() {
    this.route = parseRoute(location.hash);
    const { symbol, venue, search, watched, filter, bad } = this.route;
    at("filter").value = filter;
    at("only-bad").setAttribute("aria-pressed", bad);
    document.body.dataset.view = symbol === "" ? "overview" : "instrument";
    at("search").value = search;
    quotes.search(search);
    quotes.watch(watched ? watchList : null);
    at("watched").setAttribute("aria-pressed", watched);
    instrument.open(venue, symbol);
    if (symbol !== "" && symbol !== grid.chosen) grid.choose(symbol);
    else this.showInstrument();
    this.sought = symbol;
    frame.ask(true);
  },
  showInstrument() {
    const { symbol, venue } = this.route;
    instrument.open(venue, symbol);
    const chosen = grid.chosen;
    at("overview-link").href = formatRoute({ ...this.route, symbol: "" });
    at("instrument-link").href = formatRoute({ ...this.route, symbol: chosen, venue: symbol === chosen ? venue : quotes.venueOf(chosen) });
    at(symbol === "" ? "overview-link" : "instrument-link").setAttribute("aria-current", "page");
    at(symbol === "" ? "instrument-link" : "overview-link").removeAttribute("aria-current");
    at("watch").disabled = chosen === "";
    at("watch").setAttribute("aria-pressed", watchList.has(chosen));
    setText(at("chart-venue"), symbol === chosen ? venue : quotes.venueOf(chosen));
    setText(at("watched"), `★ Watch list (${count(watchList.size)})`);
  },
};

let report = null;
let tokenMissing = false;

/** Draws at most once per frame, and not while the page is hidden. */
const frame = {
  asked: false,
  drawn: 0,
  viewChanged: false,
  later: 0,
  ask(viewChanged = false) {
    this.viewChanged ||= viewChanged;
    if (this.asked) return;
    this.asked = true;
    requestAnimationFrame((now) => {
      this.asked = false;
      const wait = quotes.sortedByValue && !this.viewChanged ? this.drawn + SORT_EVERY_MS - now : 0;
      if (wait <= 0) {
        this.drawn = now;
        this.viewChanged = false;
        grid.draw();
        if (quotes.find(view.sought)) {
          grid.reveal(view.sought);
          view.sought = "";
        }
      } else if (this.later === 0) {
        this.later = setTimeout(() => {
          this.later = 0;
          this.ask();
        }, wait);
      }
      panel.draw(instrument);
      chart.draw(now, link.live ? (link.late ? link.asOf : Date.now()) : 0);
      const shown = quotes.shown().length;
      const total = `${count(quotes.size)} ${quotes.size === 1 ? "symbol" : "symbols"}`;
      setText(at("count"), shown === quotes.size ? total : `${count(shown)} of ${total}`);
      setText(at("empty"), emptyText(shown));
      at("empty").hidden = shown > 0;
      if (names.known) at("quotes").dataset.mixed = quotes.areMixed;
      if (grid.chosen === "" && shown > 0) grid.choose(quotes.shown()[0].symbol);
      else subscription.update();
    });
  },
};

function emptyText(shown) {
  if (shown > 0) return "";
  if (tokenMissing) return "Sign in to see quotes.";
  if (quotes.size > 0 && view.route.watched && quotes.searched === "") return "The watch list is empty here. The star of an instrument adds it.";
  if (quotes.size > 0) return `No symbol contains “${quotes.searched}”.`;
  return link.live ? "No quotes yet. They appear with the first message of a feed." : "";
}

const link = new Link({
  report(next) {
    report = next;
    tokenMissing = false;
    quotes.composites = compositesOf(report);
    instrument.tend(report);
    chartPast.follow(grid.chosen, report);
    showReport();
  },
  open() {
    chart.invalidate();
    past.restart();
    names.restart();
    subscription.restart();
  },
  lines(lines) {
    for (const line of lines) {
      const record = quotes.apply(line);
      chart.addTrade(line);
      if (record?.symbol === grid.chosen && line.type !== "status") chart.add(record);
      // A clear without a symbol concerns one feed: the quotes of the others are requested again. After a gap the
      // gateway sends the instruments that became incomplete without a request.
      if (line.type === "clear" && line.symbol === null) {
        quotes.blank();
        chart.invalidate();
        subscription.refresh();
      }
    }
    frame.ask();
  },
  change() {
    showLink();
    frame.ask();
  },
  needToken(wrong) {
    tokenMissing = true;
    showLink();
    frame.ask();
    return askToken(wrong ? "The gateway did not accept this token." : "");
  },
});

const clients = new Clients(() => view.filter, () => link.live);
const past = new HistoryPanel({ isLive: () => link.live, charts: CHARTS, kinds: KINDS, sources });

const subscription = new Subscription(link, quotes, () => {
  const all = quotes.sortedByValue && quotes.shown().length > MAX_FOLLOWED;
  if (all) return { all, symbols: [] };
  const needed = quotes.sortedByValue ? quotes.shown().map(({ symbol }) => symbol) : grid.inView();
  return { all, symbols: [...new Set([...needed, ...(quotes.find(grid.chosen) ? [grid.chosen] : [])])] };
});

/** The names of all instruments, polled: the WebSocket has only those subscribed to. */
const names = {
  next: 0,
  known: false, // whether the first have been asked for, which decides on the columns
  restart() {
    this.next = 0;
    quotes.forget();
  },
  async poll() {
    try {
      if (link.live) {
        const from = this.next;
        const { symbols, venues, next } = await ask(`api/symbols?first=${from}`);
        if (from === this.next) {
          quotes.name(symbols, venues);
          this.next = next;
          if (!this.known || symbols.length > 0) {
            this.known = true;
            view.showInstrument();
            frame.ask();
          }
          if (symbols.length >= 2_000) return this.poll();
        }
      }
    } catch {
      // The link reports a gateway that does not answer.
    }
    setTimeout(() => this.poll(), link.live && this.next === 0 ? 100 : NAMES_EVERY_MS);
    return undefined;
  },
};

function showLink() {
  const pill = at("health");
  const body = document.body;
  body.dataset.link = link.live ? "live" : link.heard === 0 ? "connecting" : "lost";
  at("sign-in").hidden = !tokenMissing;
  let state = "waiting";
  let text = "Connecting";
  const asOf = `Data as of ${timeOfDay(link.asOf * 1e6).slice(0, 8)}`;
  if (tokenMissing) [state, text] = ["error", link.heard === 0 ? "Token required" : `Token required. ${asOf}`];
  else if (link.live && report) ({ state, text } = gatewayState(report));
  else if (link.heard !== 0) [state, text] = ["error", `Connection lost. ${asOf}`];
  pill.dataset.state = state;
  setText(at("health-text"), text);
  pill.title = text;
  showTab({ state, text }, report);
  body.dataset.signedOut = tokenMissing;
  // The countdown is not part of the status text: a screen reader would read it out each second.
  const wait = Math.max(0, Math.ceil((link.retryAt - Date.now()) / 1_000));
  setText(at("retry"), !link.live && !tokenMissing && link.retryAt !== 0 ? (wait > 0 ? `Next retry in ${wait} s` : "Retrying") : "");
  setText(at("lag"), link.live && link.late ? `This page is ${(link.lag / 1_000).toFixed(1)} s behind` : "");
  body.dataset.late = link.live && link.late;
  if (!link.live) setText(at("totals"), "");
}

function showReport() {
  showFindings(report, at("findings"));
  showGateway(report);
  showHealth(report, { feeds: at("feeds"), sinks: at("sinks"), rings: at("rings") }, view.filter);
  showRingChoice();
  clients.show(report);
  past.offer(report);
  const ring = report.rings.find(({ name }) => name === at("latency-ring").value) ?? report.rings[0];
  if (ring) showLatency(ring[at("latency-which").value], at("latency"));
  const sum = (list, key) => list.reduce((total, one) => total + one[key], 0);
  setText(at("totals"), `${short(sum(report.feeds, "packets_per_second"))} datagrams/s, ${short(sum(report.feeds, "quotes_per_second"))} quotes/s`);
}

/** Offers each ring; hidden while there is only one. */
function showRingChoice() {
  const select = at("latency-ring");
  const known = [...select.options].map(({ value }) => value);
  const rings = report.rings.map(({ name }) => name);
  if (known.join("\n") !== rings.join("\n")) {
    const chosen = select.value;
    select.replaceChildren(...rings.map((name) => new Option(name, name, false, name === chosen)));
  }
  select.parentElement.hidden = rings.length < 2;
}

function filter() {
  quotes.search(at("search").value);
  quotes.watch(view.route.watched ? watchList : null);
  at("watched").setAttribute("aria-pressed", view.route.watched);
  at("quotes").scrollTop = 0;
  frame.ask(true);
}

at("search").addEventListener("input", (event) => {
  view.change({ search: event.target.value.trim() });
  filter();
});
at("watched").addEventListener("click", () => {
  view.change({ watched: !view.route.watched });
  filter();
});
at("watch").addEventListener("click", () => {
  watchList.toggle(grid.chosen);
  view.showInstrument();
  filter();
});
at("filter").addEventListener("input", (event) => {
  view.change({ filter: event.target.value.trim() });
  if (report) showReport();
});
at("only-bad").addEventListener("click", () => {
  view.change({ bad: !view.route.bad });
  at("only-bad").setAttribute("aria-pressed", view.route.bad);
  if (report) showReport();
});
watchList.follow(() => {
  view.showInstrument();
  filter();
});
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault(); // its address is not one of a view
  at("quotes").focus();
});
addEventListener("hashchange", () => {
  view.follow();
  if (report) showReport();
});
view.follow();
startShell(() => {
  chart.recolour();
  past.recolour();
  frame.ask();
});
at("chart-kind").addEventListener("change", ({ target }) => {
  chart.show(target.value);
  frame.ask();
});
for (const id of ["latency-which", "latency-ring"]) at(id).addEventListener("change", () => report && showReport());
setInterval(showLink, CLOCK_EVERY_MS);
names.poll();
