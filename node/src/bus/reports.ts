import type { Delivery } from "./delivery.js";
import { type Scope, warn } from "./platform.js";
import type { DeadLetter } from "./system-options.js";

/**
 * Hands errors and dead letters to the functions of the user. What these throw ends nothing.
 *
 * @internal
 */
export class Reports {
  constructor(
    private readonly onError: ((error: unknown, path: string, receiver: string) => void) | undefined,
    private readonly onDeadLetter: ((letter: DeadLetter) => void) | undefined,
  ) {}

  error(error: unknown, path: string, receiver: string): void {
    try {
      this.onError?.(error, path, receiver);
    } catch (thrown) {
      warn(`onError threw ${String(thrown)} for an error of ${receiver}`, "MILLPOND_ON_ERROR");
    }
  }

  get wantsLetters(): boolean {
    return this.onDeadLetter !== undefined;
  }

  /** The letter of a message that its handler did not get, or too late, where one is wanted. Observers have counts only. */
  letterOf(
    { message, receiver }: Delivery,
    reason: DeadLetter["reason"],
    error: () => unknown,
  ): DeadLetter | undefined {
    if (this.onDeadLetter === undefined || receiver.observes) return undefined;
    const { _path: path, _body: body, _meta: meta } = message;
    return { path, body, meta, reason, receiver: receiver.name, error: error() };
  }

  /**
   * Calls user code, which may do anything with the system: last, after every change of state. `scope`: the context of the
   * message's sender.
   */
  letter(letter: DeadLetter | undefined, scope?: Scope): void {
    if (letter === undefined) return;
    if (scope === undefined) this.#hand(letter);
    else scope.runInAsyncScope((one: DeadLetter) => this.#hand(one), undefined, letter);
  }

  #hand(letter: DeadLetter): void {
    try {
      this.onDeadLetter?.(letter);
    } catch (thrown) {
      this.error(thrown, letter.path, letter.receiver ?? "");
    }
  }
}
