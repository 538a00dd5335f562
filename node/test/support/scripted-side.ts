// A message system whose handlers follow the scripts in the bodies. One is in the test's thread, another in its worker.
import type { Message, MessageSystem, Priority } from "millpond";
import type { Body, Config, Outcome } from "./bus-model.js";

const PRIORITIES: readonly Priority[] = ["critical", "high", "medium", "low"];

/** The number of the handler on the other side, which has no name. */
export const BRIDGED = 0;

/** The registration of a handler or observer. */
export interface PartySpec {
  readonly number: number;
  readonly template: string;
  readonly observer: boolean;
  readonly config: Config;
}

export interface SendCommand {
  readonly kind: "send";
  readonly op: number;
  readonly mode: "send" | "request" | "emit";
  readonly path: string;
  readonly body: Body;
  readonly lane: number;
  readonly signal: number | undefined;
  readonly timeoutMs: number | undefined;
}
/** Opens the gate of a handler. */
export interface OpenCommand {
  readonly kind: "open";
  readonly party: number;
  readonly id: number;
  readonly path: string;
  readonly meta: unknown;
  /** Index among runs of the same handler with the same id, path and meta. */
  readonly nth: number;
  readonly action: "ok" | "throw" | "forward";
  readonly to: string;
}
export type Command = SendCommand | OpenCommand | { readonly kind: "abort"; readonly signal: number };

/** Events since the last report. */
export interface Report {
  readonly log: string[];
  readonly given: [number, unknown][];
  readonly settled: [number, Outcome][];
  readonly counts: Record<string, Readonly<Record<string, number>>>;
  readonly inUse: number;
}

export function nameOf(error: unknown): string {
  const { name, message, code } = error as { name: string; message: string; code?: string };
  return code === undefined ? message : name;
}

export class ScriptedSide {
  #log: string[] = [];
  #given: [number, unknown][] = [];
  #settled: [number, Outcome][] = [];
  readonly #signals = new Map<number, AbortController>();
  readonly #gates = new Map<number, { readonly message: Message; readonly open: (act: () => unknown) => void }[]>();

  constructor(readonly system: MessageSystem) {}

  /** `onError` and `onDeadLetter` of the system. */
  static reporting(side: () => ScriptedSide): object {
    return {
      timeoutMs: Infinity,
      onError: (error: unknown, _path: string, receiver: string) =>
        side().#log.push(`error ${/^p\d/.test(receiver) ? receiver.slice(1) : BRIDGED} ${nameOf(error)}`),
      onDeadLetter: ({ reason, body }: { reason: string; body: unknown }) =>
        side().#log.push(`letter ${reason} ${(body as Body).id}`),
    };
  }

  register({ number, template, observer, config }: PartySpec): void {
    const names = [...template.matchAll(/\{(\w+)\}|(\*)/g)].map((found) => found[1] ?? "*");
    const run = (message: Message): unknown => this.#handle(number, config, names, message);
    const key = config.queue?.overflow === "coalesce" ? { key: (message: Message) => (message.body as Body).key } : {};
    const options = {
      name: `p${number}`,
      ...(config.queue === undefined ? {} : { queue: { ...config.queue, ...key } }),
    };
    if (observer) this.system.subscribe(template, run as never, options);
    else this.system.on(template, run as never, { ...options, retries: config.retries });
  }

  #handle(number: number, config: Config, names: readonly string[], message: Message): unknown {
    const body = message.body as Body;
    const found = `{${names.map((name) => `"${name}":"${message.param(name)}"`).join(",")}}`;
    this.#log.push(`start ${number} ${body.id} ${message.attempt} ${found}`);
    if (config.gated) {
      return new Promise<() => unknown>((open) => {
        this.#gates.set(number, [...(this.#gates.get(number) ?? []), { message, open }]);
      }).then((act) => act());
    }
    if (body.script === "forward" && config.queue === undefined && message.meta !== "forwarded") {
      this.#log.push(`forwarded ${body.id} ${this.#forward(message, body.to)}`);
    }
    if (body.script === "throw" || (body.script === "throw-once" && message.attempt === 1)) throw new Error("Scripted");
    return `r${body.id}`;
  }

  #forward(message: Message, to: string): string {
    try {
      const given = this.system.forward(message, to, { meta: "forwarded" });
      if (!(given instanceof Promise)) return String(given);
      given.catch(() => {});
      return "promise";
    } catch (error) {
      return `throws ${nameOf(error)}`;
    }
  }

  act(command: Command): void {
    if (command.kind === "send") this.#send(command);
    else if (command.kind === "abort") this.#signal(command.signal).abort(new Error("Aborted"));
    else this.#open(command);
  }

  #signal(number: number): AbortController {
    const there = this.#signals.get(number) ?? new AbortController();
    this.#signals.set(number, there);
    return there;
  }

  #send({ op, mode, path, body, lane, signal, timeoutMs }: SendCommand): void {
    const options = {
      priority: PRIORITIES[lane]!,
      ...(signal === undefined ? {} : { signal: this.#signal(signal).signal }),
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
    };
    const system = this.system as unknown as Record<
      typeof mode,
      (path: string, body: unknown, options: object) => unknown
    >;
    let given: unknown;
    try {
      given = system[mode](path, body, options);
    } catch (error) {
      given = `throws ${nameOf(error)}`;
    }
    if (given instanceof Promise) {
      given.then(
        (ok) => this.#settled.push([op, { ok }]),
        (error) => this.#settled.push([op, { error: nameOf(error) }]),
      );
      given = "promise";
    }
    this.#given.push([op, given]);
  }

  #open({ party, id, path, meta, nth, action, to }: OpenCommand): void {
    const gates = this.#gates.get(party) ?? [];
    const gate = gates.filter(({ message }) => {
      return (message.body as Body).id === id && message.path === path && message.meta === meta;
    })[nth];
    if (gate === undefined) throw new Error(`no message ${id} is with the handler ${party}`);
    gates.splice(gates.indexOf(gate), 1);
    gate.open(() => {
      if (action === "throw") throw new Error("Scripted");
      if (action === "forward") this.#log.push(`forwarded ${id} ${this.#forward(gate.message, to)}`);
      return `r${id}`;
    });
  }

  /** Opens the gates of all running handlers. */
  openAll(): void {
    for (const [party, gates] of this.#gates) {
      this.#gates.set(party, []);
      for (const { message, open } of gates) open(() => `r${(message.body as Body).id}`);
    }
  }

  report(): Report {
    const counts: Record<string, Record<string, number>> = {};
    for (const { name, template: _1, kind: _2, waiting: _3, running: _4, ...rest } of this.system.stats().receivers) {
      counts[name] = rest;
    }
    const seen = { log: this.#log, given: this.#given, settled: this.#settled, counts };
    this.#log = [];
    this.#given = [];
    this.#settled = [];
    return { ...seen, inUse: this.system.pool.stats().inUse };
  }
}
