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

TEST(SessionLogon, AnInitiatorWhoseLogonIsAnsweredByALogoutReportsTheReason) {
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

/// The answer of a session at 20240102-03:04:05 to its first bytes.
struct Refused {
    std::string sent;
    std::string why;  ///< "TAG reason"
};

Refused refused(const std::string& bytes, SessionConfig config = {}) {
    Peer peer{std::move(config)};
    peer.session_.on_connect(peer.now_);
    static_cast<void>(peer.sent());
    peer.give_bytes(bytes);
    EXPECT_EQ(peer.closed_, Disconnect::logon_refused) << readable(bytes);
    EXPECT_EQ(peer.logons_, 0);
    EXPECT_EQ(peer.store_.next_target(), 1U);
    EXPECT_EQ(peer.refusals_.size(), 1U);
    return {peer.sent(), peer.refusals_.empty() ? "" : peer.refusals_.front()};
}

const std::string kNow = "52=20240102-03:04:05|";

TEST(SessionLogon, AConnectionFromAnyOtherPeerIsClosedWithoutAReply) {
    const auto silent = [](const std::string& bytes, const std::string& why) {
        const auto outcome = refused(bytes);
        EXPECT_EQ(outcome.sent, "") << readable(bytes);
        EXPECT_EQ(outcome.why, why) << readable(bytes);
    };
    silent(message_of("FIX.4.4", "35=0|34=1|49=YOU|" + kNow + "56=WE|"), "35 first message is not a Logon");
    silent(message_of("FIX.3.9", "35=A|34=1|49=YOU|" + kNow + "56=WE|98=0|108=30|"),
           "8 BeginString is not the session's");
    silent(message_of("FIX.4.4", "35=A|34=1|49=HE|" + kNow + "56=WE|98=0|108=30|"), "49 CompID is not the session's");
    silent(message_of("FIX.4.4", "35=A|34=1|49=YOU|" + kNow + "56=THEM|98=0|108=30|"),
           "56 CompID is not the session's");
    silent(delimited("8=FIX.4.4|9=40|35=A|34=1|49=YOU|") + std::string(60, 'x') + delimited("|10=000|"),
           "0 garbled message");
    silent("GET / HTTP/1.1\r\n\r\n", "0 garbled message");
}

TEST(SessionLogon, ALogonOfThePeerThatIsWrongIsRejectedAndLoggedOutWithTheReason) {
    const auto answered = [](const std::string& fields, const std::string& tag, const std::string& code,
                             const std::string& text) {
        const auto outcome = refused(message_of("FIX.4.4", "35=A|" + fields));
        EXPECT_EQ(outcome.sent, "35=3|34=1|45=1|58=" + text + "|371=" + tag + "|372=A|373=" + code +
                                    "|\n35=5|34=2|58=" + text + "|\n");
        EXPECT_EQ(outcome.why, tag + " " + text);
    };
    const std::string header = "34=1|49=YOU|" + kNow + "56=WE|";
    answered("34=1|49=YOU|52=20010101-00:00:00|56=WE|98=0|108=30|", "52", "10", "SendingTime accuracy problem");
    answered(header + "98=0|", "108", "1", "Required tag missing");
    answered(header + "98=1|108=30|", "98", "5", "EncryptMethod is not supported: only 0 is");
    for (const auto* interval : {"-1", "2147483648", "99999999999", "9223372036854775807", "18446744073709551615"}) {
        answered(header + "98=0|108=" + interval + "|", "108", "5",
                 "HeartBtInt is not a number of seconds from 0 to 2147483647");
    }
    answered(header + "98=0|108=3x|", "108", "6", "Incorrect data format for value");
}

TEST(SessionLogon, ALogonWithoutAUsableNumberIsLoggedOutWithTheReason) {
    for (const auto* number : {"", "34=9007199254740992|", "34=18446744073709551615|", "34=18446744073709551616|"}) {
        const auto outcome =
            refused(message_of("FIX.4.4", "35=A|" + std::string{number} + "49=YOU|" + kNow + "56=WE|98=0|108=30|"));
        EXPECT_EQ(outcome.sent, "35=5|34=1|58=MsgSeqNum is not a number from 0 to 9007199254740991|\n") << number;
        EXPECT_EQ(outcome.why, "34 MsgSeqNum is not a number from 0 to 9007199254740991");
    }
}

TEST(SessionLogon, TheLongestHeartBtIntIsKeptAndNothingOverflows) {
    Peer peer;
    peer.session_.on_connect(peer.now_);
    peer.give("A", "98=0|108=2147483647|");
    EXPECT_EQ(peer.sent(), "35=A|34=1|98=0|108=2147483647|\n");
    const auto interval = 2'147'483'647 * kSecond;
    EXPECT_EQ(peer.session_.next_deadline_ns(), peer.now_.monotonic_ns + interval);
    peer.pass(interval);
    EXPECT_EQ(peer.sent(), "35=0|34=2|\n");
    EXPECT_THROW(Peer{{.heartbeat_seconds = 2'147'483'648}}, std::invalid_argument);
    EXPECT_THROW(Peer{{.heartbeat_seconds = -1}}, std::invalid_argument);
}

TEST(SessionLogon, WithQuickFixRepliesARefusedLogonIsNotAnswered) {
    for (const auto* fields : {"34=1|52=20010101-00:00:00|98=0|108=30|", "34=1|52=20240102-03:04:05|98=1|108=30|",
                               "34=18446744073709551615|52=20240102-03:04:05|98=0|108=30|"}) {
        const auto outcome =
            refused(message_of("FIX.4.4", "35=A|49=YOU|56=WE|" + std::string{fields}), {.quickfix_replies = true});
        EXPECT_EQ(outcome.sent, "");
    }
}

TEST(SessionLogon, AnotherDefaultApplVerIdIsRefusedOnEitherSide) {
    for (const auto role : {Role::acceptor, Role::initiator}) {
        const auto outcome = refused(message_of("FIXT.1.1", "35=A|34=1|49=YOU|" + kNow + "56=WE|98=0|108=30|1137=7|"),
                                     {.version = Version::fixt11, .role = role});
        EXPECT_NE(outcome.sent.find("58=DefaultApplVerID is not 9|371=1137|372=A|373=5|\n35=5|"), std::string::npos)
            << outcome.sent;
        EXPECT_EQ(outcome.why, "1137 DefaultApplVerID is not 9");
    }
}

TEST(SessionLogon, AnInitiatorReportsTheReasonBeforeTheLogoutArrives) {
    Peer peer{{.role = Role::initiator}};
    peer.session_.on_connect(peer.now_);
    peer.give("3", "45=1|58=no such user|371=553|");
    EXPECT_FALSE(peer.closed_);
    peer.give("5", "58=logon refused|");
    EXPECT_EQ(peer.rejects_, (std::vector<std::string>{"3", "5"}));
    EXPECT_EQ(peer.closed_, Disconnect::logon_refused);
    EXPECT_EQ(peer.refusals_, std::vector<std::string>{"0 logon refused"});
}

TEST(SessionLogon, AnInitiatorAnswersAFirstMessageThatIsNotALogonWithALogout) {
    const auto outcome =
        refused(message_of("FIX.4.4", "35=0|34=1|49=YOU|" + kNow + "56=WE|"), {.role = Role::initiator});
    EXPECT_EQ(outcome.sent, "35=5|34=2|58=first message is not a Logon|\n");
}

TEST(SessionLogon, TheApplicationMayRefuseUserAndPassword) {
    Peer peer;
    peer.password_ = "right";
    peer.session_.on_connect(peer.now_);
    peer.give("A", "98=0|108=30|553=me|554=wrong|");
    EXPECT_EQ(peer.closed_, Disconnect::logon_refused);
    EXPECT_EQ(peer.sent(), "");
    EXPECT_EQ(peer.refusals_, std::vector<std::string>{"0 not authorized"});
    Peer twice;  // also wrong in itself: no number is used for an unauthenticated peer
    twice.password_ = "right";
    twice.session_.on_connect(twice.now_);
    twice.give("A", "98=1|108=30|553=me|554=wrong|");
    EXPECT_EQ(twice.sent(), "");
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

TEST(SessionLogon, ANumberThatIsTooHighIsAnsweredAndTheMissingOnesAreRequested) {
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

TEST(SessionLogon, ResetSeqNumFlagResetsBothNumbers) {
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

TEST(SessionLogon, AnAnswerWithAnUnrequestedResetSeqNumFlagResetsBothNumbers) {
    Peer peer{{.role = Role::initiator}};
    peer.store_.set_next_target(10);
    peer.store_.set_next_sender(20);
    peer.session_.on_connect(peer.now_);
    EXPECT_EQ(peer.sent(), "35=A|34=20|98=0|108=30|\n");
    peer.give("A", 1, "98=0|108=30|141=Y|");
    EXPECT_EQ(peer.session_.state(), Session::State::active);
    EXPECT_EQ(peer.store_.next_target(), 2U);
    // Our Logon is the first message.
    ASSERT_TRUE(peer.order("1"));
    EXPECT_EQ(peer.sent(), "35=D|34=2|11=1|55=MSFT|\n");
    // A peer that expects number 1 requests it.
    peer.give("2", 2, "7=1|16=0|");
    EXPECT_EQ(peer.sent(),
              "35=4|34=1|43=Y|122=20240102-03:04:05.000|36=2|123=Y|\n"
              "35=D|34=2|43=Y|122=20240102-03:04:05.000|11=1|55=MSFT|\n");
}

TEST(SessionLogon, ALogonWithResetSeqNumFlagWhileLoggedOnResetsBothNumbers) {
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

TEST(SessionLogon, ALogonWithResetSeqNumFlagWhileLoggedOnSetsTheIntervalOfAnAcceptor) {
    Peer peer;
    peer.log_on();
    peer.give("A", 1, "98=0|108=5|141=Y|");
    EXPECT_EQ(peer.sent(), "35=A|34=1|98=0|108=5|141=Y|\n");
    EXPECT_EQ(peer.session_.next_deadline_ns(), peer.now_.monotonic_ns + 5 * kSecond);
    Peer initiator{{.role = Role::initiator, .heartbeat_seconds = 30}};
    initiator.log_on();
    initiator.give("A", 1, "98=0|108=30|141=Y|");
    EXPECT_EQ(initiator.sent(), "35=A|34=1|98=0|108=30|141=Y|\n");
}

TEST(SessionLogon, AnInitiatorUsesTheIntervalThatTheAcceptorAnswers) {
    for (const auto answered : {1, 20, 3600}) {
        const auto body = "98=0|108=" + std::to_string(answered) + "|";
        Peer peer{{.role = Role::initiator, .heartbeat_seconds = 30}};
        peer.session_.on_connect(peer.now_);
        peer.give("A", body);
        ASSERT_EQ(peer.session_.state(), Session::State::active) << answered;
        EXPECT_EQ(peer.intervals_, std::vector<std::int64_t>{answered});
        static_cast<void>(peer.sent());
        peer.pass(answered * kSecond);
        EXPECT_EQ(peer.sent(), "35=0|34=2|\n") << answered;
        // The venue resets the session while it is logged on.
        peer.give("A", 1, body + "141=Y|");
        EXPECT_EQ(peer.sent(), "35=A|34=1|" + body + "141=Y|\n");
        EXPECT_EQ(peer.session_.state(), Session::State::active);
        EXPECT_EQ(peer.store_.next_target(), 2U);
        EXPECT_EQ(peer.intervals_.size(), 1U);
        peer.give("A", 1, "98=0|108=15|141=Y|");
        EXPECT_EQ(peer.sent(), "35=A|34=1|98=0|108=15|141=Y|\n");
        EXPECT_EQ(peer.intervals_, (std::vector<std::int64_t>{answered, 15}));
    }
}

TEST(SessionLogon, AnInitiatorRefusesAnAnswerWithoutHeartbeatsOrWithRareOnes) {
    for (const auto* answered : {"0", "3601", "86400"}) {
        Peer peer{{.role = Role::initiator, .heartbeat_seconds = 30}};
        peer.session_.on_connect(peer.now_);
        peer.give("A", "98=0|108=" + std::string{answered} + "|");
        EXPECT_EQ(peer.closed_, Disconnect::logon_refused) << answered;
        EXPECT_EQ(peer.refusals_,
                  std::vector<std::string>{"108 HeartBtInt is neither that of our Logon nor from 1 to 3600"});
    }
    for (const auto seconds : {0, 86'400}) {  // the interval that the session requested itself
        Peer peer{{.role = Role::initiator, .heartbeat_seconds = seconds}};
        peer.session_.on_connect(peer.now_);
        peer.give("A", "98=0|108=" + std::to_string(seconds) + "|");
        EXPECT_EQ(peer.session_.state(), Session::State::active) << seconds;
        EXPECT_TRUE(peer.intervals_.empty());
    }
}

TEST(SessionLogon, ALogonThatResetsForgetsEarlierRequestsAndHeldMessages) {
    for (const auto role : {Role::acceptor, Role::initiator}) {
        Peer peer{{.role = role}};
        peer.log_on();
        peer.give("D", 5, "11=held|");
        EXPECT_EQ(peer.sent(), "35=2|34=2|7=2|16=0|\n");
        peer.give("A", 1, "98=0|108=30|141=Y|");
        EXPECT_EQ(peer.sent(), "35=A|34=1|98=0|108=30|141=Y|\n");
        peer.give("A", 1, "98=0|108=30|141=Y|");  // sent before our answer arrived
        EXPECT_EQ(peer.sent(), "35=A|34=1|98=0|108=30|141=Y|\n");
        EXPECT_EQ(peer.store_.next_sender(), 2U);
        EXPECT_EQ(peer.store_.next_target(), 2U);
        for (std::uint64_t number = 2; number < 6; ++number) peer.give("D", number, "11=new|");
        EXPECT_EQ(peer.delivered_, (std::vector<std::uint64_t>{2, 3, 4, 5}));
        EXPECT_EQ(peer.sent(), "");
    }
}

TEST(SessionLogon, ALogonWhileLoggedOnThatIsWrongResetsNothingAndEndsTheSession) {
    const auto refused = [](std::uint64_t number, const std::string& body, const std::string& why,
                            SessionConfig config = {}) {
        Peer peer{std::move(config)};
        peer.log_on(peer.session_.config().version == Version::fixt11 ? "98=0|108=30|1137=9|" : "98=0|108=30|");
        ASSERT_TRUE(peer.order("a"));
        static_cast<void>(peer.sent());
        peer.password_ = "right";
        const auto next = peer.store_.next_sender();
        peer.give("A", number, body);
        EXPECT_EQ(peer.refusals_, std::vector<std::string>{why}) << body;
        const auto said = peer.sent();
        EXPECT_NE(said.find("35=3|34=" + std::to_string(next) + "|"), std::string::npos) << said;
        EXPECT_NE(said.find("35=5|34=" + std::to_string(next + 1) + "|58=" + why.substr(why.find(' ') + 1)),
                  std::string::npos)
            << said;
        peer.give("5", 3, "");
        EXPECT_EQ(peer.closed_, Disconnect::logon_refused);
    };
    const std::string user = "553=me|554=right|";
    refused(1, "98=1|108=30|141=Y|" + user, "98 EncryptMethod is not supported: only 0 is");
    refused(1, "98=0|108=99999999999|141=Y|" + user, "108 HeartBtInt is not a number of seconds from 0 to 2147483647");
    refused(2, "98=0|108=30|141=Y|" + user, "34 MsgSeqNum of a Logon with ResetSeqNumFlag is not 1");
    refused(1, "98=0|108=30|141=Y|789=2|" + user,
            "789 NextExpectedMsgSeqNum too high, expected at most 1 but received 2");
    refused(1, "98=0|108=30|141=Y|789=0|" + user,
            "789 NextExpectedMsgSeqNum too low, expected at most 1 but received 0");
    refused(1, "98=0|108=30|141=Y|1137=8|" + user, "1137 DefaultApplVerID is not 9", {.version = Version::fixt11});
    for (const auto* interval : {"0", "3601"}) {
        refused(1, "98=0|108=" + std::string{interval} + "|141=Y|" + user,
                "108 HeartBtInt is neither that of our Logon nor from 1 to 3600", {.role = Role::initiator});
    }
    refused(1, "98=0|108=30|141=Y|553=me|554=wrong|", "35 not authorized");
}

TEST(SessionLogon, AnApplVerIdOfAnotherVersionInTheFirstLogonIsRefused) {
    Peer peer{{.version = Version::fixt11}};
    peer.session_.on_connect(peer.now_);
    peer.give("A", 1, "98=0|108=30|1137=9|", "1128=8|");
    EXPECT_EQ(peer.refusals_, std::vector<std::string>{"1128 Invalid/Unsupported Application Version"});
    EXPECT_EQ(peer.closed_, Disconnect::logon_refused);
    Peer same{{.version = Version::fixt11}};
    same.session_.on_connect(same.now_);
    same.give("A", 1, "98=0|108=30|1137=9|", "1128=9|");
    EXPECT_EQ(same.logons_, 1);
}

TEST(SessionLogon, ASessionThatIsClosedToLogonsGivesTheReasonInALogout) {
    Peer peer;
    peer.closed_because_ = "session is disabled";
    peer.session_.on_connect(peer.now_);
    peer.give("A", "98=0|108=30|");
    EXPECT_EQ(peer.sent(), "35=5|34=1|58=session is disabled|\n");
    EXPECT_EQ(peer.refusals_, std::vector<std::string>{"0 session is disabled"});
    EXPECT_EQ(peer.closed_, Disconnect::logon_refused);
    Peer stranger;  // must not learn of it
    stranger.closed_because_ = "session is disabled";
    stranger.password_ = "right";
    stranger.session_.on_connect(stranger.now_);
    stranger.give("A", "98=0|108=30|553=me|554=wrong|");
    EXPECT_EQ(stranger.sent(), "");
}

TEST(SessionLogon, ASecondLogonWithoutResetIsRejected) {
    Peer peer;
    peer.log_on();
    peer.give("A", "98=0|108=30|");
    EXPECT_EQ(peer.sent(), "35=3|34=2|45=2|58=Other|371=35|372=A|373=99|\n");
    EXPECT_EQ(peer.store_.next_target(), 3U);
}

TEST(SessionLogon, ResetOnLogonResetsOnEitherSide) {
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

TEST(SessionLogon, ResetOnLogoutAndOnDisconnectResetAfterwards) {
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

TEST(SessionLogon, AnInitiatorThatResetsAtTheEndOfAConnectionSetsTheFlagInTheNextLogon) {
    SessionConfig logout{.role = Role::initiator, .reset_on_logout = true};
    SessionConfig disconnect{.role = Role::initiator, .reset_on_disconnect = true};
    SessionConfig error{.role = Role::initiator, .reset_on_error = true};
    for (const auto& config : {logout, disconnect, error}) {
        Peer peer{config};
        peer.session_.on_connect(peer.now_);
        EXPECT_EQ(peer.sent(), "35=A|34=1|98=0|108=30|141=Y|\n");
        peer.give("A", 1, "98=0|108=30|141=Y|");
        EXPECT_EQ(peer.store_.next_sender(), 2U);
        EXPECT_EQ(peer.store_.next_target(), 2U);
        // Numbers that were not reset continue.
        peer.store_.set_next_target(10);
        peer.store_.set_next_sender(20);
        peer.session_.on_connect(peer.now_);
        EXPECT_EQ(peer.sent(), "35=A|34=20|98=0|108=30|\n");
    }
}

TEST(SessionLogon, NextExpectedMsgSeqNumIsHonouredWithoutResendRequests) {
    Peer peer{{.send_next_expected = true}};
    peer.log_on("98=0|108=30|789=1|");
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(peer.order(std::to_string(i)));
    peer.session_.on_disconnect(peer.now_);
    static_cast<void>(peer.sent());
    peer.session_.on_connect(peer.now_);
    // The peer lost our 3 and 4 and sends its 2 to 4 without a request, because our Logon shows that 2 is expected.
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
    // Our Logon shows that 2 is expected: the peer fills the gap up to its own Logon, but not the Logon itself.
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
    for (const std::string number : {"0", "2", "18446744073709551615"}) {
        Peer other;
        other.session_.on_connect(other.now_);
        other.give("A", 1, "98=0|108=30|789=" + number + "|");
        EXPECT_EQ(other.sent(), "35=5|34=1|58=NextExpectedMsgSeqNum too " +
                                    std::string{number == "0" ? "low" : "high"} + ", expected at most 1 but received " +
                                    number + "|\n");
        EXPECT_EQ(other.refusals_.size(), 1U);
    }
    Peer at_bound;
    at_bound.session_.on_connect(at_bound.now_);
    at_bound.give("A", 1, "98=0|108=30|789=1|");
    EXPECT_EQ(at_bound.sent(), "35=A|34=1|98=0|108=30|\n");
}

/// A store whose memory another machine changes: its fields are those of the last read.
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

TEST(SessionLogon, RefreshOnLogonReadsTheStoresStateAgain) {
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

TEST(SessionLogon, SubIdsAndLocationIdsOfTheIdentityAreInEachMessageAndRequiredOfAnInitiator) {
    const SessionConfig config{.sender_sub_id = "DESK",
                               .sender_location_id = "PARIS",
                               .target_sub_id = "FLOOR",
                               .target_location_id = "ROME",
                               .qualifier = "2"};
    for (const auto* wrong : {"", "50=FLOOR|142=ROME|57=DESK|143=BONN|", "50=DESK|142=PARIS|57=FLOOR|143=ROME|"}) {
        Peer peer{config};
        peer.session_.on_connect(peer.now_);
        peer.give("A", 1, "98=0|108=30|", wrong);
        EXPECT_NE(peer.session_.state(), Session::State::active) << wrong;
        EXPECT_TRUE(peer.sent_.empty());
        EXPECT_EQ(peer.store_.next_sender(), 1U);
    }
    Peer peer{config};
    peer.session_.on_connect(peer.now_);
    peer.give("A", 1, "98=0|108=30|", "50=FLOOR|142=ROME|57=DESK|143=PARIS|");
    ASSERT_EQ(peer.session_.state(), Session::State::active);
    for (const auto* field : {"|50=DESK|", "|142=PARIS|", "|57=FLOOR|", "|143=ROME|"}) {
        EXPECT_NE(peer.sent_.front().find(field), std::string::npos) << peer.sent_.front();
    }
    auto twice = config;
    twice.header_fields = {{tag::kSenderSubId, "OTHER"}};
    EXPECT_THROW(Peer{twice}, std::invalid_argument);
}

}  // namespace
}  // namespace millpond::fix
