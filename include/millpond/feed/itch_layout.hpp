#pragma once

#include <cstddef>
#include <cstdint>

#include <millpond/core/endian.hpp>

/// NASDAQ TotalView-ITCH 5.0. Integers are big-endian and unaligned, prices u32 in 1/10000, names padded with spaces on
/// the right, times nanoseconds since the exchange's midnight in 6 bytes.
/// ```
/// every message       0 type  1 u16 stock locate  3 u16 tracking  5 time  11 body
/// S  12  system event                     11 event
/// R  39  stock directory                  11 stock(8) 19 ...
/// H  25  stock trading action             11 stock(8) 19 state 20 reserved 21 reason(4)
/// Y  20  short sale restriction           L  26  market participant position   V  35  circuit breaker levels
/// W  12  circuit breaker status 11 level  K  28  IPO quotation                 J  35  auction collar
/// h  21  operational halt                 11 stock(8) 19 market 20 action
/// I  50  imbalance                        N  20  retail interest
/// O  48  direct listing price discovery   B  19  broken trade, 11 u64 match
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
inline constexpr std::size_t kMaxMessageBytes = 50;

namespace system_event {
inline constexpr std::size_t kEventAt = 11, kBytes = 12;
}
namespace directory {
inline constexpr std::size_t kStockAt = 11, kBytes = 39;
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

/// Bytes of a message of that type; 0 when ITCH 5.0 has none.
[[nodiscard]] constexpr std::size_t message_bytes(char type) noexcept {
    switch (type) {
        case 'S': return system_event::kBytes;
        case 'R': return directory::kBytes;
        case 'H': return trading_action::kBytes;
        case 'Y': return 20;
        case 'L': return 26;
        case 'V': return 35;
        case 'W': return circuit_breaker::kBytes;
        case 'K': return 28;
        case 'J': return 35;
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
        case 'I': return 50;
        case 'N': return 20;
        case 'O': return 48;
        default: return 0;
    }
}

/// The six bytes of nanoseconds since midnight.
[[nodiscard]] inline std::int64_t load_time(const std::byte* message) noexcept {
    return std::int64_t{core::load_be<std::uint16_t>(message + kTimeAt)} << 32 |
           std::int64_t{core::load_be<std::uint32_t>(message + kTimeAt + 2)};
}

inline void store_time(std::byte* message, std::int64_t nanos) noexcept {
    core::store_be(message + kTimeAt, static_cast<std::uint16_t>(nanos >> 32));
    core::store_be(message + kTimeAt + 2, static_cast<std::uint32_t>(nanos));
}

}  // namespace millpond::feed::itch_layout
