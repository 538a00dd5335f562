/** What a message system throws, or rejects with, when it cannot deliver. */
export class BusError extends Error {
  constructor(
    message: string,
    /** The path or template it is about. */
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
    super(`no handler for ${path}`, path);
  }
}

/** A template matches the same paths as one that is there under other parameter names. To fix: use the same names. */
export class RouteConflictError extends BusError {
  readonly code = "BUS_ROUTE_CONFLICT";
  override readonly name = "RouteConflictError";
  constructor(
    template: string,
    readonly other: string,
  ) {
    super(`${template} matches the same paths as ${other}`, template);
  }
}

/** The template has its one handler already. To fix: watch with `subscribe`, or remove the other with `off`. */
export class HandlerExistsError extends BusError {
  readonly code = "BUS_HANDLER_EXISTS";
  override readonly name = "HandlerExistsError";
  constructor(template: string) {
    super(`${template} has its handler already`, template);
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
    super(`the queue of ${path} is full: ${capacity} messages wait`, path);
  }
}

/** A queued message gave way to another: dropped as the oldest or newest, or replaced by one of the same key. */
export class MessageDroppedError extends BusError {
  readonly code = "BUS_MESSAGE_DROPPED";
  override readonly name = "MessageDroppedError";
  constructor(
    path: string,
    readonly reason: "drop-oldest" | "drop-newest" | "coalesce",
  ) {
    super(`message to ${path} was dropped (${reason})`, path);
  }
}

/** No reply came in time. The handler may still run: its message stays its own until it settles. */
export class RequestTimeoutError extends BusError {
  readonly code = "BUS_REQUEST_TIMEOUT";
  override readonly name = "RequestTimeoutError";
  constructor(
    path: string,
    readonly timeoutMs: number,
  ) {
    super(`no reply from ${path} within ${timeoutMs} ms`, path);
  }
}

/** The system is closed or closing, and accepts no more messages and registrations. */
export class SystemClosedError extends BusError {
  readonly code = "BUS_CLOSED";
  override readonly name = "SystemClosedError";
  constructor(path: string) {
    super(`the message system is closed: ${path} comes too late`, path);
  }
}

/** `off` removed the registration of a `waitFor` before a message came. To fix: call `off` with the handler that it is meant for. */
export class RegistrationRemovedError extends BusError {
  readonly code = "BUS_REGISTRATION_REMOVED";
  override readonly name = "RegistrationRemovedError";
  constructor(template: string) {
    super(`the registration that waited for ${template} was removed`, template);
  }
}

/** `close` was awaited inside a handler, which `close` itself waits for. To fix: do not await it there. */
export class CloseInHandlerError extends BusError {
  readonly code = "BUS_CLOSE_IN_HANDLER";
  override readonly name = "CloseInHandlerError";
  constructor(what = "system") {
    super(
      `close waits for the handler that awaits it: the ${what} is closing, and will be closed when the handler is done`,
      "",
    );
  }
}

/** A place in a queue was used again, or after it was released or revoked; `cause` has the reason. To fix: request another one. */
export class PlaceExpiredError extends BusError {
  readonly code = "BUS_PLACE_EXPIRED";
  override readonly name = "PlaceExpiredError";
  constructor(path: string, cause: unknown) {
    super(`the place in the queue of ${path} is not held any more`, path, { cause });
  }
}
