// The rules of docs/reference/node-bus.md in their simplest form, with arrays and regular expressions. It shares no code with the
// package.

export type Policy = "reject" | "drop-oldest" | "drop-newest" | "coalesce" | "wait";

export interface Body {
  readonly id: number;
  readonly key: string;
  /** The action of a synchronous handler. */
  readonly script: "ok" | "throw" | "throw-once" | "forward";
  readonly to: string;
}

export interface Config {
  readonly queue: { capacity: number; concurrency: number; overflow: Policy } | undefined;
  readonly retries: number;
  readonly delayMs: number;
  /** Settles when the test opens its gate; otherwise at once, by the body's script. */
  readonly gated: boolean;
  readonly once: boolean;
  /** The handler is in the other thread. */
  readonly remote?: boolean;
}

/** First number of calls from a bridge. */
export const CALLS = 1_000_000_000;

export type Outcome = { ok: unknown } | { error: string };

/** One message at one receiver. */
export interface Item {
  readonly body: Body;
  readonly path: string;
  readonly meta: unknown;
  readonly to: Party;
  readonly lane: number;
  readonly emitted: boolean;
  /** The number of the operation whose promise is settled. */
  readonly op: number;
  readonly signal: number | undefined;
  readonly deadline: number | undefined;
  /** The number of an acquired message. */
  readonly held: number | undefined;
  /** Sent by a handler that serves the other side of the bridge. */
  readonly serving: boolean;
  state: "waits for capacity" | "queued" | "running" | "resting" | "done";
  attempt: number;
  wakeAt: number;
  /** Number of the pause. */
  rest: number;
  readonly order: number;
  answered: boolean;
  gaveUp: boolean;
  kept: boolean;
}

/** A frame for the other thread: a call or its abort. */
export interface Frame {
  readonly kind: "call" | "abort";
  readonly item: Item;
}

/** A request for a place, or a place. */
export interface Ticket {
  readonly op: number;
  readonly party: Party;
  readonly signal: number | undefined;
  readonly deadline: number | undefined;
  readonly holdMs: number;
  until: number;
  readonly order: number;
  state: "waits" | "held" | "gone";
}

/** The observer of a `waitFor`. */
export interface Wait {
  readonly op: number;
  readonly signal: number | undefined;
  readonly deadline: number | undefined;
  over: boolean;
}

/** The observer of a `for await`: the messages that wait for the loop, and the operations that wait for a message. */
export interface Stream {
  readonly signal: number | undefined;
  readonly waiting: number[];
  readonly readers: number[];
  lost: number;
  closed: boolean;
}

/** A handler or an observer. */
export class Party {
  wait: Wait | undefined = undefined;
  stream: Stream | undefined = undefined;
  /** Order of a wait or stream among all that a signal ends. */
  order = 0;
  queue: Item[][] = [[], [], [], []];
  waiters: (Item | Ticket)[] = [];
  reserved = 0;
  running = 0;
  /** Gated handlers that run, in the order in which they started. */
  gates: Item[] = [];
  removed = false;
  counts = { sent: 0, handled: 0, failed: 0, refused: 0, dropped: 0, aborted: 0, expired: 0, retried: 0 };
  constructor(
    readonly template: string,
    readonly observer: boolean,
    readonly config: Config,
    readonly number: number,
  ) {}

  get waiting(): number {
    return this.queue.flat().length;
  }
  get full(): boolean {
    return this.waiting + this.reserved >= this.config.queue!.capacity || this.waiters.length > 0;
  }
}

const answers = new Map<string, Record<string, string> | undefined>();

export function matches(template: string, path: string): Record<string, string> | undefined {
  const question = `${template} ${path}`;
  if (!answers.has(question)) answers.set(question, answer(template, path));
  return answers.get(question);
}

function answer(template: string, path: string): Record<string, string> | undefined {
  const names: string[] = [];
  const pattern = template
    .split("/")
    .map((segment) => {
      if (segment === "*") {
        names.push("*");
        return "(.*)";
      }
      if (segment.startsWith("{")) {
        names.push(segment.slice(1, -1));
        return "([^/]+)";
      }
      return segment.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
    })
    .join("/");
  const found = new RegExp(`^${pattern}$`, "s").exec(path);
  return found === null ? undefined : Object.fromEntries(names.map((name, at) => [name, found[at + 1]!]));
}

/** Fixed text before a parameter before a wildcard, segment by segment. */
function rank(template: string): string {
  return template
    .split("/")
    .map((segment) => (segment === "*" ? "2" : segment.startsWith("{") ? "1" : "0"))
    .join("");
}

export class Model {
  now = 0;
  closing = false;
  parties: Party[] = [];
  items: Item[] = [];
  tickets: Ticket[] = [];
  /** Observable events, in order for each receiver: starts, errors, dead letters. */
  log: string[] = [];
  outcomes = new Map<number, Outcome>();
  /** Frames that the other thread has not read. */
  frames: Frame[] = [];
  /** Calls whose replies have arrived and are handled at the end of this turn. */
  readonly replied = new Map<Item, Outcome>();
  /** Whether the other thread has ended. */
  alone = false;
  /** The owners of acquired messages. */
  held = new Map<number, "caller" | "bus">();
  #nested = -2;
  #rests = 0;
  #order = 0;

  /** lenient: while messages are in flight, it is unknown which sends are a handler's. */
  constructor(private readonly lenient = false) {}

  get refusing(): boolean {
    return this.closing && (!this.lenient || this.idle);
  }

  handlerOf(path: string): Party | undefined {
    const fitting = this.parties.filter(
      (one) => !one.observer && !one.removed && matches(one.template, path) !== undefined,
    );
    return fitting.sort((a, b) => (rank(a.template) < rank(b.template) ? -1 : 1))[0];
  }

  observersOf(path: string): Party[] {
    return this.parties.filter((one) => one.observer && !one.removed && matches(one.template, path) !== undefined);
  }

  /** The result of the call: a value, a thrown error's name, or "promise". */
  send(
    path: string,
    body: Body,
    how: {
      op: number;
      mode: "send" | "request" | "emit";
      lane: number;
      signal: number | undefined;
      aborted: boolean;
      timeoutMs: number | undefined;
      held?: number;
      meta?: unknown;
      inside?: boolean;
      serving?: boolean;
      ticket?: Ticket;
    },
  ): unknown {
    const fail = (error: string): unknown => {
      if (how.mode !== "request") return `throws ${error}`;
      this.outcomes.set(how.op, { error });
      return "promise";
    };
    const { ticket } = how;
    if (ticket !== undefined) {
      if (ticket.state !== "held") return "throws PlaceExpiredError";
      ticket.state = "gone";
    }
    const refuse = (error: string): unknown => {
      if (ticket !== undefined) this.unreserve(ticket.party);
      return fail(error);
    };
    if (this.refusing && how.inside !== true) return refuse("SystemClosedError");
    if (how.aborted) return refuse("Aborted");
    if (how.held !== undefined && this.held.get(how.held) === "bus") return refuse("MessageInUseError");
    const handler = ticket?.party ?? this.handlerOf(path);
    const observers = this.observersOf(path);
    if (handler === undefined) {
      if (how.mode === "emit" && observers.length > 0) return this.#show(observers, path, body, how.meta, how.signal);
      this.log.push(`letter no-handler ${body.id}`);
      return how.mode === "emit" ? 0 : fail("NoHandlerError");
    }
    const item = this.#item(handler, path, body, how);
    if (how.held !== undefined) this.held.set(how.held, "bus");
    let reached = 0;
    if (handler.config.queue === undefined) {
      reached = this.#show(observers, path, body, how.meta, how.signal) + 1;
      if (handler.config.once) this.remove(handler);
      this.start(item);
    } else if (this.#offer(item, ticket !== undefined)) {
      if (handler.config.once) this.remove(handler);
      reached = 1 + this.#show(observers, path, body, how.meta, how.signal);
    }
    if (how.mode === "emit") return reached;
    const outcome = this.outcomes.get(how.op);
    if (how.mode === "request" || handler.config.queue !== undefined || outcome === undefined) return "promise";
    this.outcomes.delete(how.op);
    return "ok" in outcome ? outcome.ok : `throws ${outcome.error}`;
  }

  #item(
    to: Party,
    path: string,
    body: Body,
    how: {
      op: number;
      mode: string;
      lane: number;
      signal: number | undefined;
      timeoutMs: number | undefined;
      held?: number;
      serving?: boolean;
      meta?: unknown;
    },
  ): Item {
    to.counts.sent++;
    const item: Item = {
      body,
      path,
      meta: how.meta,
      to,
      lane: how.lane,
      emitted: how.mode === "emit",
      op: how.op,
      signal: how.signal,
      deadline: how.timeoutMs === undefined ? undefined : this.now + how.timeoutMs,
      held: how.held,
      serving: how.serving === true,
      state: "running",
      attempt: 1,
      wakeAt: 0,
      rest: 0,
      order: ++this.#order,
      answered: false,
      gaveUp: false,
      kept: false,
    };
    this.items.push(item);
    return item;
  }

  #show(observers: Party[], path: string, body: Body, meta: unknown, signal: number | undefined): number {
    let reached = 0;
    for (const observer of observers) {
      const how = { op: -1, mode: "emit", lane: 2, signal, timeoutMs: undefined, meta };
      if (this.#offer(this.#item(observer, path, body, how), false)) reached++;
    }
    return reached;
  }

  #offer(item: Item, reserved: boolean): boolean {
    const party = item.to;
    const { overflow } = party.config.queue!;
    if (overflow === "coalesce") {
      for (const lane of party.queue) {
        const at = lane.findIndex((other) => other.body.key === item.body.key);
        if (at < 0) continue;
        const old = lane[at]!;
        lane[at] = item;
        item.state = "queued";
        this.#drop(old);
        if (reserved) this.unreserve(party);
        return true;
      }
    }
    if (reserved) party.reserved--;
    else if (party.full) {
      if (overflow === "wait" && !item.emitted) {
        item.state = "waits for capacity";
        party.waiters.push(item);
        return true;
      }
      if (overflow === "drop-oldest") {
        let least = 3;
        while (least > 0 && party.queue[least]!.length === 0) least--;
        const victim = party.queue[least]![0];
        if (victim === undefined || least < item.lane) return this.#drop(item);
        party.queue[least]!.shift();
        this.#drop(victim);
      } else if (overflow === "drop-newest") return this.#drop(item);
      else {
        party.counts.refused++;
        this.#letter(item, "refused");
        this.#end(item);
        this.#answer(item, { error: "QueueFullError" });
        return false;
      }
    }
    item.state = "queued";
    party.queue[item.lane]!.push(item);
    return true;
  }

  #drop(item: Item): false {
    item.to.counts.dropped++;
    this.#letter(item, "dropped");
    this.#end(item);
    this.#answer(item, { error: "MessageDroppedError" });
    return false;
  }

  #letter(item: Item, reason: string): void {
    if (!item.to.observer) this.log.push(`letter ${reason} ${item.body.id}`);
  }

  #end(item: Item): void {
    item.state = "done";
    if (item.held !== undefined) this.held.set(item.held, "caller");
    if (item.to.removed) this.#forget(item.to);
    if (this.closing) this.#endIfIdle();
  }

  /** False if no sender waits for it. */
  #answer(item: Item, outcome: Outcome): boolean {
    if (item.emitted || item.answered) return false;
    item.answered = true;
    this.outcomes.set(item.op, outcome);
    return true;
  }

  unreserve(party: Party): void {
    if (party.config.queue === undefined) return;
    party.reserved--;
    this.#admitWaiters(party);
  }

  #admitWaiters(party: Party): void {
    while (party.waiters.length > 0 && party.waiting + party.reserved < party.config.queue!.capacity) {
      const one = party.waiters.shift()!;
      if ("holdMs" in one) {
        party.reserved++;
        one.state = "held";
        one.until = this.now + one.holdMs;
        this.outcomes.set(one.op, { ok: "place" });
      } else {
        one.state = "queued";
        party.queue[one.lane]!.push(one);
      }
    }
  }

  place(
    path: string,
    ticket: Omit<Ticket, "party" | "state" | "until" | "order">,
    aborted: boolean,
  ): Ticket | undefined {
    const party = this.handlerOf(path);
    const error = this.refusing
      ? "SystemClosedError"
      : aborted
        ? "Aborted"
        : party === undefined
          ? "NoHandlerError"
          : "";
    if (error !== "") {
      this.outcomes.set(ticket.op, { error });
      return undefined;
    }
    const made: Ticket = { ...ticket, party: party!, state: "waits", until: 0, order: ++this.#order };
    this.tickets.push(made);
    if (party!.config.queue === undefined) {
      made.state = "held";
      made.until = this.now + made.holdMs;
      this.outcomes.set(made.op, { ok: "place" });
    } else {
      party!.waiters.push(made);
      this.#admitWaiters(party!);
    }
    return made;
  }

  /** Ends a registration: it gets no more messages, and its places are revoked, starting with requests. */
  remove(party: Party): void {
    party.removed = true;
    this.#endTickets((ticket) => ticket.party === party, "NoHandlerError");
    this.#forget(party);
  }

  /** Removes all registrations of a template. Returns their number. */
  off(template: string): number {
    const there = this.parties.filter((party) => !party.removed && party.template === template);
    for (const party of there) this.remove(party);
    return there.length;
  }

  /** Ends a removed wait or stream when it has no messages. */
  #forget(party: Party): void {
    if (this.items.some((item) => item.to === party && item.state !== "done")) return;
    this.#endWait(party, { error: "RegistrationRemovedError" });
    this.#endStream(party);
  }

  #endWait(party: Party, outcome: Outcome): void {
    const { wait } = party;
    if (wait === undefined || wait.over) return;
    wait.over = true;
    this.outcomes.set(wait.op, outcome);
    this.remove(party);
  }

  #endStream({ stream }: Party): void {
    if (stream === undefined || stream.closed) return;
    stream.closed = true;
    for (const op of stream.readers.splice(0)) this.outcomes.set(op, { ok: "done" });
  }

  /** Registers a wait or stream. */
  enter(party: Party): void {
    party.order = ++this.#order;
    this.parties.push(party);
  }

  /** Requests the next message for the loop. */
  next({ stream }: Party, op: number): void {
    const { waiting, readers, closed } = stream!;
    if (waiting.length > 0) this.outcomes.set(op, { ok: waiting.shift()! });
    else if (closed) this.outcomes.set(op, { ok: "done" });
    else readers.push(op);
  }

  /** Ends a stream after the messages sent before. left: the loop ended early. */
  closeStream(party: Party, left: boolean): void {
    const stream = party.stream!;
    if (!stream.closed) {
      while (party.waiting > 0) this.#startNext(party);
      this.#endStream(party);
      if (!party.removed) this.remove(party);
    }
    if (left) stream.lost += stream.waiting.splice(0).length;
  }

  #endIfIdle(): void {
    if (!this.idle) return;
    this.#endTickets(() => true, "SystemClosedError");
    for (const party of this.parties) {
      this.#endWait(party, { error: "SystemClosedError" });
      if (party.stream !== undefined) this.closeStream(party, false);
    }
  }

  /** Delivers a message to a wait or stream. */
  #deliver(item: Item): void {
    const { wait, stream, config } = item.to;
    const { id } = item.body;
    if (wait !== undefined) this.#endWait(item.to, { ok: id });
    else if (stream!.readers.length > 0) this.outcomes.set(stream!.readers.shift()!, { ok: id });
    else if (stream!.waiting.push(id) > config.queue!.capacity) {
      stream!.waiting.shift();
      stream!.lost++;
    }
    this.settle(item, { ok: undefined });
  }

  #endTickets(which: (ticket: Ticket) => boolean, error: string): void {
    const ending = this.tickets.filter(which);
    for (const state of ["waits", "held"]) {
      for (const ticket of ending) if (ticket.state === state) this.endTicket(ticket, error);
    }
  }

  endTicket(ticket: Ticket, error: string): void {
    if (ticket.state === "gone") return;
    const { party, state } = ticket;
    ticket.state = "gone";
    if (state === "held") this.unreserve(party);
    else {
      party.waiters.splice(party.waiters.indexOf(ticket), 1);
      this.outcomes.set(ticket.op, { error });
      this.#admitWaiters(party);
    }
  }

  start(item: Item): void {
    item.state = "running";
    const { config, number, template } = item.to;
    if (item.to.wait !== undefined || item.to.stream !== undefined) {
      this.#deliver(item);
      return;
    }
    if (config.remote === true) {
      this.frames.push({ kind: "call", item });
      return;
    }
    for (;;) {
      this.log.push(`start ${number} ${item.body.id} ${item.attempt} ${JSON.stringify(matches(template, item.path))}`);
      if (config.gated) {
        item.to.gates.push(item);
        return;
      }
      const { script, id, to } = item.body;
      if (script === "forward" && config.queue === undefined && item.meta !== "forwarded") {
        this.log.push(`forwarded ${id} ${String(this.forward(item, to))}`);
      }
      if (script !== "throw" && (script !== "throw-once" || item.attempt > 1)) {
        this.settle(item, { ok: `r${id}` });
        return;
      }
      if (!this.#again(item, { error: "Scripted" })) return;
    }
  }

  forward(item: Item, to: string): unknown {
    const how = { mode: "send", lane: 2, signal: undefined, aborted: false, timeoutMs: undefined } as const;
    return this.send(to, item.body, {
      ...how,
      op: --this.#nested,
      meta: "forwarded",
      inside: true,
      serving: item.op >= CALLS,
    });
  }

  #again(item: Item, outcome: Outcome): boolean {
    const { config, counts } = item.to;
    if (item.attempt > config.retries || item.gaveUp) {
      this.settle(item, outcome);
      return false;
    }
    item.attempt++;
    if (config.delayMs === 0) {
      counts.retried++;
      return true;
    }
    item.state = "resting";
    item.rest = ++this.#rests;
    item.wakeAt = this.now + config.delayMs * 2 ** (item.attempt - 2);
    return false;
  }

  /** Settles a gated handler. */
  finish(item: Item, outcome: Outcome): void {
    if ("ok" in outcome) this.settle(item, outcome);
    else if (this.#again(item, outcome)) this.start(item);
  }

  /** known: the outcome is the reason of the sender's abort. */
  settle(item: Item, outcome: Outcome, known = false): void {
    const { counts, config, number } = item.to;
    counts.handled++;
    if ("error" in outcome) counts.failed++;
    this.#end(item);
    if (config.queue !== undefined) item.to.running--;
    if (!this.#answer(item, outcome) && "error" in outcome && !known) this.log.push(`error ${number} ${outcome.error}`);
  }

  giveUp(item: Item, error: string, timedOut: boolean): void {
    const { state, to } = item;
    if (state === "done") return;
    item.gaveUp = true;
    const unstarted = state === "queued" || state === "waits for capacity";
    if (timedOut && !item.emitted) this.#letter(item, "timed-out");
    if (timedOut && item.emitted && unstarted) this.#letter(item, "expired");
    if (state === "running") {
      this.#answer(item, { error });
      if (to.config.remote !== true || this.alone || this.replied.has(item)) return;
      this.frames.push({ kind: "abort", item });
      this.settle(item, { error }, !item.emitted);
    } else if (state === "resting") this.settle(item, { error });
    else {
      to.counts[timedOut ? "expired" : "aborted"]++;
      for (const lane of to.queue) if (lane.includes(item)) lane.splice(lane.indexOf(item), 1);
      if (to.waiters.includes(item)) to.waiters.splice(to.waiters.indexOf(item), 1);
      this.#end(item);
      this.#answer(item, { error });
      this.#admitWaiters(to);
    }
  }

  abort(signal: number): void {
    const parties = this.parties.filter(({ wait, stream }) => (wait ?? stream)?.signal === signal);
    const told = [...[...this.items, ...this.tickets].filter((one) => one.signal === signal), ...parties];
    for (const one of told.sort((a, b) => a.order - b.order)) {
      if (one instanceof Party) {
        if (one.wait !== undefined) this.#endWait(one, { error: "Aborted" });
        else if (!one.removed) this.remove(one);
      } else if ("holdMs" in one) this.endTicket(one, "Aborted");
      else this.giveUp(one, "Aborted", false);
    }
  }

  advance(ms: number): void {
    for (const end = this.now + ms; this.now < end;) {
      this.now++;
      for (const item of [...this.items]) {
        if (item.deadline === this.now && !item.gaveUp) this.giveUp(item, "RequestTimeoutError", true);
      }
      const due = this.items.filter((item) => item.state === "resting" && item.wakeAt === this.now);
      for (const item of due.sort((one, other) => one.rest - other.rest)) {
        item.to.counts.retried++;
        this.start(item);
      }
      for (const party of [...this.parties]) {
        if (party.wait?.deadline === this.now) this.#endWait(party, { error: "RequestTimeoutError" });
      }
      for (const ticket of [...this.tickets]) {
        if (ticket.state === "held" && ticket.until === this.now) this.endTicket(ticket, "");
        if (ticket.state === "waits" && ticket.deadline === this.now) this.endTicket(ticket, "RequestTimeoutError");
      }
    }
  }

  finishReplied(): void {
    for (const [item, outcome] of this.replied) this.finish(item, outcome);
    this.replied.clear();
  }

  /** Starts everything that may start. */
  turn(): void {
    for (let moved = true; moved;) {
      moved = false;
      for (const party of this.parties) {
        if (party.config.queue === undefined) continue;
        while (party.running < party.config.queue.concurrency && party.waiting > 0) {
          this.#startNext(party);
          moved = true;
        }
      }
    }
    this.items = this.items.filter((item) => item.state !== "done");
    this.tickets = this.tickets.filter((ticket) => ticket.state !== "gone");
    this.parties = this.parties.filter((party) => !party.removed || this.#busy(party));
  }

  #startNext(party: Party): void {
    const item = party.queue.find((lane) => lane.length > 0)!.shift()!;
    party.running++;
    this.#admitWaiters(party);
    this.start(item);
  }

  #busy(party: Party): boolean {
    return this.items.some((item) => item.to === party) || this.tickets.some((ticket) => ticket.party === party);
  }

  close(): void {
    this.closing = true;
    this.#endTickets(() => true, "SystemClosedError");
    this.#endIfIdle();
  }

  get idle(): boolean {
    return this.items.every((item) => item.state === "done");
  }
}
