#pragma once

#include <cstddef>
#include <cstdint>

#include <millpond/core/endian.hpp>

/// NASDAQ TotalView-ITCH 5.0. Integers are big-endian and unaligned, prices u32 in 1/10000, names padded with spaces on
/// the right, times nanoseconds since the exchange's midnight in 6 bytes.
/// ```
/// every message       0 type  1 u16 stock locate  3 u16 tracking  5 time  11 body
/// S  12  system event                     11 event
/// R  39  stock directory                  11 stock(8) 19 market 20 financial status 21 u32 round lot
///                                         25 round lots only 26 classification 27 subtype(2) 29 authenticity
///                                         30 short sale threshold 31 IPO 32 tier 33 traded fund
///                                         34 u32 leverage 38 inverse
/// H  25  stock trading action             11 stock(8) 19 state 20 reserved 21 reason(4)
/// Y  20  short sale restriction           11 stock(8) 19 action
/// J  35  auction collar                   11 stock(8) 19 u32 reference 23 u32 upper 27 u32 lower 31 u32 extension
/// W  12  circuit breaker status           11 level
/// V  35  circuit breaker levels           L  26  market participant position   K  28  IPO quotation
/// h  21  operational halt                 11 stock(8) 19 market 20 action
/// I  50  imbalance                        11 u64 paired 19 u64 imbalance 27 direction 28 stock(8) 36 u32 far price
///                                         40 u32 near price 44 u32 reference price 48 cross type 49 variation
/// O  48  direct listing price discovery   N  20  retail interest
/// B  19  broken trade                     11 u64 match
/// A  36  order added                      11 u64 order 19 side 20 u32 shares 24 stock(8) 32 u32 price
/// F  40  the same with its participant    as A, 36 participant(4)
/// E  31  order executed                   11 u64 order 19 u32 shares 23 u64 match
/// C  36  executed at another price        as E, 31 printable 32 u32 price
/// X  23  order reduced                    11 u64 order 19 u32 shares
/// D  19  order deleted                    11 u64 order
/// U  35  order replaced                   11 u64 order 19 u64 new order 27 u32 shares 31 u32 price
/// P  44  trade of a hidden order          11 u64 order 19 side 20 u32 shares 24 stock(8) 32 u32 price 36 u64 match
/// Q  40  cross                            11 u64 shares 19 stock(8) 27 u32 price 31 u64 match 39 cross type
/// ```
/// Source: NASDAQ TotalView-ITCH 5.0 specification.
namespace millpond::feed::itch_layout {

inline constexpr std::size_t kLocateAt = 1;
inline constexpr std::size_t kTimeAt = 5;
inline constexpr std::size_t kStockBytes = 8;
inline constexpr std::int64_t kDayNs = 86'400'000'000'000;  ///< Upper bound of times.
inline constexpr std::size_t kMaxMessageBytes = 50;
inline constexpr std::int64_t kVenueScale = 10'000;        ///< Scale of prices.
inline constexpr std::uint32_t kMaxPrice = 2'000'000'000;  ///< 200,000.0000, the price of an order at any price.

namespace system_event {
inline constexpr std::size_t kEventAt = 11, kBytes = 12;
}
namespace directory {
inline constexpr std::size_t kStockAt = 11, kRoundLotAt = 21, kClassificationAt = 26, kTradedFundAt = 33, kBytes = 39;
}
namespace trading_action {
inline constexpr std::size_t kStockAt = 11, kStateAt = 19, kReasonAt = 21, kBytes = 25;
}
namespace operational_halt {
inline constexpr std::size_t kStockAt = 11, kMarketAt = 19, kActionAt = 20, kBytes = 21;
inline constexpr char kNasdaq = 'Q', kBx = 'B', kPsx = 'X';
}  // namespace operational_halt
namespace circuit_breaker {
inline constexpr std::size_t kLevelAt = 11, kBytes = 12;
}
namespace short_sale {
inline constexpr std::size_t kStockAt = 11, kActionAt = 19, kBytes = 20;
}
namespace auction_collar {
inline constexpr std::size_t kStockAt = 11, kReferenceAt = 19, kUpperAt = 23, kLowerAt = 27, kExtensionAt = 31,
                             kBytes = 35;
}
namespace imbalance {
inline constexpr std::size_t kPairedAt = 11, kImbalanceAt = 19, kDirectionAt = 27, kStockAt = 28, kFarPriceAt = 36,
                             kNearPriceAt = 40, kReferenceAt = 44, kCrossAt = 48, kBytes = 50;
}
namespace broken_trade {
inline constexpr std::size_t kMatchAt = 11, kBytes = 19;
}
namespace order_added {
inline constexpr std::size_t kOrderAt = 11, kSideAt = 19, kSharesAt = 20, kStockAt = 24, kPriceAt = 32, kBytes = 36;
inline constexpr std::size_t kBytesWithParticipant = 40;
}  // namespace order_added
namespace order_executed {
inline constexpr std::size_t kOrderAt = 11, kSharesAt = 19, kMatchAt = 23, kBytes = 31;
inline constexpr std::size_t kPrintableAt = 31, kPriceAt = 32, kBytesWithPrice = 36;
}  // namespace order_executed
namespace order_reduced {
inline constexpr std::size_t kOrderAt = 11, kSharesAt = 19, kBytes = 23;
}
namespace order_deleted {
inline constexpr std::size_t kOrderAt = 11, kBytes = 19;
}
namespace order_replaced {
inline constexpr std::size_t kOrderAt = 11, kNewOrderAt = 19, kSharesAt = 27, kPriceAt = 31, kBytes = 35;
}
namespace hidden_trade {
inline constexpr std::size_t kSharesAt = 20, kStockAt = 24, kPriceAt = 32, kMatchAt = 36, kBytes = 44;
}
namespace cross {
inline constexpr std::size_t kSharesAt = 11, kStockAt = 19, kPriceAt = 27, kMatchAt = 31, kBytes = 40;
}

/// Length of a message of that type; 0 if ITCH 5.0 has no such type.
[[nodiscard]] constexpr std::size_t message_bytes(char type) noexcept {
    switch (type) {
        case 'S': return system_event::kBytes;
        case 'R': return directory::kBytes;
        case 'H': return trading_action::kBytes;
        case 'Y': return short_sale::kBytes;
        case 'L': return 26;
        case 'V': return 35;
        case 'W': return circuit_breaker::kBytes;
        case 'K': return 28;
        case 'J': return auction_collar::kBytes;
        case 'h': return operational_halt::kBytes;
        case 'A': return order_added::kBytes;
        case 'F': return order_added::kBytesWithParticipant;
        case 'E': return order_executed::kBytes;
        case 'C': return order_executed::kBytesWithPrice;
        case 'X': return order_reduced::kBytes;
        case 'D': return order_deleted::kBytes;
        case 'U': return order_replaced::kBytes;
        case 'P': return hidden_trade::kBytes;
        case 'Q': return cross::kBytes;
        case 'B': return broken_trade::kBytes;
        case 'I': return imbalance::kBytes;
        case 'N': return 20;
        case 'O': return 48;
        default: return 0;
    }
}

/// Reads the six-byte nanoseconds since midnight.
[[nodiscard]] inline std::int64_t load_time(const std::byte* message) noexcept {
    return std::int64_t{core::load_be<std::uint16_t>(message + kTimeAt)} << 32 |
           std::int64_t{core::load_be<std::uint32_t>(message + kTimeAt + 2)};
}

/// True if the time is less than 24 hours. For most messages the high bytes decide.
[[nodiscard]] inline bool is_time_of_day(const std::byte* message) noexcept {
    return core::load_be<std::uint16_t>(message + kTimeAt) < kDayNs >> 32 || load_time(message) < kDayNs;
}

inline void store_time(std::byte* message, std::int64_t nanos) noexcept {
    core::store_be(message + kTimeAt, static_cast<std::uint16_t>(nanos >> 32));
    core::store_be(message + kTimeAt + 2, static_cast<std::uint32_t>(nanos));
}

}  // namespace millpond::feed::itch_layout
