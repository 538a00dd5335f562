// The open instrument without a page: what its lines and its facts change. The clock, the network and storage are the test's.
import assert from "node:assert/strict";
import { beforeEach, mock, test } from "node:test";

mock.timers.enable({ apis: ["setInterval", "setTimeout", "Date"], now: 1e12 });
globalThis.location = { href: "http://127.0.0.1/" };
globalThis.sessionStorage = { getItem: () => null, setItem() {}, removeItem() {} };
globalThis.localStorage = {
  getItem: () => "[]",
  setItem() { throw new Error("QuotaExceededError"); },
};

const sockets = [];
globalThis.WebSocket = class {
  static OPEN = 1;
  readyState = 0;
  sent = [];
  constructor() { sockets.push(this); }
  send(text) { this.sent.push(JSON.parse(text)); }
  close() { this.readyState = 3; }
  accept() {
    this.readyState = 1;
    this.onopen();
  }
  end() {
    this.readyState = 3;
    this.onclose();
  }
  say(...lines) { this.onmessage({ data: lines.map((line) => JSON.stringify(line)).join("\n") }); }
};
let instruments = [];
globalThis.fetch = async () => ({ ok: true, status: 200, json: async () => ({ instruments }) });

const { Instrument } = await import("../../web/instrument.js");
const { Quotes } = await import("../../web/quotes.js");
const { WatchList } = await import("../../web/watchlist.js");
const { feedState } = await import("../../web/health.js");
const { problemOf, stateOf } = await import("../../web/instrument-state.js");

const FACTS = { symbol: "A", venue: "X", channel: 1, depth: 10, trades: null };
const settle = () => new Promise((done) => { setImmediate(done); });

/** A report of one feed, of channel 1, and the web sink. */
const report = ({ feed = {}, sink = {}, findings = [] } = {}) => ({
  findings, feeds: [{ name: "f", ring: "r", channel: 1, session_over: false, ...feed }], sinks: [{ type: "web", ring: "r", lag_ns: 0, ...sink }],
});

/** Opens the instrument A of venue X; returns it with its socket. */
async function opened(venue = "X", adopted = () => {}) {
  const instrument = new Instrument(() => {}, adopted);
  instrument.open(venue, "A");
  await settle();
  instrument.tend(report());
  const socket = sockets.at(-1);
  socket.accept();
  await settle();
  return { instrument, socket };
}

const status = (state, more = {}) => ({ type: "status", symbol: "A", channel: 1, state, ...more });
const quote = (halted) => ({ type: "quote", symbol: "A", timestamp: 5, incomplete: false, bid: { price: null }, ask: { price: null }, ...(halted ? { halted } : {}) });
const trade = (price, id) => ({ type: "trade", symbol: "A", timestamp: 5, price, shares: 100, trade_id: id });
const book = (more = {}) => ({ type: "book", symbol: "A", channel: 1, timestamp: 5, incomplete: false, bids: [{ price: 9, size: 1, count: 1 }], asks: [{ price: 10, size: 1, count: 1 }], ...more });
const gap = (more = {}) => ({ type: "gap", channel: 1, timestamp: 6, sequence: 20, reason: "sequence", ...more });
/** Answers the newest echo request, so that the data is not late. */
const echo = (socket) => socket.say({ type: "echo", echo: socket.sent.findLast((one) => one.echo !== undefined)?.echo ?? 0 });

beforeEach(() => {
  instruments = [FACTS];
});

test("a status of a channel does not hide the instrument's own", async () => {
  const { instrument, socket } = await opened();
  socket.say(status("halted", { reason: "T1" }), status("start_of_market_hours", { symbol: null }), status("circuit_breaker", { symbol: null, channel: 2 }));
  assert.deepEqual([instrument.status.state, instrument.status.reason], ["halted", "T1"]);
});

test("an instrument whose quote is halted does not look like trading, and a loss forgets the status", async () => {
  const { instrument, socket } = await opened();
  const shown = () => stateOf(instrument);
  socket.say(status("trading"), quote(false));
  assert.deepEqual(shown(), ["trading", ""]);
  socket.say(quote(true));
  assert.deepEqual(shown(), ["halted", "error"]);
  socket.say(status("paused", { reason: "M" }));
  assert.deepEqual(shown(), ["paused (M)", "error"]);
  socket.say({ type: "missed", count: 3 });
  assert.deepEqual(shown(), ["halted", "error"]);
  socket.say(quote(false));
  assert.deepEqual(shown(), ["not reported", ""]);
});

test("a new session of the instrument's channel forgets the last one's trades, bands and auction; of another, nothing", async () => {
  const { instrument, socket } = await opened();
  const begin = instrument.since;
  const clear = (channel, reason) => ({ type: "clear", symbol: null, channel, reason, timestamp: 7e18 });
  socket.say(quote(true), trade(10, 1), status("halted"), { type: "band", symbol: "A", band: "collar" }, { type: "band", symbol: "A", band: "short_sale" }, { type: "imbalance", symbol: "A" });
  const known = () => [instrument.trades.list.length, instrument.status, instrument.collar, instrument.shortSale, instrument.auction, instrument.halted].map(Boolean);
  for (const line of [clear(2, "new_session"), clear(1, "end_of_session")]) {
    socket.say(line);
    assert.deepEqual([known(), instrument.since], [[true, true, true, true, true, true], begin], JSON.stringify(line));
  }
  socket.say(clear(1, "new_session"));
  assert.deepEqual([known(), instrument.since], [[false, false, false, false, false, false], 7e18]);
  socket.say(trade(11, 2));
  assert.equal(instrument.trades.last.price, 11);
});

test("a gap of another channel marks no loss in the tape", async () => {
  const { instrument, socket } = await opened();
  socket.say({ type: "gap", channel: 2, timestamp: 6, reason: "sequence" });
  assert.deepEqual(instrument.trades.list, []);
  socket.say({ type: "gap", channel: 1, timestamp: 6, reason: "sequence" });
  assert.deepEqual(instrument.trades.list, [{ time: 6, lost: true }]);
});

test("facts are current only while they are new and the connection works", async () => {
  const { instrument, socket } = await opened();
  assert.equal(instrument.factsCurrent, true);
  const { fetch } = globalThis;
  globalThis.fetch = async () => { throw new Error("no answer"); };
  try {
    for (let second = 0; second < 4; second += 1) {
      assert.equal(instrument.factsCurrent, true, `after ${second} s`);
      mock.timers.tick(1_000);
      echo(socket);
      await settle();
    }
    assert.deepEqual([instrument.current, instrument.factsCurrent], [true, false]);
  } finally {
    globalThis.fetch = fetch;
  }
  mock.timers.tick(1_000);
  echo(socket);
  await settle();
  assert.equal(instrument.factsCurrent, true);
  socket.end();
  assert.deepEqual([instrument.current, instrument.factsCurrent], [false, false]);
});

test("a socket that is refused is tried again after pauses that grow, and at once for another instrument", async () => {
  const { instrument, socket } = await opened();
  const tries = () => {
    const before = sockets.length;
    let milliseconds = 0;
    for (; sockets.length === before; milliseconds += 50) {
      mock.timers.tick(50);
      instrument.tend(report());
    }
    return milliseconds;
  };
  socket.end();
  const pauses = [];
  for (let i = 0; i < 6; i += 1) {
    pauses.push(tries());
    sockets.at(-1).end();
  }
  assert.deepEqual(pauses, [250, 500, 1_000, 2_000, 4_000, 5_000]);
  const before = sockets.length;
  instrument.open("X", "B");
  instrument.tend(report());
  assert.equal(sockets.length, before + 1);
  sockets.at(-1).accept();
  sockets.at(-1).say({ type: "echo", echo: 0 });
  sockets.at(-1).end();
  assert.equal(tries(), 250);
});

/** Opens A with a complete book, which nothing is wrong with. */
async function trusted() {
  const all = await opened();
  all.socket.say(status("trading", { sequence: 10 }), book());
  assert.deepEqual([problemOf(all.instrument), all.instrument.book.state], ["", "complete"]);
  return all;
}

test("nothing is said to be wrong while the first connection is made; a refused one is said", async () => {
  const instrument = new Instrument(() => {});
  instrument.open("X", "A");
  await settle();
  instrument.tend(report());
  assert.deepEqual([problemOf(instrument), instrument.book.state], ["", "waiting"]);
  sockets.at(-1).end();
  assert.equal(problemOf(instrument), "Not current: the connection is lost");
});

test("each reason not to trust the book is said, and ends with the reason", async () => {
  const finding = (stage, of, text, severity = "error") => report({ findings: [{ stage, of, text, severity }] });
  for (const [next, problem] of [
    [finding("stale", "feed 'f'", "nothing received for 12 s"), "Not current: feed 'f': nothing received for 12 s"],
    [finding("connection", "feed 'f'", "not logged in"), "Not current: feed 'f': not logged in"],
    [finding("link", "feed 'f'", "interface eth1 is down"), "Not current: feed 'f': interface eth1 is down"],
    [finding("receive thread", "ring 'r'", "does not respond"), "Not current: ring 'r': does not respond"],
    [finding("stale", "feed 'other'", "nothing received for 12 s"), ""],
    [finding("gap", "feed 'f'", "3 sequence numbers are missing", "warning"), ""],
    [report({ sink: { lag_ns: 4.2e9 } }), "Not current: the gateway sends this page data that is 4.2 s old"],
    [report({ feed: { session_over: true } }), "The session has ended"],
    [report({ feed: { channel: 2, session_over: true } }), ""],
  ]) {
    const { instrument } = await trusted();
    instrument.tend(next);
    assert.equal(problemOf(instrument), problem);
    instrument.tend(report());
    assert.equal(problemOf(instrument), "");
  }
  for (const [lines, problem, ends] of [
    [[quote(true)], "Not trading: halted", [quote(false)]],
    [[status("paused", { reason: "LUDP" })], "Not trading: paused (LUDP)", [status("trading")]],
    [[status("end_of_messages", { symbol: null, sequence: 11 })], "Not trading: end of the session", [status("start_of_messages", { symbol: null, sequence: 12 })]],
    [[status("circuit_breaker", { symbol: null, sequence: 11, reason: "2" })], "Not trading: market-wide circuit breaker, level 2", [status("trading", { sequence: 12 })]],
    [[status("halted", { sequence: 11 }), status("circuit_breaker", { symbol: null, sequence: 12, reason: "1" })], "Not trading: halted, market-wide circuit breaker, level 1", [status("trading", { sequence: 13 })]],
    [[status("circuit_breaker", { symbol: null, channel: 2, sequence: 11, reason: "2" })], "", []],
    [[status("end_of_market_hours", { symbol: null, sequence: 11 })], "", []],
    [[{ ...quote(false), firm: false }], "Not firm: the venue does not guarantee a trade at these prices", [quote(false)]],
    [[{ type: "error", text: "'depth': the feed of A sends 5 levels of a side" }], "'depth': the feed of A sends 5 levels of a side", null],
    [[quote(true), gap()], "Not trading: halted, may be outdated. Incomplete", [quote(false), status("trading", { sequence: 30 }), book()]],
  ]) {
    const { instrument, socket } = await trusted();
    socket.say(...lines);
    assert.equal(problemOf(instrument), problem, JSON.stringify(lines));
    if (ends === null) continue;
    socket.say(...ends);
    assert.equal(problemOf(instrument), "", JSON.stringify(ends));
  }
});

test("a page that lags says by how much, and again nothing when it has caught up", async () => {
  const { instrument, socket } = await trusted();
  mock.timers.tick(1_000);
  mock.timers.tick(3_000);
  assert.equal(problemOf(instrument), "Not current: this page is 3.0 s behind");
  echo(socket);
  mock.timers.tick(1_000);
  echo(socket);
  await settle();
  assert.equal(problemOf(instrument), "");
});

test("a refused subscription is asked for again with the next facts", async () => {
  const { instrument, socket } = await trusted();
  socket.say({ type: "error", text: "more than 50 requests a second" });
  socket.sent.length = 0;
  mock.timers.tick(1_000);
  await settle();
  assert.equal(problemOf(instrument), "");
  assert.deepEqual(socket.sent.filter(({ subscribe }) => subscribe), [{ subscribe: ["A"], depth: 10 }]);
});

test("after a gap of its channel a state may be outdated until a newer one comes, whatever the book says", async () => {
  const { instrument, socket } = await trusted();
  const band = (sequence) => ({ type: "band", symbol: "A", band: "collar", sequence });
  socket.say(band(11), gap({ channel: 2 }), gap({ reason: "silence" }), book());
  assert.deepEqual([stateOf(instrument), instrument.isOutdated(instrument.collar)], [["trading", ""], false]);
  socket.say(gap(), book());
  assert.equal(instrument.book.state, "complete");
  assert.deepEqual([stateOf(instrument), instrument.isOutdated(instrument.collar)], [["trading, may be outdated", "warning"], true]);
  socket.say(status("trading", { sequence: 10 })); // the same one again
  assert.deepEqual(stateOf(instrument), ["trading, may be outdated", "warning"]);
  socket.say(status("trading", { sequence: 21 }), band(22));
  assert.deepEqual([stateOf(instrument), instrument.isOutdated(instrument.collar)], [["trading", ""], false]);
  socket.say({ type: "missed", count: 30, first: 23, last: 52 }, book());
  assert.deepEqual(stateOf(instrument), ["trading, may be outdated", "warning"]);
});

test("while the book is incomplete a state may be outdated, also for a page that was opened after the gap", async () => {
  const { instrument, socket } = await opened();
  socket.say(status("trading", { sequence: 10 }), book({ incomplete: true }));
  assert.deepEqual(stateOf(instrument), ["trading, may be outdated", "warning"]);
});

test("a page that has missed lines forgets what they may have changed, and asks again", async () => {
  const { instrument, socket } = await trusted();
  socket.say({ type: "band", symbol: "A", band: "collar" }, { type: "imbalance", symbol: "A" });
  socket.sent.length = 0;
  mock.timers.tick(5);
  socket.say({ type: "missed", count: 3 });
  assert.deepEqual([instrument.status, instrument.collar, instrument.auction, instrument.book.state, instrument.since], [null, null, null, "waiting", Date.now() * 1e6]);
  assert.deepEqual(socket.sent, [{ unsubscribe: ["A"] }, { subscribe: ["A"], depth: 10 }]);
});

test("another gateway process on the same address: nothing of the last one is shown, and the depth is that of the new one", async () => {
  const { instrument, socket } = await opened();
  instruments = [{ ...FACTS, trades: { last: 5 } }];
  mock.timers.tick(1_000);
  await settle();
  socket.say(book(), trade(10, 1), status("end_of_messages", { symbol: null }));
  assert.equal(instrument.facts.trades.last, 5);
  socket.end();
  instruments = [{ ...FACTS, depth: 0 }];
  mock.timers.tick(5_000);
  instrument.tend(report());
  sockets.at(-1).accept();
  assert.deepEqual([instrument.facts, instrument.trades.list, instrument.phase, instrument.book.state, problemOf(instrument)], [null, [], null, "waiting", ""]);
  await settle();
  assert.deepEqual([instrument.facts.depth, instrument.facts.trades, instrument.levels], [0, null, 0]);
  assert.deepEqual(sockets.at(-1).sent.filter(({ subscribe }) => subscribe), [{ subscribe: ["A"] }]);
});

test("an answer about the last connection or instrument is not taken for this one's", async () => {
  const { instrument } = await opened();
  const { fetch } = globalThis;
  let answer;
  globalThis.fetch = () => new Promise((done) => { answer = () => done({ ok: true, status: 200, json: async () => ({ instruments: [{ ...FACTS, depth: 5 }] }) }); });
  try {
    mock.timers.tick(1_000); // asks about A
    const late = answer;
    instrument.open("X", "B");
    instrument.open("X", "A");
    late();
    await settle();
    assert.equal(instrument.facts, null);
    answer();
    await settle();
    assert.equal(instrument.facts.depth, 5);
  } finally {
    globalThis.fetch = fetch;
  }
});

test("a new session has no trades of the last one, before the next facts either", async () => {
  instruments = [{ ...FACTS, trades: { last: 5 } }];
  const { instrument, socket } = await opened();
  assert.equal(instrument.facts.trades.last, 5);
  socket.say({ type: "clear", symbol: null, channel: 1, reason: "new_session", timestamp: 7e18 });
  assert.equal(instrument.facts.trades, null);
});

test("an instrument that is not there, or not alone, is named", async () => {
  for (const [found, venue, problem] of [
    [[], "X", "No instrument A yet"],
    [[{ ...FACTS, venue: "Y" }], "X", "A has another venue: Y"],
    [[{ ...FACTS, venue: "" }], "X", "A has no venue: its address is #/-/A"],
    [[FACTS, { ...FACTS, venue: "Y" }], "", "Several venues have A: X, Y"],
    [[FACTS, { ...FACTS, venue: "Y" }], "X", "2 instruments of this ring are called A: their events are mixed here"],
  ]) {
    instruments = found;
    const { instrument } = await opened(venue);
    assert.equal(problemOf(instrument), problem);
  }
});

test("an instrument that two feeds send is mixed, until one of them has stopped", async () => {
  const { instrument, socket } = await trusted();
  socket.say(book({ channel: 2 }));
  assert.equal(problemOf(instrument), "Channels 1 and 2 both send A: their events are mixed here");
  instruments = [{ ...FACTS, channel: 2 }];
  for (let second = 0; second < 11; second += 1) {
    mock.timers.tick(1_000);
    echo(socket);
    await settle();
  }
  assert.equal(problemOf(instrument), "");
});

test("an instrument opened without a venue gets the only one of its symbol", async () => {
  let adopted = 0;
  const { instrument } = await opened("", () => { adopted += 1; });
  assert.deepEqual([instrument.venue, instrument.facts, adopted], ["X", FACTS, 1]);
  instruments = [FACTS, { ...FACTS, venue: "Y" }];
  const { instrument: other } = await opened("");
  assert.deepEqual([other.venue, other.facts], ["", undefined]);
});

test("instruments are mixed once they have two venues, until they are forgotten", () => {
  const quotes = new Quotes();
  quotes.name(["A", "B"], ["X", "X"]);
  assert.equal(quotes.areMixed, false);
  quotes.name(["A"], ["Y"]);
  assert.equal(quotes.areMixed, true);
  quotes.forget();
  assert.equal(quotes.areMixed, false);
});

test("a watch list that cannot be stored works until the page is closed", () => {
  const list = new WatchList();
  list.toggle("A");
  assert.equal(list.has("A"), true);
});

test("a feed's state has the text and the colour of its worst finding", () => {
  const of = "feed 'f'";
  const findings = [{ of, stage: "joined late", severity: "info" }, { of, stage: "gap", severity: "error" }, { of, stage: "no datagrams", severity: "warning" }];
  assert.deepEqual(feedState({ findings }, { name: "f", packets: 5, quotes: 1 }), { state: "error", text: "gap" });
  assert.deepEqual(feedState({ findings: [findings[0], findings[2]] }, { name: "f", packets: 0, quotes: 0 }), { state: "info", text: "joined late" });
});
