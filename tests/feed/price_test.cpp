#include <cstdint>
#include <limits>

#include <gtest/gtest.h>

#include <millpond/feed/price.hpp>

namespace millpond::feed {
namespace {

TEST(Price, EveryPriceOfAVenueIsAPrice) {
    EXPECT_EQ(price_from<10'000>(std::uint32_t{1'892'500}), 1'892'500 * (kPriceScale / 10'000));
    EXPECT_EQ(price_from<100>(std::uint16_t{18'925}), price_from<10'000>(1'892'500));
    EXPECT_EQ(price_from<1>(std::int32_t{-37}), -37 * kPriceScale);
    constexpr auto kHighest = std::numeric_limits<std::uint32_t>::max();
    EXPECT_EQ(price_from<1>(kHighest), std::int64_t{kHighest} * kPriceScale);
    EXPECT_LT(price_from<1>(kHighest), kMaxPrice);
    EXPECT_GT(price_from<1>(std::numeric_limits<std::int32_t>::min()), kMinPrice);
}

}  // namespace
}  // namespace millpond::feed
