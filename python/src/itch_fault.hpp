#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include <millpond/feed/itch_decoder.hpp>
#include <millpond/feed/itch_fault.hpp>
#include <millpond/feed/order_books.hpp>

#include "source.hpp"

namespace millpond::python {

/// Maximum number of stocks of an ITCH reader.
inline constexpr std::size_t kMaxStocks = 20'000;
inline constexpr std::size_t kMaxOrders = std::size_t{1} << 23U;

/// Options for 20,000 stocks, and for orders and levels that grow with the live orders, up to 2^23 orders: memory does
/// not depend on the file's size. A small file, compressed or not, has fewer stocks.
[[nodiscard]] feed::OrderBooks::Options books_for(const Source::Options& options) noexcept;

/// Text of the reason why a message could not be applied: the invalid field, its value and the bound, or the
/// contradiction to earlier messages. stock: stock of the message's locate.
[[nodiscard]] std::string to_text(feed::ItchFault fault, std::span<const std::byte> message,
                                  std::string_view stock = {});

/// The stock that the decoder has for the message's locate; empty if there is none.
[[nodiscard]] feed::Symbol stock_of(const feed::ItchDecoder& decoder, std::span<const std::byte> message) noexcept;

/// Whether the message has a known type and the length of that type.
[[nodiscard]] bool is_whole(std::span<const std::byte> message) noexcept;

/// Offset of the stock in messages of that type; 0 if they have none.
[[nodiscard]] std::size_t stock_at(char type) noexcept;

/// The stock in the message, without trailing spaces; empty if its type has none.
[[nodiscard]] std::string_view named_stock(const std::byte* message) noexcept;

}  // namespace millpond::python
