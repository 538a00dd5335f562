/**
 * Measures the age of a writer's newest heartbeat, robust against changes of the system clock. The heartbeat is a UTC time. A new
 * heartbeat is younger than the previous call, which bounds its age; from then on it ages by the monotonic clock. Only the first
 * call relies on UTC alone.
 */
export class HeartbeatWatch {
  #heartbeat: number | undefined;
  /** Monotonic times of the heartbeat and of the last call of `ageMs`. */
  #heartbeatAtMs = 0;
  #checkedAtMs = 0;

  /** heartbeat: UTC milliseconds. */
  ageMs(heartbeat: number): number {
    const now = performance.now();
    if (heartbeat !== this.#heartbeat) {
      const maxAgeMs = this.#heartbeat === undefined ? Infinity : now - this.#checkedAtMs;
      this.#heartbeatAtMs = now - Math.min(Math.max(Date.now() - heartbeat, 0), maxAgeMs);
      this.#heartbeat = heartbeat;
    }
    this.#checkedAtMs = now;
    return now - this.#heartbeatAtMs;
  }
}
