/** @internal Waits for capacity of a queue. */
export const WAITING = 0;
/** @internal In a queue. */
export const QUEUED = 1;
/** @internal With its handler. */
export const RUNNING = 2;
/** @internal Between two attempts of its handler. */
export const PAUSED = 3;
/** @internal Ended. */
export const DONE = 4;
/** @internal Started; not yet in a queue or with a handler. */
export const NEW = 5;
