// The system clock is set while a session runs: timeouts are not affected, timestamps and the schedule are.

#include <string>

#include <gtest/gtest.h>

#include "tests/fix/session_peer.hpp"

namespace millpond::fix {
namespace {

constexpr std::int64_t kHourNs = 3600 * kSecond;

class SessionClock : public testing::TestWithParam<std::int64_t> {};

TEST_P(SessionClock, AStepDoesNotDisconnectAPeerThatIsHeard) {
    Peer peer;
    peer.log_on("98=0|108=10|");
    peer.step_clock(GetParam());
    peer.pass(9 * kSecond);
    EXPECT_EQ(peer.sent(), "");
    EXPECT_FALSE(peer.closed_);
}

TEST_P(SessionClock, AStepDelaysNoHeartbeatAndNoTestRequest) {
    Peer peer;
    peer.log_on("98=0|108=10|");
    peer.step_clock(GetParam());
    peer.pass(10 * kSecond);
    EXPECT_EQ(peer.sent(), "35=0|34=2|\n");
    peer.pass(2 * kSecond);
    EXPECT_EQ(peer.sent(), "35=1|34=3|112=TEST|\n");
    peer.pass(12 * kSecond);
    EXPECT_EQ(peer.closed_, Disconnect::heartbeat_timeout);
}

TEST_P(SessionClock, AStepLeavesTheLogonTimeoutAsItIs) {
    Peer peer;
    peer.session_.on_connect(peer.now_);
    peer.step_clock(GetParam());
    peer.pass(peer.session_.config().logon_timeout_ns - 1);
    EXPECT_FALSE(peer.closed_);
    peer.pass(1);
    EXPECT_EQ(peer.closed_, Disconnect::logon_timeout);
}

TEST_P(SessionClock, AStepLeavesTheLogoutTimeoutAsItIs) {
    Peer peer;
    peer.log_on();
    peer.session_.logout("enough", peer.now_);
    peer.step_clock(GetParam());
    peer.pass(peer.session_.config().logout_timeout_ns - 1);
    EXPECT_FALSE(peer.closed_);
    peer.pass(1);
    EXPECT_EQ(peer.closed_, Disconnect::logout_timeout);
}

TEST_P(SessionClock, AStepLeavesTheResendTimeoutAsItIs) {
    Peer peer;
    peer.log_on("98=0|108=0|");
    peer.give("D", 5, "11=a|");
    EXPECT_EQ(peer.sent(), "35=2|34=2|7=2|16=0|\n");
    peer.step_clock(GetParam());
    peer.pass(peer.session_.config().resend_timeout_ns - 1);
    EXPECT_EQ(peer.sent(), "");
    peer.pass(1);
    EXPECT_EQ(peer.sent(), "35=2|34=3|7=2|16=0|\n");
}

TEST_P(SessionClock, TimestampsFollowAStep) {
    Peer peer;
    peer.log_on();
    const auto before = peer.time();
    peer.step_clock(GetParam());
    EXPECT_NE(peer.time(), before);
    ASSERT_TRUE(peer.order("a"));
    EXPECT_NE(peer.whole_.back().find("\00152=" + peer.time() + "\001"), std::string::npos)
        << readable(peer.whole_.back());
}

TEST_P(SessionClock, TheScheduleFollowsAStep) {
    // 20240102-03:04:05 is inside the schedule; an hour before and after are not.
    Peer peer{{.schedule = Schedule::daily(3 * 3600, 4 * 3600)}};
    peer.log_on();
    peer.step_clock(GetParam());
    peer.pass(kSecond);
    EXPECT_EQ(peer.session_.state(), Session::State::awaiting_logout);
}

TEST(SessionClockBack, AStepBackOverTheStartOfARunResetsNothingAndNeitherDoesTheReturn) {
    // Consecutive runs meet at 03:00; it is 03:04:05.
    Peer peer{{.schedule = Schedule::daily(3 * 3600, 3 * 3600)}};
    peer.log_on();
    ASSERT_TRUE(peer.order("x"));
    const auto reconnect = [&] {
        peer.session_.on_disconnect(peer.now_);
        peer.closed_.reset();
        peer.log_on();
    };
    for (const auto step : {-kHourNs, kHourNs, -23 * kHourNs, 23 * kHourNs}) {
        const auto number = peer.store_.next_sender();
        peer.step_clock(step);
        peer.pass(kSecond);
        EXPECT_EQ(peer.session_.state(), Session::State::active) << step;
        reconnect();
        EXPECT_EQ(peer.store_.next_sender(), number + 1) << step;
        EXPECT_TRUE(peer.store_.retrieve(2)) << step;
        EXPECT_EQ(peer.store_.counters().resets.read(), 0U) << step;
    }
    // The next run is a different one.
    peer.step_clock(24 * kHourNs);
    peer.pass(kSecond);
    EXPECT_EQ(peer.session_.state(), Session::State::awaiting_logout);
}

TEST(SessionClockBack, ATimeOfMoreThanADayBeforeTheResetIsOfAnotherRun) {
    const auto schedule = Schedule::daily(3 * 3600, 3 * 3600);
    constexpr auto kDayNs = 24 * kHourNs;
    EXPECT_FALSE(schedule.is_over(kStart, kStart - kDayNs + 1));
    EXPECT_TRUE(schedule.is_set_back(kStart, kStart - kDayNs + 1));
    EXPECT_TRUE(schedule.is_over(kStart, kStart - kDayNs));
    EXPECT_FALSE(schedule.is_set_back(kStart, kStart - 1));  // in the same run
    EXPECT_FALSE(schedule.is_over(kStart, kStart - 1));
    EXPECT_TRUE(schedule.is_over(kStart, kStart + kDayNs));
}

INSTANTIATE_TEST_SUITE_P(OneHour, SessionClock, testing::Values(kHourNs, -kHourNs),
                         [](const auto& step) { return step.param > 0 ? "Forward" : "Back"; });

}  // namespace
}  // namespace millpond::fix
