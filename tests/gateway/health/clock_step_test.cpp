// Steps of the system clock while a gateway runs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include <millpond/core/clock.hpp>

#include "gateway/health/findings.hpp"
#include "gateway/health/report_json.hpp"
#include "tests/gateway/running_gateway.hpp"
#include "tests/support/stepped_clock.hpp"

namespace millpond::gateway::health {
namespace {

using test::RunningGateway;
using ::testing::HasSubstr;

constexpr std::int64_t kHour = 3'600'000'000'000;

class HealthClock : public testing::TestWithParam<std::int64_t> {};

TEST_P(HealthClock, AStepIsNoSilence) {
    RunningGateway gateway{"clock-good"};
    gateway.send_quote();
    ASSERT_TRUE(gateway.becomes_good());
    const millpond::test::ClockStep step{GetParam()};
    // Two updates after the step.
    for (int i = 0; i < 2; ++i) {
        const auto before = gateway.gateway().health()->now;
        ASSERT_TRUE(gateway.watch_until([&](const State& state) { return state.now != before; }));
        EXPECT_EQ(report_line(*gateway.gateway().health()), "good\n");
    }
}

TEST_P(HealthClock, SilenceIsStillFoundAfterAStepAndItsTimesFollowTheNewClock) {
    RunningGateway gateway{"clock-stale", [](Config& config) { config.feeds[0].stale_seconds = 1; }};
    gateway.send_quote();
    ASSERT_TRUE(gateway.watch_until([](const State& state) { return state.feeds[0].last_datagram != 0; }));
    const millpond::test::ClockStep step{GetParam()};
    EXPECT_THAT(gateway.found(Stage::stale).text, HasSubstr("nothing received for 1"));
    const auto json = report_json(*gateway.gateway().health());
    const auto now = std::stoll(json.substr(json.find("\"now\":") + 6));
    EXPECT_LT(core::utc_nanos() - now, kHour / 2);
    EXPECT_GT(core::utc_nanos() - now, -kHour / 2);
}

INSTANTIATE_TEST_SUITE_P(OneHour, HealthClock, testing::Values(kHour, -kHour),
                         [](const auto& step) { return step.param > 0 ? "Forward" : "Back"; });

}  // namespace
}  // namespace millpond::gateway::health
