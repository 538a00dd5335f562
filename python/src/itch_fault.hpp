#pragma once

#include <cstddef>
#include <span>
#include <string>

#include <millpond/feed/itch_fault.hpp>

namespace millpond::python {

/// Most stocks and orders that a reader of ITCH keeps.
inline constexpr std::size_t kMostStocks = 20'000;
inline constexpr std::size_t kMostOrders = std::size_t{1} << 23U;

/// Why a message could not be applied: which of its fields is not allowed, what was found and the bound, or what of the
/// messages before it contradicts it.
[[nodiscard]] std::string to_text(feed::ItchFault fault, std::span<const std::byte> message);

/// Whether the message has a known type and the length of that type.
[[nodiscard]] bool is_whole(std::span<const std::byte> message) noexcept;

/// Where a message of that type names its stock; 0: nowhere.
[[nodiscard]] std::size_t stock_at(char type) noexcept;

}  // namespace millpond::python
