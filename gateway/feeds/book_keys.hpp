#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <millpond/feed/event.hpp>
#include <millpond/feed/order_books.hpp>
#include <millpond/market/board_layout.hpp>

#include "gateway/feeds/format_of.hpp"
#include "service/settings/key_of.hpp"

/// What the formats with order books have in common.
namespace millpond::gateway {

inline constexpr std::string_view kFullDepthWord = "full";
inline constexpr std::string_view kOrdersHelp =
    "itch, iex-deep-plus: publish every order; needs a ring capacity of 8192, or 16384 with depth.";
inline constexpr std::string_view kMaxOrdersHelp = "itch, iex-deep-plus: maximum number of live orders in the books.";
inline constexpr std::uint64_t kMaxOrders = 1ULL << 28;

/// The key `depth` of settings with a member of this name.
template <class Settings>
constexpr settings::Key<Settings> depth_key() {
    return {"depth", "N|full", kDepthHelp,
            [](Settings& s, const settings::Value& v) {
                s.depth = static_cast<std::uint32_t>(
                    v.integer_or(kFullDepthWord, 0, market::kMaxBoardDepth).value_or(feed::kFullDepth));
            },
            [](const Settings& s) {
                return s.depth == feed::kFullDepth ? std::string{kFullDepthWord} : std::to_string(s.depth);
            }};
}

/// The key `rebuild_buffer` of settings with a member of this name.
template <class Settings>
constexpr settings::Key<Settings> rebuild_buffer_key() {
    return settings::KeyOf<Settings>::template bytes<&Settings::rebuild_buffer>(
        "rebuild_buffer", "itch, iex-deep, iex-deep-plus: memory for messages that arrive during a rebuild.");
}

/// Every book needs a chunk of levels for each side; busy books need more.
[[nodiscard]] inline feed::OrderBooks::Options books_for(std::uint64_t instruments, std::uint64_t max_orders) {
    constexpr std::uint64_t kMaxBooks = 65'536;
    constexpr std::size_t kMoreChunks = 8'192;
    feed::OrderBooks::Options options;
    options.books = std::min(instruments, kMaxBooks);
    options.orders = max_orders;
    options.level_chunks = 2 * options.books + kMoreChunks;
    return options;
}

}  // namespace millpond::gateway
