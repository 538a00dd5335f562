#include "fixd/failed_logons.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

namespace millpond::fixd {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

constexpr FailedLogons::Clock::time_point kBegin{hours{10'000}};

TEST(FailedLogons, TheWaitDoublesUpToAMinuteAndIsForgivenBySuccessOrAnHour) {
    FailedLogons failures;
    auto now = kBegin;
    for (const auto wait : {1, 2, 4, 8, 16, 32, 64, 64, 64}) {
        ASSERT_FALSE(failures.begin("a", now)) << wait;
        failures.settle("a", true, now);
        const auto asked = failures.begin("a", now);
        ASSERT_TRUE(asked);
        EXPECT_EQ(asked->left, seconds{wait});
        EXPECT_TRUE(failures.begin("a", now + seconds{wait} - std::chrono::milliseconds{1}));
        now += seconds{wait};
    }
    // Asking early has made nothing longer.
    ASSERT_FALSE(failures.begin("a", now));
    failures.settle("a", false, now);
    ASSERT_FALSE(failures.begin("a", now));
    failures.settle("a", true, now);
    EXPECT_EQ(failures.begin("a", now)->left, seconds{1});
    now += seconds{1};
    ASSERT_FALSE(failures.begin("a", now));
    failures.settle("a", true, now);
    now += hours{1} + seconds{3};
    ASSERT_FALSE(failures.begin("a", now));
    failures.settle("a", true, now);
    EXPECT_EQ(failures.begin("a", now)->left, seconds{1});
}

TEST(FailedLogons, OneAttemptAtATimeIsLookedAt) {
    FailedLogons failures;
    ASSERT_FALSE(failures.begin("a", kBegin));
    ASSERT_TRUE(failures.begin("a", kBegin));
    EXPECT_EQ(failures.begin("a", kBegin)->left, seconds{0});
    EXPECT_FALSE(failures.begin("b", kBegin));
    failures.settle("a", false, kBegin);
    EXPECT_FALSE(failures.begin("a", kBegin));
}

TEST(FailedLogons, ManyAreBoundedAndTheWorstAreRemembered) {
    FailedLogons failures;
    for (int i = 0; i < 5; ++i) {
        static_cast<void>(failures.begin("worst", kBegin));
        failures.settle("worst", true, kBegin);
    }
    for (int i = 0; i < 11'000; ++i) {
        const auto who = std::to_string(i);
        ASSERT_FALSE(failures.begin(who, kBegin));
        failures.settle(who, true, kBegin);
    }
    EXPECT_EQ(failures.begin("worst", kBegin)->failures, 5U);
    EXPECT_FALSE(failures.begin("0", kBegin));
    EXPECT_EQ(failures.size(), 10'000U);
}

}  // namespace
}  // namespace millpond::fixd
