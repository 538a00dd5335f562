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
const { stateOf } = await import("../../web/instrument-panel.js");

const FACTS = { symbol: "A", venue: "X", channel: 1, depth: 10, trades: null };
const settle = () => new Promise((done) => { setImmediate(done); });

/** Opens the instrument A of venue X; returns it with its socket. */
async function opened(venue = "X", adopted = () => {}) {
  const instrument = new Instrument(() => {}, adopted);
  instrument.open(venue, "A");
  await settle();
  instrument.tend();
  const socket = sockets.at(-1);
  socket.accept();
  await settle();
  return { instrument, socket };
}

const status = (state, more = {}) => ({ type: "status", symbol: "A", channel: 1, state, ...more });
const quote = (halted) => ({ type: "quote", symbol: "A", timestamp: 5, incomplete: false, bid: { price: null }, ask: { price: null }, ...(halted ? { halted } : {}) });
const trade = (price, id) => ({ type: "trade", symbol: "A", timestamp: 5, price, shares: 100, trade_id: id });

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
  const shown = () => stateOf(instrument.status, instrument.halted);
  socket.say(status("trading"), quote(false));
  assert.deepEqual(shown(), ["trading", ""]);
  socket.say(quote(true));
  assert.deepEqual(shown(), ["halted", "error"]);
  socket.say(status("paused", { reason: "M" }));
  assert.deepEqual(shown(), ["paused (M)", "error"]);
  socket.say({ type: "missed", count: 3 });
  assert.deepEqual(shown(), ["halted", "error"]);
  socket.say(quote(false));
  assert.deepEqual(shown(), ["–", ""]);
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
      socket.say({ type: "echo", echo: socket.sent.findLast(({ echo }) => echo !== undefined).echo });
      await settle();
    }
    assert.deepEqual([instrument.current, instrument.factsCurrent], [true, false]);
  } finally {
    globalThis.fetch = fetch;
  }
  mock.timers.tick(1_000);
  socket.say({ type: "echo", echo: socket.sent.findLast(({ echo }) => echo !== undefined).echo });
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
      instrument.tend();
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
  instrument.tend();
  assert.equal(sockets.length, before + 1);
  sockets.at(-1).accept();
  sockets.at(-1).say({ type: "echo", echo: 0 });
  sockets.at(-1).end();
  assert.equal(tries(), 250);
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
