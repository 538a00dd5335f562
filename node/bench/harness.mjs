// The rules of bench/harness in JavaScript: interleaved rounds, medians with 95 % intervals, ratios within a round,
// checked answers, and no figure if an answer is wrong. Results have the same JSON format.
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { cpus, loadavg, release } from "node:os";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
export const quick = process.argv.includes("--quick");
export const nodeMajor = Number(process.versions.node.split(".")[0]);
const PROBABILITIES = [0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 0.9999, 1];

/** --cpu-time: measures the process's processor time, for busy machines. */
const cpuTime = process.argv.includes("--cpu-time");

export function nowNanos() {
  if (!cpuTime) return Number(process.hrtime.bigint());
  const { user, system } = process.cpuUsage();
  return (user + system) * 1_000;
}

/** Nanoseconds per operation. `batch` does `perBatch` operations and is called until `count` are done. */
export function timeBatches(batch, perBatch, count) {
  const rounds = Math.ceil((quick ? count / 10 : count) / perBatch);
  const start = nowNanos();
  for (let round = 0; round < rounds; round++) batch();
  return { value: (nowNanos() - start) / (rounds * perBatch), operations: rounds * perBatch };
}

export function estimate(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const n = sorted.length;
  if (n < 6) return null;
  const tail = (k) => {
    let term = 0.5 ** n;
    let sum = term;
    for (let i = 1; i <= k; i++) {
      term *= (n - i + 1) / i;
      sum += term;
    }
    return sum;
  };
  let k = 1;
  while (k < (n + 1) / 2 && 2 * tail(k) <= 0.05) k++;
  const median = n % 2 === 1 ? sorted[n >> 1] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
  return { median, low: sorted[k - 1], high: sorted[n - k], count: n };
}

function quantile(sorted, p) {
  return sorted[Math.min(sorted.length, Math.max(1, Math.ceil(p * sorted.length))) - 1];
}

function judge(found, { atMost, atLeast }) {
  if (found === null) return "not resolved on this machine";
  const [better, worse] =
    atMost !== undefined ? [found.high <= atMost, found.low > atMost] : [found.low >= atLeast, found.high < atLeast];
  return better ? "met" : worse ? "missed" : "not resolved on this machine";
}

/**
 * question: { name, question, unit, measured, notMeasured, runs, warmups, ratioTo, expected, goals: [{ contender, to, of, atMost | atLeast }] }
 * contender: { name, run(): { value, answer, latencies? } }, run may be async. A goal's `of` is value or a latency's name.
 */
export async function compare(question, contenders) {
  const { name, unit, runs = quick ? 6 : 11, warmups = 2, goals = [] } = question;
  const ratioTo = question.ratioTo ?? contenders[0].name;
  const samples = new Map(contenders.map(({ name }) => [name, []]));
  const latencies = new Map(contenders.map(({ name }) => [name, []]));
  let seed = 12_345;
  for (let round = -warmups; round < runs; round++) {
    const order = contenders
      .map((contender) => {
        seed = (Math.imul(seed, 1_103_515_245) + 12_345) & 0x7fffffff;
        return { contender, key: seed };
      })
      .sort((a, b) => a.key - b.key);
    for (const { contender } of order) {
      const finding = await contender.run();
      if (finding.answer !== finding.expected || !(finding.value > 0)) {
        throw new Error(`refused: ${contender.name} answered ${finding.answer} instead of ${finding.expected}`);
      }
      if (round < 0) continue;
      samples.get(contender.name).push(finding);
      if (finding.latencies !== undefined) latencies.get(contender.name).push(...finding.latencies);
    }
  }
  const figure = (finding, of = "value") => {
    if (of === "value") return finding.value;
    finding.sorted ??= [...finding.latencies].sort((a, b) => a - b);
    const { sorted } = finding;
    return of === "mean"
      ? sorted.reduce((a, b) => a + b, 0) / sorted.length
      : quantile(sorted, { p50: 0.5, p99: 0.99, p999: 0.999, p9999: 0.9999, max: 1 }[of]);
  };
  const ratioOf = (one, other, of) =>
    estimate(samples.get(one).map((finding, round) => figure(finding, of) / figure(samples.get(other)[round], of)));
  const outcomes = contenders.map(({ name }) => {
    const values = samples.get(name).map((finding) => finding.value);
    const sorted = latencies.get(name).sort((a, b) => a - b);
    const latency =
      sorted.length === 0
        ? undefined
        : {
            mean: sorted.reduce((a, b) => a + b, 0) / sorted.length,
            p50: quantile(sorted, 0.5),
            p95: quantile(sorted, 0.95),
            p99: quantile(sorted, 0.99),
            p999: quantile(sorted, 0.999),
            p9999: quantile(sorted, 0.9999),
            max: sorted[sorted.length - 1],
            count: sorted.length,
          };
    return {
      name,
      value: estimate(values),
      min: Math.min(...values),
      max: Math.max(...values),
      ratio: ratioOf(name, ratioTo),
      discarded: 0,
      samples: values,
      ...(latency === undefined ? {} : { latency, quantiles: PROBABILITIES.map((p) => quantile(sorted, p)) }),
      ...samples.get(name).at(-1).notes,
    };
  });
  const judged = goals.map((goal) => {
    const found =
      goal.to === undefined
        ? estimate(samples.get(goal.contender).map((finding) => figure(finding, goal.of)))
        : ratioOf(goal.contender, goal.to, goal.of);
    const sign = goal.atMost !== undefined ? "<=" : ">=";
    const text = `${goal.of === undefined ? "" : `${goal.of} of `}${goal.contender} ${sign} ${goal.atMost ?? goal.atLeast} ${goal.to === undefined ? unit : `x ${goal.to}`}`;
    return { text, found, verdict: judge(found, goal) };
  });
  const machine = {
    cpu: machineName("--processor"),
    cores: String(cpus().length),
    kernel: release(),
    compiler: `Node ${process.version}, V8 ${process.versions.v8}`,
    flags: process.execArgv.join(" "),
    commit: git("rev-parse", "--short", "HEAD"),
    date: new Date().toISOString(),
    command: `node ${[...process.execArgv, `bench/${basename(process.argv[1])}`, ...process.argv.slice(2)].join(" ")}`,
    load: loadavg()
      .map((load) => load.toFixed(2))
      .join(" "),
  };
  const result = {
    name: `node${nodeMajor}-${name}`,
    question: question.question,
    unit,
    measured: question.measured ?? "",
    not_measured: question.notMeasured ?? "",
    machine,
    rounds: runs,
    quick,
    ratio_to: ratioTo,
    probabilities: PROBABILITIES,
    contenders: outcomes,
    goals: judged,
  };
  print(result);
  if (process.argv.includes("--results")) {
    const folder = join(root, "../build/node/results");
    const file = join(folder, `${result.name}.json`);
    mkdirSync(folder, { recursive: true });
    writeFileSync(file, JSON.stringify(result));
    execFileSync("python3", [join(root, "../bench/stored.py"), resultsMachine(), file], { stdio: "inherit" });
  }
  return result;
}

/** The name of this machine in the results: `--machine NAME`, or the one of bench/machine_name. */
function resultsMachine() {
  const given = process.argv.indexOf("--machine");
  return given >= 0 ? process.argv[given + 1] : machineName();
}

/** The output of bench/machine_name: the name of this machine, or with --processor its processor. */
function machineName(...options) {
  return execFileSync(join(root, "../bench/machine_name"), options, { encoding: "utf8" }).trim();
}

function git(...args) {
  try {
    return execFileSync("git", args, { cwd: root, encoding: "utf8" }).trim();
  } catch {
    return JSON.parse(readFileSync(join(root, "package.json"), "utf8")).version;
  }
}

const show = (found) =>
  found === null ? "-" : `${found.median.toPrecision(3)} [${found.low.toPrecision(3)}..${found.high.toPrecision(3)}]`;

function print(result) {
  console.log(
    `\n${result.question}\n  ${result.machine.compiler} | ${result.machine.cpu} | load ${result.machine.load} | ${result.rounds} rounds`,
  );
  for (const { name, value, ratio, latency, text } of result.contenders) {
    const tail =
      latency === undefined
        ? ""
        : ` | p50 ${latency.p50.toPrecision(3)} p99 ${latency.p99.toPrecision(3)} p99.9 ${latency.p999.toPrecision(3)} p99.99 ${latency.p9999.toPrecision(3)} max ${latency.max.toPrecision(3)}`;
    console.log(
      `  ${name.padEnd(34)} ${show(value).padStart(24)} ${result.unit} | x ${show(ratio)}${tail}${text === undefined ? "" : ` | ${text}`}`,
    );
  }
  for (const { text, found, verdict } of result.goals) console.log(`  goal ${text}: ${show(found)}, ${verdict}`);
}
