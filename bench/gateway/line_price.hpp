#pragma once

#include <charconv>
#include <cmath>
#include <cstdint>
#include <string_view>

namespace millpond::bench {

/// The bid of a quote's line in 1/10000, 0 for any other line.
[[nodiscard]] inline std::uint64_t bid_of(std::string_view line) {
    constexpr std::string_view kKey = "\"bid\":{\"price\":";
    const auto at = line.find(kKey);
    double price = 0;
    if (at == std::string_view::npos) return 0;
    std::from_chars(line.data() + at + kKey.size(), line.data() + line.size(), price);
    return static_cast<std::uint64_t>(std::llround(price * 10'000));
}

}  // namespace millpond::bench
