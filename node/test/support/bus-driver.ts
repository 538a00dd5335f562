// Applies the same random operations to a MessageSystem and to the model, and compares everything observable.
import assert from "node:assert/strict";
import {
  type Message,
  MessagePool,
  type MessageStream,
  MessageSystem,
  type MessageSystemOptions,
  type Place,
  type Priority,
} from "millpond";
import { arranged } from "./arranged.js";
import { type Body, type Config, Model, type Outcome, Party, type Policy, type Ticket } from "./bus-model.js";
import type { Random } from "./random.js";
import { nameOf } from "./scripted-side.js";
import { VirtualClock } from "./virtual-clock.js";

const TEMPLATES = [
  "s",
  "s/{x}",
  "s/{y}/*",
  "q",
  "q/{k}",
  "t/{region}/{tenant}",
  "t/{tenant}/*",
  "*",
  "{scheme}//{sym}",
  "b://{sym}",
];
const PATHS = ["s", "s/1", "s/1/2", "q", "q/a", "q/b", "t/eu/acme", "b://AAPL", "other"];
const PRIORITIES: readonly Priority[] = ["critical", "high", "medium", "low"];
const POLICIES: readonly Policy[] = ["reject", "drop-oldest", "drop-newest", "coalesce", "wait"];
const MAX_GATES = 12;

interface Gate {
  readonly message: Message;
  readonly open: (act: () => unknown) => void;
}

export class BusDriver {
  readonly clock = new VirtualClock();
  #system!: MessageSystem;
  #model!: Model;
  #log: string[] = [];
  #settled: [number, Outcome][] = [];
  #gates = new Map<Party, Gate[]>();
  #undo = new Map<Party, () => void>();
  #signals: AbortController[] = [];
  #messages = new Map<number, Message>();
  #places: { readonly ticket: Ticket; place: Place | undefined }[] = [];
  #ops = 0;
  #parties = 0;
  #closing: Promise<boolean> | undefined;
  #sinceClose = 0;
  #streams: { readonly party: Party; readonly stream: MessageStream }[] = [];
  readonly #strange = new MessagePool(4);

  constructor(
    private readonly random: Random,
    private readonly options: MessageSystemOptions,
  ) {
    this.#begin();
  }

  #begin(): void {
    this.#system = new MessageSystem({
      ...this.options,
      timeoutMs: Infinity,
      onError: (error, _path, receiver) => this.#log.push(`error ${receiver.slice(1)} ${nameOf(error)}`),
      onDeadLetter: ({ reason, body }) => this.#log.push(`letter ${reason} ${(body as Body).id}`),
    });
    this.#model = new Model(this.options.asyncContext === false);
    this.#model.now = this.clock.now;
    this.#gates = new Map();
    this.#undo = new Map();
    this.#signals = [];
    this.#messages = new Map();
    this.#places = [];
    this.#streams = [];
    this.#closing = undefined;
    this.#sinceClose = 0;
    for (let n = 0; n < 6; n++) this.#register();
  }

  /** Runs `count` operations, and then everything to its end. */
  async run(count: number): Promise<void> {
    const { stackTraceLimit } = Error;
    // Errors are frequent here, and capturing their stacks dominates the time.
    Error.stackTraceLimit = 0;
    this.clock.install();
    try {
      for (let n = 0; n < count; n++) {
        this.#operate();
        if (this.random(4) === 0) await this.#turn(n % 16 === 0);
      }
      await this.#drain();
    } finally {
      this.clock.remove();
      Error.stackTraceLimit = stackTraceLimit;
    }
  }

  #operate(): void {
    const { random } = this;
    const draw = random(100);
    if (this.#closing !== undefined && ++this.#sinceClose > 20) this.#sinceClose = -1;
    if (draw < 40) this.#send();
    else if (draw < 60) this.#settleOne();
    else if (draw < 65) this.#register();
    else if (draw < 67) this.#unregister();
    else if (draw < 72) this.#abort();
    else if (draw < 76) this.#advance();
    else if (draw === 76) this.#wait();
    else if (draw === 77) this.#watchAsStream();
    else if (draw === 78) this.#readStream();
    else if (draw < 84) this.#askForPlace();
    else if (draw < 89) this.#usePlace();
    else if (draw < 94) this.#sendHeld();
    else if (draw < 98) this.#releaseHeld();
    else if (draw === 98) this.#misuse();
    else if (random(20) === 0 && this.#closing === undefined) this.#close();
  }

  #body(): Body {
    const { random } = this;
    const scripts = ["ok", "ok", "ok", "throw", "throw-once", "forward"] as const;
    return {
      id: ++this.#ops,
      key: "abc"[random(3)]!,
      script: scripts[random(scripts.length)]!,
      to: PATHS[random(PATHS.length)]!,
    };
  }

  #signal(): number | undefined {
    const { random } = this;
    if (random(4) !== 0) return undefined;
    if (this.#signals.length < 4 || random(3) === 0) this.#signals.push(new AbortController());
    return random(2) === 0 ? this.#signals.length - 1 : random(this.#signals.length);
  }

  #watch(op: number, reply: unknown): void {
    (reply as Promise<unknown>).then(
      (ok) => this.#settled.push([op, { ok }]),
      (error) => this.#settled.push([op, { error: nameOf(error) }]),
    );
  }

  /** Makes the same call on both sides; their results must be equal. */
  #both(op: number, real: () => unknown, expected: unknown): void {
    let given: unknown;
    try {
      given = real();
    } catch (error) {
      given = `throws ${nameOf(error)}`;
    }
    if (given instanceof Promise) {
      this.#watch(op, given);
      given = "promise";
    }
    assert.equal(given, expected, `operation ${op}`);
  }

  #send(): void {
    const { random } = this;
    const mode = (["send", "send", "emit", "request"] as const)[random(4)]!;
    const path = PATHS[random(PATHS.length)]!;
    const body = this.#body();
    const op = body.id;
    const plain = random(3) === 0;
    const lane = plain ? 2 : random(4);
    const signal = plain ? undefined : this.#signal();
    const timeoutMs = plain || random(3) > 0 ? undefined : 4 * random(8) + 1;
    const aborted = signal !== undefined && this.#signals[signal]!.signal.aborted;
    const expected = this.#model.send(path, body, { op, mode, lane, signal, aborted, timeoutMs });
    const options = {
      priority: PRIORITIES[lane]!,
      ...(signal === undefined ? {} : { signal: this.#signals[signal]!.signal }),
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
    };
    const system = this.#system as unknown as Record<
      typeof mode,
      (path: string, body: unknown, options?: object) => unknown
    >;
    this.#both(op, () => (plain ? system[mode](path, body) : system[mode](path, body, options)), expected);
  }

  #register(): void {
    const { random } = this;
    if (this.#model.parties.filter((party) => !party.removed).length > 10) return;
    const template = TEMPLATES[random(TEMPLATES.length)]!;
    const observer = random(3) === 0;
    const there = this.#model.parties.some((party) => !party.observer && !party.removed && party.template === template);
    const overflow = observer ? POLICIES[1 + random(3)]! : POLICIES[random(POLICIES.length)]!;
    const queued = observer || random(2) === 0;
    const config: Config = {
      queue: queued ? { capacity: 1 + random(4), concurrency: 1 + random(2), overflow } : undefined,
      retries: observer ? 0 : [0, 0, 1, 3][random(4)]!,
      delayMs: random(2) === 0 ? 0 : 8,
      gated: random(3) === 0,
      once: random(8) === 0 && !observer,
    };
    const party = new Party(template, observer, config, ++this.#parties);
    const names = [...template.matchAll(/\{(\w+)\}/g)].map((found) => found[1]!);
    if (template.endsWith("*")) names.push("*");
    const handler = (message: Message): unknown => this.#handle(party, names, message);
    const asynchronous = async (message: Message): Promise<unknown> => this.#handle(party, names, message);
    const run = config.gated && random(2) === 0 ? asynchronous : handler;
    const queue =
      config.queue === undefined
        ? {}
        : {
            queue: {
              ...config.queue,
              ...(overflow === "coalesce" ? { key: (message: Message) => (message.body as Body).key } : {}),
            },
          };
    const name = `p${party.number}`;
    const retries = { times: config.retries, delayMs: config.delayMs };
    if (this.#model.refusing) {
      assert.throws(() => this.#system.on(template, run as never), { name: "SystemClosedError" });
      return;
    }
    if (!observer && there) {
      const conflict = { name: "HandlerExistsError" };
      assert.throws(() => this.#system.on(template, run as never), conflict);
      return;
    }
    if (observer) this.#undo.set(party, this.#system.subscribe(template, run as never, { name, ...queue }));
    else if (config.once) this.#undo.set(party, this.#system.once(template, run as never, { name, retries, ...queue }));
    else
      this.#undo.set(
        party,
        this.#system.on(template, run as never, { name, ...queue, ...(config.retries > 0 ? { retries } : {}) }),
      );
    this.#model.parties.push(party);
  }

  #unregister(): void {
    const parties = this.#model.parties.filter((party) => !party.removed);
    if (parties.length < 3) return;
    const party = parties[this.random(parties.length)]!;
    const undo = this.#undo.get(party);
    if (undo === undefined || this.random(3) === 0) {
      assert.equal(this.#system.off(party.template), this.#model.off(party.template));
      return;
    }
    this.#model.remove(party);
    undo();
  }

  #observer(capacity: number, overflow: Policy): Party {
    const template = TEMPLATES[this.random(TEMPLATES.length)]!;
    const queue = { capacity, concurrency: 1, overflow };
    const config = { queue, retries: 0, delayMs: 0, gated: false, once: false };
    return new Party(template, true, config, ++this.#parties);
  }

  #wait(): void {
    const { random } = this;
    if (this.#model.parties.filter(({ wait }) => wait?.over === false).length > 3) return;
    const op = ++this.#ops;
    const party = this.#observer(1_024, "drop-newest");
    const signal = this.#signal();
    const timeoutMs = random(2) === 0 ? undefined : 4 * random(8) + 3;
    const waited = this.#system.waitFor(party.template, {
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
      ...(signal === undefined ? {} : { signal: this.#signals[signal]!.signal }),
    });
    this.#watch(
      op,
      waited.then((message) => (message.body as Body).id),
    );
    const aborted = signal !== undefined && this.#signals[signal]!.signal.aborted;
    if (aborted || this.#model.refusing) {
      this.#model.outcomes.set(op, { error: aborted ? "Aborted" : "SystemClosedError" });
      return;
    }
    const deadline = timeoutMs === undefined ? undefined : this.#model.now + timeoutMs;
    party.wait = { op, signal, deadline, over: false };
    this.#model.enter(party);
  }

  #watchAsStream(): void {
    if (this.#streams.length > 2) return;
    const party = this.#observer(1 + this.random(3), "drop-oldest");
    const { template, number, config } = party;
    const signal = this.#signal();
    const options = {
      name: `p${number}`,
      capacity: config.queue!.capacity,
      ...(signal === undefined ? {} : { signal: this.#signals[signal]!.signal }),
    };
    if (this.#model.refusing) {
      assert.throws(() => this.#system.messages(template, options), { name: "SystemClosedError" });
      return;
    }
    const stream = this.#system.messages(template, options);
    party.stream = { signal, waiting: [], readers: [], lost: 0, closed: false };
    this.#model.enter(party);
    if (signal !== undefined && this.#signals[signal]!.signal.aborted) this.#model.remove(party);
    this.#streams.push({ party, stream });
  }

  #readStream(): void {
    const { random } = this;
    if (this.#streams.length === 0) return;
    const at = random(this.#streams.length);
    const { party, stream } = this.#streams[at]!;
    const draw = random(8);
    if (draw < 6) {
      for (let left = random(3); left >= 0; left--) {
        const op = ++this.#ops;
        this.#model.next(party, op);
        this.#watch(
          op,
          stream.next().then(({ value, done }) => (done === true ? "done" : (value.body as Body).id)),
        );
      }
      return;
    }
    this.#model.closeStream(party, draw === 7);
    if (draw === 7) void stream.return();
    else stream.close();
    assert.equal(stream.lost, party.stream!.lost + party.counts.dropped);
    this.#streams.splice(at, 1);
  }

  #handle(party: Party, names: readonly string[], message: Message): unknown {
    const body = message.body as Body;
    const found = `{${names.map((name) => `"${name}":"${message.param(name)}"`).join(",")}}`;
    this.#log.push(`start ${party.number} ${body.id} ${message.attempt} ${found}`);
    if (party.config.gated) {
      return new Promise<() => unknown>((open) => {
        const gates = this.#gates.get(party) ?? [];
        gates.push({ message, open });
        this.#gates.set(party, gates);
      }).then((act) => act());
    }
    if (body.script === "forward" && party.config.queue === undefined && message.meta !== "forwarded") {
      this.#log.push(`forwarded ${body.id} ${this.#forward(message, body.to)}`);
    }
    if (body.script === "throw" || (body.script === "throw-once" && message.attempt === 1)) throw new Error("Scripted");
    return `r${body.id}`;
  }

  #forward(message: Message, to: string): string {
    try {
      const given = this.#system.forward(message, to, { meta: "forwarded" });
      if (!(given instanceof Promise)) return String(given);
      given.catch(() => {});
      return "promise";
    } catch (error) {
      return `throws ${nameOf(error)}`;
    }
  }

  #settleOne(): void {
    const { random } = this;
    const open = this.#model.parties.filter((party) => party.gates.length > 0);
    const many = open.reduce((sum, party) => sum + party.gates.length, 0) > MAX_GATES;
    if (open.length === 0 || (!many && random(3) === 0)) return;
    this.#openGate(open[random(open.length)]!);
  }

  /** Lets a gated handler act and then settle, after all other pending work. */
  #openGate(party: Party): void {
    const { random } = this;
    const at = random(party.gates.length);
    const action = ["ok", "ok", "throw", "forward", "release", "resend", "keep"][random(7)]!;
    const to = PATHS[random(PATHS.length)]!;
    this.#pending.push({ party, at, action, to });
  }
  readonly #pending: { party: Party; at: number; action: string; to: string }[] = [];

  async #openPending(): Promise<void> {
    for (const { party, at, action, to } of this.#pending.splice(0)) {
      const [item] = party.gates.splice(at, 1);
      if (item === undefined) continue;
      const gates = this.#gates.get(party)!;
      const same = ({ message }: Gate): boolean =>
        (message.body as Body).id === item.body.id &&
        message.attempt === item.attempt &&
        message.meta === item.meta &&
        message.path === item.path;
      const [gate] = gates.splice(gates.findIndex(same), 1) as [Gate];
      const { message } = gate;
      const refused = "MessageInUseError";
      let acted = "";
      gate.open(() => {
        const attempt = (act: () => unknown): void => {
          try {
            act();
          } catch (error) {
            acted = nameOf(error);
          }
        };
        if (action === "throw") throw new Error("Scripted");
        if (action === "forward") acted = this.#forward(message, to);
        if (action === "release") attempt(() => this.#system.pool.release(message));
        if (action === "resend") attempt(() => this.#system.send(message));
        if (action === "keep" && item.held === undefined) {
          const kept = message.keep();
          assert.equal((kept.body as Body).id, item.body.id);
        }
        return `r${item.body.id}`;
      });
      if (action === "forward") {
        const expected = this.#model.forward(item, to);
        await this.#microtasks();
        assert.equal(acted, String(expected));
      } else await this.#microtasks();
      // A message sent again while the system closes is a handler's, too.
      if (action === "release" || action === "resend") assert.equal(acted, refused);
      if (action === "keep" && item.held === undefined) item.kept = true;
      this.#model.finish(item, action === "throw" ? { error: "Scripted" } : { ok: `r${item.body.id}` });
      this.#model.turn();
    }
  }

  #microtasks(): Promise<void> {
    return new Promise((resolve) => setImmediate(resolve));
  }

  #abort(): void {
    if (this.#signals.length === 0) return;
    const at = this.random(this.#signals.length);
    const controller = this.#signals[at]!;
    if (controller.signal.aborted) return;
    this.#model.abort(at);
    controller.abort(new Error("Aborted"));
  }

  #advance(): void {
    const ms = 4 * this.random(6);
    this.#model.advance(ms);
    this.clock.advance(ms);
  }

  #askForPlace(): void {
    const { random } = this;
    if (this.#places.length > 6) return;
    const op = ++this.#ops;
    const path = PATHS[random(PATHS.length)]!;
    const signal = this.#signal();
    const aborted = signal !== undefined && this.#signals[signal]!.signal.aborted;
    const timeoutMs = random(2) === 0 ? undefined : 4 * random(6) + 2;
    // No two limits end in the same millisecond if their order matters.
    const holdMs = 4 * random(8) + 4;
    const deadline = timeoutMs === undefined ? undefined : this.#model.now + timeoutMs;
    const ticket = this.#model.place(path, { op, signal, deadline, holdMs }, aborted);
    const asked = this.#system.whenReady(path, {
      holdMs,
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
      ...(signal === undefined ? {} : { signal: this.#signals[signal]!.signal }),
    });
    this.#watch(
      op,
      asked.then(() => "place"),
    );
    if (ticket === undefined) return;
    const entry: { ticket: Ticket; place: Place | undefined } = { ticket, place: undefined };
    this.#places.push(entry);
    asked.then(
      (place) => (entry.place = place),
      () => {},
    );
  }

  #usePlace(): void {
    const { random } = this;
    const ready = this.#places.filter(({ place }) => place !== undefined);
    if (ready.length === 0) return;
    const entry = ready[random(ready.length)]!;
    this.#places.splice(this.#places.indexOf(entry), 1);
    const { ticket } = entry;
    const place = entry.place!;
    assert.equal(place.held, ticket.state === "held");
    if (random(3) === 0) {
      this.#model.endTicket(ticket, "");
      place.release();
      return;
    }
    const body = this.#body();
    const how = {
      op: body.id,
      mode: "send",
      lane: 2,
      signal: undefined,
      aborted: false,
      timeoutMs: undefined,
    } as const;
    const expected = this.#model.send(place.path, body, { ...how, ticket });
    this.#both(body.id, () => place.send(body), expected);
  }

  #sendHeld(): void {
    const { random } = this;
    let number: number;
    if (this.#messages.size < 4) {
      const body = this.#body();
      number = body.id;
      const path = PATHS[random(PATHS.length)]!;
      this.#messages.set(number, this.#system.pool.acquire(path, body) as Message);
      this.#model.held.set(number, "caller");
    } else number = [...this.#messages.keys()][random(this.#messages.size)]!;
    const message = this.#messages.get(number)!;
    const op = ++this.#ops;
    const mode = random(3) === 0 ? "emit" : "send";
    const how = { op, mode, lane: 2, signal: undefined, aborted: false, timeoutMs: undefined, held: number } as const;
    const expected = this.#model.send(message.path, message.body as Body, how);
    this.#both(op, () => this.#system[mode](message), expected);
  }

  #releaseHeld(): void {
    if (this.#messages.size === 0) return;
    const number = [...this.#messages.keys()][this.random(this.#messages.size)]!;
    const message = this.#messages.get(number)!;
    if (this.#model.held.get(number) === "bus") {
      assert.throws(() => this.#system.pool.release(message), { name: "MessageInUseError" });
      return;
    }
    this.#system.pool.release(message);
    assert.throws(() => message.body, { name: "UseAfterReleaseError" });
    this.#messages.delete(number);
    this.#model.held.delete(number);
  }

  #misuse(): void {
    for (const message of this.#messages.values()) {
      assert.throws(() => this.#strange.release(message as never), { name: "WrongPoolError" });
      assert.throws(() => this.#strange.at(message.handle), { name: "WrongPoolError" });
    }
    assert.throws(() => this.#system.send("q", 1, { timeoutMs: Number.NaN }), { name: "SettingError" });
    assert.throws(() => this.#system.send("q", 1, { priority: "urgent" as never }), { name: "SettingError" });
  }

  #close(): void {
    this.#model.close();
    this.#closing = this.#system.close(Infinity);
  }

  async #turn(thorough: boolean): Promise<void> {
    await this.#microtasks();
    this.#model.turn();
    await this.#openPending();
    this.#compare(thorough);
    if (this.#sinceClose === -1) {
      await this.#drain();
      this.#begin();
    }
  }

  #compare(thorough: boolean): void {
    const model = this.#model;
    if (this.#log.join("\n") !== model.log.join("\n")) assert.deepEqual(arranged(this.#log), arranged(model.log));
    this.#log = [];
    model.log = [];
    for (const [op, outcome] of this.#settled.splice(0)) {
      assert.deepEqual(outcome, model.outcomes.get(op), `the outcome of operation ${op}`);
      model.outcomes.delete(op);
    }
    for (const op of model.outcomes.keys()) if (op < 0) model.outcomes.delete(op);
    assert.equal(model.outcomes.size, 0, `outcomes that were not seen: ${[...model.outcomes.keys()].join(", ")}`);
    if (!thorough) return;
    const out = model.items.filter((item) => item.held === undefined && !item.kept).length;
    assert.equal(this.#system.pool.stats().inUse, out + model.held.size, "messages in use");
    assert.equal(this.#system.idle, model.idle);
    const stats = new Map(this.#system.stats().receivers.map((one) => [one.name, one]));
    for (const party of model.parties) {
      if (party.removed || party.wait !== undefined) continue;
      const { template: _1, kind: _2, name: _3, waiting, running, ...counts } = stats.get(`p${party.number}`)!;
      const items = model.items.filter((item) => item.to === party);
      assert.deepEqual(counts, party.counts);
      assert.equal(waiting, items.filter(({ state }) => state === "queued" || state === "waits for capacity").length);
      assert.equal(running, items.filter(({ state }) => state === "running" || state === "resting").length);
    }
  }

  /** The state of the model, for the report of a difference. */
  dump(): string {
    return this.#model.parties
      .map((party) => {
        const { template, observer, config, number, running, reserved } = party;
        const queued = party.queue.map((lane) =>
          lane.map((item) => `${item.body.id}${item.body.key}${item.signal ?? ""}`).join(" "),
        );
        return `p${number} ${template} ${observer} ${JSON.stringify(config)} ${running} ${reserved} [${queued.join("|")}]`;
      })
      .join("\n");
  }

  /** Runs everything to its end; nothing may be left. */
  async #drain(): Promise<void> {
    for (const { ticket, place } of this.#places.splice(0)) {
      if (place === undefined) continue;
      this.#model.endTicket(ticket, "");
      place.release();
    }
    this.#sinceClose = 0;
    for (let left = 10_000; !this.#model.idle || this.#model.tickets.length > 0 || this.#pending.length > 0; left--) {
      assert.ok(left > 0, "it comes to no end");
      for (const party of this.#model.parties) if (party.gates.length > 0) this.#openGate(party);
      this.#advance();
      await this.#turn(false);
    }
    await this.#turn(true);
    for (const message of this.#messages.values()) this.#system.pool.release(message);
    assert.equal(this.#system.pool.stats().inUse, 0);
    this.#messages = new Map();
    this.#model.held = new Map();
    if (this.#closing === undefined) this.#close();
    assert.equal(await this.#closing, true);
    await this.#microtasks();
    this.#compare(false);
    for (const { party, stream } of this.#streams) {
      assert.equal(stream.lost, party.stream!.lost + party.counts.dropped);
    }
  }
}
