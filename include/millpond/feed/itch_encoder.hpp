#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include <millpond/core/endian.hpp>
#include <millpond/feed/itch_layout.hpp>

namespace millpond::feed {

/// Writes single ITCH 5.0 messages (itch_layout.hpp), for generated feeds and tests. Each result is valid until the
/// next call; fields without a parameter are zero or blank.
///
/// Threads: one.
class ItchEncoder {
public:
    using Message = std::span<const std::byte>;

    /// Sets the header of the following messages: stock locate and nanoseconds since midnight at the exchange.
    void set_head(std::uint16_t locate, std::int64_t nanos_of_day) noexcept {
        locate_ = locate;
        nanos_ = nanos_of_day;
    }
    void set_locate(std::uint16_t locate) noexcept { locate_ = locate; }

    Message system_event(char event) noexcept {
        const auto out = start('S');
        out[itch_layout::system_event::kEventAt] = std::byte(event);
        return out;
    }
    Message directory(std::string_view stock) noexcept {
        const auto out = start('R');
        put_stock(out, itch_layout::directory::kStockAt, stock);
        return out;
    }
    Message trading_action(std::string_view stock, char state, std::string_view reason) noexcept;
    /// market: 'Q' Nasdaq, 'B' BX, 'X' PSX. action: 'H' halted, 'T' resumed.
    Message operational_halt(std::string_view stock, char market, char action) noexcept;
    /// level: '1' to '3'.
    Message circuit_breaker(char level) noexcept {
        const auto out = start('W');
        out[itch_layout::circuit_breaker::kLevelAt] = std::byte(level);
        return out;
    }
    Message broken_trade(std::uint64_t match) noexcept {
        const auto out = start('B');
        put(out, itch_layout::broken_trade::kMatchAt, match);
        return out;
    }
    Message order_added(std::uint64_t order, char side, std::uint32_t shares, std::string_view stock,
                        std::uint32_t price, bool with_participant = false) noexcept;
    Message order_executed(std::uint64_t order, std::uint32_t shares, std::uint64_t match) noexcept;
    Message order_executed_at(std::uint64_t order, std::uint32_t shares, std::uint64_t match, bool printable,
                              std::uint32_t price) noexcept;
    Message order_reduced(std::uint64_t order, std::uint32_t shares) noexcept;
    Message order_deleted(std::uint64_t order) noexcept;
    Message order_replaced(std::uint64_t order, std::uint64_t new_order, std::uint32_t shares,
                           std::uint32_t price) noexcept;
    Message hidden_trade(std::uint32_t shares, std::string_view stock, std::uint32_t price,
                         std::uint64_t match) noexcept;
    Message cross(std::uint64_t shares, std::string_view stock, std::uint32_t price, std::uint64_t match) noexcept;

    /// Writes a message of any type that consists of its header only.
    Message other(char type) noexcept { return start(type); }

private:
    [[nodiscard]] std::span<std::byte> start(char type) noexcept;
    static void put_stock(std::span<std::byte> out, std::size_t at, std::string_view stock) noexcept;
    template <class Int>
    static void put(std::span<std::byte> out, std::size_t at, Int value) noexcept {
        core::store_be(out.data() + at, value);
    }

    std::uint16_t locate_{0};
    std::int64_t nanos_{0};
    std::array<std::byte, itch_layout::kMaxMessageBytes> bytes_{};
};

inline std::span<std::byte> ItchEncoder::start(char type) noexcept {
    bytes_.fill(std::byte{0});
    bytes_[0] = std::byte(type);
    core::store_be(bytes_.data() + itch_layout::kLocateAt, locate_);
    itch_layout::store_time(bytes_.data(), nanos_);
    return std::span{bytes_}.first(itch_layout::message_bytes(type));
}

inline void ItchEncoder::put_stock(std::span<std::byte> out, std::size_t at, std::string_view stock) noexcept {
    for (std::size_t i = 0; i < itch_layout::kStockBytes; ++i)
        out[at + i] = std::byte(i < stock.size() ? stock[i] : ' ');
}

inline ItchEncoder::Message ItchEncoder::trading_action(std::string_view stock, char state,
                                                        std::string_view reason) noexcept {
    namespace at = itch_layout::trading_action;
    const auto out = start('H');
    put_stock(out, at::kStockAt, stock);
    out[at::kStateAt] = std::byte(state);
    for (std::size_t i = 0; i < 4; ++i) out[at::kReasonAt + i] = std::byte(i < reason.size() ? reason[i] : ' ');
    return out;
}

inline ItchEncoder::Message ItchEncoder::operational_halt(std::string_view stock, char market, char action) noexcept {
    namespace at = itch_layout::operational_halt;
    const auto out = start('h');
    put_stock(out, at::kStockAt, stock);
    out[at::kMarketAt] = std::byte(market);
    out[at::kActionAt] = std::byte(action);
    return out;
}

inline ItchEncoder::Message ItchEncoder::order_added(std::uint64_t order, char side, std::uint32_t shares,
                                                     std::string_view stock, std::uint32_t price,
                                                     bool with_participant) noexcept {
    namespace at = itch_layout::order_added;
    const auto out = start(with_participant ? 'F' : 'A');
    put(out, at::kOrderAt, order);
    out[at::kSideAt] = std::byte(side);
    put(out, at::kSharesAt, shares);
    put_stock(out, at::kStockAt, stock);
    put(out, at::kPriceAt, price);
    return out;
}

inline ItchEncoder::Message ItchEncoder::order_executed(std::uint64_t order, std::uint32_t shares,
                                                        std::uint64_t match) noexcept {
    namespace at = itch_layout::order_executed;
    const auto out = start('E');
    put(out, at::kOrderAt, order);
    put(out, at::kSharesAt, shares);
    put(out, at::kMatchAt, match);
    return out;
}

inline ItchEncoder::Message ItchEncoder::order_executed_at(std::uint64_t order, std::uint32_t shares,
                                                           std::uint64_t match, bool printable,
                                                           std::uint32_t price) noexcept {
    namespace at = itch_layout::order_executed;
    const auto out = start('C');
    put(out, at::kOrderAt, order);
    put(out, at::kSharesAt, shares);
    put(out, at::kMatchAt, match);
    out[at::kPrintableAt] = std::byte(printable ? 'Y' : 'N');
    put(out, at::kPriceAt, price);
    return out;
}

inline ItchEncoder::Message ItchEncoder::order_reduced(std::uint64_t order, std::uint32_t shares) noexcept {
    const auto out = start('X');
    put(out, itch_layout::order_reduced::kOrderAt, order);
    put(out, itch_layout::order_reduced::kSharesAt, shares);
    return out;
}

inline ItchEncoder::Message ItchEncoder::order_deleted(std::uint64_t order) noexcept {
    const auto out = start('D');
    put(out, itch_layout::order_deleted::kOrderAt, order);
    return out;
}

inline ItchEncoder::Message ItchEncoder::order_replaced(std::uint64_t order, std::uint64_t new_order,
                                                        std::uint32_t shares, std::uint32_t price) noexcept {
    namespace at = itch_layout::order_replaced;
    const auto out = start('U');
    put(out, at::kOrderAt, order);
    put(out, at::kNewOrderAt, new_order);
    put(out, at::kSharesAt, shares);
    put(out, at::kPriceAt, price);
    return out;
}

inline ItchEncoder::Message ItchEncoder::hidden_trade(std::uint32_t shares, std::string_view stock, std::uint32_t price,
                                                      std::uint64_t match) noexcept {
    namespace at = itch_layout::hidden_trade;
    const auto out = start('P');
    put(out, at::kSharesAt, shares);
    put_stock(out, at::kStockAt, stock);
    put(out, at::kPriceAt, price);
    put(out, at::kMatchAt, match);
    return out;
}

inline ItchEncoder::Message ItchEncoder::cross(std::uint64_t shares, std::string_view stock, std::uint32_t price,
                                               std::uint64_t match) noexcept {
    namespace at = itch_layout::cross;
    const auto out = start('Q');
    put(out, at::kSharesAt, shares);
    put_stock(out, at::kStockAt, stock);
    put(out, at::kPriceAt, price);
    put(out, at::kMatchAt, match);
    return out;
}

}  // namespace millpond::feed
