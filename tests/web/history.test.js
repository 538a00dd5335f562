// The window of samples, without a page.
import assert from "node:assert/strict";
import { test } from "node:test";

import { History, linesOf } from "../../web/history.js";

const S = 1e9;
const START = 1_700_000_000 * S;
const answer = (from, values, { step = 1, name = "a", series = "packets_per_second" } = {}) => ({
  from: START + from * S, step, samples: values.length, sources: [{ kind: "feed", name, of: null, series: { [series]: values } }],
});
const values = (history) => linesOf(history, [["feed", "", (series, i) => series.packets_per_second?.[i] ?? null]]).map((line) => line.values);

test("a later response continues the window and replaces its last sample", () => {
  const history = new History();
  history.apply(answer(0, [1, 2, 3]), 0);
  assert.equal(history.last, START + 2 * S);
  history.apply(answer(2, [4, 5]), 0);
  assert.deepEqual(values(history), [[1, 2, 4, 5]]);
  assert.deepEqual(history.times, [0, 1, 2, 3].map((i) => START / 1e6 + i * 1_000));
});

test("time without samples is a hole, and old samples leave the window", () => {
  const history = new History();
  history.apply(answer(0, [1, null, 3]), 0);
  history.apply(answer(5, [6]), START + 2 * S);
  assert.deepEqual(values(history), [[3, null, null, 6]]);
  assert.equal(history.times[0], (START + 2 * S) / 1e6);
});

test("a source that comes later or has gone has holes", () => {
  const history = new History();
  history.apply(answer(0, [1, 2]), 0);
  history.apply(answer(2, [7], { name: "b" }), 0);
  assert.deepEqual(values(history), [[1, 2, null], [null, null, 7]]);
});

test("another step, an earlier start or a later time makes a new window", () => {
  for (const next of [answer(0, [9], { step: 60 }), answer(-5, [9]), answer(10_000, [9])]) {
    const history = new History();
    history.apply(answer(0, [1, 2]), 0);
    history.apply(next, 0);
    assert.deepEqual(values(history), [[9]]);
  }
});

test("a line is named after its source", () => {
  const history = new History();
  const series = { lag_ns: [5] };
  history.apply({ from: START, step: 1, samples: 1, sources: [{ kind: "line", name: "b", of: "f", series }, { kind: "sink", name: "s", of: null, series }] }, 0);
  const of = (kind, label) => linesOf(history, [[kind, label, () => 1]]).map(({ name }) => name);
  assert.deepEqual([of("line", ""), of("sink", " missed"), of("feed", "")], [["f line b"], ["s missed"], []]);
});
