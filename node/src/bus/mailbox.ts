import { Deque } from "../pool/deque.js";
import type { Message } from "../pool/message.js";
import { requireFunction, requireInteger, requireKnown, SettingError } from "../pool/pool-error.js";
import { type BusError, MessageDroppedError, QueueFullError } from "./bus-error.js";
import { type Delivery, QUEUED, WAITING } from "./delivery.js";
import { soon } from "./platform.js";
import type { Overflow, QueueOptions } from "./queue-options.js";

const OVERFLOWS: readonly Overflow[] = ["reject", "drop-oldest", "drop-newest", "coalesce", "wait"];
/** Messages that one turn of the event loop handles, before timers and sockets have theirs. */
const TURN = 1_024;
/** Holes that the lanes may have beyond the messages that wait. */
const HOLES = 64;

/** @internal A request for a place, which waits for room like a message. */
export interface PlaceRequest {
  state: number;
  granted(): void;
}

/** @internal What a mailbox needs of its dispatcher. */
export interface MailboxOwner {
  /** False when its time limit has ended instead. */
  startWaiting(delivery: Delivery): boolean;
  /** May take messages back, and call user code. */
  look(): void;
}

/** @internal Why a mailbox did not keep a message. */
export type Refusal = "refused" | "dropped";

/**
 * The bounded queue in front of one receiver: four lanes by priority, most urgent first, each first in first out, and behind
 * them, in order, those who wait for room. What is taken out of the middle leaves a hole until its turn.
 *
 * Threads: one.
 * Memory:  one reference a waiting message.
 *
 * @internal
 */
export class Mailbox {
  readonly #lanes = Array.from({ length: 4 }, () => new Deque<Delivery>());
  readonly #room = new Deque<Delivery | PlaceRequest>();
  readonly #capacity: number;
  readonly #concurrency: number;
  readonly #overflow: Overflow;
  readonly #key: ((message: Message) => unknown) | undefined;
  readonly #byKey = new Map<unknown, Delivery>();
  #queued = 0;
  #holes = 0;
  /** Messages and requests that wait for room. */
  #asking = 0;
  #reserved = 0;
  #running = 0;
  #scheduled = false;
  #displaced: Delivery | undefined;
  readonly #pump = (): void => this.#turn();

  constructor(
    readonly path: string,
    private readonly owner: MailboxOwner,
    options: QueueOptions,
  ) {
    requireKnown("queue", options, ["capacity", "concurrency", "overflow", "key"]);
    this.#capacity = requireInteger("queue capacity", options.capacity, 1, 2 ** 22);
    this.#concurrency = requireInteger("concurrency", options.concurrency ?? 1, 1, 2 ** 20);
    this.#overflow = options.overflow ?? "reject";
    if (!OVERFLOWS.includes(this.#overflow)) throw new SettingError("overflow", this.#overflow, OVERFLOWS.join(", "));
    if (options.key !== undefined) requireFunction("queue key", options.key);
    if ((this.#overflow === "coalesce") !== (options.key !== undefined)) {
      throw new SettingError("queue key", options.key, 'a function with overflow "coalesce" and absent otherwise');
    }
    this.#key = options.key;
  }

  /** Messages that wait, for their turn or for room. */
  get waiting(): number {
    return this.#queued + this.#messagesAsking;
  }
  #messagesAsking = 0;

  full(): boolean {
    return this.#queued + this.#reserved >= this.#capacity || this.#asking > 0;
  }

  /** Calls the key function and propagates its exceptions. */
  identify(delivery: Delivery): void {
    if (this.#key !== undefined) delivery.key = this.#key(delivery.message);
  }

  /**
   * Takes the message over, or returns why not. `mayWait`: with overflow `wait`, until there is room. Calls nothing: the message
   * that gave way is `takeDisplaced`.
   */
  offer(delivery: Delivery, reserved: boolean, mayWait: boolean): Refusal | undefined {
    if (this.#key !== undefined && this.#replace(delivery)) {
      if (reserved) this.unreserve();
      return undefined;
    }
    if (reserved) this.#reserved--;
    else if (this.full()) {
      if (this.#overflow === "wait" && mayWait) {
        delivery.listed = true;
        this.#messagesAsking++;
        this.ask(delivery);
        return undefined;
      }
      if (this.#overflow === "drop-newest") return "dropped";
      if (this.#overflow !== "drop-oldest") return "refused";
      this.#displaced = this.#oldestBelow(delivery.lane);
      if (this.#displaced === undefined) return "dropped";
    }
    this.#enqueue(delivery);
    return undefined;
  }

  /** The message that gave way to the one that was offered last, once. */
  takeDisplaced(): Delivery | undefined {
    const displaced = this.#displaced;
    this.#displaced = undefined;
    return displaced;
  }

  errorOf(refusal: Refusal): BusError {
    if (refusal === "refused") return new QueueFullError(this.path, this.#capacity);
    return new MessageDroppedError(this.path, this.#overflow as MessageDroppedError["reason"]);
  }

  /** Waits for room; `granted` is called, at once or later, when a place is reserved. */
  ask(one: Delivery | PlaceRequest): void {
    one.state = WAITING;
    this.#asking++;
    this.#room.push(one);
    this.#give();
  }

  /** A place that was reserved is free again. */
  unreserve(): void {
    this.#reserved--;
    this.#give();
  }

  /** A request for a place that is no longer wanted. */
  withdraw(): void {
    this.#asking--;
    if (this.#room.length > 2 * this.#asking + HOLES) {
      this.#room.filter((one) => {
        const kept = one.state === WAITING;
        if (!kept) unlist(one);
        return kept;
      });
    }
    this.#give();
  }

  /** A message that waits is taken out; its state is changed before. Cost: amortised O(1). */
  remove(delivery: Delivery, was: number): void {
    if (was === WAITING) {
      this.#messagesAsking--;
      this.withdraw();
      return;
    }
    this.#forget(delivery);
    if (delivery.placeHolder !== undefined) delivery.placeHolder.successor = undefined;
    this.#queued--;
    this.#holes++;
    if (this.#holes > this.#queued + HOLES) {
      for (const lane of this.#lanes) {
        lane.filter((one) => {
          const kept = (one.successor ?? one).state === QUEUED;
          if (!kept) one.listed = false;
          return kept;
        });
      }
      this.#holes = 0;
    }
    this.#give();
  }

  /** The handler of one of its messages has settled. */
  finished(): void {
    this.#running--;
    if (this.#queued > 0) this.#schedule();
  }

  /** Starts what waits, now, up to the concurrency. Returns how many handlers were started. */
  flush(): number {
    let started = 0;
    for (let one = this.#startNext(); one !== undefined; one = this.#startNext()) if (one) started++;
    return started;
  }

  #enqueue(delivery: Delivery): void {
    delivery.state = QUEUED;
    delivery.listed = true;
    if (this.#key !== undefined) this.#byKey.set(delivery.key, delivery);
    this.#lanes[delivery.lane]!.push(delivery);
    this.#queued++;
    this.#schedule();
  }

  #schedule(): void {
    if (this.#scheduled || this.#running >= this.#concurrency) return;
    this.#scheduled = true;
    queueMicrotask(this.#pump);
  }

  #turn(): void {
    for (let left = TURN; left > 0 && this.#startNext() !== undefined; left--);
    this.#scheduled = false;
    if (this.#queued > 0 && this.#running < this.#concurrency) {
      this.#scheduled = true;
      soon(this.#pump);
    }
  }

  /** False when the next message's time was over; undefined when none may start. */
  #startNext(): boolean | undefined {
    this.owner.look();
    if (this.#running >= this.#concurrency) return undefined;
    for (let number = 0; number < 4; number++) {
      const lane = this.#lanes[number]!;
      const delivery = lane.length > 0 ? this.#first(lane) : undefined;
      if (delivery === undefined) continue;
      this.#running++;
      this.#give();
      const started = this.owner.startWaiting(delivery);
      if (!started) this.#running--;
      return started;
    }
    return undefined;
  }

  /** Takes the first message of a lane that is not a hole. */
  #first(lane: Deque<Delivery>): Delivery | undefined {
    for (let one = lane.shift(); one !== undefined; one = lane.shift()) {
      one.listed = false;
      const delivery = one.successor ?? one;
      if (delivery.state === QUEUED) {
        this.#queued--;
        this.#forget(delivery);
        return delivery;
      }
      this.#holes--;
    }
    return undefined;
  }

  /** A message of the same key takes the place of the one that waits. */
  #replace(delivery: Delivery): boolean {
    const old = this.#byKey.get(delivery.key);
    if (old === undefined) return false;
    const holder = old.placeHolder ?? old;
    holder.successor = delivery;
    delivery.placeHolder = holder;
    delivery.state = QUEUED;
    this.#byKey.set(delivery.key, delivery);
    this.#displaced = old;
    return true;
  }

  /** Takes out the oldest of the least urgent; undefined when all that wait are more urgent than `lane`. */
  #oldestBelow(lane: number): Delivery | undefined {
    let oldest: Delivery | undefined;
    for (let number = 3; number >= lane && oldest === undefined; number--) oldest = this.#first(this.#lanes[number]!);
    return oldest;
  }

  #forget(delivery: Delivery): void {
    if (this.#key !== undefined && this.#byKey.get(delivery.key) === delivery) this.#byKey.delete(delivery.key);
  }

  #give(): void {
    while (this.#asking > 0 && this.#queued + this.#reserved < this.#capacity) {
      const one = this.#room.shift()!;
      if (one.state !== WAITING) {
        unlist(one);
        continue;
      }
      this.#asking--;
      if ("granted" in one) {
        this.#reserved++;
        one.granted();
      } else {
        this.#messagesAsking--;
        this.#enqueue(one);
      }
    }
  }
}

/** It may be used for another message. */
function unlist(one: Delivery | PlaceRequest): void {
  if (!("granted" in one)) one.listed = false;
}
