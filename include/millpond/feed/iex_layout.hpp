#pragma once

#include <cstddef>
#include <cstdint>

/// IEX-TP, the framing of IEX's feeds, and the messages of TOPS, DEEP and DEEP+. Integers are little-endian and
/// unaligned, prices signed in 1/10000, times nanoseconds since 1970-01-01 UTC. Symbols are eight characters of ASCII
/// padded with spaces on the right.
/// ```
/// IEX-TP segment, one a datagram
///  0  u8 version, 1   1  reserved   2  u16 message protocol   4  u32 channel   8  u32 session
/// 12  u16 bytes of the payload   14  u16 count of messages   16  i64 offset of the payload in the session's bytes
/// 24  i64 number of the first message; of the next one if the count is 0, a heartbeat
/// 32  i64 time of sending   40  count blocks, each u16 length and so many bytes of message
///
/// all messages begin with   0  type   1  code or flags   2  i64 time
/// all but S go on with      10 symbol
///   S  10  system event           1 O S R M E C
///   D  31  directory              1 flags: 0x80 test, 0x40 when issued, 0x20 fund   18 u32 round lot
///                                22 i64 adjusted previous close   30 u8 price band tier
///   H  22  trading status         1 H halted, O accepts orders, P paused, T trading   18 four characters of reason
///   I  18  retail liquidity       1 blank, A B C
///   O  18  operational halt       1 O halted here, N not
///   P  19  short sale price test  1 u8 in effect   18 detail: blank A C D N
///   E  18  security event         1 O opening process complete, C closing process complete
///   X  26  official price         1 Q opening, M closing   18 i64 price
///   B  38  broken trade           as T
///   A  80  auction                1 O C I H V   18 u32 paired   22 i64 reference   30 i64 indicative price
///                                38 u32 imbalance   42 side B S N   43 u8 extensions   44 u32 seconds of its time
///                                48 i64 price of auction orders   56 i64 collar's reference   64 i64 lower   72 upper
///   T  38  trade                  1 sale conditions: 0x08 cross   18 u32 size   22 i64 price   30 i64 trade id
/// TOPS only
///   Q  42  quote                  1 flags: 0x80 not available   18 u32 bid size   22 i64 bid price   30 i64 ask price
///                                38 u32 ask size
/// DEEP only
///   8 5 30 level, buy and sell    1 0x01 the event is complete   18 u32 size   22 i64 price
/// DEEP+ only
///   a  38  order added            1 side: 8 buy, 5 sell   18 i64 order   26 u32 size   30 i64 price
///   M  38  order modified         1 0x01 keeps its priority   18 i64 order   26 u32 new size   30 i64 price
///   R  26  order removed         18 i64 order
///   L  46  order executed         1 sale conditions   18 i64 order   26 u32 size   30 i64 price   38 i64 trade id
///   C  18  book cleared
/// ```
/// Messages may grow at their end, and types may be added.
///
/// Source: Investors Exchange: IEX Transport Protocol 1.26, pages 5 to 7; TOPS 1.66, pages 7 to 25; DEEP 1.08, pages 7
///         to 27; DEEP+ 1.04, pages 12 to 26; flags in their appendices A.
namespace millpond::feed::iex_layout {

inline constexpr std::int64_t kVenueScale = 10'000;  ///< Of prices.

inline constexpr std::size_t kVersionAt = 0;
inline constexpr std::size_t kProtocolAt = 2;
inline constexpr std::size_t kChannelAt = 4;
inline constexpr std::size_t kSessionAt = 8;
inline constexpr std::size_t kPayloadAt = 12;
inline constexpr std::size_t kCountAt = 14;
inline constexpr std::size_t kOffsetAt = 16;
inline constexpr std::size_t kSequenceAt = 24;
inline constexpr std::size_t kSendTimeAt = 32;
inline constexpr std::size_t kHeaderBytes = 40;
inline constexpr std::size_t kLengthBytes = 2;
inline constexpr std::uint8_t kVersion = 1;

/// Message protocols.
inline constexpr std::uint16_t kTops = 0x8003;
inline constexpr std::uint16_t kDeep = 0x8004;
inline constexpr std::uint16_t kDeepPlus = 0x8005;

inline constexpr std::size_t kCodeAt = 1;
inline constexpr std::size_t kTimeAt = 2;
inline constexpr std::size_t kSymbolAt = 10;
inline constexpr std::size_t kSymbolBytes = 8;
/// Bytes of the shortest message with a symbol.
inline constexpr std::size_t kWithSymbolBytes = kSymbolAt + kSymbolBytes;

inline constexpr std::size_t kSystemEventBytes = 10;

namespace directory {
inline constexpr std::size_t kLotAt = 18;
inline constexpr std::size_t kCloseAt = 22;
inline constexpr std::size_t kTierAt = 30;
inline constexpr std::size_t kBytes = 31;
inline constexpr std::uint8_t kFund = 0x20;
}  // namespace directory

namespace trading_status {
inline constexpr std::size_t kReasonAt = 18;
inline constexpr std::size_t kBytes = 22;
}  // namespace trading_status

namespace short_sale {
inline constexpr std::size_t kDetailAt = 18;
inline constexpr std::size_t kBytes = 19;
}  // namespace short_sale

namespace official_price {
inline constexpr std::size_t kPriceAt = 18;
inline constexpr std::size_t kBytes = 26;
}  // namespace official_price

/// Also of broken trades.
namespace trade {
inline constexpr std::size_t kSizeAt = 18;
inline constexpr std::size_t kPriceAt = 22;
inline constexpr std::size_t kTradeIdAt = 30;
inline constexpr std::size_t kBytes = 38;
inline constexpr std::uint8_t kSinglePriceCross = 0x08;
}  // namespace trade

namespace auction {
inline constexpr std::size_t kPairedAt = 18;
inline constexpr std::size_t kReferenceAt = 22;
inline constexpr std::size_t kIndicativeAt = 30;
inline constexpr std::size_t kImbalanceAt = 38;
inline constexpr std::size_t kSideAt = 42;
inline constexpr std::size_t kExtensionAt = 43;
inline constexpr std::size_t kTimeAt = 44;
inline constexpr std::size_t kAuctionOrdersAt = 48;
inline constexpr std::size_t kCollarReferenceAt = 56;
inline constexpr std::size_t kLowerAt = 64;
inline constexpr std::size_t kUpperAt = 72;
inline constexpr std::size_t kBytes = 80;
}  // namespace auction

namespace quote {
inline constexpr std::size_t kBidSizeAt = 18;
inline constexpr std::size_t kBidPriceAt = 22;
inline constexpr std::size_t kAskPriceAt = 30;
inline constexpr std::size_t kAskSizeAt = 38;
inline constexpr std::size_t kBytes = 42;
inline constexpr std::uint8_t kNotAvailable = 0x80;
}  // namespace quote

namespace level {
inline constexpr std::size_t kSizeAt = 18;
inline constexpr std::size_t kPriceAt = 22;
inline constexpr std::size_t kBytes = 30;
inline constexpr std::uint8_t kComplete = 0x01;
}  // namespace level

namespace order {
inline constexpr std::size_t kOrderAt = 18;
inline constexpr std::size_t kSizeAt = 26;
inline constexpr std::size_t kPriceAt = 30;
inline constexpr std::size_t kTradeIdAt = 38;
inline constexpr std::size_t kBytes = 38;
inline constexpr std::size_t kRemovedBytes = 26;
inline constexpr std::size_t kExecutedBytes = 46;
inline constexpr char kBuy = '8';
inline constexpr char kSell = '5';
inline constexpr std::uint8_t kKeepsPriority = 0x01;
}  // namespace order

}  // namespace millpond::feed::iex_layout
