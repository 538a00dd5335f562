#include <cmath>

#include <gtest/gtest.h>

#include <millpond/core/clock.hpp>

namespace millpond::core {
namespace {

TEST(TickRate, AgreesWithTheMonotonicClockOverALongerSpan) {
    TickRate rate;
    const auto start_ticks = ticks();
    const auto start = monotonic_nanos();
    while (monotonic_nanos() - start < 20'000'000) {
    }
    // The ticks are read inside the clock readings, so preemption can only make the span of the clock longer.
    const auto counted = ticks() - start_ticks;
    const auto span = monotonic_nanos() - start;
    rate.recalibrate();
    EXPECT_NEAR(static_cast<double>(rate.nanos(counted)) / static_cast<double>(span), 1.0, 0.05);
}

TEST(Clock, AReadingDuringWhichTheThreadWasPreemptedIsDiscarded) {
    std::int64_t asked = 0;
    const auto reading = read_with_ticks([&asked] {
        if (asked++ != 0) return asked;
        const auto start = monotonic_nanos();
        while (monotonic_nanos() - start < 20'000'000) {
        }
        return asked;
    });
    EXPECT_GT(reading.nanos, 1) << "the first answer was the slow one";
    EXPECT_LE(reading.ticks, ticks());
}

TEST(Clock, UtcIsAfterTheYearTwentyTwentyFourAndMonotonicNeverStepsBack) {
    EXPECT_GT(utc_nanos(), 1'704'067'200'000'000'000);
    auto last = monotonic_nanos();
    for (int i = 0; i < 10'000; ++i) {
        const auto now = monotonic_nanos();
        ASSERT_GE(now, last);
        last = now;
    }
}

}  // namespace
}  // namespace millpond::core
