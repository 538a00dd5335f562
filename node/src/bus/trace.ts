import { isThenable } from "../pool/thenable.js";
import type { Delivery } from "./delivery.js";
import { channelsOf, fillRandom } from "./platform.js";

const SHAPE = /^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/;
const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));
const random = new Uint8Array(4_096);
let used = random.length;

function hex(bytes: number): string {
  if (used + bytes > random.length) {
    fillRandom(random);
    used = 0;
  }
  let text = "";
  let any = 0;
  for (const end = used + bytes; used < end; used++) {
    text += HEX[random[used]!]!;
    any |= random[used]!;
  }
  return any === 0 ? hex(bytes) : text;
}

/**
 * A `traceparent` for a message: a new span in the trace of `parent`, or a new sampled trace without a valid parent.
 *
 * Source: W3C Trace Context, section 3.2.
 */
export function childTraceparent(parent?: string): string {
  if (parent === undefined || !SHAPE.test(parent)) return `00-${hex(16)}-${hex(8)}-01`;
  return `${parent.slice(0, 36)}${hex(8)}${parent.slice(52)}`;
}

/** The message of the tracing channels `millpond.handle`, for each run of a handler or observer. */
export interface HandleTrace {
  readonly path: string;
  readonly template: string;
  readonly receiver: string;
  readonly kind: "handler" | "observer";
  /** 1 for the first run, one more with each retry. */
  readonly attempt: number;
  readonly traceparent: string | undefined;
  result?: unknown;
  error?: unknown;
}

/** @internal Runs handlers between the events of the tracing channels. */
export class TracedRuns {
  readonly #channels = channelsOf("millpond.handle");

  run(delivery: Delivery): unknown {
    const { message, receiver, attempt, traceparent } = delivery;
    const channels = this.#channels;
    if (channels?.hasSubscribers !== true) return receiver.run(message);
    const { name, kind } = receiver;
    const { template } = receiver.route;
    const trace: HandleTrace = { path: message._path, template, receiver: name, kind, attempt, traceparent };
    const settled = (): void => {
      channels.publish("asyncStart", trace);
      channels.publish("asyncEnd", trace);
    };
    const failed = (error: unknown): never => {
      trace.error = error;
      channels.publish("error", trace);
      throw error;
    };
    return channels.start(trace, () => {
      try {
        const outcome = receiver.run(message);
        if (!isThenable(outcome)) {
          trace.result = outcome;
          return outcome;
        }
        const replied = Promise.resolve(outcome).then((value) => {
          trace.result = value;
          return value;
        }, failed);
        return replied.finally(settled);
      } catch (error) {
        return failed(error);
      } finally {
        channels.publish("end", trace);
      }
    });
  }
}
