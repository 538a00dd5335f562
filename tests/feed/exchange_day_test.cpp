#include <millpond/feed/exchange_day.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

namespace millpond::feed {
namespace {

constexpr auto kDay = ExchangeDay::kDayNs;
constexpr std::int64_t kHour = kDay / 24;
constexpr std::int64_t kMidnight = 1'580'360'400'000'000'000;

TEST(ExchangeDay, WithoutAMidnightNoTimeIsKnown) {
    ExchangeDay day;
    EXPECT_EQ(day.utc_ns(5, kMidnight), 0);
    day.set_midnight(0, true);
    EXPECT_EQ(day.utc_ns(5, kMidnight), 0);
}

TEST(ExchangeDay, AFixedDayIsThatOfEveryTime) {
    ExchangeDay day;
    day.set_midnight(kMidnight, false);
    for (const auto receive : {std::int64_t{0}, kMidnight - 400 * kDay, kMidnight + 3'000 * kDay,
                               std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min()})
        EXPECT_EQ(day.utc_ns(5, receive), kMidnight + 5);
}

TEST(ExchangeDay, AroundMidnightTheNearestDayIsMeantOnBothSides) {
    ExchangeDay day;
    day.set_midnight(kMidnight, true);
    // The receiver's clock is behind midnight: the last times of the exchange's old day arrive.
    EXPECT_EQ(day.utc_ns(kDay - 1, kMidnight + 1'000), kMidnight - 1);
    EXPECT_EQ(day.utc_ns(kDay - kHour, kMidnight + kHour), kMidnight - kHour);
    // The receiver's clock is before the next midnight, and the exchange's clock behind it.
    EXPECT_EQ(day.utc_ns(1, kMidnight + kDay - 1'000), kMidnight + kDay + 1);
    // Within the day.
    for (std::int64_t hour = 0; hour < 24; ++hour) {
        for (const auto late : {-11 * kHour, std::int64_t{0}, 11 * kHour}) {
            if (hour * kHour + late < 0 || hour * kHour + late >= kDay) continue;
            EXPECT_EQ(day.utc_ns(hour * kHour, kMidnight + hour * kHour + late), kMidnight + hour * kHour);
        }
    }
    EXPECT_EQ(day.utc_ns(kDay - 1, 0), kMidnight + kDay - 1) << "no receive time";
}

TEST(ExchangeDay, ExchangeTimesGoOnWhenTheMidnightChanges) {
    ExchangeDay day;
    day.set_midnight(kMidnight, true);
    std::int64_t last = 0;
    for (auto now = kMidnight + kDay - kHour; now < kMidnight + kDay + kHour; now += kHour / 60) {
        if (now >= kMidnight + kDay) day.set_midnight(kMidnight + kDay, true);  // of the receiver's clock
        const auto exchange = (now - 90'000'000'000 - kMidnight) % kDay;  // a minute and a half behind the receiver
        const auto time = day.utc_ns(exchange, now);
        EXPECT_EQ(now - time, 90'000'000'000);
        EXPECT_GT(time, last);
        last = time;
    }
}

}  // namespace
}  // namespace millpond::feed
