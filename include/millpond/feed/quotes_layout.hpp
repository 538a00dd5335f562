#pragma once

#include <cstddef>
#include <cstdint>

/// The `quotes` datagram: millpond's own sequenced best bids and offers over UDP, by which gateways are chained.
/// All integers are little-endian and unaligned; prices are signed, in 1/10000; times are UTC nanoseconds since 1970.
/// ```
/// header
///    0  u8[4] magic 'M' 'P' 'Q' 'T'
///    4  u8    version, 1
///    5  u8    reserved, 0
///    6  u16   channel: sequence numbers belong to one channel
///    8  u64   session: greater in each later session; the sender takes the UTC time of its start
///   16  u64   sequence number of the first quote, from 1; of the next one to be sent if there is none here
///   24  i64   time at which the datagram was sent
///   32  u32   generation: one more each time that the sender has emptied all its quotes
///   36  u16   count of quotes, 0..32; 0 is a heartbeat, which shows what was lost behind the last datagram
///   38  u16   length of the datagram in bytes, this header included
/// then `count` quotes, each
///    0  u8    length of the symbol, 1..32
///    1  u8    length of the venue, 0..8
///    2  u16   flags: bit 0 incomplete, bit 1 halted, bit 2 not firm
///    4  i64   bid price, 0 where the bid has no size
///   12  i64   ask price, 0 where the ask has no size
///   20  u64   bid size
///   28  u64   ask size
///   36  i64   time of the exchange, 0 where it is not known
///   44  venue, then symbol, printable ASCII without terminator
/// ```
/// A receiver that meets a greater session or generation forgets all quotes of the channel before it applies the
/// datagram. It does so too when the datagram that brought the new generation was lost, because every one carries it.
namespace millpond::feed::quotes_layout {

inline constexpr std::uint32_t kMagic = 0x5451'504D;  // "MPQT", read little-endian
inline constexpr std::uint8_t kVersion = 1;
inline constexpr std::size_t kMaxQuotes = 32;
/// Fits an Ethernet frame of 1,500 bytes behind the IPv4 and UDP headers.
inline constexpr std::size_t kMaxDatagramBytes = 1472;

inline constexpr std::size_t kMagicAt = 0;
inline constexpr std::size_t kVersionAt = 4;
inline constexpr std::size_t kReservedAt = 5;
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
inline constexpr std::size_t kBidPriceAt = 4;
inline constexpr std::size_t kAskPriceAt = 12;
inline constexpr std::size_t kBidSizeAt = 20;
inline constexpr std::size_t kAskSizeAt = 28;
inline constexpr std::size_t kExchangeTimeAt = 36;
inline constexpr std::size_t kNamesAt = 44;

}  // namespace millpond::feed::quotes_layout
