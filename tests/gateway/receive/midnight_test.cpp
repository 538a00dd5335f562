#include "gateway/receive/midnight.hpp"

#include <gtest/gtest.h>

#include <cstdint>

namespace millpond::gateway {
namespace {

TEST(Midnight, IsTheLocalDaysInWinterAndSummer) {
    constexpr std::int64_t kHourNs = 3'600'000'000'000;
    // 2020-01-30T00:00:00Z is 1580342400; New York is five hours behind, in July (1594080000 is the 7th) four.
    EXPECT_EQ(midnight_utc_ns("America/New_York", "2020-01-30", 0), 1'580'342'400'000'000'000 + 5 * kHourNs);
    EXPECT_EQ(midnight_utc_ns("America/New_York", "2020-07-07", 0), 1'594'080'000'000'000'000 + 4 * kHourNs);
    EXPECT_EQ(midnight_utc_ns("UTC", "", 1'580'342'400'000'000'000 + 3 * kHourNs), 1'580'342'400'000'000'000);
    // Three in the morning in UTC is still the day before in New York.
    EXPECT_EQ(midnight_utc_ns("America/New_York", "", 1'580'342'400'000'000'000 + 3 * kHourNs),
              1'580'342'400'000'000'000 - 19 * kHourNs);
}

}  // namespace
}  // namespace millpond::gateway
