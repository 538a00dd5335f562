#pragma once

#include <cstddef>
#include <cstdint>

#include <millpond/feed/event.hpp>

/// The `quotes` datagram: millpond's own sequenced best bids, offers and price levels over UDP, by which gateways are
/// chained. All integers are little-endian and unaligned; prices are signed, in 1/1,000,000,000; times are UTC
/// nanoseconds since 1970.
/// ```
/// header
///    0  u8[4] magic 'M' 'P' 'Q' 'T'
///    4  u8    version, 2
///    5  u8    depth: levels of a side that the sender sends, 0..33; 0 for none
///    6  u16   channel: sequence numbers belong to one channel
///    8  u64   session: greater in each later session; the sender takes the UTC time of its start
///   16  u64   sequence number of the first entry, from 1; of the next one to be sent if there is none here
///   24  i64   time at which the datagram was sent
///   32  u32   generation: one more each time that the sender has voided all quotes and levels
///   36  u16   count of entries, 0..32; 0 is a heartbeat, which shows what was lost behind the last datagram
///   38  u16   length of the datagram in bytes, this header included
/// then `count` entries, each of one instrument
///    0  u8    length of the symbol, 1..32
///    1  u8    length of the venue, 0..8
///    2  u16   flags of the quote: bit 0 incomplete, bit 1 halted, bit 2 not firm, bit 9 locked, bit 10 crossed
///             flags of the entry: bit 3 no quote, bit 4 levels are incomplete, bit 5 all levels, bit 6 repeated,
///             bit 7 first of a cycle
///    4  u8    decimals of the instrument's prices in text, 0..9
///    5  u8    count of bid levels
///    6  u8    count of ask levels
///    7  u8    reserved, 0
///    8  i64   bid price, 0 where the bid has no size
///   16  i64   ask price, 0 where the ask has no size
///   24  u64   bid size
///   32  u64   ask size
///   40  i64   time of the exchange, 0 where it is not known
///   48  venue, then symbol, printable ASCII without terminator
///       then the bid levels, then the ask levels, each
///    0  i64   price
///    8  u64   total size; 0: the level is gone
///   16  u32   number of orders, 0 where it is not known
/// ```
/// A receiver that meets a greater session or generation forgets all quotes and levels of the channel before it applies
/// the datagram. It does so too when the datagram that brought the new generation was lost, because every one carries
/// it.
///
/// An entry is a group: after it, a book that is cut to `depth` has exactly the sender's levels. An entry with all
/// levels empties the book first, and completes a book that lacks something. A repeated entry has the current quote
/// and, if it has levels, all of them (bit 5); a receiver that has lost nothing skips it. After two first ones of a
/// cycle without a loss in between, a receiver that joined late has all instruments.
namespace millpond::feed::quotes_layout {

inline constexpr std::uint32_t kMagic = 0x5451'504D;  // "MPQT", read little-endian
inline constexpr std::uint8_t kVersion = 2;
inline constexpr std::size_t kMaxEntries = 32;
/// Maximum number of a datagram's first entry.
inline constexpr std::uint64_t kMaxSequence = ~std::uint64_t{0} - kMaxEntries - 1;
/// Maximum length: fits an Ethernet frame of 1,500 bytes after the IPv4 and UDP headers.
inline constexpr std::size_t kMaxDatagramBytes = 1472;

inline constexpr std::size_t kMagicAt = 0;
inline constexpr std::size_t kVersionAt = 4;
inline constexpr std::size_t kDepthAt = 5;
inline constexpr std::size_t kChannelAt = 6;
inline constexpr std::size_t kSessionAt = 8;
inline constexpr std::size_t kSequenceAt = 16;
inline constexpr std::size_t kSendTimeAt = 24;
inline constexpr std::size_t kGenerationAt = 32;
inline constexpr std::size_t kCountAt = 36;
inline constexpr std::size_t kLengthAt = 38;
inline constexpr std::size_t kHeaderBytes = 40;

inline constexpr std::size_t kSymbolLengthAt = 0;
inline constexpr std::size_t kVenueLengthAt = 1;
inline constexpr std::size_t kFlagsAt = 2;
inline constexpr std::size_t kDecimalsAt = 4;
inline constexpr std::size_t kBidLevelsAt = 5;
inline constexpr std::size_t kAskLevelsAt = 6;
inline constexpr std::size_t kEntryReservedAt = 7;
inline constexpr std::size_t kBidPriceAt = 8;
inline constexpr std::size_t kAskPriceAt = 16;
inline constexpr std::size_t kBidSizeAt = 24;
inline constexpr std::size_t kAskSizeAt = 32;
inline constexpr std::size_t kExchangeTimeAt = 40;
inline constexpr std::size_t kNamesAt = 48;

inline constexpr std::size_t kLevelPriceAt = 0;
inline constexpr std::size_t kLevelSizeAt = 8;
inline constexpr std::size_t kLevelOrdersAt = 16;
inline constexpr std::size_t kLevelBytes = 20;

inline constexpr std::uint16_t kNoQuote = 1U << 3;
inline constexpr std::uint16_t kLevelsIncomplete = 1U << 4;
inline constexpr std::uint16_t kAllLevels = 1U << 5;
inline constexpr std::uint16_t kRepeated = 1U << 6;
inline constexpr std::uint16_t kCycle = 1U << 7;

/// Levels that fit a datagram with any entry: 67.
inline constexpr std::size_t kMaxLevels =
    (kMaxDatagramBytes - kHeaderBytes - kNamesAt - Venue::capacity() - Symbol::capacity()) / kLevelBytes;
/// Maximum depth: all levels of both sides fit one datagram, because a group is never split.
inline constexpr std::uint32_t kMaxDepth = kMaxLevels / 2;

}  // namespace millpond::feed::quotes_layout
