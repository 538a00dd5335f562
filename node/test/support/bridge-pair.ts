// Two message systems joined by a bridge, the far one in a worker, and a model of each: calls in both directions, aborts and time
// limits at each stage, errors, long bodies, the end of the worker.
import assert from "node:assert/strict";
import { type BridgePort, MessageSystem, WorkerBridge } from "millpond";
import { arranged } from "./arranged.js";
import { CALLS, type Config, type Item, Model, type Outcome, Party, type Policy } from "./bus-model.js";
import type { Random } from "./random.js";
import { BRIDGED, type Command, type OpenCommand, type PartySpec, type Report, ScriptedSide } from "./scripted-side.js";

const POLICIES: readonly Policy[] = ["reject", "drop-oldest", "drop-newest", "coalesce", "wait"];
const MAX_GATES = 8;
const COUNTS = ["sent", "handled", "failed", "refused", "dropped", "aborted", "expired", "retried"] as const;
/** Large enough for the calls and the report of a turn: this thread, which empties the ring, sleeps meanwhile. */
const RING_BYTES = 2 ** 17;
/** Length of a body that does not fit in a frame of the ring. */
const LONG = "x".repeat(RING_BYTES / 2);

/** The worker's data for its end of a pair. */
export interface FarEnd {
  readonly port: BridgePort;
  readonly parties: readonly PartySpec[];
  readonly asyncContext: boolean;
}

/** Commands for the far side in one turn of the worker. turns: number of far sides with a turn. */
export interface FarTurn {
  readonly commands: readonly Command[];
  readonly turns: number;
}

/** Runs everything that is due. */
export async function rest(): Promise<void> {
  for (let left = 3; left > 0; left--) await new Promise((resolve) => setImmediate(resolve));
}

/** One system and its model. */
class Side {
  readonly model = new Model();
  parties: Party[] = [];
  /** Calls of the other side, by their operation on this side. */
  readonly calls = new Map<number, Item>();
  /** True if the side makes no new calls. */
  closing = false;
  expected: [number, unknown][] = [];
  constructor(readonly name: "near" | "far") {}

  get other(): "near" | "far" {
    return this.name === "near" ? "far" : "near";
  }
}

export class BridgePair {
  /** Whether the near side has changed since the last comparison. */
  moved = true;
  readonly far: FarEnd;
  readonly bridge: WorkerBridge<Record<string, never>>;
  readonly #near = new Side("near");
  readonly #far = new Side("far");
  readonly #system: MessageSystem;
  readonly #scripted: ScriptedSide;
  /** Commands for the far side's next turn. */
  #commands: Command[] = [];
  /** The model's operations for those commands. */
  #then: (() => void) | undefined;
  #ops = 0;
  #parties = 0;
  #calls = CALLS;
  #signals = 0;
  #aborted = new Set<number>();

  constructor(
    private readonly random: Random,
    readonly asyncContext: boolean,
  ) {
    this.#system = new MessageSystem({ ...ScriptedSide.reporting(() => this.#scripted), asyncContext });
    this.#scripted = new ScriptedSide(this.#system);
    this.bridge = new WorkerBridge(this.#system, undefined, { ringBytes: RING_BYTES }) as never;
    this.far = { port: this.bridge.port, parties: this.#draw(this.#far), asyncContext };
    for (const spec of this.#draw(this.#near)) if (spec.config.remote !== true) this.#scripted.register(spec);
    this.bridge.forward("far/*" as never);
    this.bridge.forward("control/*" as never);
  }

  /** Draws the handlers and observers of one side; the last handler is on the other side. */
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

  /** A send or an abort, on either side. */
  operate(): void {
    this.moved = true;
    if (this.random(9) < 7) this.#send(this.random(3) > 0 ? this.#near : this.#far);
    else this.#abort(this.random(2) === 0 ? this.#near : this.#far);
  }

  /** Called before the clock advances. Only the test's thread has a clock that the test sets. */
  advance(ms: number): void {
    this.moved = true;
    this.#near.model.advance(ms);
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

  /** Runs here at once, in the worker in its next turn. */
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

  /** Delivers the frames of one side to the other: aborts first, without the calls that they abort. */
  #deliver(from: Side, to: Side): void {
    const frames = from.model.frames.splice(0);
    const givenUp = new Set(frames.flatMap(({ kind, item }) => (kind === "abort" ? [item] : [])));
    for (const item of from.model.alone ? [] : givenUp) {
      for (const [op, call] of to.calls) if (call === item) to.model.abort(op);
    }
    for (const { kind, item } of frames) {
      if (kind === "abort") continue;
      if (from.model.alone || (from.closing && !item.serving)) {
        from.model.finish(item, { error: "RemoteError" });
        continue;
      }
      if (givenUp.has(item)) continue;
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

  /** Delivers replies, except to senders that have given up. */
  #reply(from: Side, to: Side): void {
    for (const [op, item] of from.calls) {
      const outcome = from.model.outcomes.get(op);
      if (outcome === undefined) continue;
      from.model.outcomes.delete(op);
      from.calls.delete(op);
      if (item.state !== "done") to.model.replied.set(item, "ok" in outcome ? outcome : { error: "RemoteError" });
    }
  }

  /** Called when the near system has run everything that was due. */
  settle(): void {
    this.#near.model.turn();
  }

  /** Opens a random gate on each side, possibly none. True if one was opened. */
  open(): boolean {
    let opened = false;
    for (const side of [this.#near, this.#far]) {
      const gated = side.parties.flatMap((party) => party.gates);
      if (gated.length === 0 || (gated.length <= MAX_GATES && this.random(2) === 0)) continue;
      this.#open(side, gated[this.random(gated.length)]!);
      opened = true;
    }
    return opened;
  }

  #open(side: Side, item: Item): void {
    const { random } = this;
    const { gates, number } = item.to;
    const same = gates.filter(
      ({ body, path, meta }) => body.id === item.body.id && path === item.path && meta === item.meta,
    );
    const nth = same.indexOf(item);
    gates.splice(gates.indexOf(item), 1);
    const action = (["ok", "throw", "forward"] as const)[random(3)]!;
    const { path, meta } = item;
    const { id } = item.body;
    const command: OpenCommand = { kind: "open", party: number, id, path, meta, nth, action, to: this.#path() };
    const model = (): void => {
      if (action === "forward") side.model.log.push(`forwarded ${id} ${String(side.model.forward(item, command.to))}`);
      side.model.finish(item, action === "throw" ? { error: "Scripted" } : { ok: `r${id}` });
      side.model.turn();
    };
    if (side.name === "near") {
      this.moved = true;
      this.#scripted.act(command);
      model();
    } else {
      this.#commands.push(command);
      this.#then = model;
    }
  }

  /** Whether frames or commands are pending. */
  get waits(): boolean {
    const { frames } = this.#near.model;
    return this.#commands.length + frames.length + this.#far.model.frames.length > 0 || this.#replied;
  }

  /** Whether replies for the worker are pending. */
  get #replied(): boolean {
    for (const op of this.#near.calls.keys()) if (this.#near.model.outcomes.has(op)) return true;
    return false;
  }

  get idle(): boolean {
    return this.#near.model.idle && this.#far.model.idle;
  }

  /** The far side's turn: pending frames arrive, and it runs its commands. */
  begin(turns: number): Promise<Report> {
    this.#reply(this.#near, this.#far);
    this.#deliver(this.#near, this.#far);
    const commands = this.#commands.splice(0);
    for (const command of commands) this.#expect(this.#far, command);
    this.#far.model.finishReplied();
    this.#far.model.turn();
    this.#then?.();
    this.#then = undefined;
    return this.#system.send("control/turn", { commands, turns } as never) as Promise<Report>;
  }

  /** Called when the frames of the far side have arrived. */
  end(seen: Report): void {
    this.#reply(this.#far, this.#near);
    this.#deliver(this.#far, this.#near);
    this.#near.model.finishReplied();
    this.#near.model.turn();
    // The turn's message is in use while the far side reports.
    this.#compare(this.#far, { ...seen, inUse: seen.inUse - 1 });
    this.compareNear();
  }

  compareNear(): void {
    this.moved = false;
    this.#compare(this.#near, this.#scripted.report());
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
    for (const { config, number, counts } of side.parties) {
      if (config.remote === true) continue;
      const found = seen.counts[`p${number}`];
      if (COUNTS.some((name) => found?.[name] !== counts[name])) assert.deepEqual(found, counts);
    }
  }

  /** Tells the worker to exit. */
  exit(): Promise<unknown> {
    return this.#system.send("control/exit") as Promise<unknown>;
  }

  /** Closes the bridge from this side: later calls fail. From now on all gates of both sides are opened. */
  close(): Promise<boolean> {
    this.#near.closing = true;
    const closed = this.bridge.close(Infinity);
    for (let left = 8; left > 0; left--) this.#send(this.#near);
    return closed;
  }

  /** Called before a turn of the far side without commands. */
  beforeDraining(): void {
    this.#reply(this.#near, this.#far);
    this.#deliver(this.#near, this.#far);
    const { model, parties } = this.#far;
    model.finishReplied();
    model.turn();
    for (const item of parties.flatMap(({ gates }) => gates.splice(0))) model.finish(item, { ok: `r${item.body.id}` });
    model.turn();
  }

  /** Called after such a turn. */
  afterDraining(): void {
    this.#reply(this.#far, this.#near);
    this.#deliver(this.#far, this.#near);
    const { model, parties } = this.#near;
    model.finishReplied();
    model.turn();
    this.compareNear();
    for (const item of parties.flatMap(({ gates }) => gates.splice(0))) model.finish(item, { ok: `r${item.body.id}` });
    this.#scripted.openAll();
  }

  /** Whether every call has its reply in the model. */
  get drained(): boolean {
    return this.#near.model.frames.length + this.#far.model.frames.length + this.#far.calls.size === 0;
  }

  /** Called when the bridge has ended: pending and later calls fail. */
  async ended(): Promise<void> {
    const { model } = this.#near;
    model.alone = true;
    for (const item of this.#far.calls.values()) {
      if (item.state !== "done") model.finish(item, { error: "RemoteError" });
    }
    // Calls of the worker no longer have a sender.
    for (const op of this.#near.calls.keys()) model.abort(op);
    for (let left = 8; left > 0; left--) this.#send(this.#near);
    await rest();
    this.#deliver(this.#near, this.#far);
    model.turn();
    for (const op of this.#near.calls.keys()) model.outcomes.delete(op);
    this.compareNear();
  }
}
