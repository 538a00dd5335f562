#include <algorithm>
#include <random>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fix/session_peer.hpp"
#include "tests/support/free_of_cost.hpp"

namespace millpond::fix {
namespace {

TEST(SessionHeartbeat, IsSentAfterTheIntervalWithoutAnythingSent) {
    Peer peer;
    peer.log_on("98=0|108=6|");
    peer.pass(3 * kSecond);
    ASSERT_TRUE(peer.order("1"));
    peer.give("0", "");
    EXPECT_EQ(peer.sent(), "35=D|34=2|11=1|55=MSFT|\n");
    peer.pass(6 * kSecond - 1);
    EXPECT_EQ(peer.sent(), "");
    peer.pass(1);
    EXPECT_EQ(peer.sent(), "35=0|34=3|\n");
}

TEST(SessionHeartbeat, ASilentPeerGetsOneTestRequestAndIsThenDisconnected) {
    Peer peer;
    peer.log_on("98=0|108=10|");
    peer.pass(12 * kSecond);
    EXPECT_EQ(peer.sent(), "35=0|34=2|\n35=1|34=3|112=TEST|\n");
    peer.pass(12 * kSecond - 1);
    EXPECT_EQ(peer.sent(), "");
    EXPECT_FALSE(peer.closed_);
    peer.pass(1);
    EXPECT_EQ(peer.closed_, Disconnect::heartbeat_timeout);
    EXPECT_EQ(peer.logouts_.size(), 1U);
}

TEST(SessionHeartbeat, AnAnsweredTestRequestKeepsTheSession) {
    Peer peer;
    peer.log_on("98=0|108=10|");
    peer.pass(12 * kSecond);
    peer.give("0", "112=TEST|");
    static_cast<void>(peer.sent());
    peer.pass(12 * kSecond);
    EXPECT_EQ(peer.sent(), "35=0|34=4|\n35=1|34=5|112=TEST|\n");
    EXPECT_FALSE(peer.closed_);
}

TEST(SessionHeartbeat, ATestRequestIsAnsweredWithItsId) {
    Peer peer;
    peer.log_on();
    peer.give("1", "112=HELLO|");
    EXPECT_EQ(peer.sent(), "35=0|34=2|112=HELLO|\n");
}

TEST(SessionHeartbeat, AnIntervalOfZeroMeansNone) {
    Peer peer;
    peer.log_on("98=0|108=0|");
    EXPECT_EQ(peer.session_.next_deadline_ns(), INT64_MAX);
    peer.pass(1000 * kSecond);
    EXPECT_EQ(peer.sent(), "");
}

TEST(SessionLogout, IsAnsweredAndThePeerClosesTheConnection) {
    Peer peer;
    peer.log_on();
    peer.give("5", "58=bye|");
    EXPECT_EQ(peer.sent(), "35=5|34=2|58=Logout received|\n");
    EXPECT_EQ(peer.logouts_, std::vector<std::string>{"bye"});
    EXPECT_EQ(peer.store_.next_target(), 3U);
    EXPECT_FALSE(peer.closed_);
    EXPECT_EQ(peer.session_.ending(), Disconnect::logged_out);
    // No more messages are exchanged.
    EXPECT_FALSE(peer.order("late"));
    peer.give("D", 3, "11=a|");
    peer.give("1", 4, "112=x|");
    EXPECT_TRUE(peer.delivered_.empty());
    EXPECT_EQ(peer.sent(), "");
    peer.session_.on_disconnect(peer.now_);
    EXPECT_EQ(peer.logouts_.size(), 1U);
    EXPECT_FALSE(peer.session_.ending());
}

TEST(SessionLogout, APeerThatDoesNotCloseTheConnectionIsNotWaitedForLongerThanTheTimeout) {
    Peer peer;
    peer.log_on();
    peer.give("5", "");
    peer.pass(10 * kSecond - 1);
    EXPECT_FALSE(peer.closed_);
    peer.pass(1);
    EXPECT_EQ(peer.closed_, Disconnect::logged_out);
    Peer quickfix{{.quickfix_replies = true}};
    quickfix.log_on();
    quickfix.give("5", "");
    EXPECT_EQ(quickfix.sent(), "35=5|34=2|\n");
    EXPECT_EQ(quickfix.closed_, Disconnect::logged_out);
}

TEST(SessionLogout, OursIsOverWhenItIsAnsweredOrTheTimeoutPasses) {
    Peer answered;
    answered.log_on();
    answered.session_.logout("enough", answered.now_);
    EXPECT_EQ(answered.sent(), "35=5|34=2|58=enough|\n");
    EXPECT_FALSE(answered.order("too late"));
    answered.give("D", "11=a|");  // was in flight
    EXPECT_EQ(answered.delivered_.size(), 1U);
    answered.give("5", "");
    EXPECT_EQ(answered.sent(), "");
    EXPECT_EQ(answered.closed_, Disconnect::logged_out);
    Peer silent;
    silent.log_on();
    silent.session_.logout("enough", silent.now_);
    silent.pass(10 * kSecond - 1);
    EXPECT_FALSE(silent.closed_);
    silent.pass(1);
    EXPECT_EQ(silent.closed_, Disconnect::logout_timeout);
}

TEST(SessionLogout, IsAnsweredWhateverItsNumber) {
    Peer peer;
    peer.log_on();
    peer.give("5", 20, "");
    EXPECT_EQ(peer.sent(), "35=5|34=2|58=Logout received|\n");
    EXPECT_EQ(peer.session_.ending(), Disconnect::logged_out);
}

TEST(SessionLogout, AResetWhileLoggedOnWaitsForIt) {
    Peer peer;
    peer.log_on();
    peer.session_.reset(peer.now_);
    EXPECT_EQ(peer.store_.next_sender(), 3U);
    peer.give("5", "");
    EXPECT_EQ(peer.store_.next_sender(), 1U);
}

TEST(SessionLogout, AResetWhileTheAnswerToOurLogonIsAwaitedEndsTheConnection) {
    Peer peer{{.role = Role::initiator}};
    peer.store_.set_next_sender(7);
    peer.store_.set_next_target(5);
    peer.session_.on_connect(peer.now_);
    EXPECT_EQ(peer.sent(), "35=A|34=7|98=0|108=30|\n");
    peer.session_.reset(peer.now_);
    EXPECT_EQ(peer.closed_, Disconnect::logged_out);
    peer.session_.on_disconnect(peer.now_);
    EXPECT_EQ(peer.store_.next_target(), 1U);
    // It is not called again at the end of a later connection.
    peer.session_.on_connect(peer.now_);
    EXPECT_EQ(peer.sent(), "35=A|34=1|98=0|108=30|\n");
    peer.give("A", 1, "98=0|108=30|");
    peer.session_.on_disconnect(peer.now_);
    EXPECT_EQ(peer.store_.next_sender(), 2U);
    EXPECT_EQ(peer.store_.next_target(), 2U);
}

TEST(SessionSend, AMessageThatFailsUsesUpNoNumber) {
    Peer peer;
    peer.log_on();
    EXPECT_FALSE(peer.order(std::string(20'000, 'x')));
    EXPECT_FALSE(peer.order(delimited("a|b")));
    EXPECT_EQ(peer.sent(), "");
    ASSERT_TRUE(peer.order("ok"));
    EXPECT_EQ(peer.sent(), "35=D|34=2|11=ok|55=MSFT|\n");
}

TEST(SessionSend, APeerThatReadsNothingIsRefusedAndThenDisconnected) {
    Peer peer;
    peer.socket_accepts_ = false;
    peer.log_on("98=0|108=10|");
    int accepted = 0;
    while (peer.order(std::string(5000, 'x'))) ++accepted;
    EXPECT_GT(accepted, 5);
    EXPECT_FALSE(peer.closed_);
    peer.give("1", "112=x|");
    EXPECT_EQ(peer.closed_, Disconnect::send_refused);
}

TEST(SessionSchedule, OutsideOfItEveryLogonIsRefused) {
    const auto schedule = Schedule::daily(8 * 3600, 17 * 3600);
    Peer peer{{.schedule = schedule}};
    peer.session_.on_connect(peer.now_);  // 03:04:05
    EXPECT_EQ(peer.closed_, Disconnect::outside_schedule);
}

constexpr std::int64_t kDay = 24 * 3600 * kSecond;

/// Answers TestRequests until the session ends or the time has passed.
void stay_connected(Peer& peer, std::int64_t nanos) {
    for (const auto end = peer.now_.after(nanos); peer.now_.monotonic_ns < end.monotonic_ns;) {
        peer.pass(std::min(25 * kSecond, end.monotonic_ns - peer.now_.monotonic_ns));
        if (peer.closed_ || peer.session_.state() != Session::State::active) return;
        peer.give("0", "");
    }
}

struct Runs {
    const char* name;
    Schedule schedule;
    std::int64_t until_next_ns;  // from 20240102-03:04:05, a Tuesday
};

class SessionRuns : public testing::TestWithParam<Runs> {};

TEST_P(SessionRuns, AConnectionOfTheRunBeforeLogsOutAndTheNextLogonBeginsWithOne) {
    Peer peer{{.schedule = GetParam().schedule}};
    peer.log_on("98=0|108=30|");
    stay_connected(peer, GetParam().until_next_ns - 1);
    ASSERT_EQ(peer.session_.state(), Session::State::active);
    EXPECT_TRUE(peer.order("before"));
    peer.sent_.clear();
    peer.pass(1);
    EXPECT_THAT(peer.sent(), testing::HasSubstr("58=the session has ended by schedule|"));
    EXPECT_FALSE(peer.order("after"));
    EXPECT_FALSE(peer.session_.may_keep(peer.now_)) << "it would be lost by the reset";
    peer.give("D", "11=crosses|");
    EXPECT_EQ(peer.delivered_.size(), 1U);
    peer.give("5", "");
    EXPECT_EQ(peer.closed_, Disconnect::logged_out);
    peer.closed_.reset();
    peer.session_.on_connect(peer.now_);
    peer.give("A", 1, "98=0|108=30|");
    EXPECT_EQ(peer.session_.state(), Session::State::active);
    EXPECT_EQ(peer.sent(), "35=A|34=1|98=0|108=30|\n");
    stay_connected(peer, kDay / 2);
    EXPECT_EQ(peer.session_.state(), Session::State::active) << "the new run goes on";
}

TEST_P(SessionRuns, ALogonOfTheRunBeforeIsNotCompleted) {
    Peer peer{{.role = Role::initiator, .schedule = GetParam().schedule}};
    peer.pass(GetParam().until_next_ns - 1);
    peer.session_.on_connect(peer.now_);
    peer.pass(1);
    peer.give("A", "98=0|108=30|");
    EXPECT_EQ(peer.closed_, Disconnect::outside_schedule);
    EXPECT_EQ(peer.logons_, 0);
    peer.closed_.reset();
    peer.sent_.clear();
    peer.session_.on_connect(peer.now_);
    EXPECT_EQ(peer.sent(), "35=A|34=1|98=0|108=30|\n");
}

constexpr std::int64_t kUntilMidnight = kDay - (3 * 3600 + 4 * 60 + 5) * kSecond;

INSTANTIATE_TEST_SUITE_P(
    WithoutAGap, SessionRuns,
    testing::Values(Runs{"Daily", Schedule::daily(0, 0), kUntilMidnight},
                    Runs{"Weekly", Schedule::weekly(Schedule::Weekday::wednesday, 0, Schedule::Weekday::wednesday, 0),
                         kUntilMidnight}),
    [](const auto& runs) { return runs.param.name; });

TEST(SessionSchedule, AGapInWhichNoTimerRanEndsTheRunToo) {
    Peer peer{{.schedule = Schedule::daily(0, 24 * 3600 - 1)}};
    peer.log_on("98=0|108=0|");
    peer.now_ = peer.now_.after(kDay);
    peer.pass(0);
    EXPECT_EQ(peer.sent(), "35=5|34=2|58=the session has ended by schedule|\n");
}

TEST(SessionSchedule, ItsEndLogsOutAndANewRunResetsBothNumbers) {
    const auto schedule = Schedule::daily(2 * 3600, 4 * 3600);
    Peer peer{{.schedule = schedule}};
    peer.log_on("98=0|108=30|");
    for (int minutes = 0; minutes < 60; ++minutes) {
        peer.pass(25 * kSecond);
        if (!peer.closed_ && peer.session_.state() == Session::State::active) peer.give("0", "");
        peer.pass(25 * kSecond);
        if (!peer.closed_ && peer.session_.state() == Session::State::active) peer.give("0", "");
        peer.pass(10 * kSecond);
    }
    EXPECT_EQ(peer.closed_, Disconnect::logout_timeout);
    EXPECT_TRUE(peer.sent_.back().ends_with("58=the session has ended by schedule|")) << peer.sent_.back();
    EXPECT_GT(peer.store_.next_sender(), 2U);
    peer.closed_.reset();
    peer.pass(23 * 3600 * kSecond);
    peer.session_.on_connect(peer.now_);
    peer.give("A", 1, "98=0|108=30|");
    EXPECT_EQ(peer.store_.next_sender(), 2U);
    EXPECT_EQ(peer.store_.next_target(), 2U);
}

TEST(SessionMemory, SendingReceivingAndResendingNeedNoHeapNoPageFaultAndNoSystemCall) {
    struct Quiet final : SessionHandler {
        explicit Quiet(MessageStore& store) : store_(store) {}
        void send(std::uint64_t sequence, std::string_view bytes) override {
            bytes_ += bytes.size();
            if (sequence != 0) store_.mark_written(sequence);
        }
        void disconnect(Disconnect) override { bytes_ = 0; }
        Verdict on_message(const Message&) override { return Verdict::accepted; }
        MessageStore& store_;
        std::size_t bytes_{0};
    };
    const auto dictionary = Dictionary::session_level(Version::fix44);
    MemoryStore store{kStart, ByteCount{1U << 16U}};
    Quiet handler{store};
    Session session{{.sender_comp_id = "WE", .target_comp_id = "YOU", .reset_on_logon = true},
                    dictionary,
                    nullptr,
                    store,
                    handler,
                    kStartMoment};
    const auto from_peer = [](std::string_view type, int number, std::string_view body) {
        return message_of("FIX.4.4", "35=" + std::string{type} + "|34=" + std::to_string(number) +
                                         "|49=YOU|52=20240102-03:04:05|56=WE|" + std::string{body});
    };
    const std::string stream = from_peer("A", 1, "98=0|108=30|") + from_peer("D", 2, "11=a|") +
                               from_peer("1", 3, "112=x|") + from_peer("D", 6, "11=d|") + from_peer("D", 4, "11=b|") +
                               from_peer("D", 5, "11=c|") + from_peer("0", 7, "999=bad|") +
                               from_peer("2", 8, "7=1|16=0|") + from_peer("5", 9, "");
    test::expect_free_of_cost([&] {
        const auto resent = session.counters().resent.read();
        session.on_connect(kStartMoment);
        auto consumed = session.on_bytes(bytes_of(std::string_view{stream}.substr(0, 90)), kStartMoment);
        const bool placed = session.send("D", kStartMoment, [](Writer& writer) { writer.add<11>("a"); });
        consumed += session.on_bytes(bytes_of(std::string_view{stream}.substr(consumed)), kStartMoment);
        session.on_timer(kStartMoment.after(kSecond));
        session.on_disconnect(kStartMoment);
        return placed && consumed == stream.size() && session.counters().resent.read() == resent + 1 &&
               store.next_target() == 10U;
    });
}

}  // namespace
}  // namespace millpond::fix
