#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <millpond/fix/wire_bounds.hpp>

#include "tests/fix/session_peer.hpp"

namespace millpond::fix {
namespace {

TEST(SessionSequence, MessagesInTurnAreDeliveredInTurn) {
    Peer peer;
    peer.log_on();
    for (int i = 0; i < 5; ++i) peer.give("D", "11=a|");
    EXPECT_EQ(peer.delivered_, (std::vector<std::uint64_t>{2, 3, 4, 5, 6}));
    EXPECT_EQ(peer.sent(), "");
}

TEST(SessionSequence, MessagesThatComeEarlyWaitUntilTheMissingOnesHaveCome) {
    Peer peer;
    peer.log_on();
    peer.give("D", 4, "11=c|");
    peer.give("D", 5, "11=d|");
    EXPECT_EQ(peer.sent(), "35=2|34=2|7=2|16=0|\n");
    EXPECT_TRUE(peer.delivered_.empty());
    peer.give("D", 2, "11=a|", poss_dup(peer));
    EXPECT_EQ(peer.delivered_, std::vector<std::uint64_t>{2});
    peer.give("D", 3, "11=b|", poss_dup(peer));
    EXPECT_EQ(peer.delivered_, (std::vector<std::uint64_t>{2, 3, 4, 5}));
    // The resend repeats messages that were already received.
    peer.give("D", 4, "11=c|", poss_dup(peer));
    EXPECT_EQ(peer.delivered_.size(), 4U);
    EXPECT_EQ(peer.session_.counters().duplicates.read(), 1U);
    EXPECT_EQ(peer.sent(), "");
}

TEST(SessionSequence, AMessageThatWaitedLongerThanMaxLatencyIsStillAccepted) {
    Peer peer{{.max_latency_ns = 5 * kSecond}};
    peer.log_on("98=0|108=0|");
    peer.give("D", 4, "11=c|");
    peer.pass(6 * kSecond);
    static_cast<void>(peer.sent());
    peer.give("D", 2, "11=a|", poss_dup(peer));
    peer.give("D", 3, "11=b|", poss_dup(peer));
    EXPECT_EQ(peer.delivered_, (std::vector<std::uint64_t>{2, 3, 4}));
    EXPECT_EQ(peer.sent(), "");
    // A new message with an old SendingTime is rejected.
    peer.give_whole("35=D|34=7|49=YOU|52=" + peer.time(-6 * kSecond) + "|56=WE|11=d|");
    EXPECT_NE(peer.sent().find("58=SendingTime accuracy problem"), std::string::npos);
}

TEST(SessionSequence, AtTheLastNumberTheSessionLogsOutWithTheReason) {
    constexpr std::uint64_t kLast = 9'007'199'254'740'991;
    const std::string logout = "35=5|34=9007199254740991|58=outbound sequence numbers used up: reset the session|\n";
    Peer peer;
    peer.log_on();
    peer.store_.set_next_sender(kLast - 1);
    EXPECT_TRUE(peer.order("last"));
    static_cast<void>(peer.sent());
    EXPECT_FALSE(peer.order("one too many"));
    EXPECT_EQ(peer.sent(), logout);
    EXPECT_FALSE(peer.order("later"));
    peer.give("1", "112=x|");
    peer.give("5", "58=bye|");
    EXPECT_EQ(peer.sent(), "");
    EXPECT_EQ(peer.closed_, Disconnect::numbers_used_up);
    EXPECT_EQ(peer.store_.next_sender(), kLast + 1);
    // A new connection does not help: the session cannot send until both numbers are reset.
    peer.closed_.reset();
    peer.session_.on_connect(peer.now_);
    peer.give("A", "98=0|108=30|");
    EXPECT_EQ(peer.sent(), "");
    EXPECT_EQ(peer.closed_, Disconnect::numbers_used_up);
    EXPECT_EQ(peer.refusals_, std::vector<std::string>{"34 outbound sequence numbers used up: reset the session"});
    peer.closed_.reset();
    peer.session_.on_connect(peer.now_);
    peer.give("A", 1, "98=0|108=30|141=Y|");
    EXPECT_EQ(peer.sent(), "35=A|34=1|98=0|108=30|141=Y|\n");

    Peer admin;  // a session message is due at the last number
    admin.log_on();
    admin.store_.set_next_sender(kLast);
    admin.give("1", "112=x|");
    EXPECT_EQ(admin.sent(), logout);
    Peer logon;
    logon.store_.set_next_sender(kLast);
    logon.session_.on_connect(logon.now_);
    logon.give("A", "98=0|108=30|");
    EXPECT_EQ(logon.sent(), logout);
    EXPECT_EQ(logon.closed_, Disconnect::numbers_used_up);
    EXPECT_EQ(logon.logons_, 0);
    Peer initiator{{.role = Role::initiator}};
    initiator.store_.set_next_sender(kLast + 1);
    initiator.session_.on_connect(initiator.now_);
    EXPECT_EQ(initiator.sent(), "");
    EXPECT_EQ(initiator.closed_, Disconnect::numbers_used_up);
    EXPECT_EQ(initiator.refusals_.size(), 1U);
}

TEST(SessionSequence, AnOpenRequestHas999999UpToFix41) {
    Peer peer{{.version = Version::fix41}};
    peer.log_on();
    peer.give("0", 5, "");
    EXPECT_EQ(peer.sent(), "35=2|34=2|7=2|16=999999|\n");
}

TEST(SessionSequence, MessagesBeforeAnEarlyLogonAreRequestedOnce) {
    Peer peer;
    peer.session_.on_connect(peer.now_);
    peer.give("A", 4, "98=0|108=30|");
    EXPECT_EQ(peer.sent(), "35=A|34=1|98=0|108=30|\n35=2|34=2|7=1|16=0|\n");
    peer.give("D", 1, "11=a|", poss_dup(peer));
    peer.give("D", 2, "11=b|", poss_dup(peer));
    peer.give("D", 3, "11=c|", poss_dup(peer));
    EXPECT_EQ(peer.sent(), "") << "the Logon comes as a gap fill";
    EXPECT_TRUE(peer.session_.awaits_resend());
    peer.give("4", 4, "123=Y|36=5|", poss_dup(peer));
    EXPECT_EQ(peer.sent(), "");
    EXPECT_FALSE(peer.session_.awaits_resend());
    peer.give("D", 5, "11=d|");
    EXPECT_EQ(peer.delivered_, (std::vector<std::uint64_t>{1, 2, 3, 5}));
}

TEST(SessionSequence, AMissingGapFillOfAnEarlyLogonIsRequestedAgain) {
    Peer peer;
    peer.session_.on_connect(peer.now_);
    peer.give("A", 2, "98=0|108=0|");
    peer.give("D", 1, "11=a|", poss_dup(peer));
    static_cast<void>(peer.sent());
    peer.pass(peer.session_.config().resend_timeout_ns);
    EXPECT_EQ(peer.sent(), "35=2|34=3|7=2|16=0|\n");
}

TEST(SessionSequence, MissingNumbersAreRequestedInChunks) {
    Peer peer{{.resend_request_chunk = 3}};
    peer.log_on();
    peer.give("D", 10, "11=z|");
    EXPECT_EQ(peer.sent(), "35=2|34=2|7=2|16=4|\n");
    for (std::uint64_t i = 2; i <= 4; ++i) peer.give("D", i, "11=a|", poss_dup(peer));
    EXPECT_EQ(peer.sent(), "35=2|34=3|7=5|16=7|\n");
    peer.give("4", 5, "36=8|123=Y|", poss_dup(peer));
    EXPECT_EQ(peer.sent(), "35=2|34=4|7=8|16=0|\n");
    for (std::uint64_t i = 8; i <= 9; ++i) peer.give("D", i, "11=a|", poss_dup(peer));
    EXPECT_EQ(peer.delivered_, (std::vector<std::uint64_t>{2, 3, 4, 8, 9, 10}));
    EXPECT_EQ(peer.sent(), "");
}

TEST(SessionSequence, MessagesThatCannotBeHeldAreRequestedAgain) {
    Peer peer{{.held_messages = 4}};
    peer.log_on();
    for (std::uint64_t i = 3; i <= 9; ++i) peer.give("D", i, "11=a|");
    EXPECT_EQ(peer.sent(), "35=2|34=2|7=2|16=0|\n");
    EXPECT_GT(peer.session_.counters().held_dropped.read(), 0U);
    peer.give("D", 2, "11=a|", poss_dup(peer));
    EXPECT_EQ(peer.sent(), "35=2|34=3|7=7|16=0|\n");
    for (std::uint64_t i = 7; i <= 9; ++i) peer.give("D", i, "11=a|", poss_dup(peer));
    EXPECT_EQ(peer.delivered_, (std::vector<std::uint64_t>{2, 3, 4, 5, 6, 7, 8, 9}));
}

TEST(SessionSequence, ATooLowNumberWithoutPossDupFlagEndsTheSession) {
    Peer peer;
    peer.log_on();
    peer.give("0", "");
    peer.give("0", 2, "");
    EXPECT_EQ(peer.sent(), "35=5|34=2|58=MsgSeqNum too low, expecting 3 but received 2|\n");
    // Only the answer is accepted now, even with a wrong number.
    EXPECT_FALSE(peer.closed_);
    peer.give("D", 3, "11=a|");
    peer.give("0", 2, "");
    EXPECT_TRUE(peer.delivered_.empty());
    EXPECT_EQ(peer.store_.next_target(), 3U);
    peer.give("5", 3, "");
    EXPECT_EQ(peer.closed_, Disconnect::sequence_too_low);
    EXPECT_EQ(peer.sent(), "");
    Peer silent;
    silent.log_on();
    silent.give("0", 1, "");
    silent.pass(10 * kSecond);
    EXPECT_EQ(silent.closed_, Disconnect::sequence_too_low);
}

TEST(SessionSequence, ANumberBeyondTheBoundEndsInALogoutAndNothingWraps) {
    for (const auto* number : {"9007199254740992", "18446744073709551615", "18446744073709551616"}) {
        Peer peer;
        peer.log_on();
        peer.give_whole("35=D|34=" + std::string{number} + "|49=YOU|52=" + peer.time() + "|56=WE|11=a|");
        EXPECT_EQ(peer.sent(), "35=5|34=2|58=MsgSeqNum is not a number from 0 to 9007199254740991|\n");
        EXPECT_EQ(peer.store_.next_target(), 2U);
    }
    Peer peer;
    peer.log_on();
    peer.give("D", kMaxSequence, "11=a|");
    EXPECT_EQ(peer.sent(), "35=2|34=2|7=2|16=0|\n");
    peer.give("4", 2, "36=9007199254740991|123=Y|", poss_dup(peer));
    EXPECT_EQ(peer.delivered_, std::vector<std::uint64_t>{kMaxSequence});
    EXPECT_EQ(peer.store_.next_target(), kMaxSequence + 1);
}

TEST(SessionSequence, ANewSeqNoBeyondTheBoundIsRejected) {
    for (const auto* fill : {"", "123=Y|"}) {
        for (const auto* number : {"9007199254740992", "18446744073709551615"}) {
            Peer peer;
            peer.log_on();
            peer.give("4", "36=" + std::string{number} + "|" + fill);
            EXPECT_EQ(peer.sent(),
                      "35=3|34=2|45=2|58=Value is incorrect (out of range) for this tag|371=36|372=4|373=5|\n");
            EXPECT_EQ(peer.store_.next_target(), 2U);
        }
        Peer peer;
        peer.log_on();
        peer.give("4", "36=9007199254740991|" + std::string{fill});
        EXPECT_EQ(peer.sent(), "");
        EXPECT_EQ(peer.store_.next_target(), kMaxSequence);
    }
}

TEST(SessionSequence, AResendRequestBeyondTheBoundIsRejected) {
    const auto answer = [](std::string_view body) {
        Peer peer;
        peer.log_on();
        peer.give("2", body);
        EXPECT_EQ(peer.store_.next_target(), 3U);
        return peer.sent();
    };
    const std::string before = "35=3|34=2|45=2|58=Value is incorrect (out of range) for this tag|371=";
    for (const std::string number : {"9007199254740992", "18446744073709551615"}) {
        EXPECT_EQ(answer("7=" + number + "|16=0|"), before + "7|372=2|373=5|\n");
        EXPECT_EQ(answer("7=1|16=" + number + "|"), before + "16|372=2|373=5|\n");
    }
    EXPECT_EQ(answer("7=0|16=0|"), before + "7|372=2|373=5|\n");
    EXPECT_EQ(answer("7=9007199254740991|16=0|"),
              "35=3|34=2|45=2|58=BeginSeqNo=9007199254740991 is beyond the last number sent, 1|371=7|372=2|373=5|\n");
    EXPECT_EQ(answer("7=1|16=9007199254740991|"), "35=4|34=1|43=Y|122=20240102-03:04:05.000|36=2|123=Y|\n");
}

TEST(SessionSequence, AGapFillThatDoesNotGoForwardIsRejected) {
    for (const auto* number : {"1", "2"}) {
        Peer peer;
        peer.log_on();
        peer.give("4", 2, "36=" + std::string{number} + "|123=Y|");
        EXPECT_EQ(peer.sent(), "35=3|34=2|45=2|58=attempt to lower sequence number, invalid value NewSeqNo=" +
                                   std::string{number} + "|371=36|372=4|373=5|\n");
        EXPECT_EQ(peer.store_.next_target(), 2U);
        peer.give("1", 2, "112=x|");
        EXPECT_EQ(peer.sent(), "35=0|34=3|112=x|\n");
    }
}

TEST(SessionSequence, APossDupInOrderHasTheTimeOfItsFirstSend) {
    Peer peer;
    peer.log_on();
    peer.give("D", 2, "11=a|", "43=Y|");
    EXPECT_EQ(peer.sent(), "35=3|34=2|45=2|58=Required tag missing|371=122|372=D|373=1|\n");
    EXPECT_TRUE(peer.delivered_.empty());
    EXPECT_EQ(peer.store_.next_target(), 3U);
    peer.give("D", 3, "11=a|", poss_dup(peer));
    EXPECT_EQ(peer.delivered_, std::vector<std::uint64_t>{3});
    peer.give("D", 4, "11=a|", poss_dup(peer, 1'000'000));
    EXPECT_EQ(peer.sent(),
              "35=3|34=3|45=4|58=SendingTime accuracy problem|371=122|372=D|373=10|\n"
              "35=5|34=4|58=SendingTime accuracy problem|\n");
    EXPECT_EQ(peer.delivered_.size(), 1U);
    EXPECT_EQ(peer.store_.next_target(), 5U);
}

TEST(SessionSequence, AHeldPossDupIsCheckedInOrder) {
    Peer peer;
    peer.log_on();
    peer.give("D", 3, "11=b|", "43=Y|");
    EXPECT_EQ(peer.sent(), "35=2|34=2|7=2|16=0|\n");
    peer.give("D", 2, "11=a|");
    EXPECT_EQ(peer.delivered_, std::vector<std::uint64_t>{2});
    EXPECT_EQ(peer.sent(), "35=3|34=3|45=3|58=Required tag missing|371=122|372=D|373=1|\n");
    EXPECT_EQ(peer.store_.next_target(), 4U);
}

TEST(SessionSequence, APossDupWithoutOrigSendingTimeIsRejected) {
    Peer peer;
    peer.log_on();
    peer.give("D", "11=a|");
    peer.give("D", 2, "11=a|", "43=Y|");
    EXPECT_EQ(peer.sent(), "35=3|34=2|45=2|58=Required tag missing|371=122|372=D|373=1|\n");
    EXPECT_EQ(peer.store_.next_target(), 3U);
}

TEST(SessionSequence, APossDupWithAnInvalidOrigSendingTimeIsRejectedForItsFormatAtAnyNumber) {
    Peer peer;
    peer.log_on();
    peer.give("D", 2, "11=a|", "43=Y|122=zzz|");
    EXPECT_EQ(peer.sent(), "35=3|34=2|45=2|58=Incorrect data format for value|371=122|372=D|373=6|\n");
    peer.give("D", 2, "11=a|", "43=Y|122=zzz|");
    EXPECT_EQ(peer.sent(), "35=3|34=3|45=2|58=Incorrect data format for value|371=122|372=D|373=6|\n");
    EXPECT_TRUE(peer.delivered_.empty());
    EXPECT_EQ(peer.store_.next_target(), 3U);
}

TEST(SessionSequence, APossDupSentBeforeItsOriginalIsRejectedAndLoggedOut) {
    Peer peer;
    peer.log_on();
    peer.give("D", "11=a|");
    peer.give("D", 2, "11=a|", poss_dup(peer, 10 * kSecond));
    EXPECT_EQ(peer.sent(),
              "35=3|34=2|45=2|58=SendingTime accuracy problem|371=122|372=D|373=10|\n"
              "35=5|34=3|58=SendingTime accuracy problem|\n");
    peer.give("5", 3, "");
    EXPECT_EQ(peer.closed_, Disconnect::logged_out);
    EXPECT_EQ(peer.sent(), "");
}

TEST(SessionSequence, AMessageWithoutNumberEndsInALogout) {
    Peer peer;
    peer.log_on();
    peer.give_whole("35=D|49=YOU|52=" + peer.time() + "|56=WE|11=a|");
    EXPECT_EQ(peer.sent(), "35=5|34=2|58=MsgSeqNum is missing|\n");
}

TEST(SessionGarbled, AGarbledMessageIsIgnoredAndItsNumberRequested) {
    Peer peer;
    peer.log_on();
    peer.give_bytes(with_checksum(delimited("8=FIX.4.4|9=5|35=D|34=2|")));
    auto bad = message_of("FIX.4.4", "35=D|34=2|49=YOU|52=" + peer.time() + "|56=WE|11=a|");
    bad[bad.size() - 2] = bad[bad.size() - 2] == '0' ? '1' : '0';
    peer.give_bytes(bad);
    peer.give_bytes(message_of("FIX.4.4", "35=D|34=2|49garbled=YOU|52=" + peer.time() + "|56=WE|11=a|"));
    EXPECT_EQ(peer.sent(), "");
    EXPECT_EQ(peer.session_.counters().garbled.read(), 3U);
    EXPECT_EQ(peer.store_.next_target(), 2U);
    peer.give("0", 3, "");
    EXPECT_EQ(peer.sent(), "35=2|34=2|7=2|16=0|\n");
}

TEST(SessionGarbled, BytesMayComeInAnyPieces) {
    Peer peer;
    peer.log_on();
    std::string stream;
    for (int i = 2; i < 40; ++i) {
        stream += message_of("FIX.4.4", "35=D|34=" + std::to_string(i) + "|49=YOU|52=" + peer.time() + "|56=WE|11=a|");
    }
    std::mt19937 random{1};
    std::string waiting;
    for (std::size_t at = 0; at < stream.size();) {
        const auto size = std::min<std::size_t>(1 + random() % 150, stream.size() - at);
        waiting += stream.substr(at, size);
        at += size;
        waiting.erase(0, peer.session_.on_bytes(bytes_of(waiting), peer.now_));
    }
    EXPECT_TRUE(waiting.empty());
    EXPECT_EQ(peer.delivered_.size(), 38U);
}

TEST(SessionSequenceReset, AGapFillMovesOnAndTheHeldFollow) {
    Peer peer;
    peer.log_on();
    peer.give("D", 9, "11=a|");
    peer.give("4", 2, "36=9|123=Y|", poss_dup(peer));
    EXPECT_EQ(peer.delivered_, std::vector<std::uint64_t>{9});
}

TEST(SessionSequenceReset, AGapFillThatComesEarlyWaits) {
    Peer peer;
    peer.log_on();
    peer.give("4", 10, "36=20|123=Y|");
    peer.give("1", 20, "112=HELLO|");
    EXPECT_EQ(peer.sent(), "35=2|34=2|7=2|16=0|\n");
    peer.give("4", 2, "36=10|123=Y|", poss_dup(peer));
    EXPECT_EQ(peer.sent(), "35=0|34=3|112=HELLO|\n");
}

TEST(SessionSequenceReset, AGapFillThatComesLateIsIgnoredOnlyWithPossDupFlag) {
    Peer peer;
    peer.log_on();
    peer.give("4", 1, "36=20|123=Y|", poss_dup(peer));
    EXPECT_EQ(peer.sent(), "");
    EXPECT_EQ(peer.store_.next_target(), 2U);
    peer.give("4", 1, "36=20|123=Y|");
    EXPECT_EQ(peer.sent(), "35=5|34=2|58=MsgSeqNum too low, expecting 2 but received 1|\n");
}

TEST(SessionSequenceReset, AResetIgnoresItsOwnNumberAndOnlyGoesForward) {
    Peer peer;
    peer.log_on();
    peer.give("4", 0, "36=25|");
    EXPECT_EQ(peer.store_.next_target(), 25U);
    peer.give("4", 0, "36=25|123=N|");
    EXPECT_EQ(peer.store_.next_target(), 25U);
    EXPECT_EQ(peer.sent(), "");
    peer.give("4", 0, "36=1|123=N|");
    EXPECT_EQ(peer.sent(), "35=3|34=2|45=0|58=Value is incorrect (out of range) for this tag|371=36|372=4|373=5|\n");
    EXPECT_EQ(peer.store_.next_target(), 25U);
}

TEST(SessionSequenceReset, AfterAResetAHeldMessageDoesNotReplaceTheNewOneOfItsNumber) {
    Peer peer;
    peer.log_on();
    peer.give("D", 9, "11=old|");
    peer.give("4", 0, "36=8|");
    EXPECT_EQ(peer.sent(), "35=2|34=2|7=2|16=0|\n");
    peer.give("D", 8, "11=a|");
    EXPECT_EQ(peer.delivered_, std::vector<std::uint64_t>{8});
    peer.give("D", 9, "11=new|");
    EXPECT_EQ(peer.delivered_, (std::vector<std::uint64_t>{8, 9}));
    EXPECT_EQ(peer.sent(), "");
}

}  // namespace
}  // namespace millpond::fix
