#pragma once

#include <cstddef>
#include <cstdint>

/// MIAX Top of Market over MACH, as multicast. All integers are little-endian and unaligned.
/// ```
/// MACH packet; several may follow one another in a datagram
///  0  u64 sequence number: one more with each application packet; a heartbeat repeats the last one sent
///  8  u16 length, this header included   10  u8 packet type   11  u8 session   12  the application message
///
/// application messages, by their first character; "ns" is u32 nanoseconds of the second that the last '1' named
///  '1'     5  system time        1 u32 seconds: since 1970-01-01 UTC where it is 86,400 or more, else of the day
///  B O    16  bid, offer         1 ns  5 u32 product  9 u16 price/100  11 u16 size  13 u16 customers' size
///                                15 condition
///  W A    22  the same, wide     1 ns  5 u32 product  9 u32 price/10000  13 u32 size  17 u32 customers' size
///                                21 condition
///  d      23  bid and offer      1 ns  5 u32 product  9 bid as in B  16 offer as in O
///  D      35  the same, wide     1 ns  5 u32 product  9 bid as in W  22 offer as in A
///  h i    16  as B and O, j k as W and A: a priority customer's order improved the price (since version 2.5)
///  T      28  trade              1 ns  5 u32 product  9 u32 trade id  13 u8 correction  14 u32 of trade id
///                                18 u8 of correction  19 u32 price/10000  23 u32 size  27 condition
///  S      18  system state       1 ns  5 8 characters of version  13 u32 session id  17 state
///  X      23  cancelled trade    1 ns  5 u32 product  9 u32 trade id  13 u8 correction  14 u32 price/10000
///                                18 u32 size  22 condition
///  P H        series, underlying's state: counted
/// ```
/// Conditions: 'A' regular, 'B' customers' interest, 'C' not firm, 'T' halted.
///
/// Source: MIAX Options Top of Market Feed (ToM) interface specification 1.9, also as described by the Open Markets
///         Initiative; sequence numbers, heartbeats and the system time's epoch were read off a capture of 2016.
namespace millpond::feed::miax_tom_layout {

inline constexpr std::int64_t kVenueScale = 10'000;  ///< Scale of prices.
inline constexpr std::int64_t kNarrowScale = 100;    ///< Scale of prices in narrow sides.

inline constexpr std::size_t kSequenceAt = 0;
inline constexpr std::size_t kLengthAt = 8;
inline constexpr std::size_t kPacketTypeAt = 10;
inline constexpr std::size_t kSessionAt = 11;
inline constexpr std::size_t kHeaderBytes = 12;

enum PacketType : std::uint8_t { kHeartbeat = 0, kStartOfSession = 1, kEndOfSession = 2, kApplicationData = 3 };

inline constexpr std::size_t kNanosAt = 1;
inline constexpr std::size_t kProductAt = 5;
inline constexpr std::size_t kSideAt = 9;

/// Layout of one side in the narrow and in the wide form, from its first byte.
struct Side {
    std::size_t size_at;
    std::size_t customer_size_at;
    std::size_t condition_at;
    std::size_t bytes;
};
inline constexpr Side kNarrow{2, 4, 6, 7};
inline constexpr Side kWide{4, 8, 12, 13};

inline constexpr std::size_t kSystemTimeBytes = 5;
inline constexpr std::size_t kSecondsAt = 1;
inline constexpr std::uint32_t kSecondsOfADay = 86'400;

inline constexpr std::size_t kTradeBytes = 28;
inline constexpr std::size_t kTradeIdAt = 9;
inline constexpr std::size_t kCorrectionAt = 13;
inline constexpr std::size_t kTradePriceAt = 19;
inline constexpr std::size_t kTradeSizeAt = 23;
inline constexpr std::size_t kTradeConditionAt = 27;

inline constexpr std::size_t kTradeCancelBytes = 23;  // product and trade id as in a trade

inline constexpr std::size_t kSystemStateBytes = 18;
inline constexpr std::size_t kSystemStateAt = 17;

inline constexpr char kHaltedCondition = 'T';
inline constexpr char kNotFirmCondition = 'C';

}  // namespace millpond::feed::miax_tom_layout
