#pragma once

#include <concepts>
#include <cstdint>
#include <limits>

namespace millpond::feed {

/// A signed price in 1/kPriceScale of the currency's unit: -9,223,372,036.854775806 to 9,223,372,036.854775806.
using Price = std::int64_t;
inline constexpr Price kPriceScale = 1'000'000'000;
/// Decimals that distinguish all prices, and the most that text can be asked for.
inline constexpr unsigned kPriceDecimals = 9;
/// Decimals of an instrument whose format names none.
inline constexpr unsigned kDefaultDecimals = 4;

/// Value of a field that may have no price.
inline constexpr Price kNoPrice = std::numeric_limits<Price>::max();
inline constexpr Price kMaxPrice = kNoPrice - 1;
inline constexpr Price kMinPrice = -kMaxPrice;

/// False for kNoPrice and for the two values that have no positive counterpart.
[[nodiscard]] constexpr bool is_price(std::int64_t value) noexcept {
    return static_cast<std::uint64_t>(value) - static_cast<std::uint64_t>(kMinPrice) <= std::uint64_t{2} * kMaxPrice;
}

/// A price that a venue sends in 1/kVenueScale: `price_from<10'000>(1892500)` is 189.25. All 32-bit integers fit.
template <std::int64_t kVenueScale, std::integral Integer>
    requires(sizeof(Integer) <= sizeof(std::uint32_t) && kVenueScale >= 1 && kPriceScale % kVenueScale == 0)
[[nodiscard]] constexpr Price price_from(Integer venue_price) noexcept {
    static_assert(kPriceScale / kVenueScale <= (std::int64_t{1} << 31) - 1);
    return Price{venue_price} * (kPriceScale / kVenueScale);
}

/// The price in 1/kVenueScale, rounded towards zero.
template <std::int64_t kVenueScale>
    requires(kVenueScale >= 1 && kPriceScale % kVenueScale == 0)
[[nodiscard]] constexpr std::int64_t in_venue_scale(Price price) noexcept {
    return price / (kPriceScale / kVenueScale);
}

}  // namespace millpond::feed
