// Generated from include/millpond/feed/event_schema.hpp by tests/feed/event_files_test.cpp: do not edit.
import { RecordLayout, type RecordView } from "../pool/record.js";

/** An execution that the venue reported. */
export interface MarketTrade {
  readonly type: "trade";
  readonly symbol: string;
  readonly timestamp: bigint;
  readonly exchange_timestamp: bigint;
  readonly sequence: number;
  /** The nearest number in whole units. */
  readonly price: number;
  readonly price_nanos: bigint;
  readonly shares: number;
  /** Rounded above 2^53, where two may be equal. */
  readonly trade_id: number;
  readonly trade_id_exact: bigint;
  readonly flags?: number;
}

/** The trade with this number is void. */
export interface MarketTradeBreak {
  readonly type: "trade_break";
  readonly symbol: string;
  readonly timestamp: bigint;
  readonly exchange_timestamp: bigint;
  readonly sequence: number;
  /** Rounded above 2^53, where two may be equal. */
  readonly trade_id: number;
  readonly trade_id_exact: bigint;
}

/** A new trading state of an instrument; without an instrument, of the whole channel. */
export interface MarketStatus {
  readonly type: "status";
  readonly symbol: string | null;
  readonly channel: number;
  readonly timestamp: bigint;
  readonly exchange_timestamp: bigint;
  readonly sequence: number;
  readonly state: string;
  readonly reason: string;
}

/** Messages of the channel were lost: all its quotes are incomplete until newer ones arrive. */
export interface MarketGap {
  readonly type: "gap";
  readonly channel: number;
  readonly timestamp: bigint;
  readonly sequence: number;
  readonly first: number;
  readonly last: number;
  readonly reason: string;
}

/** The quote of an instrument is void; without an instrument, those of the whole channel. */
export interface MarketClear {
  readonly type: "clear";
  readonly symbol: string | null;
  readonly channel: number;
  readonly timestamp: bigint;
  readonly sequence: number;
  readonly reason: string;
  readonly flags?: number;
}

/** A change of one order of the book. An order of which nothing is left is gone. */
export interface MarketOrder {
  readonly type: "order";
  readonly symbol: string;
  readonly channel: number;
  readonly timestamp: bigint;
  readonly exchange_timestamp: bigint;
  readonly sequence: number;
  readonly action: string;
  readonly side: string;
  /** Rounded above 2^53, where two may be equal. */
  readonly order_id: number;
  readonly order_id_exact: bigint;
  /** The nearest number in whole units. */
  readonly price: number;
  readonly price_nanos: bigint;
  readonly size: number;
  readonly size_left: number;
  /** Rounded above 2^53, where two may be equal. */
  readonly trade_id: number;
  readonly trade_id_exact: bigint;
  readonly flags?: number;
}

/** The total of one price level of the book. Without a side: all levels are void, and a snapshot follows. */
export interface MarketLevel {
  readonly type: "level";
  readonly symbol: string;
  readonly channel: number;
  readonly timestamp: bigint;
  readonly exchange_timestamp: bigint;
  readonly sequence: number;
  readonly side: string;
  /** The nearest number in whole units. */
  readonly price: number;
  readonly price_nanos: bigint;
  readonly size: number;
  readonly count: number;
  readonly flags?: number;
}

/** What an auction would trade now, and what it would leave over. */
export interface MarketImbalance {
  readonly type: "imbalance";
  readonly symbol: string;
  readonly timestamp: bigint;
  readonly exchange_timestamp: bigint;
  readonly sequence: number;
  readonly auction: string;
  readonly state: string;
  readonly side: string;
  readonly paired_size: number;
  readonly imbalance_size: number;
  /** The nearest number in whole units. */
  readonly reference_price: number;
  readonly reference_price_nanos: bigint;
  /** The nearest number in whole units. */
  readonly near_price: number;
  readonly near_price_nanos: bigint;
  /** The nearest number in whole units. */
  readonly far_price: number;
  readonly far_price_nanos: bigint;
}

/** Prices or orders that the venue accepts from now on. */
export interface MarketBand {
  readonly type: "band";
  readonly symbol: string;
  readonly timestamp: bigint;
  readonly exchange_timestamp: bigint;
  readonly sequence: number;
  readonly band: string;
  readonly short_sale: string;
  readonly extension: number;
  /** The nearest number in whole units. */
  readonly lower_price: number;
  readonly lower_price_nanos: bigint;
  /** The nearest number in whole units. */
  readonly upper_price: number;
  readonly upper_price_nanos: bigint;
  /** The nearest number in whole units. */
  readonly reference_price: number;
  readonly reference_price_nanos: bigint;
}

/** What the venue's directory says of an instrument. */
export interface MarketInstrument {
  readonly type: "instrument";
  readonly symbol: string;
  readonly timestamp: bigint;
  readonly exchange_timestamp: bigint;
  readonly sequence: number;
  readonly class: string;
  readonly decimals: number;
  readonly currency: string;
  /** The nearest number in whole units. */
  readonly tick: number;
  readonly tick_nanos: bigint;
  readonly lot: number;
}

/** Of a composite: the channels whose quotes make the best bid and offer, and those that are left out. */
export interface MarketBestVenues {
  readonly type: "best_venues";
  readonly symbol: string;
  readonly channel: number;
  readonly timestamp: bigint;
  readonly exchange_timestamp: bigint;
  readonly sequence: number;
  /** Rounded above 2^53, where two may be equal. */
  readonly bid_channels: number;
  readonly bid_channels_exact: bigint;
  /** Rounded above 2^53, where two may be equal. */
  readonly ask_channels: number;
  readonly ask_channels_exact: bigint;
  /** Rounded above 2^53, where two may be equal. */
  readonly incomplete_channels: number;
  readonly incomplete_channels_exact: bigint;
  /** Rounded above 2^53, where two may be equal. */
  readonly silent_channels: number;
  readonly silent_channels_exact: bigint;
  /** Rounded above 2^53, where two may be equal. */
  readonly halted_channels: number;
  readonly halted_channels_exact: bigint;
  /** Rounded above 2^53, where two may be equal. */
  readonly not_firm_channels: number;
  readonly not_firm_channels_exact: bigint;
}

/** @internal Keys of JSON whose numbers are UTC nanoseconds. */
export const TIME_KEYS = ["timestamp", "exchange_timestamp"];
/** @internal Keys of JSON whose numbers have 64 significant bits. */
export const ID_KEYS = [
  "trade_id",
  "order_id",
  "bid_channels",
  "ask_channels",
  "incomplete_channels",
  "silent_channels",
  "halted_channels",
  "not_firm_channels",
];

export const KIND = {
  quote: 1,
  trade: 2,
  tradeBreak: 6,
  status: 3,
  gap: 4,
  clear: 5,
  order: 7,
  level: 8,
  imbalance: 9,
  band: 10,
  instrument: 11,
  bestVenues: 12,
} as const;

type ViewOf<Layout> = Layout extends RecordLayout<infer Fields> ? RecordView<Fields> : never;

/** Best bid and offer of an instrument. A side whose size is 0 has no quote; its price is then 0. */
export const QUOTE = new RecordLayout({
  instrument: "u32",
  channel: "u16",
  flags: "u16",
  bidPriceNanos: "i64",
  askPriceNanos: "i64",
  bidSize: "u64n",
  askSize: "u64n",
  exchangeTime: "i64",
  receiveTime: "i64",
  receiveTicks: "u64",
  feedSequence: "u64n",
});
/** The prices as numbers are the nearest ones in whole units. */
export type QuoteView = ViewOf<typeof QUOTE> & {
  readonly bidPrice: number;
  readonly askPrice: number;
};

/** An execution that the venue reported. */
export const TRADE = new RecordLayout({
  instrument: "u32",
  channel: "u16",
  flags: "u16",
  priceNanos: "i64",
  size: "u64n",
  tradeId: "u64n",
  exchangeTime: "i64",
  receiveTime: "i64",
  receiveTicks: "u64",
  feedSequence: "u64n",
});
/** The number is rounded above 2^53. The prices as numbers are the nearest ones in whole units. */
export type TradeView = ViewOf<typeof TRADE> & {
  readonly price: number;
  readonly tradeIdExact: bigint;
};

/** The trade with this number is void. */
export const TRADE_BREAK = new RecordLayout({
  instrument: "u32",
  channel: "u16",
  tradeId: "u64n",
  exchangeTime: "i64",
  receiveTime: "i64",
  receiveTicks: "u64",
  feedSequence: "u64n",
});
/** The number is rounded above 2^53. */
export type TradeBreakView = ViewOf<typeof TRADE_BREAK> & {
  readonly tradeIdExact: bigint;
};

/** A new trading state of an instrument; without an instrument, of the whole channel. */
export const STATUS = new RecordLayout({
  instrument: "u32",
  channel: "u16",
  state: "u32",
  reason: "text4",
  exchangeTime: "i64",
  receiveTime: "i64",
  receiveTicks: "u64",
  feedSequence: "u64n",
});
export type StatusView = ViewOf<typeof STATUS>;

/** Messages of the channel were lost: all its quotes are incomplete until newer ones arrive. */
export const GAP = new RecordLayout({
  channel: "u16",
  reason: "u16",
  first: "u64n",
  last: "u64n",
  receiveTime: "i64",
  receiveTicks: "u64",
});
export type GapView = ViewOf<typeof GAP>;

/** The quote of an instrument is void; without an instrument, those of the whole channel. */
export const CLEAR = new RecordLayout({
  instrument: "u32",
  channel: "u16",
  flags: "u16",
  reason: "u32",
  receiveTime: "i64",
  receiveTicks: "u64",
});
export type ClearView = ViewOf<typeof CLEAR>;

/** A change of one order of the book. An order of which nothing is left is gone. */
export const ORDER = new RecordLayout({
  instrument: "u32",
  channel: "u16",
  flags: "u16",
  action: "u16",
  side: "u16",
  orderId: "u64n",
  priceNanos: "i64",
  size: "u64n",
  sizeLeft: "u64n",
  tradeId: "u64n",
  exchangeTime: "i64",
  receiveTime: "i64",
  receiveTicks: "u64",
  feedSequence: "u64n",
});
/** The number is rounded above 2^53. The prices as numbers are the nearest ones in whole units. */
export type OrderView = ViewOf<typeof ORDER> & {
  readonly orderIdExact: bigint;
  readonly price: number;
  readonly tradeIdExact: bigint;
};

/** The total of one price level of the book. Without a side: all levels are void, and a snapshot follows. */
export const LEVEL = new RecordLayout({
  instrument: "u32",
  channel: "u16",
  flags: "u16",
  side: "u16",
  orders: "u32",
  priceNanos: "i64",
  size: "u64n",
  exchangeTime: "i64",
  receiveTime: "i64",
  receiveTicks: "u64",
  feedSequence: "u64n",
});
/** The prices as numbers are the nearest ones in whole units. */
export type LevelView = ViewOf<typeof LEVEL> & {
  readonly price: number;
};

/** What an auction would trade now, and what it would leave over. */
export const IMBALANCE = new RecordLayout({
  instrument: "u32",
  channel: "u16",
  side: "u16",
  auction: "u16",
  state: "u16",
  pairedSize: "u64n",
  imbalanceSize: "u64n",
  referencePriceNanos: "i64",
  nearPriceNanos: "i64",
  farPriceNanos: "i64",
  exchangeTime: "i64",
  receiveTime: "i64",
  receiveTicks: "u64",
  feedSequence: "u64n",
});
/** The prices as numbers are the nearest ones in whole units. */
export type ImbalanceView = ViewOf<typeof IMBALANCE> & {
  readonly referencePrice: number;
  readonly nearPrice: number;
  readonly farPrice: number;
};

/** Prices or orders that the venue accepts from now on. */
export const BAND = new RecordLayout({
  instrument: "u32",
  channel: "u16",
  band: "u16",
  shortSale: "u16",
  extension: "u32",
  lowerPriceNanos: "i64",
  upperPriceNanos: "i64",
  referencePriceNanos: "i64",
  exchangeTime: "i64",
  receiveTime: "i64",
  receiveTicks: "u64",
  feedSequence: "u64n",
});
/** The prices as numbers are the nearest ones in whole units. */
export type BandView = ViewOf<typeof BAND> & {
  readonly lowerPrice: number;
  readonly upperPrice: number;
  readonly referencePrice: number;
};

/** What the venue's directory says of an instrument. */
export const INSTRUMENT = new RecordLayout({
  instrument: "u32",
  channel: "u16",
  instrumentClass: "u16",
  decimals: "u16",
  unused: "u16",
  currency: "text4",
  tickNanos: "i64",
  lot: "u64n",
  exchangeTime: "i64",
  receiveTime: "i64",
  receiveTicks: "u64",
  feedSequence: "u64n",
});
/** The prices as numbers are the nearest ones in whole units. */
export type InstrumentView = ViewOf<typeof INSTRUMENT> & {
  readonly tick: number;
};

/** Of a composite: the channels whose quotes make the best bid and offer, and those that are left out. */
export const BEST_VENUES = new RecordLayout({
  instrument: "u32",
  channel: "u16",
  bidChannels: "u64n",
  askChannels: "u64n",
  incompleteChannels: "u64n",
  silentChannels: "u64n",
  haltedChannels: "u64n",
  notFirmChannels: "u64n",
  exchangeTime: "i64",
  receiveTime: "i64",
  receiveTicks: "u64",
  feedSequence: "u64n",
});
/** The number is rounded above 2^53. */
export type BestVenuesView = ViewOf<typeof BEST_VENUES> & {
  readonly bidChannelsExact: bigint;
  readonly askChannelsExact: bigint;
  readonly incompleteChannelsExact: bigint;
  readonly silentChannelsExact: bigint;
  readonly haltedChannelsExact: bigint;
  readonly notFirmChannelsExact: bigint;
};
