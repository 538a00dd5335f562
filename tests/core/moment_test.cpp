#include <millpond/core/moment.hpp>

#include <gtest/gtest.h>

namespace millpond::core {
namespace {

TEST(MomentClock, ReadsBothClocks) {
    MomentClock clock;
    for (int i = 0; i < 1000; ++i) {
        const auto monotonic_before = monotonic_nanos();
        const auto utc_before = utc_nanos();
        const auto now = clock.now();
        EXPECT_GE(now.monotonic_ns, monotonic_before);
        EXPECT_LE(now.monotonic_ns, monotonic_nanos());
        EXPECT_GE(now.utc_ns, utc_before - 1'000'000);
        EXPECT_LE(now.utc_ns, utc_nanos() + 1'000'000);
    }
}

TEST(Moment, LaterIsLaterOnBothClocks) {
    constexpr Moment kNow{.utc_ns = 100, .monotonic_ns = 7};
    static_assert(kNow.after(5).utc_ns == 105 && kNow.after(5).monotonic_ns == 12);
}

}  // namespace
}  // namespace millpond::core
