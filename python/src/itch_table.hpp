#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "rows.hpp"

namespace millpond::python {

/// The first cells of a message's row.
struct MessageHead {
    std::int64_t ts_recv, ts_event;
    std::uint64_t number;
    std::uint32_t instrument;
    std::uint16_t channel;
};

/// A change of an order, as in Databento's market by order.
struct OrderRow {
    std::int64_t ts_recv, ts_event;
    std::uint64_t number, order_id;
    PriceBits price;
    std::int64_t size;
    std::uint32_t instrument;
    std::uint16_t channel, flags;
    char action, side;
};
inline constexpr std::size_t kOrderRowBytes = offsetof(OrderRow, side) + 1;

/// Type letters of ITCH 5.0 messages.
[[nodiscard]] std::string_view itch_types() noexcept;

/// The table of messages of a type; '\0': of changes of orders.
[[nodiscard]] const Table& itch_table(char type);

/// Appends the row of a message of that table. nanos: prices are integers.
void append_message(std::vector<std::byte>& rows, const MessageHead& head, std::span<const std::byte> message,
                    bool nanos);

}  // namespace millpond::python
