// Handlers that block the event loop at random: no handler starts after the time limit or the abort of its message, and no reply is
// delivered after the limit. The order in which late timers end messages is not specified, so there is no model: the random schedules
// are checked against these promises.
import assert from "node:assert/strict";
import { test } from "node:test";
import { type DeadLetter, type Message, MessageSystem, type Overflow } from "millpond";
import { turn } from "./support/gate.js";
import { type Random, randomFrom } from "./support/random.js";
import { VirtualClock } from "./support/virtual-clock.js";

const SCHEDULES = 400;
const STEPS = 80;
const POLICIES: readonly Overflow[] = ["reject", "drop-oldest", "drop-newest", "coalesce", "wait"];
const REFUSALS = ["QueueFullError", "MessageDroppedError"];

interface Sent {
  readonly id: number;
  /** Whether the send returns the reply directly. */
  readonly direct: boolean;
  readonly deadline: number;
  readonly abort: AbortController | undefined;
  /** Time at which its last run ended. */
  endedAt: number;
  timedOut: boolean;
  /** The call failed with the error of its last run; the time limit may have prevented a retry. */
  threw: boolean;
}

class Schedule {
  readonly #clock = new VirtualClock();
  readonly #sent: Sent[] = [];
  readonly #letters: number[] = [];
  readonly #system: MessageSystem;
  readonly #broken: string[] = [];
  #settled = 0;
  #emitted = 0;

  constructor(private readonly random: Random) {
    this.#system = new MessageSystem({
      asyncContext: random(2) === 0,
      timeoutMs: Infinity,
      onError: () => {},
      onDeadLetter: ({ reason, body }: DeadLetter) => {
        if (reason === "timed-out") this.#letters.push((body as Sent).id);
      },
    });
    for (const path of ["a", "b", "c"]) this.#register(path);
  }

  #register(path: string): void {
    const { random } = this;
    const overflow = POLICIES[random(POLICIES.length)]!;
    const queue = {
      capacity: 1 + random(8),
      concurrency: 1 + random(3),
      overflow,
      ...(overflow === "coalesce" ? { key: ({ body }: Message) => (body as Sent).id % 5 } : {}),
    };
    const retries = { times: random(4), delayMs: [0, 3][random(2)]! };
    const asynchronous = async (message: Message): Promise<string> => {
      await undefined;
      return this.#work(message);
    };
    const run = (message: Message): unknown => {
      this.#start(message);
      return random(4) === 0 ? asynchronous(message) : this.#work(message);
    };
    this.#system.on(path, run, random(3) === 0 ? { retries } : { queue, retries });
    if (random(2) === 0) this.#system.subscribe(path, () => this.#block());
  }

  /** Advances the clock at random, without running due timers. */
  #block(): void {
    if (this.random(3) === 0) this.#clock.now += this.random(12);
  }

  #start({ body, signal }: Message): void {
    const { deadline } = body as Sent;
    this.#expect(this.#clock.now < deadline, "a handler started after the time limit");
    this.#expect(signal?.aborted !== true, "a handler started after the abort");
  }

  /** Records a failure, which is reported at the end: an exception thrown here would be a handler's. */
  #expect(kept: boolean, broken: string): void {
    if (!kept) this.#broken.push(broken);
  }

  #work({ body }: Message): string {
    this.#block();
    if (this.random(8) === 0) this.#sent[this.random(this.#sent.length)]!.abort?.abort(new Error("given up"));
    (body as Sent).endedAt = this.#clock.now;
    if (this.random(3) === 0) throw new Error("scripted");
    return `r${(body as Sent).id}`;
  }

  async run(): Promise<void> {
    const { random } = this;
    this.#clock.install();
    try {
      for (let step = 0; step < STEPS; step++) {
        if (random(4) > 0) this.#send();
        else this.#clock.advance(random(8));
        if (random(3) === 0) await turn();
      }
      for (let left = 1_000; !this.#system.idle; left--) {
        assert.ok(left > 0, "it comes to no end");
        await turn();
        this.#clock.advance(4);
      }
      await turn();
      assert.equal(await this.#system.close(), true);
    } finally {
      this.#clock.remove();
    }
    this.#check();
  }

  #send(): void {
    const { random } = this;
    const mode = (["send", "request", "emit"] as const)[random(3)]!;
    const timeoutMs = random(3) === 0 ? Infinity : 1 + random(20);
    const abort = random(3) === 0 ? new AbortController() : undefined;
    const sent: Sent = {
      id: this.#sent.length,
      direct: mode === "send",
      deadline: this.#clock.now + timeoutMs,
      abort,
      endedAt: NaN,
      timedOut: false,
      threw: false,
    };
    this.#sent.push(sent);
    const path = "abc"[random(3)]!;
    const options = { timeoutMs, ...(abort === undefined ? {} : { signal: abort.signal }) };
    if (mode === "emit") {
      this.#emitted++;
      this.#system.emit(path, sent, options);
      return;
    }
    try {
      const reply: unknown = this.#system[mode](path, sent, options);
      if (reply instanceof Promise) {
        reply.then(
          (value) => this.#replied(sent, value, false),
          (error: Error) => this.#failed(sent, error),
        );
      } else this.#replied(sent, reply, sent.direct);
    } catch (error) {
      sent.threw = (error as Error).message === "scripted";
      this.#failed(sent, error as Error);
    }
  }

  #replied(sent: Sent, value: unknown, atOnce: boolean): void {
    this.#settled++;
    this.#expect(value === `r${sent.id}`, "a reply was another's");
    this.#expect(atOnce || sent.endedAt < sent.deadline, "a reply came after the time limit");
  }

  #failed(sent: Sent, { name, message }: Error): void {
    this.#settled++;
    if (name === "RequestTimeoutError") {
      this.#expect(this.#clock.now >= sent.deadline, "the time limit ended too early");
      sent.timedOut = true;
    } else if (message === "given up") this.#expect(sent.abort?.signal.aborted === true, "a send failed by an abort");
    else this.#expect(message === "scripted" || REFUSALS.includes(name), `${name}: ${message}`);
  }

  #check(): void {
    assert.deepEqual(this.#broken, []);
    assert.equal(this.#settled + this.#emitted, this.#sent.length);
    const timedOut = this.#sent.filter((sent) => sent.timedOut).map(({ id }) => id);
    const letters = this.#letters.filter((id) => !this.#sent[id]!.threw);
    assert.deepEqual(
      letters.sort((a, b) => a - b),
      timedOut,
    );
    for (const one of this.#system.stats().receivers) {
      const { refused, dropped, aborted, expired, waiting, running } = one;
      assert.equal(one.sent, one.handled + refused + dropped + aborted + expired);
      assert.deepEqual([waiting, running], [0, 0]);
    }
    assert.equal(this.#system.pool.stats().inUse, 0);
  }
}

test("with busy handlers nothing starts after its time limit or abort, no late reply arrives, and the counts balance", async () => {
  for (let seed = 1; seed <= SCHEDULES; seed++) {
    try {
      await new Schedule(randomFrom(7_919 * seed)).run();
    } catch (error) {
      throw new Error(`the schedule of seed ${seed} breaks a promise`, { cause: error });
    }
  }
});
