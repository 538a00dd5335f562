import type { Delivery } from "./delivery.js";
import { warn } from "./platform.js";
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

  letter(letter: DeadLetter): void {
    if (this.onDeadLetter === undefined) return;
    try {
      this.onDeadLetter(letter);
    } catch (thrown) {
      this.error(thrown, letter.path, letter.receiver ?? "");
    }
  }

  /** A message that its handler did not get, or too late. Observers have counts only. */
  gone({ message, receiver }: Delivery, reason: DeadLetter["reason"], error: unknown): void {
    if (this.onDeadLetter === undefined || receiver.observes) return;
    const { _path: path, _body: body, _meta: meta } = message;
    this.letter({ path, body, meta, reason, receiver: receiver.name, error });
  }
}
