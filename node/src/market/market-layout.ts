/** @internal The bytes of broadcast_layout.hpp and board_layout.hpp: a ring, and after its entries the board. Offsets in 32-bit words. */
export const RING = {
  magic: 0x0054_5341_4342_504dn,
  version: 1,
  content: 2,
  headerBytes: 256,
  entryBytes: 128,
  entryWords: 32,
  payloadWords: 28,
  state: 16,
  heartbeat: 18,
  writerStarts: 22,
  epoch: 8,
  cursor: 32,
} as const;

/** @internal */
export const BOARD = {
  magic: 0x0044_5241_4f42_504dn,
  version: 3,
  headerBytes: 128,
  slotBytes: 192,
  slotWords: 48,
  channelBytes: 128,
  channelWords: 32,
  /** Positions in the header, in words. */
  depth: 6,
  depthSlotBytes: 7,
  venueSlotBytes: 8,
  named: 16,
  /** Positions in a slot, in words. */
  slotStatus: 20,
  slotNamed: 34,
  slotVenue: 36,
  slotSymbol: 38,
  /** Positions in a channel record, in words. */
  channelStatus: 2,
  channelGapped: 16,
  channelDepth: 18,
  channelOrders: 19,
  channelDepthSince: 22,
  /** Positions in a depth slot after its sequence word, in words. */
  depthCounts: 0,
  depthChannel: 1,
  depthTimes: 2,
  depthLevels: 14,
  depthLevelWords: 6,
} as const;

export const NO_INSTRUMENT = 0xffff_ffff;
/** @internal Bits of flags. */
export const FLAGS = { incomplete: 1, snapshot: 32, last: 128, priorityLost: 256 } as const;
