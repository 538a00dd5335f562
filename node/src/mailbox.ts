import { MessageDroppedError, QueueFullError } from "./bus-error.js";
import type { Message } from "./message.js";
import { isThenable } from "./message-pool.js";
import { Lane } from "./lane.js";
import { requireInteger, SettingError } from "./pool-error.js";
import type { MailboxOwner, MailboxStats, Overflow, Priority, QueueOptions, Reply } from "./queue-options.js";

const LANES = { critical: 0, high: 1, medium: 2, low: 3 } as const;
const OVERFLOWS: readonly Overflow[] = ["reject", "drop-oldest", "drop-newest", "coalesce", "wait"];
/** Messages that one turn of the event loop handles, before timers and sockets have theirs. */
const TURN = 1_024;

/**
 * The bounded queue in front of one handler: four lanes by priority, most urgent first, each first in first out. A queued
 * message belongs to the queue until the handler settles.
 *
 * Threads: one.
 * Memory:  two references a place and used lane, taken when the lane is first used.
 *
 * @internal
 */
export class Mailbox {
  readonly #lanes: (Lane | undefined)[] = [undefined, undefined, undefined, undefined];
  readonly #mask: number;
  readonly #capacity: number;
  readonly #overflow: Overflow;
  readonly #concurrency: number;
  readonly #key: ((message: Message) => unknown) | undefined;
  readonly #waitingByKey = new Map<unknown, { lane: Lane; place: number }>();
  readonly #keys = new Map<Message, unknown>();
  readonly #credit: (() => void)[] = [];
  #creditHead = 0;
  #waiting = 0;
  /** Places promised to senders who waited for them and have not come yet. */
  #reserved = 0;
  #running = 0;
  #scheduled = false;
  #accepted = 0;
  #handled = 0;
  #dropped = 0;
  #refused = 0;
  #aborted = 0;
  readonly #pump = () => this.#turn();
  readonly #moved = (message: Message, lane: Lane, place: number) => {
    if (this.#key !== undefined) this.#waitingByKey.set(this.#keys.get(message), { lane, place });
  };

  constructor(
    readonly path: string,
    readonly handler: (message: Message) => unknown,
    readonly owner: MailboxOwner,
    options: QueueOptions,
  ) {
    this.#capacity = requireInteger("queue capacity", options.capacity, 1, 2 ** 22);
    this.#concurrency = requireInteger("concurrency", options.concurrency ?? 1, 1, 2 ** 20);
    this.#overflow = options.overflow ?? "reject";
    if (!OVERFLOWS.includes(this.#overflow)) throw new SettingError("overflow", this.#overflow, OVERFLOWS.join(", "));
    if ((this.#overflow === "coalesce") !== (options.key !== undefined)) {
      throw new SettingError(
        "queue key",
        typeof options.key,
        'a function with overflow "coalesce" and absent otherwise',
      );
    }
    this.#key = options.key;
    // A removed message leaves a hole until its turn, so a lane has room for as many again.
    this.#mask = 2 ** Math.ceil(Math.log2(this.#capacity * 2)) - 1;
  }

  get idle(): boolean {
    return this.#waiting === 0 && this.#running === 0;
  }

  get full(): boolean {
    return this.#waiting + this.#reserved >= this.#capacity;
  }

  /** False when a message sent now would be refused, dropped, or cost another its place. */
  canAccept(): boolean {
    return !this.full;
  }

  get waits(): boolean {
    return this.#overflow === "wait";
  }

  /** Settles when a message finds room; those who wait are told in order. */
  whenReady(): Promise<void> {
    return this.claim().then(() => {
      this.#reserved--;
      this.#giveCredit();
    });
  }

  /** A place for `push` with `claimed`, at once or when it is free; those who wait get theirs in order. */
  claim(): Promise<void> {
    if (!this.full && this.#creditHead === this.#credit.length) {
      this.#reserved++;
      return Promise.resolve();
    }
    return new Promise((resolve) => this.#credit.push(resolve));
  }

  /** Takes the message over, or settles it at once. True when it was taken. */
  push(message: Message, priority: Priority, reply: Reply | undefined, claimed = false): boolean {
    if (claimed) this.#reserved--;
    if (this.#key !== undefined && this.#replaceEqual(this.#key(message), message, reply)) return true;
    if (this.full) {
      if (this.#overflow === "drop-oldest") this.#dropOldest();
      else {
        this.#refused++;
        const error =
          this.#overflow === "drop-newest"
            ? new MessageDroppedError(this.path, "drop-newest")
            : new QueueFullError(this.path, this.#capacity);
        this.owner.gone(message, reply, error);
        return false;
      }
    }
    const number = LANES[priority];
    let lane = this.#lanes[number];
    if (lane === undefined) {
      lane = new Lane(this.#mask);
      this.#lanes[number] = lane;
    }
    lane.closeHoles(this.#moved);
    const place = lane.put(message, reply);
    if (this.#key !== undefined) {
      const key = this.#key(message);
      this.#keys.set(message, key);
      this.#waitingByKey.set(key, { lane, place });
    }
    this.#waiting++;
    this.#accepted++;
    this.#schedule();
    return true;
  }

  /** Takes a message that still waits out of the queue. False when it runs already, or is gone. Cost: the queue's length. */
  abort(message: Message, reason: unknown): boolean {
    for (const lane of this.#lanes) {
      const place = lane?.placeOf(message) ?? -1;
      if (lane === undefined || place < 0) continue;
      this.#aborted++;
      this.#remove(lane, place, reason);
      return true;
    }
    return false;
  }

  /** Runs everything that waits, now, as far as the concurrency allows. Returns how many handlers were started. */
  flush(): number {
    let started = 0;
    while (this.#running < this.#concurrency && this.#startNext()) started++;
    return started;
  }

  stats(): MailboxStats {
    return {
      accepted: this.#accepted,
      handled: this.#handled,
      dropped: this.#dropped,
      refused: this.#refused,
      aborted: this.#aborted,
      waiting: this.#waiting,
      running: this.#running,
    };
  }

  #schedule(): void {
    if (this.#scheduled || this.#running >= this.#concurrency) return;
    this.#scheduled = true;
    queueMicrotask(this.#pump);
  }

  #turn(): void {
    for (let left = TURN; left > 0 && this.#running < this.#concurrency; left--) {
      if (!this.#startNext()) break;
    }
    this.#scheduled = false;
    if (this.#waiting > 0 && this.#running < this.#concurrency) {
      this.#scheduled = true;
      setImmediate(this.#pump);
    }
  }

  #startNext(): boolean {
    for (let number = 0; number < 4; number++) {
      const lane = this.#lanes[number];
      const place = lane?.first() ?? -1;
      if (lane === undefined || place < 0) continue;
      const message = lane.messages[place]!;
      const reply = lane.replies[place];
      lane.empty(place);
      lane.head++;
      this.#waiting--;
      if (this.#key !== undefined) this.#forgetKey(message);
      this.#giveCredit();
      this.#run(message, reply);
      return true;
    }
    return false;
  }

  #run(message: Message, reply: Reply | undefined): void {
    this.#running++;
    let outcome: unknown;
    try {
      outcome = this.handler(message);
    } catch (error) {
      this.#done(message, reply, true, error);
      return;
    }
    if (isThenable(outcome)) {
      outcome.then(
        (value) => this.#done(message, reply, false, value),
        (error) => this.#done(message, reply, true, error),
      );
    } else this.#done(message, reply, false, outcome);
  }

  #done(message: Message, reply: Reply | undefined, failed: boolean, outcome: unknown): void {
    this.#running--;
    this.#handled++;
    this.owner.settled(message, reply, failed, outcome);
    if (this.#waiting > 0) this.#schedule();
  }

  #replaceEqual(key: unknown, message: Message, reply: Reply | undefined): boolean {
    const waiting = this.#waitingByKey.get(key);
    if (waiting === undefined) return false;
    const { lane, place } = waiting;
    const old = lane.messages[place]!;
    const oldReply = lane.replies[place];
    lane.messages[place] = message;
    lane.replies[place] = reply;
    this.#keys.delete(old);
    this.#keys.set(message, key);
    this.#accepted++;
    this.#dropped++;
    this.owner.gone(old, oldReply, new MessageDroppedError(this.path, "coalesce"));
    return true;
  }

  #dropOldest(): void {
    for (let number = 3; number >= 0; number--) {
      const lane = this.#lanes[number];
      const place = lane?.first() ?? -1;
      if (lane === undefined || place < 0) continue;
      this.#dropped++;
      this.#remove(lane, place, new MessageDroppedError(this.path, "drop-oldest"));
      return;
    }
  }

  #remove(lane: Lane, place: number, reason: unknown): void {
    const message = lane.messages[place]!;
    const reply = lane.replies[place];
    lane.empty(place);
    this.#waiting--;
    if (this.#key !== undefined) this.#forgetKey(message);
    this.owner.gone(message, reply, reason);
    this.#giveCredit();
  }

  #forgetKey(message: Message): void {
    this.#waitingByKey.delete(this.#keys.get(message));
    this.#keys.delete(message);
  }

  #giveCredit(): void {
    if (this.#creditHead === this.#credit.length || this.full) return;
    this.#reserved++;
    this.#credit[this.#creditHead]!();
    this.#creditHead++;
    if (this.#creditHead === this.#credit.length) {
      this.#credit.length = 0;
      this.#creditHead = 0;
    }
  }
}
