#include <array>
#include <cstddef>
#include <string>

#include <gtest/gtest.h>

#include "tests/fix/session_peer.hpp"

namespace millpond::fix {
namespace {

TEST(SessionLogon, AnAcceptorAnswersAValidLogonWithItsOwn) {
    Peer peer;
    peer.session_.on_connect(peer.now_);
    EXPECT_EQ(peer.sent(), "");
    peer.give("A", "98=0|108=17|");
    EXPECT_EQ(peer.sent(), "35=A|34=1|98=0|108=17|\n");
    EXPECT_EQ(peer.whole_.back(),
              message_of("FIX.4.4", "35=A|34=1|49=WE|52=20240102-03:04:05.000|56=YOU|98=0|108=17|"));
    EXPECT_EQ(peer.logons_, 1);
}

TEST(SessionLogon, SendingTimeHasMillisecondsFromFix42OnAndSecondsBefore) {
    for (const auto version : {Version::fix40, Version::fix41, Version::fix42, Version::fix43}) {
        Peer peer{{.version = version}};
        peer.session_.on_connect(peer.now_);
        peer.give("A", "98=0|108=17|");
        const auto* time = version < Version::fix42 ? "20240102-03:04:05" : "20240102-03:04:05.000";
        EXPECT_EQ(peer.whole_.at(0), message_of(begin_string(version),
                                                "35=A|34=1|49=WE|52=" + std::string{time} + "|56=YOU|98=0|108=17|"));
    }
}

TEST(SessionLogon, AnInitiatorSendsItsLogonAndIsOnWhenItIsAnswered) {
    Peer peer{{.role = Role::initiator, .username = "me", .password = "secret", .heartbeat_seconds = 20}};
    peer.session_.on_connect(peer.now_);
    EXPECT_EQ(peer.sent(), "35=A|34=1|98=0|108=20|553=me|554=secret|\n");
    EXPECT_EQ(peer.session_.state(), Session::State::awaiting_logon);
    EXPECT_FALSE(peer.order("too early"));
    peer.give("A", "98=0|108=20|");
    EXPECT_EQ(peer.session_.state(), Session::State::active);
    EXPECT_EQ(peer.sent(), "");
    EXPECT_TRUE(peer.order("1"));
    EXPECT_EQ(peer.sent(), "35=D|34=2|11=1|55=MSFT|\n");
}

TEST(SessionLogon, AnInitiatorWhoseLogonIsAnsweredByALogoutIsToldWhy) {
    Peer peer{{.role = Role::initiator}};
    peer.session_.on_connect(peer.now_);
    peer.give("5", "58=no such user|");
    EXPECT_EQ(peer.rejects_, std::vector<std::string>{"5"});
    EXPECT_EQ(peer.closed_, Disconnect::logon_refused);
}

TEST(SessionLogon, FixtCarriesTheDefaultApplicationVersion) {
    Peer peer{{.version = Version::fixt11}};
    peer.session_.on_connect(peer.now_);
    peer.give("A", "98=0|108=30|1137=9|");
    EXPECT_EQ(peer.sent(), "35=A|34=1|98=0|108=30|1137=9|\n");
    Peer without{{.version = Version::fixt11}};
    without.session_.on_connect(without.now_);
    without.give("A", "98=0|108=30|");
    EXPECT_EQ(without.closed_, Disconnect::logon_refused);
}

/// Each is answered by nothing but the end of the connection.
TEST(SessionLogon, WhatIsNoLogonForThisSessionClosesTheConnectionWithoutAWord) {
    const auto refused = [](const std::string& bytes) {
        Peer peer;
        peer.session_.on_connect(peer.now_);
        peer.give_bytes(bytes);
        EXPECT_EQ(peer.sent(), "") << readable(bytes);
        EXPECT_EQ(peer.logons_, 0);
        EXPECT_EQ(peer.store_.next_target(), 1U);
        return peer.closed_ == Disconnect::logon_refused;
    };
    const std::string time = "52=20240102-03:04:05|";
    EXPECT_TRUE(refused(message_of("FIX.4.4", "35=0|34=1|49=YOU|" + time + "56=WE|"))) << "not a logon";
    EXPECT_TRUE(refused(message_of("FIX.3.9", "35=A|34=1|49=YOU|" + time + "56=WE|98=0|108=30|"))) << "version";
    EXPECT_TRUE(refused(message_of("FIX.4.4", "35=A|34=1|49=HE|" + time + "56=WE|98=0|108=30|"))) << "sender";
    EXPECT_TRUE(refused(message_of("FIX.4.4", "35=A|34=1|49=YOU|" + time + "56=THEM|98=0|108=30|"))) << "target";
    EXPECT_TRUE(refused(message_of("FIX.4.4", "35=A|34=1|49=YOU|52=20010101-00:00:00|56=WE|98=0|108=30|"))) << "time";
    EXPECT_TRUE(refused(message_of("FIX.4.4", "35=A|34=1|49=YOU|" + time + "56=WE|98=0|"))) << "no HeartBtInt";
    EXPECT_TRUE(refused(message_of("FIX.4.4", "35=A|34=1|49=YOU|" + time + "56=WE|98=0|108=-1|"))) << "HeartBtInt";
    EXPECT_TRUE(refused(message_of("FIX.4.4", "35=A|34=1|49=YOU|" + time + "56=WE|98=1|108=30|"))) << "encryption";
    EXPECT_TRUE(refused(message_of("FIX.4.4", "35=A|49=YOU|" + time + "56=WE|98=0|108=30|"))) << "no number";
    EXPECT_TRUE(refused(delimited("8=FIX.4.4|9=40|35=A|34=1|49=YOU|") + std::string(60, 'x') + delimited("|10=000|")));
    EXPECT_TRUE(refused("GET / HTTP/1.1\r\n\r\n"));
}

TEST(SessionLogon, TheApplicationMayRefuseUserAndPassword) {
    Peer peer;
    peer.password_ = "right";
    peer.session_.on_connect(peer.now_);
    peer.give("A", "98=0|108=30|553=me|554=wrong|");
    EXPECT_EQ(peer.closed_, Disconnect::logon_refused);
    Peer other;
    other.password_ = "right";
    other.session_.on_connect(other.now_);
    other.give("A", "98=0|108=30|553=me|554=right|");
    EXPECT_EQ(other.logons_, 1);
}

TEST(SessionLogon, ALogonThatDoesNotComeIsNotWaitedForLongerThanTheTimeout) {
    Peer peer;
    peer.session_.on_connect(peer.now_);
    peer.pass(10 * kSecond - 1);
    EXPECT_FALSE(peer.closed_);
    peer.pass(1);
    EXPECT_EQ(peer.closed_, Disconnect::logon_timeout);
    EXPECT_EQ(peer.sent(), "");
}

TEST(SessionLogon, ANumberThatIsTooHighIsAnsweredAndTheMissingOnesAskedFor) {
    Peer peer;
    peer.session_.on_connect(peer.now_);
    peer.give("A", 5, "98=0|108=30|");
    EXPECT_EQ(peer.sent(), "35=A|34=1|98=0|108=30|\n35=2|34=2|7=1|16=0|\n");
    EXPECT_EQ(peer.session_.state(), Session::State::active);
    // The Logon's own number is filled by the peer's gap fill.
    peer.give("4", 1, "36=6|123=Y|", "43=Y|122=" + peer.time() + "|");
    peer.give("D", 6, "11=a|");
    EXPECT_EQ(peer.delivered_, std::vector<std::uint64_t>{6});
}

TEST(SessionLogon, ANumberThatIsTooLowEndsInALogoutWithTheReason) {
    Peer peer;
    peer.store_.set_next_target(10);
    peer.session_.on_connect(peer.now_);
    peer.give("A", 3, "98=0|108=30|");
    EXPECT_EQ(peer.sent(), "35=5|34=1|58=MsgSeqNum too low, expecting 10 but received 3|\n");
    EXPECT_EQ(peer.closed_, Disconnect::sequence_too_low);
}

TEST(SessionLogon, ResetSeqNumFlagBeginsBothNumbersAnew) {
    Peer peer;
    peer.store_.set_next_target(10);
    peer.store_.set_next_sender(20);
    peer.session_.on_connect(peer.now_);
    peer.give("A", 1, "98=0|108=30|141=Y|");
    EXPECT_EQ(peer.sent(), "35=A|34=1|98=0|108=30|141=Y|\n");
    EXPECT_EQ(peer.store_.next_target(), 2U);
    Peer wrong;
    wrong.session_.on_connect(wrong.now_);
    wrong.give("A", 2, "98=0|108=30|141=Y|");
    EXPECT_EQ(wrong.closed_, Disconnect::logon_refused);
}

TEST(SessionLogon, ALogonWithResetSeqNumFlagWhileLoggedOnBeginsBothNumbersAnew) {
    Peer peer;
    peer.log_on();
    for (int i = 0; i < 5; ++i) peer.give("0", "");
    ASSERT_TRUE(peer.order("1"));
    static_cast<void>(peer.sent());
    peer.give("A", 1, "98=0|108=30|141=Y|");
    EXPECT_EQ(peer.sent(), "35=A|34=1|98=0|108=30|141=Y|\n");
    peer.give("1", 2, "112=x|");
    EXPECT_EQ(peer.sent(), "35=0|34=2|112=x|\n");
}

TEST(SessionLogon, ASecondLogonWithoutResetIsRejected) {
    Peer peer;
    peer.log_on();
    peer.give("A", "98=0|108=30|");
    EXPECT_EQ(peer.sent(), "35=3|34=2|45=2|58=Other|372=A|373=99|\n");
    EXPECT_EQ(peer.store_.next_target(), 3U);
}

TEST(SessionLogon, ResetOnLogonBeginsAnewOnEitherSide) {
    Peer acceptor{{.reset_on_logon = true}};
    acceptor.store_.set_next_target(10);
    acceptor.store_.set_next_sender(20);
    acceptor.session_.on_connect(acceptor.now_);
    acceptor.give("A", 1, "98=0|108=30|");
    EXPECT_EQ(acceptor.sent(), "35=A|34=1|98=0|108=30|\n");
    Peer initiator{{.role = Role::initiator, .reset_on_logon = true}};
    initiator.store_.set_next_sender(20);
    initiator.session_.on_connect(initiator.now_);
    EXPECT_EQ(initiator.sent(), "35=A|34=1|98=0|108=30|141=Y|\n");
    initiator.give("A", 1, "98=0|108=30|141=Y|");
    EXPECT_EQ(initiator.store_.next_target(), 2U);
}

TEST(SessionLogon, ResetOnLogoutAndOnDisconnectBeginAnewAfterwards) {
    Peer logout{{.reset_on_logout = true}};
    logout.log_on();
    logout.give("5", "");
    EXPECT_EQ(logout.store_.next_sender(), 1U);
    EXPECT_EQ(logout.store_.next_target(), 1U);
    Peer lost{{.reset_on_disconnect = true}};
    lost.log_on();
    lost.session_.on_disconnect(lost.now_);
    EXPECT_EQ(lost.store_.next_sender(), 1U);
    Peer kept;
    kept.log_on();
    kept.session_.on_disconnect(kept.now_);
    EXPECT_EQ(kept.store_.next_sender(), 2U);
    EXPECT_EQ(kept.store_.next_target(), 2U);
}

TEST(SessionLogon, NextExpectedMsgSeqNumIsHonouredWithoutResendRequests) {
    Peer peer{{.send_next_expected = true}};
    peer.log_on("98=0|108=30|789=1|");
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(peer.order(std::to_string(i)));
    peer.session_.on_disconnect(peer.now_);
    static_cast<void>(peer.sent());
    peer.session_.on_connect(peer.now_);
    // The peer lost our 3 and 4 and sends its own 2 to 4 by itself, for our Logon tells that 2 is expected.
    peer.give("A", 5, "98=0|108=30|789=3|");
    EXPECT_EQ(peer.sent(),
              "35=A|34=5|98=0|108=30|789=2|\n"
              "35=D|34=3|43=Y|122=20240102-03:04:05.000|11=1|55=MSFT|\n"
              "35=D|34=4|43=Y|122=20240102-03:04:05.000|11=2|55=MSFT|\n");
    peer.give("4", 2, "36=6|123=Y|", "43=Y|122=" + peer.time() + "|");
    peer.give("1", 6, "112=x|");
    EXPECT_EQ(peer.sent(), "35=0|34=6|112=x|\n");
}

TEST(SessionLogon, ALogonInFrontOfWhichNextExpectedMsgSeqNumFilledTheGapIsNotWaitedFor) {
    Peer peer{{.role = Role::initiator, .send_next_expected = true}};
    peer.log_on();
    peer.session_.on_disconnect(peer.now_);
    peer.session_.on_connect(peer.now_);
    static_cast<void>(peer.sent());
    // Our Logon said that 2 is expected: the peer fills up to its own Logon, not that itself.
    peer.give("A", 5, "98=0|108=30|789=3|");
    peer.give("4", 2, "36=5|123=Y|", "43=Y|122=" + peer.time() + "|");
    EXPECT_EQ(peer.store_.next_target(), 6U);
    peer.give("1", 6, "112=x|");
    EXPECT_EQ(peer.sent(), "35=0|34=3|112=x|\n");
}

TEST(SessionLogon, ANextExpectedMsgSeqNumThatWasNeverSentEndsInALogout) {
    Peer peer{{.send_next_expected = true}};
    peer.session_.on_connect(peer.now_);
    peer.give("A", 1, "98=0|108=30|789=7|");
    EXPECT_EQ(peer.sent(), "35=5|34=1|58=NextExpectedMsgSeqNum too high, expected at most 1 but received 7|\n");
    EXPECT_EQ(peer.closed_, Disconnect::logon_refused);
}

/// A store whose memory another machine moves on: what it knows is what it read last.
class SharedStore : public MessageStore {
public:
    SharedStore() {
        const auto segment = StoreSegment::create(memory_, 1U << 16U, kStart);
        use(segment, {.end = segment.lap_end() - segment.data.size(), .oldest = 1, .next = 1});
    }
    void refresh() noexcept override { set_next_target(5); }

private:
    alignas(StoreSegment::kAlignment) std::array<std::byte, 1U << 18U> memory_{};
};

TEST(SessionLogon, RefreshOnLogonTakesTheStoresStateAnew) {
    const auto dictionary = Dictionary::session_level(Version::fix44);
    for (const bool refresh : {false, true}) {
        Peer application;
        SharedStore store;
        Session session{{.sender_comp_id = "WE", .target_comp_id = "YOU", .refresh_on_logon = refresh},
                        dictionary,
                        nullptr,
                        store,
                        application,
                        kStartMoment};
        session.on_connect(kStartMoment);
        EXPECT_EQ(store.next_target(), refresh ? 5U : 1U);
    }
}

TEST(SessionLogon, ASessionWithoutItsIdsIsRefusedByName) {
    const auto dictionary = Dictionary::session_level(Version::fixt11);
    MemoryStore store{0, ByteCount{8192}};
    Peer handler;
    const auto make = [&](SessionConfig config) { Session{config, dictionary, nullptr, store, handler, {}}; };
    EXPECT_THROW(make({.target_comp_id = "b"}), std::invalid_argument);
    EXPECT_THROW(make({.sender_comp_id = "a"}), std::invalid_argument);
    EXPECT_THROW(make({.version = Version::fixt11, .sender_comp_id = "a", .target_comp_id = "b"}),
                 std::invalid_argument);
}

}  // namespace
}  // namespace millpond::fix
