import { BusError } from "../bus/bus-error.js";

/** The handler on the other side failed, or the other side ended. Its message, and its stack as `cause`, come across; its class does not. */
export class RemoteError extends BusError {
  readonly code = "BUS_REMOTE";
  override readonly name = "RemoteError";
}

/** @internal Message and stack of what a handler threw, which may be anything. */
export function textsOf(error: unknown): [string, string | undefined] {
  try {
    if (!(error instanceof Error)) return [String(error), undefined];
    return [String(error.message), error.stack === undefined ? undefined : String(error.stack)];
  } catch {
    return ["an error without a text", undefined];
  }
}
