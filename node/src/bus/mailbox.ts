import { Deque } from "../pool/deque.js";
import type { Message } from "../pool/message.js";
import { type BusError, MessageDroppedError, QueueFullError } from "./bus-error.js";
import { QUEUED, WAITING } from "./delivery-state.js";
import { soon } from "./platform.js";
import type { Overflow, QueueOptions } from "./queue-options.js";

/** Messages that one turn of the event loop starts before timers and sockets get a turn. */
const MAX_PER_TURN = 1_024;
/** Holes in the lanes, beyond the number of queued messages, that trigger their removal. */
const MAX_HOLES = 64;

/** @internal A message as a mailbox sees it. */
export interface Queued {
  readonly message: Message;
  state: number;
  readonly lane: number;
  /** Whether a list of a mailbox refers to it, as a message or as a hole. */
  listed: boolean;
  /** The newer message of the same key that took its place in the lane. */
  successor: Queued | undefined;
  /** The listed message whose place it took. */
  predecessor: Queued | undefined;
  key: unknown;
}

/** @internal A request for a place, which waits for capacity as a message does. */
export interface PlaceRequest {
  state: number;
  granted(): void;
}

/** @internal The calls of a mailbox to the runner of its messages. */
export interface MailboxOwner {
  /** False if the message's time limit has ended instead. */
  startWaiting(delivery: Queued): boolean;
  /** Withdraws aborted messages of other threads. May call user code. */
  checkAborts(): void;
}

/** @internal The reason why a mailbox did not keep a message. */
export type Refusal = "refused" | "dropped";

/**
 * The bounded queue in front of one receiver: four lanes by priority, most urgent first, each first in, first out. Behind them
 * messages and requests for places wait for capacity, in one order. A message that is removed leaves a hole in its lane.
 *
 * Threads: one.
 * Memory:  one reference per queued message.
 *
 * @internal
 */
export class Mailbox {
  readonly #lanes = Array.from({ length: 4 }, () => new Deque<Queued>());
  readonly #waiters = new Deque<Queued | PlaceRequest>();
  readonly #capacity: number;
  readonly #concurrency: number;
  readonly #overflow: Overflow;
  readonly #key: ((message: Message) => unknown) | undefined;
  readonly #byKey = new Map<unknown, Queued>();
  #queued = 0;
  #holes = 0;
  /** Entries of `#waiters` that still wait, and the messages among them. */
  #waiting = 0;
  #messagesWaiting = 0;
  #reserved = 0;
  #running = 0;
  #scheduled = false;
  #displaced: Queued | undefined;
  readonly #pump = (): void => this.#startTurn();

  /** options: checked before. */
  constructor(
    readonly path: string,
    private readonly owner: MailboxOwner,
    options: QueueOptions,
  ) {
    this.#capacity = options.capacity;
    this.#concurrency = options.concurrency ?? 1;
    this.#overflow = options.overflow ?? "reject";
    this.#key = options.key;
  }

  /** Messages that are queued or wait for capacity. */
  get waiting(): number {
    return this.#queued + this.#messagesWaiting;
  }

  full(): boolean {
    return this.#queued + this.#reserved >= this.#capacity || this.#waiting > 0;
  }

  /** Calls the key function and propagates its exceptions. */
  identify(delivery: Queued): void {
    if (this.#key !== undefined) delivery.key = this.#key(delivery.message);
  }

  /**
   * Queues the message, or returns why not. mayWait: with overflow `wait` it may wait for capacity. Calls no user code;
   * `popDisplaced` returns the message that it displaced.
   */
  offer(delivery: Queued, reserved: boolean, mayWait: boolean): Refusal | undefined {
    if (this.#key !== undefined && this.#replace(delivery)) {
      if (reserved) this.unreserve();
      return undefined;
    }
    if (reserved) this.#reserved--;
    else if (this.full()) {
      if (this.#overflow === "wait" && mayWait) {
        delivery.listed = true;
        this.#messagesWaiting++;
        this.waitForCapacity(delivery);
        return undefined;
      }
      if (this.#overflow === "drop-newest") return "dropped";
      if (this.#overflow !== "drop-oldest") return "refused";
      this.#displaced = this.#popOldest(delivery.lane);
      if (this.#displaced === undefined) return "dropped";
    }
    this.#enqueue(delivery);
    return undefined;
  }

  /** Returns, once, the message that the last `offer` displaced. */
  popDisplaced(): Queued | undefined {
    const displaced = this.#displaced;
    this.#displaced = undefined;
    return displaced;
  }

  errorOf(refusal: Refusal): BusError {
    if (refusal === "refused") return new QueueFullError(this.path, this.#capacity);
    return new MessageDroppedError(this.path, this.#overflow as MessageDroppedError["reason"]);
  }

  /** Queues a message, or grants a place, at once or when there is capacity. */
  waitForCapacity(waiter: Queued | PlaceRequest): void {
    waiter.state = WAITING;
    this.#waiting++;
    this.#waiters.push(waiter);
    this.#admitWaiters();
  }

  /** Frees a reserved place. */
  unreserve(): void {
    this.#reserved--;
    this.#admitWaiters();
  }

  /** Removes a waiter whose state has changed. Cost: amortised O(1). */
  withdraw(): void {
    this.#waiting--;
    if (this.#waiters.length > 2 * this.#waiting + MAX_HOLES) {
      this.#waiters.filter((waiter) => {
        const kept = waiter.state === WAITING;
        if (!kept) unlist(waiter);
        return kept;
      });
    }
    this.#admitWaiters();
  }

  /** Removes a message whose state has changed; `was` is its previous state. Cost: amortised O(1). */
  remove(delivery: Queued, was: number): void {
    if (was === WAITING) {
      this.#messagesWaiting--;
      this.withdraw();
      return;
    }
    this.#forgetKey(delivery);
    if (delivery.predecessor !== undefined) delivery.predecessor.successor = undefined;
    this.#queued--;
    this.#holes++;
    if (this.#holes > this.#queued + MAX_HOLES) this.#removeHoles();
    this.#admitWaiters();
  }

  /** Called when a handler of one of its messages has settled. */
  finished(): void {
    this.#running--;
    if (this.#queued > 0) this.#schedule();
  }

  /** Starts queued messages up to the concurrency. Returns the number of started handlers. */
  flush(): number {
    let started = 0;
    for (let one = this.#startNext(); one !== undefined; one = this.#startNext()) if (one) started++;
    return started;
  }

  #enqueue(delivery: Queued): void {
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

  #startTurn(): void {
    for (let left = MAX_PER_TURN; left > 0 && this.#startNext() !== undefined; left--);
    this.#scheduled = false;
    if (this.#queued > 0 && this.#running < this.#concurrency) {
      this.#scheduled = true;
      soon(this.#pump);
    }
  }

  /** False if the next message's time limit had ended; undefined if no message may start. */
  #startNext(): boolean | undefined {
    this.owner.checkAborts();
    if (this.#running >= this.#concurrency) return undefined;
    for (let number = 0; number < 4; number++) {
      const lane = this.#lanes[number]!;
      const delivery = lane.length > 0 ? this.#popFirst(lane) : undefined;
      if (delivery === undefined) continue;
      this.#running++;
      this.#admitWaiters();
      const started = this.owner.startWaiting(delivery);
      if (!started) this.#running--;
      return started;
    }
    return undefined;
  }

  /** Removes and returns the first message of a lane. */
  #popFirst(lane: Deque<Queued>): Queued | undefined {
    for (let entry = lane.shift(); entry !== undefined; entry = lane.shift()) {
      entry.listed = false;
      const delivery = entry.successor ?? entry;
      if (delivery.state === QUEUED) {
        this.#queued--;
        this.#forgetKey(delivery);
        return delivery;
      }
      this.#holes--;
    }
    return undefined;
  }

  /** Gives the message the place of the queued message of the same key, if there is one. */
  #replace(delivery: Queued): boolean {
    const old = this.#byKey.get(delivery.key);
    if (old === undefined) return false;
    const listed = old.predecessor ?? old;
    listed.successor = delivery;
    delivery.predecessor = listed;
    delivery.state = QUEUED;
    this.#byKey.set(delivery.key, delivery);
    this.#displaced = old;
    return true;
  }

  /** Removes and returns the oldest message of the least urgent lane; undefined if all messages are more urgent than `lane`. */
  #popOldest(lane: number): Queued | undefined {
    let oldest: Queued | undefined;
    for (let number = 3; number >= lane && oldest === undefined; number--)
      oldest = this.#popFirst(this.#lanes[number]!);
    return oldest;
  }

  #forgetKey(delivery: Queued): void {
    if (this.#key !== undefined && this.#byKey.get(delivery.key) === delivery) this.#byKey.delete(delivery.key);
  }

  #removeHoles(): void {
    for (const lane of this.#lanes) {
      lane.filter((entry) => {
        const kept = (entry.successor ?? entry).state === QUEUED;
        if (!kept) entry.listed = false;
        return kept;
      });
    }
    this.#holes = 0;
  }

  #admitWaiters(): void {
    while (this.#waiting > 0 && this.#queued + this.#reserved < this.#capacity) {
      const waiter = this.#waiters.shift()!;
      if (waiter.state !== WAITING) {
        unlist(waiter);
        continue;
      }
      this.#waiting--;
      if ("granted" in waiter) {
        this.#reserved++;
        waiter.granted();
      } else {
        this.#messagesWaiting--;
        this.#enqueue(waiter);
      }
    }
  }
}

/** Marks a message as removed from the list, so that its delivery may be reused. */
function unlist(waiter: Queued | PlaceRequest): void {
  if (!("granted" in waiter)) waiter.listed = false;
}
