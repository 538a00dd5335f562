// The system's clock is set while a session runs: timeouts do not notice, timestamps and the schedule do.

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
    // 20240102-03:04:05 is inside, an hour before and after are not.
    Peer peer{{.schedule = Schedule::daily(3 * 3600, 4 * 3600)}};
    peer.log_on();
    peer.step_clock(GetParam());
    peer.pass(kSecond);
    EXPECT_EQ(peer.session_.state(), Session::State::awaiting_logout);
}

INSTANTIATE_TEST_SUITE_P(OneHour, SessionClock, testing::Values(kHourNs, -kHourNs),
                         [](const auto& step) { return step.param > 0 ? "Forward" : "Back"; });

}  // namespace
}  // namespace millpond::fix
