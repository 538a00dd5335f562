import * as check from "../pool/checks.js";
import type { Message } from "../pool/message.js";
import { RegistrationRemovedError, RequestTimeoutError, SystemClosedError } from "./bus-error.js";
import type { Deadlines } from "./deadlines.js";
import type { Registry } from "./registry.js";
import { unwatchSignal, watchSignal } from "./signals.js";
import type { WaitOptions } from "./system-options.js";

const WAIT_OPTIONS = { signal: check.signal, timeoutMs: check.duration };
/** The queue of a wait: it keeps the first message of a burst, and the next ones in case that one is aborted. */
const QUEUE = { capacity: 1_024, overflow: "drop-newest" } as const;

/** @internal The next message that `template` matches. */
export function nextMessage(
  registry: Registry,
  deadlines: Deadlines,
  template: string,
  options: WaitOptions,
): Promise<Message> {
  return new Promise((resolve, reject) => {
    check.options("options", options, WAIT_OPTIONS);
    const { signal, timeoutMs = Number.POSITIVE_INFINITY } = options;
    if (signal?.aborted === true) throw signal.reason;
    let over = false;
    const observer = (message: Message): void => {
      if (!over) end(() => resolve(message.keep()));
    };
    const receiver = registry.observe(template, observer, { queue: QUEUE }, false);
    const aborted = (): void => end(() => reject(signal!.reason));
    const closed = (): void => end(() => reject(new SystemClosedError(template)));
    const timedOut = (): void => end(() => reject(new RequestTimeoutError(template, timeoutMs)));
    const limited = timeoutMs !== Number.POSITIVE_INFINITY;
    const deadline = limited ? deadlines.start(timeoutMs, timedOut) : undefined;
    const end = (settle: () => void): void => {
      if (over) return;
      over = true;
      receiver.remove();
      deadline?.cancel();
      unwatchSignal(signal, aborted);
      registry.onClosed.delete(closed);
      settle();
    };
    receiver.ended = () => end(() => reject(new RegistrationRemovedError(template)));
    registry.onClosed.add(closed);
    if (signal !== undefined) watchSignal(signal, aborted);
  });
}
