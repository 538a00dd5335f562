#include "service/time_zone.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <stdexcept>

namespace millpond::service {
namespace {

TEST(TimeZone, ADayBeginsAtLocalMidnightInWinterAndSummer) {
    constexpr std::int64_t kHourNs = 3'600'000'000'000;
    // 2020-01-30T00:00:00Z is 1580342400. New York is five hours behind then, and four hours in July (1594080000 is the
    // 7th).
    EXPECT_EQ(midnight_utc_ns("America/New_York", "2020-01-30", 0), 1'580'342'400'000'000'000 + 5 * kHourNs);
    EXPECT_EQ(midnight_utc_ns("America/New_York", "2020-07-07", 0), 1'594'080'000'000'000'000 + 4 * kHourNs);
    EXPECT_EQ(midnight_utc_ns("UTC", "", 1'580'342'400'000'000'000 + 3 * kHourNs), 1'580'342'400'000'000'000);
    // At three in the morning UTC it is still the day before in New York.
    EXPECT_EQ(midnight_utc_ns("America/New_York", "", 1'580'342'400'000'000'000 + 3 * kHourNs),
              1'580'342'400'000'000'000 - 19 * kHourNs);
}

TEST(TimeZone, ADayWithoutAMidnightBeginsAnHourLaterAndOneWithTwoAtTheSecond) {
    // Sao Paulo put its clocks forward at the midnight of 2018-11-04, and Havana back from 01:00 on 2020-11-01.
    EXPECT_EQ(midnight_utc_ns("America/Sao_Paulo", "2018-11-04", 0), 1'541'300'400'000'000'000);
    EXPECT_EQ(midnight_utc_ns("America/Havana", "2020-11-01", 0), 1'604'206'800'000'000'000);
}

TEST(TimeZone, UnknownNamesAndInvalidDaysAreRefused) {
    EXPECT_TRUE(is_time_zone("Europe/Berlin"));
    EXPECT_FALSE(is_time_zone("Mars/Base"));
    EXPECT_THROW(static_cast<void>(midnight_utc_ns("Mars/Base", "", 0)), std::runtime_error);
    EXPECT_THROW(static_cast<void>(offset_changes("Mars/Base")), std::runtime_error);
    for (const auto* const day : {"2020-02-31", "yesterday", "2020-01", "2020-01-30x"}) {
        EXPECT_THROW(static_cast<void>(midnight_utc_ns("UTC", day, 0)), std::runtime_error) << day;
    }
}

TEST(TimeZone, OffsetsChangeTwiceAYearUntil2100) {
    const auto changes = offset_changes("America/New_York");
    EXPECT_EQ(changes.front().offset_seconds, -5 * 3600);
    EXPECT_TRUE(std::ranges::is_sorted(changes, std::ranges::less{}, &OffsetChange::utc_seconds));
    const auto in_2099 = std::ranges::count_if(
        changes, [](const auto& change) { return change.utc_seconds >= 4'070'908'800; });  // 2099-01-01
    EXPECT_EQ(in_2099, 2);
    // 2026-03-08 02:00 EST and 2026-11-01 02:00 EDT
    const auto spring = std::ranges::find(changes, 1'772'953'200, &OffsetChange::utc_seconds);
    ASSERT_NE(spring, changes.end());
    EXPECT_EQ(spring->offset_seconds, -4 * 3600);
    EXPECT_EQ((spring + 1)->utc_seconds, 1'793'512'800);
    EXPECT_EQ((spring + 1)->offset_seconds, -5 * 3600);
    EXPECT_EQ(offset_changes("UTC").size(), 1U);
}

}  // namespace
}  // namespace millpond::service
