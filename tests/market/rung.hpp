#pragma once

#include <cstdint>
#include <vector>

#include <millpond/feed/event.hpp>
#include <millpond/market/book.hpp>

namespace millpond::market {

/// A price level, for comparisons.
struct Rung {
    feed::Price price;
    std::uint64_t size;
    std::uint32_t orders;
    friend bool operator==(const Rung&, const Rung&) = default;
};

[[nodiscard]] inline std::vector<Rung> rungs_of(const Book::Levels& levels) {
    std::vector<Rung> rungs;
    for (const auto& level : levels) rungs.push_back({level.price, level.size, level.orders});
    return rungs;
}

}  // namespace millpond::market
