import { RecordLayout, type RecordView } from "../pool/record.js";

/** @internal The bytes of docs/internals/market.md: a ring, and behind its entries the board. Offsets in 32-bit words. */
export const RING = {
  magic: 0x0054_5341_4342_504dn,
  version: 1,
  content: 1,
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
  version: 2,
  headerBytes: 128,
  slotBytes: 192,
  slotWords: 48,
  channelBytes: 128,
  channelWords: 32,
  named: 16,
  /** In a slot. */
  slotStatus: 20,
  slotNamed: 34,
  slotVenue: 36,
  slotSymbol: 38,
  /** In a channel record. */
  channelStatus: 2,
  channelGapped: 16,
} as const;

export const KIND = { quote: 1, trade: 2, status: 3, gap: 4, clear: 5, tradeBreak: 6 } as const;
export const NO_INSTRUMENT = 0xffff_ffff;
/** @internal A bit of a quote's flags. */
export const QUOTE_INCOMPLETE = 1;

/** Prices in 1/10000; times in UTC nanoseconds. A side whose size is 0 has no quote. Flags: 1 incomplete, 2 halted, 4 not firm. */
export const QUOTE = new RecordLayout({
  instrument: "u32",
  channel: "u16",
  flags: "u16",
  bidPrice: "i64n",
  askPrice: "i64n",
  bidSize: "u64n",
  askSize: "u64n",
  exchangeTime: "i64",
  receiveTime: "i64",
  receiveTicks: "u64",
  feedSequence: "u64n",
});

export const TRADE = new RecordLayout({
  instrument: "u32",
  channel: "u16",
  flags: "u16",
  price: "i64n",
  size: "u64n",
  tradeId: "u64n",
  exchangeTime: "i64",
  receiveTime: "i64",
  receiveTicks: "u64",
  feedSequence: "u64n",
});

export const TRADE_BREAK = new RecordLayout({
  instrument: "u32",
  channel: "u16",
  reserved: "u16",
  tradeId: "u64n",
  exchangeTime: "i64",
  receiveTime: "i64",
  receiveTicks: "u64",
  feedSequence: "u64n",
});

/** instrument 0xffffffff: the whole channel. */
export const STATUS = new RecordLayout({
  instrument: "u32",
  channel: "u16",
  reserved: "u16",
  state: "u32",
  reason: "text4",
  exchangeTime: "i64",
  receiveTime: "i64",
  receiveTicks: "u64",
  feedSequence: "u64n",
});

/** reason: 0 sequence, 1 rejected, 2 dropped, 3 silence. first..last: numbers on the wire, 0 where none are known. */
export const GAP = new RecordLayout({
  channel: "u16",
  reason: "u16",
  first: "u64n",
  last: "u64n",
  receiveTime: "i64",
  receiveTicks: "u64",
});

/** instrument 0xffffffff: the whole channel. */
export const CLEAR = new RecordLayout({
  instrument: "u32",
  channel: "u16",
  reason: "u32",
  receiveTime: "i64",
  receiveTicks: "u64",
});

type ViewOf<Layout> = Layout extends RecordLayout<infer Fields> ? RecordView<Fields> : never;
export type QuoteView = ViewOf<typeof QUOTE>;
/** `tradeId` is rounded above 2^53. */
export type TradeView = ViewOf<typeof TRADE> & { readonly tradeIdExact: bigint };
/** `tradeId` is rounded above 2^53. */
export type TradeBreakView = ViewOf<typeof TRADE_BREAK> & { readonly tradeIdExact: bigint };
export type StatusView = ViewOf<typeof STATUS>;
export type GapView = ViewOf<typeof GAP>;
export type ClearView = ViewOf<typeof CLEAR>;
