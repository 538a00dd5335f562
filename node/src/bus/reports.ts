import { shown } from "../pool/checks.js";
import type { Delivery } from "./delivery.js";
import { runIn, type Scope, warn } from "./platform.js";
import type { Receiver } from "./receiver.js";
import type { DeadLetter } from "./system-options.js";

/** Texts of the warnings of lost messages: the loss, and advice. */
const LOSSES: Partial<Record<DeadLetter["reason"], readonly [loss: string, advice: string]>> = {
  refused: ["was refused by a full queue", "set onDeadLetter, or a larger capacity"],
  expired: ["expired before it was handled", "set a longer timeoutMs"],
  dropped: ["was dropped from a full queue", "set its queue"],
};
const MAX_WARNINGS = 100;

/**
 * Passes errors and dead letters to the user's functions, and ignores their exceptions. Without such a function it emits a process
 * warning, once for each receiver and cause.
 *
 * @internal
 */
export class Reports {
  /** The receivers of the emitted warnings, by cause. */
  readonly #warned = new Map<string, Set<string>>();
  #warnings = 0;

  constructor(
    private readonly onError: ((error: unknown, path: string, receiver: string) => void) | undefined,
    private readonly onDeadLetter: ((letter: DeadLetter) => void) | undefined,
  ) {}

  error(error: unknown, path: string, receiver: string): void {
    if (this.onError === undefined) {
      const text = (): string =>
        `${shown(receiver)} failed, and no sender gets the error: ${shown(error)}; set onError`;
      this.#warn("MILLPOND_UNHANDLED_ERROR", error instanceof Error ? error.name : typeof error, receiver, text);
      return;
    }
    try {
      this.onError(error, path, receiver);
    } catch (thrown) {
      warn(`onError threw ${String(thrown)} for an error of ${receiver}`, "MILLPOND_ON_ERROR");
    }
  }

  get wantsDeadLetters(): boolean {
    return this.onDeadLetter !== undefined;
  }

  /** The dead letter of a message that ended early, if one is wanted. Messages of observers have none. */
  deadLetterOf(
    { message, receiver, emitted }: Delivery,
    reason: DeadLetter["reason"],
    error: () => unknown,
  ): DeadLetter | undefined {
    if (emitted) this.lost(receiver, reason);
    if (this.onDeadLetter === undefined || receiver.observes) return undefined;
    const { _path: path, _body: body, _meta: meta } = message;
    return { path, body, meta, reason, receiver: receiver.name, error: error() };
  }

  /** Warns of a lost message whose sender gets no error, unless it has a dead letter or its queue is meant to drop messages. */
  lost({ name, observes, queuedByDefault }: Receiver, reason: DeadLetter["reason"]): void {
    const quiet = observes ? !queuedByDefault : this.onDeadLetter !== undefined || reason === "dropped";
    const loss = LOSSES[reason];
    if (quiet || loss === undefined) return;
    const text = (): string => `a message to ${shown(name)} ${loss[0]}; further ones are only counted: ${loss[1]}`;
    this.#warn("MILLPOND_MESSAGE_LOST", reason, name, text);
  }

  /** Calls user code, which may use the system: callers do it last, after every change of state. scope: the sender's context. */
  deadLetter(letter: DeadLetter | undefined, scope?: Scope): void {
    if (letter === undefined) return;
    if (scope === undefined) this.#deliver(letter);
    else runIn(scope, (one) => this.#deliver(one), letter);
  }

  #warn(code: string, cause: string, receiver: string, text: () => string): void {
    let receivers = this.#warned.get(cause);
    if (receivers?.has(receiver) === true || this.#warnings === MAX_WARNINGS) return;
    if (receivers === undefined) this.#warned.set(cause, (receivers = new Set()));
    receivers.add(receiver);
    this.#warnings++;
    warn(text(), code);
  }

  #deliver(letter: DeadLetter): void {
    try {
      this.onDeadLetter?.(letter);
    } catch (thrown) {
      this.error(thrown, letter.path, letter.receiver ?? "");
    }
  }
}
