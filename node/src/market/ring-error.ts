/** A market ring cannot be read; `fault` has the reason. */
export class MarketRingError extends Error {
  readonly code = "MARKET_RING";
  override readonly name = "MarketRingError";
  constructor(
    /**
     * `no_addon`: millpond-shm-linux-x64 is not installed, or not available for this platform: use TCP. `not_found`: no such ring; is
     * its writer running? `not_ready`: the ring is being made; try again. `foreign`: not a ring. `other_layout`: a version that this
     * package does not read. `memory`: the system refused to map the ring.
     */
    readonly fault: "no_addon" | "not_found" | "not_ready" | "foreign" | "other_layout" | "memory",
    message: string,
  ) {
    super(message);
  }
}
