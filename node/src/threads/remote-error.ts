import { BusError } from "../bus/bus-error.js";

/** The handler on the other side failed, or the other side ended. Has the message of the original error, and its stack as `cause`. */
export class RemoteError extends BusError {
  readonly code = "BUS_REMOTE";
  override readonly name = "RemoteError";
}

/** @internal Message and stack of a thrown value. */
export function textsOf(error: unknown): [string, string | undefined] {
  try {
    if (!(error instanceof Error)) return [String(error), undefined];
    return [String(error.message), error.stack === undefined ? undefined : String(error.stack)];
  } catch {
    return ["an error without a message", undefined];
  }
}
