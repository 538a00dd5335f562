// Does the same random operations with two message systems, one in a worker, and with two models, and compares what is seen on
// both sides of the bridge: calls both ways, aborts and time limits at each stage, errors, long bodies, the worker's exit.
import assert from "node:assert/strict";
import { Worker } from "node:worker_threads";
import { MessageSystem, WorkerBridge } from "millpond";
import { arranged } from "./arranged.js";
import { type Config, type Item, Model, type Outcome, Party, type Policy } from "./bus-model.js";
import type { Random } from "./random.js";
import { BRIDGED, type Command, type OpenCommand, type PartySpec, type Report, ScriptedSide } from "./scripted-side.js";
import { VirtualClock } from "./virtual-clock.js";

const POLICIES: readonly Policy[] = ["reject", "drop-oldest", "drop-newest", "coalesce", "wait"];
/** Numbers of calls that come over the bridge. */
const CALLS = 1_000_000_000;
const MOST_GATES = 8;
/** Longer than a frame of the ring. */
const LONG = "x".repeat(40_000);
/** Pulses of a worker that runs and does not answer: on a busy machine a second of its time may take minutes. */
const PATIENCE = 30;
/** Longest without a pulse: the worker never began, or hangs. */
const PULSE_MS = 600_000;

/** One system and its model. */
class Side {
  readonly model = new Model();
  parties: Party[] = [];
  /** Calls of the other side, by their operation here. */
  readonly calls = new Map<number, Item>();
  expected: [number, unknown][] = [];
  constructor(readonly name: "near" | "far") {}

  get other(): "near" | "far" {
    return this.name === "near" ? "far" : "near";
  }
}

export class BridgeDriver {
  readonly #clock = new VirtualClock();
  readonly #near = new Side("near");
  readonly #far = new Side("far");
  readonly #lock = new Int32Array(new SharedArrayBuffer(8));
  readonly #system: MessageSystem;
  readonly #scripted: ScriptedSide;
  readonly #bridge: WorkerBridge<Record<string, never>>;
  readonly #worker: Worker;
  /** For the worker's next turn. */
  #commands: Command[] = [];
  #ops = 0;
  #parties = 0;
  #calls = CALLS;
  #signals = 0;
  #aborted = new Set<number>();

  constructor(private readonly random: Random) {
    this.#system = new MessageSystem(ScriptedSide.reporting(() => this.#scripted));
    this.#scripted = new ScriptedSide(this.#system);
    this.#bridge = new WorkerBridge(this.#system) as never;
    const far = this.#draw(this.#far);
    for (const spec of this.#draw(this.#near)) if (spec.config.remote !== true) this.#scripted.register(spec);
    this.#bridge.forward("far/*" as never);
    this.#bridge.forward("control/*" as never);
    const { port, transferList } = this.#bridge;
    this.#worker = new Worker(new URL("../workers/scripted-end.js", import.meta.url), {
      workerData: { port, lock: this.#lock, parties: far },
      transferList,
    });
  }

  /** Handlers and observers of one side; the last one lives on the other. */
  #draw({ name, other, parties, model }: Side): PartySpec[] {
    const { random } = this;
    const specs: PartySpec[] = [];
    const enter = (template: string, observer: boolean, config: Config, number = ++this.#parties): void => {
      specs.push({ number, template, observer, config });
      parties.push(new Party(template, observer, config, number));
    };
    for (const end of ["a", "b", "{k}", "{x}/{y}", "*"]) {
      if (random(4) === 0) continue;
      enter(`${name}/${end}`, false, this.#config(false));
    }
    for (const template of [`${name}/{seen}`, `${name}/*`, `${other}/{k}`]) {
      if (random(2) === 0) enter(template, true, this.#config(true));
    }
    const remote = { queue: undefined, retries: 0, delayMs: 0, gated: false, once: false, remote: true };
    enter(`${other}/*`, false, remote, BRIDGED);
    model.parties = parties;
    return specs;
  }

  #config(observer: boolean): Config {
    const { random } = this;
    const overflow = observer ? POLICIES[1 + random(3)]! : POLICIES[random(POLICIES.length)]!;
    return {
      queue:
        observer || random(2) === 0 ? { capacity: 1 + random(4), concurrency: 1 + random(2), overflow } : undefined,
      retries: observer ? 0 : random(3),
      delayMs: 0,
      gated: random(3) === 0,
      once: false,
    };
  }

  async run(count: number): Promise<void> {
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    this.#clock.install();
    try {
      for (let n = 0; n < count; n++) {
        this.#operate();
        if (this.random(6) === 0) await this.#turn();
      }
      await this.#turn();
      if (this.random(3) > 0) await this.#drain();
      await this.#end();
    } finally {
      this.#clock.remove();
      Error.stackTraceLimit = stackTraceLimit;
      await this.#worker.terminate();
    }
  }

  #operate(): void {
    const draw = this.random(100);
    if (draw < 70) this.#send(this.random(3) > 0 ? this.#near : this.#far);
    else if (draw < 90) this.#abort(this.random(2) === 0 ? this.#near : this.#far);
    else {
      const ms = 4 * this.random(6);
      this.#near.model.advance(ms);
      this.#clock.advance(ms);
    }
  }

  #path(): string {
    const { random } = this;
    return `${["near", "far"][random(2)]!}/${["a", "b", "c", "d/e", "f/g/h"][random(5)]!}`;
  }

  #send(side: Side): void {
    const { random } = this;
    const op = ++this.#ops;
    const scripts = ["ok", "ok", "throw", "throw-once", "forward"] as const;
    const body = {
      id: op,
      key: "abc"[random(3)]!,
      script: scripts[random(scripts.length)]!,
      to: this.#path(),
      ...(random(50) === 0 ? { pad: LONG } : {}),
    };
    const mode = (["send", "send", "emit", "request"] as const)[random(4)]!;
    const signal = random(3) > 0 ? undefined : this.#signalOf(side);
    // Only the test's own thread has a clock that the test sets.
    const timeoutMs = side.name === "far" || random(3) > 0 ? undefined : 4 * random(8) + 1;
    this.#act(side, { kind: "send", op, mode, path: this.#path(), body, lane: random(4), signal, timeoutMs });
  }

  /** Even numbers are signals of the near side. */
  #signalOf({ name }: Side): number {
    const number = this.random(2) === 0 || this.#signals === 0 ? this.#signals++ : this.random(this.#signals);
    return 2 * number + (name === "near" ? 0 : 1);
  }

  #abort(side: Side): void {
    if (this.#signals === 0) return;
    const signal = 2 * this.random(this.#signals) + (side.name === "near" ? 0 : 1);
    if (this.#aborted.has(signal)) return;
    this.#act(side, { kind: "abort", signal });
  }

  /** Here at once; in the worker in its next turn. */
  #act(side: Side, command: Command): void {
    if (side.name === "far") this.#commands.push(command);
    else {
      this.#expect(side, command);
      this.#scripted.act(command);
    }
  }

  #expect({ model, expected }: Side, command: Command): void {
    if (command.kind === "abort") {
      this.#aborted.add(command.signal);
      model.abort(command.signal);
    } else if (command.kind === "send") {
      const { op, path, body, mode, lane, signal, timeoutMs } = command;
      const aborted = signal !== undefined && this.#aborted.has(signal);
      expected.push([op, model.send(path, body, { op, mode, lane, signal, aborted, timeoutMs })]);
    }
  }

  /** What one side has put into the bridge arrives at the other. */
  #deliver(from: Side, to: Side): void {
    for (const { kind, item } of from.model.frames.splice(0)) {
      if (from.model.alone) {
        if (kind === "call") from.model.finish(item, { error: "RemoteError" });
        continue;
      }
      if (kind === "abort") {
        for (const [op, call] of to.calls) if (call === item) to.model.abort(op);
        continue;
      }
      const op = ++this.#calls;
      to.calls.set(op, item);
      const { path, body, meta } = item;
      const how = { op, mode: "send", lane: 2, signal: op, aborted: false, timeoutMs: undefined, meta } as const;
      const given = to.model.send(path, body, how);
      if (given !== "promise") {
        to.model.outcomes.set(op, String(given).startsWith("throws") ? { error: "" } : { ok: given });
      }
    }
  }

  /** Replies arrive; one that comes after its sender has given up is not looked at. */
  #reply(from: Side, to: Side): void {
    for (const [op, item] of from.calls) {
      const outcome = from.model.outcomes.get(op);
      if (outcome === undefined) continue;
      from.model.outcomes.delete(op);
      from.calls.delete(op);
      if (item.state !== "done") to.model.replied.set(item, "ok" in outcome ? outcome : { error: "RemoteError" });
    }
  }

  async #rest(): Promise<void> {
    for (let left = 3; left > 0; left--) await new Promise((resolve) => setImmediate(resolve));
  }

  /** Both sides, one after the other, until nothing goes on. */
  async #turn(): Promise<void> {
    await this.#rest();
    this.#near.model.turn();
    await this.#exchange();
    for (const side of [this.#near, this.#far]) {
      const gated = side.parties.flatMap((party) => party.gates);
      if (gated.length > 0 && (gated.length > MOST_GATES || this.random(2) === 0)) {
        await this.#open(side, gated[this.random(gated.length)]!);
      }
    }
  }

  async #open(side: Side, item: Item): Promise<void> {
    const { random } = this;
    const { gates, number } = item.to;
    const same = gates.filter(
      ({ body, path, meta }) => body.id === item.body.id && path === item.path && meta === item.meta,
    );
    const nth = same.indexOf(item);
    gates.splice(gates.indexOf(item), 1);
    const action = (["ok", "throw", "forward"] as const)[random(3)]!;
    const { path, meta } = item;
    const command: OpenCommand = {
      kind: "open",
      party: number,
      id: item.body.id,
      path,
      meta,
      nth,
      action,
      to: this.#path(),
    };
    const model = (): void => {
      if (action === "forward") {
        side.model.log.push(`forwarded ${item.body.id} ${String(side.model.forward(item, command.to))}`);
      }
      side.model.finish(item, action === "throw" ? { error: "Scripted" } : { ok: `r${item.body.id}` });
      side.model.turn();
    };
    if (side.name === "near") {
      this.#scripted.act(command);
      model();
      await this.#rest();
      await this.#exchange();
    } else {
      this.#commands.push(command);
      await this.#exchange(model);
    }
  }

  async #exchange(then?: () => void): Promise<void> {
    let first = true;
    do {
      this.#reply(this.#near, this.#far);
      this.#deliver(this.#near, this.#far);
      const commands = this.#commands.splice(0);
      for (const command of commands) this.#expect(this.#far, command);
      if (first) then?.();
      this.#far.model.takeReplies();
      this.#far.model.turn();
      const reply = this.#system.send("control/turn", commands as never) as Promise<Report>;
      this.#letWorkerRun();
      const seen = await reply;
      await this.#rest();
      this.#reply(this.#far, this.#near);
      this.#deliver(this.#far, this.#near);
      this.#near.model.takeReplies();
      this.#near.model.turn();
      first = false;
      // The worker's message of this turn is in use while it reports.
      this.#compare(this.#far, { ...seen, inUse: seen.inUse - 1 });
      this.#compare(this.#near, this.#scripted.report());
    } while (this.#near.model.frames.length + this.#far.model.frames.length > 0 || this.#replied);
  }

  /** Replies are in the bridge that the worker has not seen. */
  get #replied(): boolean {
    return [...this.#near.calls.keys()].some((op) => this.#near.model.outcomes.has(op));
  }

  #letWorkerRun(): void {
    Atomics.store(this.#lock, 1, 0);
    Atomics.store(this.#lock, 0, 1);
    Atomics.notify(this.#lock, 0);
    for (let pulses = 0, last = Date.now(); Atomics.wait(this.#lock, 0, 1, 1_000) === "timed-out";) {
      const seen = Atomics.exchange(this.#lock, 1, 0);
      if (seen > 0) last = Date.now();
      pulses += seen;
      assert.ok(pulses < PATIENCE && Date.now() - last < PULSE_MS, "the worker sleeps");
    }
  }

  #compare(side: Side, seen: Report): void {
    const { model, name } = side;
    if (seen.log.join("\n") !== model.log.join("\n")) assert.deepEqual(arranged(seen.log), arranged(model.log), name);
    model.log = [];
    assert.deepEqual(seen.given, side.expected, `what calls gave on the ${name} side`);
    side.expected.length = 0;
    for (const [op, outcome] of seen.settled) {
      assert.deepEqual(outcome, model.outcomes.get(op), `the outcome of operation ${op} on the ${name} side`);
      model.outcomes.delete(op);
    }
    const left: [number, Outcome][] = [...model.outcomes].filter(([op]) => op > 0 && op < CALLS);
    assert.deepEqual(left, [], `outcomes that were not seen on the ${name} side`);
    for (const op of model.outcomes.keys()) if (op < 0) model.outcomes.delete(op);
    assert.equal(seen.inUse, model.items.filter((item) => item.state !== "done").length, `in use on the ${name} side`);
    for (const party of side.parties) {
      if (party.config.remote !== true) assert.deepEqual(seen.counts[`p${party.number}`], party.counts);
    }
  }

  async #drain(): Promise<void> {
    for (let left = 10_000; !this.#near.model.idle || !this.#far.model.idle; left--) {
      assert.ok(left > 0, "it comes to no end");
      await this.#turn();
    }
  }

  /** The worker exits, or this side closes the bridge: what is on its way, and what comes later, fails. */
  async #end(): Promise<void> {
    const { model } = this.#near;
    if (this.random(2) === 0) await this.#bridge.close();
    else {
      const exits = this.#system.send("control/exit") as Promise<unknown>;
      this.#letWorkerRun();
      await assert.rejects(exits, { name: "RemoteError" });
    }
    model.alone = true;
    for (const item of this.#far.calls.values()) {
      if (item.state !== "done") model.finish(item, { error: "RemoteError" });
    }
    // Calls of the worker have no sender any more.
    for (const op of this.#near.calls.keys()) model.abort(op);
    for (let left = 8; left > 0; left--) this.#send(this.#near);
    await this.#rest();
    this.#deliver(this.#near, this.#far);
    model.turn();
    for (const op of this.#near.calls.keys()) model.outcomes.delete(op);
    this.#compare(this.#near, this.#scripted.report());
  }
}
