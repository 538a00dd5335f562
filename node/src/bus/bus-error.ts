import { shown } from "../pool/checks.js";

/** Base of the errors that a message system throws or rejects with. */
export class BusError extends Error {
  constructor(
    message: string,
    /** The path or template concerned. */
    readonly path: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** No handler is registered for this path. To fix: register one, or check `has(path)` first. */
export class NoHandlerError extends BusError {
  readonly code = "BUS_NO_HANDLER";
  override readonly name = "NoHandlerError";
  constructor(path: string) {
    super(`no handler for ${shown(path)}`, path);
  }
}

/** A template matches the same paths as a registered one with other parameter names. To fix: use the same names. */
export class RouteConflictError extends BusError {
  readonly code = "BUS_ROUTE_CONFLICT";
  override readonly name = "RouteConflictError";
  constructor(
    template: string,
    readonly other: string,
  ) {
    super(`${shown(template)} matches the same paths as ${shown(other)}`, template);
  }
}

/** The template already has a handler. To fix: use `subscribe`, or remove the other handler with `off`. */
export class HandlerExistsError extends BusError {
  readonly code = "BUS_HANDLER_EXISTS";
  override readonly name = "HandlerExistsError";
  constructor(template: string) {
    super(`${shown(template)} already has a handler`, template);
  }
}

/** The queue of a handler is full. To fix: check `canAccept(path)` first, wait for a place, or raise its capacity. */
export class QueueFullError extends BusError {
  readonly code = "BUS_QUEUE_FULL";
  override readonly name = "QueueFullError";
  constructor(
    path: string,
    readonly capacity: number,
  ) {
    super(`the queue of ${shown(path)} is full: ${capacity} messages wait`, path);
  }
}

/** A queued message was dropped as the oldest or newest, or replaced by one of the same key. */
export class MessageDroppedError extends BusError {
  readonly code = "BUS_MESSAGE_DROPPED";
  override readonly name = "MessageDroppedError";
  constructor(
    path: string,
    readonly reason: "drop-oldest" | "drop-newest" | "coalesce",
  ) {
    super(`message to ${shown(path)} was dropped (${reason})`, path);
  }
}

/** No reply arrived in time. The handler may still run and keeps its message until it settles. */
export class RequestTimeoutError extends BusError {
  readonly code = "BUS_REQUEST_TIMEOUT";
  override readonly name = "RequestTimeoutError";
  constructor(
    path: string,
    readonly timeoutMs: number,
  ) {
    super(`no reply from ${shown(path)} within ${timeoutMs} ms`, path);
  }
}

/** The system is closed or closing, and accepts no more messages and registrations. */
export class SystemClosedError extends BusError {
  readonly code = "BUS_CLOSED";
  override readonly name = "SystemClosedError";
  constructor(path: string) {
    super(`the message system is closed and refuses ${shown(path)}`, path);
  }
}

/** `off` removed the registration of a `waitFor` before a message arrived. To fix: pass the handler to remove to `off`. */
export class RegistrationRemovedError extends BusError {
  readonly code = "BUS_REGISTRATION_REMOVED";
  override readonly name = "RegistrationRemovedError";
  constructor(template: string) {
    super(`the registration that waited for ${shown(template)} was removed`, template);
  }
}

/** `close` was awaited inside a handler, for which `close` itself waits. To fix: do not await it there. */
export class CloseInHandlerError extends BusError {
  readonly code = "BUS_CLOSE_IN_HANDLER";
  override readonly name = "CloseInHandlerError";
  constructor(what = "system") {
    super(
      `close waits for the handler that awaits it: the ${what} is closing, and will be closed when the handler has ended`,
      "",
    );
  }
}

/** A place in a queue was used twice, or after it was released or revoked; `cause` has the reason. To fix: request another place. */
export class PlaceExpiredError extends BusError {
  readonly code = "BUS_PLACE_EXPIRED";
  override readonly name = "PlaceExpiredError";
  constructor(path: string, cause: unknown) {
    super(`the place in the queue of ${shown(path)} is no longer held`, path, { cause });
  }
}
