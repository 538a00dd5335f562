#include <random>
#include <string>

#include <gtest/gtest.h>

#include "tests/fix/session_peer.hpp"
#include "tests/support/free_of_cost.hpp"

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
    // What the resend brings once more is had already.
    peer.give("D", 4, "11=c|", poss_dup(peer));
    EXPECT_EQ(peer.delivered_.size(), 4U);
    EXPECT_EQ(peer.session_.tallies().duplicates.read(), 1U);
    EXPECT_EQ(peer.sent(), "");
}

TEST(SessionSequence, AnEndlessRequestSays999999UpToFix41) {
    Peer peer{{.version = Version::fix41}};
    peer.log_on();
    peer.give("0", 5, "");
    EXPECT_EQ(peer.sent(), "35=2|34=2|7=2|16=999999|\n");
}

TEST(SessionSequence, MissingNumbersAreAskedForInChunks) {
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

TEST(SessionSequence, WhatCannotBeHeldIsAskedForAgain) {
    Peer peer{{.held_messages = 4}};
    peer.log_on();
    for (std::uint64_t i = 3; i <= 9; ++i) peer.give("D", i, "11=a|");
    EXPECT_EQ(peer.sent(), "35=2|34=2|7=2|16=0|\n");
    EXPECT_GT(peer.session_.tallies().held_dropped.read(), 0U);
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
    EXPECT_EQ(peer.closed_, Disconnect::sequence_too_low);
}

TEST(SessionSequence, APossDupWithoutOrigSendingTimeIsRejected) {
    Peer peer;
    peer.log_on();
    peer.give("D", "11=a|");
    peer.give("D", 2, "11=a|", "43=Y|");
    EXPECT_EQ(peer.sent(), "35=3|34=2|45=2|58=Required tag missing|371=122|372=D|373=1|\n");
    EXPECT_EQ(peer.store_.next_target(), 3U);
}

TEST(SessionSequence, APossDupSentBeforeItsOriginalIsRejectedAndLoggedOut) {
    Peer peer;
    peer.log_on();
    peer.give("D", "11=a|");
    peer.give("D", 2, "11=a|", poss_dup(peer, 10 * kSecond));
    EXPECT_EQ(peer.sent(), "35=3|34=2|45=2|58=SendingTime accuracy problem|372=D|373=10|\n35=5|34=3|\n");
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

TEST(SessionGarbled, WhatIsGarbledIsIgnoredAndItsNumberAskedFor) {
    Peer peer;
    peer.log_on();
    peer.give_bytes(with_checksum(delimited("8=FIX.4.4|9=5|35=D|34=2|")));
    auto bad = message_of("FIX.4.4", "35=D|34=2|49=YOU|52=" + peer.time() + "|56=WE|11=a|");
    bad[bad.size() - 2] = bad[bad.size() - 2] == '0' ? '1' : '0';
    peer.give_bytes(bad);
    peer.give_bytes(message_of("FIX.4.4", "35=D|34=2|49garbled=YOU|52=" + peer.time() + "|56=WE|11=a|"));
    EXPECT_EQ(peer.sent(), "");
    EXPECT_EQ(peer.session_.tallies().garbled.read(), 3U);
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

TEST(SessionIdentity, AWrongCompIdIsRejectedAndLoggedOut) {
    for (const auto* ids : {"49=HE|52=%|56=WE|", "49=YOU|52=%|56=THEM|"}) {
        Peer peer;
        peer.log_on();
        std::string header = ids;
        header.replace(header.find('%'), 1, peer.time());
        peer.give_whole("35=D|34=2|" + header + "11=a|");
        EXPECT_EQ(peer.sent(), "35=3|34=2|45=2|58=CompID problem|372=D|373=9|\n35=5|34=3|\n");
        EXPECT_TRUE(peer.delivered_.empty());
        peer.give("5", 3, "");
        EXPECT_EQ(peer.closed_, Disconnect::logged_out);
    }
}

TEST(SessionIdentity, ASendingTimeTooFarFromOursIsRejectedAndLoggedOut) {
    for (const auto seconds : {-121, 121}) {
        Peer peer;
        peer.log_on();
        peer.give_whole("35=0|34=2|49=YOU|52=" + peer.time(seconds * kSecond) + "|56=WE|");
        EXPECT_EQ(peer.sent(), "35=3|34=2|45=2|58=SendingTime accuracy problem|372=0|373=10|\n35=5|34=3|\n");
        Peer near;
        near.log_on();
        near.give_whole("35=0|34=2|49=YOU|52=" + near.time(seconds / 121 * 120 * kSecond) + "|56=WE|");
        EXPECT_EQ(near.sent(), "");
    }
}

TEST(SessionIdentity, AnotherBeginStringEndsInALogout) {
    Peer peer;
    peer.log_on();
    peer.give_bytes(message_of("FIX.4.1", "35=1|34=2|49=YOU|52=" + peer.time() + "|56=WE|112=x|"));
    EXPECT_EQ(peer.sent(), "35=5|34=2|58=Incorrect BeginString|\n");
    peer.pass(2 * kSecond);
    EXPECT_EQ(peer.closed_, Disconnect::logout_timeout);
}

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

TEST(SessionHeartbeat, ASilentPeerIsAskedOnceAndThenCutOff) {
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

TEST(SessionReject, AMessageThatIsWrongIsRejectedAndItsNumberTaken) {
    Peer peer;
    peer.log_on();
    peer.give("0", "999=HI|");
    EXPECT_EQ(peer.sent(), "35=3|34=2|45=2|58=Invalid tag number|371=999|372=0|373=0|\n");
    peer.give("1", "112=x|");
    EXPECT_EQ(peer.sent(), "35=0|34=3|112=x|\n");
}

TEST(SessionReject, BeforeFix42TheTextNamesTheField) {
    Peer peer{{.version = Version::fix41}};
    peer.log_on();
    peer.give("1", "");
    EXPECT_EQ(peer.sent(), "35=3|34=2|45=2|58=Required tag missing (112)|\n");
}

TEST(SessionReject, Fix42HasNoReasonAbove11) {
    Peer peer{{.version = Version::fix42}};
    peer.log_on();
    peer.give("1", "112=x|112=y|");
    EXPECT_EQ(peer.sent(), "35=3|34=2|45=2|58=Tag appears more than once|371=112|372=1|\n");
}

TEST(SessionReject, GoesBackTheWayTheMessageCame) {
    Peer peer;
    peer.log_on();
    peer.give("1", 2, "", "115=DESK|116=CS|144=CHI|");
    EXPECT_EQ(peer.sent(), "35=3|34=2|128=DESK|129=CS|145=CHI|45=2|58=Required tag missing|371=112|372=1|373=1|\n");
    peer.give("1", 3, "", "128=DESK|129=CS|145=CHI|");
    EXPECT_EQ(peer.sent(), "35=3|34=3|115=DESK|116=CS|144=CHI|45=3|58=Required tag missing|371=112|372=1|373=1|\n");
}

TEST(SessionReject, OfThePeerIsGivenToTheApplicationAndNotAnswered) {
    Peer peer;
    peer.log_on();
    peer.give("3", "45=1|");
    EXPECT_EQ(peer.rejects_, std::vector<std::string>{"3"});
    EXPECT_EQ(peer.sent(), "");
    EXPECT_EQ(peer.store_.next_target(), 3U);
}

TEST(SessionReject, WhatTheApplicationDoesNotSupportGetsABusinessReject) {
    Peer peer;
    peer.log_on();
    peer.give("8", "37=x|");
    EXPECT_EQ(peer.sent(), "35=j|34=2|45=2|58=Unsupported Message Type|372=8|380=3|\n");
    Peer old{{.version = Version::fix41}};
    old.log_on();
    old.give("8", "37=x|");
    EXPECT_EQ(old.sent(), "35=3|34=2|45=2|58=Unsupported message type|\n");
}

TEST(SessionReject, ABusinessRejectNamesTheApplicationVersionWhereThatIsWanted) {
    Peer peer{{.version = Version::fixt11, .appl_ver_id_in_business_reject = true}};
    peer.log_on("98=0|108=30|1137=9|");
    peer.give("8", "37=x|");
    EXPECT_EQ(peer.sent(), "35=j|34=2|45=2|58=Unsupported Message Type|372=8|380=3|1137=9|\n");
    Peer other{{.appl_ver_id_in_business_reject = true}};
    other.log_on();
    other.give("8", "37=x|");
    EXPECT_EQ(other.sent(), "35=j|34=2|45=2|58=Unsupported Message Type|372=8|380=3|\n");
}

TEST(SessionLogout, IsAnsweredAndTheConnectionClosed) {
    Peer peer;
    peer.log_on();
    peer.give("5", "58=bye|");
    EXPECT_EQ(peer.sent(), "35=5|34=2|\n");
    EXPECT_EQ(peer.closed_, Disconnect::logged_out);
    EXPECT_EQ(peer.logouts_, std::vector<std::string>{"bye"});
    EXPECT_EQ(peer.store_.next_target(), 3U);
}

TEST(SessionLogout, OursIsOverWhenItIsAnsweredOrTheTimeoutPasses) {
    Peer answered;
    answered.log_on();
    answered.session_.logout("enough", answered.now_);
    EXPECT_EQ(answered.sent(), "35=5|34=2|58=enough|\n");
    EXPECT_FALSE(answered.order("too late"));
    answered.give("D", "11=a|");  // was under way
    EXPECT_EQ(answered.delivered_.size(), 1U);
    answered.give("5", "");
    EXPECT_EQ(answered.sent(), "");
    EXPECT_EQ(answered.closed_, Disconnect::logged_out);
    Peer silent;
    silent.log_on();
    silent.session_.logout("enough", silent.now_);
    silent.pass(2 * kSecond);
    EXPECT_EQ(silent.closed_, Disconnect::logout_timeout);
}

TEST(SessionLogout, IsAnsweredWhateverItsNumber) {
    Peer peer;
    peer.log_on();
    peer.give("5", 20, "");
    EXPECT_EQ(peer.sent(), "35=5|34=2|\n");
    EXPECT_EQ(peer.closed_, Disconnect::logged_out);
}

TEST(SessionLogout, AResetWhileLoggedOnWaitsForIt) {
    Peer peer;
    peer.log_on();
    peer.session_.reset(peer.now_);
    EXPECT_EQ(peer.store_.next_sender(), 3U);
    peer.give("5", "");
    EXPECT_EQ(peer.store_.next_sender(), 1U);
}

TEST(SessionHeader, TellsTheLastNumberProcessedWhereWanted) {
    Peer peer{{.send_last_processed = true}};
    peer.log_on();
    peer.give("D", "11=a|");
    ASSERT_TRUE(peer.order("b"));
    EXPECT_EQ(peer.sent(), "35=D|34=2|369=2|11=b|55=MSFT|\n");
}

TEST(SessionHeader, APossResendWithANewNumberIsDeliveredForTheApplicationToJudge) {
    Peer peer;
    peer.log_on();
    peer.give("D", 2, "11=a|");
    peer.give("D", 3, "11=a|", "97=Y|");
    EXPECT_EQ(peer.delivered_, (std::vector<std::uint64_t>{2, 3}));
    EXPECT_EQ(peer.sent(), "");
    EXPECT_EQ(peer.store_.next_target(), 4U);
}

TEST(SessionHeader, AFieldOfTheHeaderBehindTheBodyIsRejectedUnlessTheOrderIsFree) {
    Peer strict;
    strict.log_on();
    strict.give("1", 2, "112=x|115=DESK|");
    EXPECT_EQ(strict.sent(), "35=3|34=2|128=DESK|45=2|58=Tag specified out of required order|371=115|372=1|373=14|\n");
    Peer free{{.validation = {.fields_are_in_order = false}}};
    free.log_on();
    free.give("1", 2, "112=x|115=DESK|");
    EXPECT_EQ(free.sent(), "35=0|34=2|112=x|\n");
}

TEST(SessionHeader, PossResendIsTheApplicationsToSay) {
    Peer peer;
    peer.log_on();
    ASSERT_TRUE(peer.session_.send("D", peer.now_, [](Writer& writer) { writer.add<11>("a"); }, {.poss_resend = true}));
    EXPECT_EQ(peer.sent(), "35=D|34=2|97=Y|11=a|\n");
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

TEST(SessionSend, APeerThatTakesNothingIsRefusedAndThenCutOff) {
    Peer peer;
    peer.takes_ = false;
    peer.log_on("98=0|108=10|");
    int accepted = 0;
    while (peer.order(std::string(5000, 'x'))) ++accepted;
    EXPECT_GT(accepted, 5);
    EXPECT_FALSE(peer.closed_);
    peer.give("1", "112=x|");
    EXPECT_EQ(peer.closed_, Disconnect::send_refused);
}

TEST(SessionSchedule, OutsideOfItNobodyGetsIn) {
    const auto schedule = Schedule::daily(8 * 3600, 17 * 3600);
    Peer peer{{.schedule = schedule}};
    peer.session_.on_connect(peer.now_);  // 03:04:05
    EXPECT_EQ(peer.closed_, Disconnect::outside_schedule);
}

TEST(SessionSchedule, ItsEndLogsOutAndANewRunBeginsBothNumbersAnew) {
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
    EXPECT_TRUE(peer.sent_.back().ends_with("58=the session's time is over|")) << peer.sent_.back();
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
    MemoryStore store{kStart, 1U << 16U};
    Quiet handler{store};
    Session session{{.sender_comp_id = "WE", .target_comp_id = "YOU", .reset_on_logon = true},
                    dictionary,
                    nullptr,
                    store,
                    handler,
                    kStart};
    const auto from_peer = [](std::string_view type, int number, std::string_view body) {
        return message_of("FIX.4.4", "35=" + std::string{type} + "|34=" + std::to_string(number) +
                                         "|49=YOU|52=20240102-03:04:05|56=WE|" + std::string{body});
    };
    const std::string stream = from_peer("A", 1, "98=0|108=30|") + from_peer("D", 2, "11=a|") +
                               from_peer("1", 3, "112=x|") + from_peer("D", 6, "11=d|") + from_peer("D", 4, "11=b|") +
                               from_peer("D", 5, "11=c|") + from_peer("0", 7, "999=bad|") +
                               from_peer("2", 8, "7=1|16=0|") + from_peer("5", 9, "");
    test::expect_free_of_cost([&] {
        const auto resent = session.tallies().resent.read();
        session.on_connect(kStart);
        auto taken = session.on_bytes(bytes_of(std::string_view{stream}.substr(0, 90)), kStart);
        const bool placed = session.send("D", kStart, [](Writer& writer) { writer.add<11>("a"); });
        taken += session.on_bytes(bytes_of(std::string_view{stream}.substr(taken)), kStart);
        session.on_timer(kStart + kSecond);
        session.on_disconnect(kStart);
        return placed && taken == stream.size() && session.tallies().resent.read() == resent + 1 &&
               store.next_target() == 10U;
    });
}

}  // namespace
}  // namespace millpond::fix
