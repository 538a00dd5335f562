/**
 * How old a writer's newest heartbeat is, whatever becomes of the system's clock. The heartbeat is a UTC time. A new one
 * was given after the watch last looked, so its age is at most the monotonic time since then; from there on it ages by
 * the monotonic clock. Only the first look has nothing but UTC to go by.
 */
export class HeartbeatWatch {
  #heartbeat: number | undefined;
  /** Monotonic, as the next. */
  #given = 0;
  #looked = 0;

  /** heartbeat: UTC milliseconds. */
  ageMs(heartbeat: number): number {
    const now = performance.now();
    if (heartbeat !== this.#heartbeat) {
      const most = this.#heartbeat === undefined ? Infinity : now - this.#looked;
      this.#given = now - Math.min(Math.max(Date.now() - heartbeat, 0), most);
      this.#heartbeat = heartbeat;
    }
    this.#looked = now;
    return now - this.#given;
  }
}
