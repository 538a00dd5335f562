import type { MessageSystem } from "millpond";
import { turn } from "./gate.js";
import type { Random } from "./random.js";

/** Length of a body that does not fit in a frame of the ring. */
const LONG = "x".repeat(8_192);
export const LOAD_RING_BYTES = 8_192;

/** Number of calls of one side by outcome. */
export type Tally = Record<string, number>;

/** Makes and serves calls over a bridge, and aborts some, in every turn of the event loop. */
export class LoadSide {
  /** Number of handler starts for each call of the other side. */
  readonly starts = new Map<string, number>();
  /** Calls with replies of this side. */
  readonly replied: string[] = [];
  /** Aborted calls of this side. */
  readonly givenUp = new Set<string>();
  readonly #open = new Map<string, AbortController>();
  readonly #outcomes: Promise<string>[] = [];
  #calls = 0;

  constructor(
    private readonly system: MessageSystem,
    private readonly name: string,
    private readonly other: string,
    private readonly random: Random,
    /** Whether a call made now may fail because the bridge is closed. */
    private readonly mayBeClosed: () => boolean,
    onStart: (id: string) => void = () => {},
  ) {
    const options = random(2) === 0 ? {} : { queue: { capacity: 512, concurrency: 8 } };
    const work = async (id: string): Promise<string> => {
      this.starts.set(id, (this.starts.get(id) ?? 0) + 1);
      onStart(id);
      for (let left = random(3); left > 0; left--) await turn();
      return random(2) === 0 ? id : ((await system.send(`${other}/leaf`, id)) as string);
    };
    system.on(`${name}/work`, (message) => work((message.body as { readonly id: string }).id), options);
    system.on(`${name}/leaf`, (message) => message.body);
  }

  /** Makes the calls and aborts of one turn. */
  async act(): Promise<void> {
    for (let left = this.random(12); left > 0; left--) this.#call();
    for (const [id, controller] of this.#open) {
      if (this.random(8) > 0) continue;
      this.#open.delete(id);
      this.givenUp.add(id);
      controller.abort(new Error(id));
    }
    await turn();
  }

  #call(): void {
    const { random, other } = this;
    const id = `${this.name} ${++this.#calls}`;
    const controller = new AbortController();
    const late = this.mayBeClosed();
    const body = { id, pad: random(16) === 0 ? LONG : "" };
    const { signal } = controller;
    if (random(2) === 0) this.#open.set(id, controller);
    const reply = new Promise((resolve) => resolve(this.system.send(`${other}/work`, body, { signal })));
    const fail = (error: Error): string => {
      if (error === signal.reason) return "given up";
      if (error.name === "QueueFullError") return "refused";
      return /^the (bridge is closed|other side of the bridge has ended)$/.test(error.message) && late
        ? "closed"
        : `${id} ${error.name} ${error.message}`;
    };
    const succeed = (got: unknown): string => {
      this.replied.push(id);
      return got === id ? "replied" : `${id} got ${String(got)}`;
    };
    const outcome = reply.then(succeed, fail);
    void outcome.then(() => this.#open.delete(id));
    this.#outcomes.push(outcome);
  }

  /** Resolves when every call has its outcome. */
  async tally(): Promise<Tally> {
    const tally: Tally = {};
    for (const outcome of await Promise.all(this.#outcomes)) tally[outcome] = (tally[outcome] ?? 0) + 1;
    return tally;
  }
}
