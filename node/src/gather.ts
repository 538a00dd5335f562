import type { Message } from "./message.js";
import { isThenable } from "./message-pool.js";
import type { Run } from "./plan.js";
import type { Reply } from "./queue-options.js";

/**
 * Collects the outcomes of one message with several receivers. The message is given back when the last one is done.
 *
 * @internal
 */
export class Gather {
  #unsettled: number;
  #awaited = 0;
  #reply: unknown;
  readonly #errors: unknown[] = [];
  #whenDone: (() => void) | undefined;

  constructor(
    receivers: number,
    private readonly giveBack: () => void,
  ) {
    this.#unsettled = receivers;
  }

  /** For a receiver that the sender waits for; the reply that counts is the first receiver's. */
  part(first: boolean): Reply {
    this.#awaited++;
    return {
      shared: true,
      resolve: (reply) => {
        if (first) this.#reply = reply;
        this.#settle();
      },
      reject: (error) => {
        this.#errors.push(error);
        this.#settle();
      },
    };
  }

  /** Runs a receiver that has no queue, here and now. `failed` is told if it throws or rejects. */
  run(run: Run, message: Message, first: boolean, failed: () => void): void {
    let outcome: unknown;
    try {
      outcome = run(message);
    } catch (error) {
      failed();
      this.#errors.push(error);
      this.#release();
      return;
    }
    if (isThenable(outcome)) {
      const part = this.part(first);
      outcome.then(part.resolve, (error: unknown) => {
        failed();
        part.reject(error);
      });
      return;
    }
    if (first) this.#reply = outcome;
    this.#release();
  }

  /** For a receiver that nobody waits for. */
  unattended(report: (error: unknown) => void): Reply {
    return {
      shared: true,
      resolve: () => this.#release(),
      reject: (error) => {
        this.#release();
        report(error);
      },
    };
  }

  /** The reply or `count`, by promise while a receiver that is waited for is not done; throws what the receivers threw. */
  result(count: number | undefined): unknown {
    if (this.#awaited === 0) return this.#conclude(count);
    return new Promise<void>((resolve) => {
      this.#whenDone = resolve;
    }).then(() => this.#conclude(count));
  }

  #conclude(count: number | undefined): unknown {
    if (this.#errors.length === 1) throw this.#errors[0];
    if (this.#errors.length > 1) throw new AggregateError(this.#errors, `${this.#errors.length} handlers failed`);
    return count ?? this.#reply;
  }

  #settle(): void {
    this.#release();
    this.#awaited--;
    if (this.#awaited === 0) this.#whenDone?.();
  }

  #release(): void {
    this.#unsettled--;
    if (this.#unsettled === 0) this.giveBack();
  }
}
