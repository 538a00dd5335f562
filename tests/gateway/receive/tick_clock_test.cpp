#include "gateway/receive/tick_clock.hpp"

#include <gtest/gtest.h>

#include <cstdint>

#include <millpond/core/clock.hpp>

namespace millpond::gateway {
namespace {

TEST(TickClock, APreemptionWhileItIsSetDoesNotSetItWrong) {
    constexpr std::int64_t kPauseNs = 50'000'000;
    TickClock clock;
    int asked = 0;
    clock.set([&asked] {
        const auto now = core::utc_nanos();
        if (asked++ != 0) return now;
        while (core::utc_nanos() - now < kPauseNs) {  // another thread runs after the clock was read
        }
        return now;
    });
    EXPECT_GT(asked, 1);
    const auto earliest = core::utc_nanos();
    const auto ticks = core::ticks();
    const auto latest = core::utc_nanos();
    EXPECT_GT(clock.utc_nanos(ticks), earliest - kPauseNs / 4);
    EXPECT_LT(clock.utc_nanos(ticks), latest + kPauseNs / 4);
}

}  // namespace
}  // namespace millpond::gateway
