#include "fixd/accept/failed_logons.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

namespace millpond::fixd {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr FailedLogons::Clock::time_point kBegin{hours{10'000}};

TEST(FailedLogons, TheWaitDoublesUpToAMinuteAndAnHourWithoutAFailureForgives) {
    FailedLogons failures;
    auto now = kBegin;
    EXPECT_FALSE(failures.wait("a", now));
    std::uint64_t count = 0;
    for (const auto wait : {1, 2, 4, 8, 16, 32, 64, 64, 64}) {
        failures.failed("a", now);
        const auto asked = failures.wait("a", now);
        ASSERT_TRUE(asked);
        EXPECT_EQ(asked->left, seconds{wait});
        EXPECT_EQ(asked->failures, ++count);
        EXPECT_EQ(failures.wait("a", now + milliseconds{1})->left, seconds{wait});
        now += seconds{wait};
        EXPECT_TRUE(failures.wait("a", now - milliseconds{1}));
        EXPECT_FALSE(failures.wait("a", now));
    }
    now += hours{1};
    failures.failed("a", now);
    EXPECT_EQ(failures.wait("a", now)->left, seconds{64});
    now += seconds{64} + hours{1} + milliseconds{1};
    failures.failed("a", now);
    EXPECT_EQ(failures.wait("a", now)->left, seconds{1});
    EXPECT_FALSE(failures.wait("b", now));
}

TEST(FailedLogons, ManyAreBoundedAndTheWorstAreRemembered) {
    FailedLogons failures;
    for (int i = 0; i < 5; ++i) failures.failed("worst", kBegin);
    for (int i = 0; i < 11'000; ++i) failures.failed(std::to_string(i), kBegin);
    EXPECT_EQ(failures.wait("worst", kBegin)->failures, 5U);
    EXPECT_FALSE(failures.wait("0", kBegin));
    EXPECT_EQ(failures.size(), 10'000U);
}

TEST(FailedLogons, AnIpv6NetworkIsOnePlaceAndEachIpv4AddressAnother) {
    const auto source = [](const std::string& peer) { return source_of(net::SocketAddress::parse(peer)); };
    EXPECT_EQ(source("10.0.0.1:4000"), "10.0.0.1");
    EXPECT_EQ(source("[2001:db8:1:2:3:4:5:6]:4000"), "2001:db8:1:2::/64");
    EXPECT_EQ(source("[2001:db8:1:2::1]:5000"), "2001:db8:1:2::/64");
    EXPECT_NE(source("[2001:db8:1:3::1]:5000"), "2001:db8:1:2::/64");
    EXPECT_NE(source("[::ffff:10.0.0.1]:4000"), source("[::ffff:10.0.0.2]:4000"));
}

}  // namespace
}  // namespace millpond::fixd
