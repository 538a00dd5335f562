#include <algorithm>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/fix/session_peer.hpp"

namespace millpond::fix {
namespace {

TEST(SessionResend, StoredMessagesComeAgainWithPossDupFlagAndTheirFirstTime) {
    Peer peer;
    peer.log_on();
    ASSERT_TRUE(peer.order("a"));
    peer.pass(kSecond);
    ASSERT_TRUE(peer.order("b"));
    peer.pass(kSecond);
    static_cast<void>(peer.sent());
    peer.give("2", "7=2|16=3|");
    EXPECT_EQ(peer.sent(),
              "35=D|34=2|43=Y|122=20240102-03:04:05.000|11=a|55=MSFT|\n"
              "35=D|34=3|43=Y|122=20240102-03:04:06.000|11=b|55=MSFT|\n");
    EXPECT_EQ(peer.whole_.back(), message_of("FIX.4.4",
                                             "35=D|34=3|43=Y|49=WE|52=20240102-03:04:07.000|56=YOU|"
                                             "122=20240102-03:04:06.000|11=b|55=MSFT|"));
    EXPECT_EQ(peer.store_.next_sender(), 4U);
}

TEST(SessionResend, SessionMessagesAreFilledAndNeverResent) {
    Peer peer;
    peer.log_on();
    for (int i = 0; i < 3; ++i) peer.give("1", "112=x|");
    static_cast<void>(peer.sent());
    peer.give("2", "7=1|16=4|");
    EXPECT_EQ(peer.sent(), "35=4|34=1|43=Y|122=20240102-03:04:05.000|36=5|123=Y|\n");
    ASSERT_TRUE(peer.order("a"));
    peer.give("1", "112=y|");
    static_cast<void>(peer.sent());
    peer.give("2", "7=3|16=0|");
    EXPECT_EQ(peer.sent(),
              "35=4|34=3|43=Y|122=20240102-03:04:05.000|36=5|123=Y|\n"
              "35=D|34=5|43=Y|122=20240102-03:04:05.000|11=a|55=MSFT|\n"
              "35=4|34=6|43=Y|122=20240102-03:04:05.000|36=7|123=Y|\n");
}

TEST(SessionResend, GroupsAndDataFieldsSurviveByteForByte) {
    Peer peer;
    peer.log_on();
    const auto body = delimited("11=a|453=2|448=x|452=1|448=y|452=2|95=5|96=|=||1|55=MSFT|");
    ASSERT_TRUE(peer.session_.send("D", peer.now_, [&](Writer& writer) { writer.add_fields(body); },
                                   {.on_behalf_of_comp_id = "DESK", .deliver_to_comp_id = "FLOOR"}));
    peer.give("2", "7=2|16=2|");
    EXPECT_EQ(peer.whole_.back(), message_of("FIX.4.4",
                                             "35=D|34=2|43=Y|49=WE|52=20240102-03:04:05.000|56=YOU|115=DESK|"
                                             "122=20240102-03:04:05.000|128=FLOOR|" +
                                                 readable(body)));
}

TEST(SessionResend, AJumpOfTheNumbersIsFilledAtOnceHoweverLongItIs) {
    Peer peer;
    peer.log_on();
    ASSERT_TRUE(peer.order("a"));
    peer.store_.set_next_sender(9'007'199'254'740'981);
    ASSERT_TRUE(peer.order("b"));
    static_cast<void>(peer.sent());
    peer.give("2", "7=1|16=0|");
    EXPECT_EQ(peer.sent(),
              "35=4|34=1|43=Y|122=20240102-03:04:05.000|36=2|123=Y|\n"
              "35=D|34=2|43=Y|122=20240102-03:04:05.000|11=a|55=MSFT|\n"
              "35=4|34=3|43=Y|122=20240102-03:04:05.000|36=9007199254740981|123=Y|\n"
              "35=D|34=9007199254740981|43=Y|122=20240102-03:04:05.000|11=b|55=MSFT|\n");
    ASSERT_EQ(peer.lost_.size(), 1U);
    EXPECT_EQ(peer.lost_[0].messages, 9'007'199'254'740'978U);
    EXPECT_EQ(peer.session_.counters().lost.read(), 9'007'199'254'740'978U);
    // Likewise if nothing was sent since, and for a part of the skipped range.
    peer.store_.set_next_sender(9'007'199'254'740'990);
    peer.give("2", "7=9007199254740982|16=0|");
    EXPECT_EQ(peer.sent(), "35=4|34=9007199254740982|43=Y|122=20240102-03:04:05.000|36=9007199254740990|123=Y|\n");
    peer.give("2", "7=1000|16=2000|");
    EXPECT_EQ(peer.sent(), "35=4|34=1000|43=Y|122=20240102-03:04:05.000|36=2001|123=Y|\n");
}

TEST(SessionResend, NumbersThatNeverHadAMessageAreFilledAndNotLost) {
    Peer peer;
    peer.log_on();
    ASSERT_TRUE(peer.order("a"));
    peer.store_.skip_to(100);
    peer.store_.skip_to(200);
    ASSERT_TRUE(peer.order("b"));
    static_cast<void>(peer.sent());
    peer.give("2", "7=2|16=0|");
    EXPECT_EQ(peer.sent(),
              "35=D|34=2|43=Y|122=20240102-03:04:05.000|11=a|55=MSFT|\n"
              "35=4|34=3|43=Y|122=20240102-03:04:05.000|36=200|123=Y|\n"
              "35=D|34=200|43=Y|122=20240102-03:04:05.000|11=b|55=MSFT|\n");
    EXPECT_TRUE(peer.lost_.empty());
    EXPECT_EQ(peer.session_.counters().lost.read(), 0U);
    // Numbers that had a message before the sequence was set back are included.
    peer.store_.set_next_sender(150);
    peer.store_.set_next_sender(300);
    peer.give("2", "7=2|16=0|");
    ASSERT_EQ(peer.lost_.size(), 1U);
    EXPECT_EQ(peer.lost_[0].messages, 150U);
}

TEST(SessionResend, ALongResendGoesOnWhileOurLogoutIsNotAnswered) {
    Peer peer{{.resend_burst = 4}};
    peer.log_on();
    for (int i = 0; i < 10; ++i) ASSERT_TRUE(peer.order("x"));
    peer.give("2", "7=2|16=0|");
    peer.session_.logout("good night", peer.now_);
    peer.pass(1);
    EXPECT_EQ(peer.session_.counters().resent.read(), 10U);
    // Likewise if the peer requests because of our Logout's number.
    peer.give("2", "7=2|16=0|");
    peer.pass(1);
    EXPECT_EQ(peer.session_.counters().resent.read(), 20U);
    EXPECT_EQ(peer.sent_.back(), "35=4|34=12|43=Y|122=20240102-03:04:05.000|36=13|123=Y|");
    EXPECT_FALSE(peer.closed_);
    peer.give("5", "");
    EXPECT_EQ(peer.closed_, Disconnect::logged_out);
}

TEST(SessionResend, NoMessageFollowsOurAnswerToALogout) {
    Peer peer{{.resend_burst = 4}};
    peer.log_on();
    for (int i = 0; i < 10; ++i) ASSERT_TRUE(peer.order("x"));
    peer.give("2", "7=2|16=0|");
    peer.give("5", "");
    ASSERT_TRUE(peer.sent_.back().starts_with("35=5|")) << peer.sent_.back();
    peer.session_.on_writable(peer.now_);
    peer.pass(kSecond);
    EXPECT_TRUE(peer.sent_.back().starts_with("35=5|")) << peer.sent_.back();
    EXPECT_FALSE(peer.closed_);
    peer.pass(10 * kSecond);
    EXPECT_EQ(peer.closed_, Disconnect::logged_out);
}

TEST(SessionResend, LostMessagesAreReportedOnceForEachRequestWithTheirSum) {
    Peer peer;
    peer.log_on();
    for (const auto next : {10U, 20U, 30U}) {
        peer.store_.set_next_sender(next);
        ASSERT_TRUE(peer.order("x"));
    }
    peer.give("2", "7=1|16=25|");
    ASSERT_EQ(peer.lost_.size(), 1U);
    EXPECT_EQ(peer.lost_[0].first, 1U);
    EXPECT_EQ(peer.lost_[0].last, 25U);
    EXPECT_EQ(peer.lost_[0].messages, 8U + 9U + 5U);  // 1 is the Logon
    EXPECT_EQ(peer.lost_[0].gap_fills, 3U);
    peer.give("2", "7=21|16=0|");
    ASSERT_EQ(peer.lost_.size(), 2U);
    EXPECT_EQ(peer.lost_[1].messages, 9U);
    EXPECT_EQ(peer.session_.counters().lost.read(), 31U);
    EXPECT_EQ(peer.session_.counters().lost_fills.read(), 4U);
    EXPECT_EQ(peer.session_.counters().lost_requests.read(), 2U);
}

TEST(SessionResend, LostMessagesAreReportedWhenTheAnswerIsCutOffToo) {
    Peer peer{{.resend_burst = 1}};
    peer.log_on();
    peer.store_.set_next_sender(10);
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(peer.order("x"));
    peer.give("2", "7=2|16=0|");
    EXPECT_TRUE(peer.lost_.empty());
    peer.give("2", "7=5|16=0|");  // another request replaces it
    ASSERT_EQ(peer.lost_.size(), 1U);
    EXPECT_EQ(peer.lost_[0].messages, 8U);
    EXPECT_EQ(peer.lost_[0].last, 10U);
    peer.session_.on_disconnect(peer.now_);
    ASSERT_EQ(peer.lost_.size(), 2U);
    EXPECT_EQ(peer.lost_[1].messages, 5U);
}

TEST(SessionResend, AGapFillForLostHistoryIsReportedOnceAndOthersAreNot) {
    Peer peer;
    peer.log_on();
    for (int i = 0; i < 3; ++i) peer.give("1", "112=x|");
    peer.give("2", "7=1|16=4|");  // session messages are filled too
    EXPECT_TRUE(peer.lost_.empty());
    const std::string filler(700, 'x');
    for (int i = 0; i < 200; ++i) ASSERT_TRUE(peer.order(filler));
    const auto ask = [&] {
        peer.give("2", "7=1|16=0|");
        while (peer.session_.next_deadline_ns() <= peer.now_.monotonic_ns) peer.session_.on_timer(peer.now_);
    };
    ask();
    ASSERT_EQ(peer.lost_.size(), 1U);
    EXPECT_EQ(peer.lost_[0].first, 1U);
    EXPECT_EQ(peer.lost_[0].last, peer.store_.next_sender() - 1);
    EXPECT_EQ(peer.lost_[0].gap_fills, 1U);
    EXPECT_TRUE(peer.store_.retrieve(peer.lost_[0].messages + 1));
    EXPECT_FALSE(peer.store_.retrieve(peer.lost_[0].messages));
    EXPECT_EQ(peer.session_.counters().lost.read(), peer.lost_[0].messages);
    ask();
    EXPECT_EQ(peer.lost_.size(), 2U);
    EXPECT_EQ(peer.session_.counters().lost_fills.read(), 2U);
}

TEST(SessionResend, LostMessagesAreGapFilled) {
    Peer peer;
    peer.log_on();
    const std::string filler(700, 'x');
    for (int i = 0; i < 200; ++i) ASSERT_TRUE(peer.order(filler));
    static_cast<void>(peer.sent());
    peer.give("2", "7=1|16=0|");
    while (peer.session_.next_deadline_ns() <= peer.now_.monotonic_ns) peer.session_.on_timer(peer.now_);
    ASSERT_FALSE(peer.sent_.empty());
    EXPECT_TRUE(peer.sent_.front().starts_with("35=4|34=1|43=Y|")) << peer.sent_.front();
    EXPECT_GT(peer.session_.counters().resent.read(), 30U);
    EXPECT_EQ(peer.session_.counters().gap_fills.read(), 1U);
}

TEST(SessionResend, ADamagedMessageIsFilledAndCountedAndTheOthersAreResent) {
    Peer peer;
    peer.log_on();
    for (int i = 0; i < 5; ++i) ASSERT_TRUE(peer.order("x"));
    const auto text = peer.store_.retrieve(4);
    ASSERT_TRUE(text);
    const_cast<char&>(text->back()) ^= 1;  // like a fault of disk or memory
    static_cast<void>(peer.sent());
    peer.give("2", "7=2|16=0|");
    ASSERT_EQ(peer.sent_.size(), 5U);
    EXPECT_TRUE(peer.sent_[1].starts_with("35=D|34=3|43=Y|"));
    EXPECT_TRUE(peer.sent_[2].starts_with("35=4|34=4|43=Y|")) << peer.sent_[2];
    EXPECT_TRUE(peer.sent_[2].ends_with("36=5|123=Y|")) << peer.sent_[2];
    EXPECT_TRUE(peer.sent_[3].starts_with("35=D|34=5|43=Y|"));
    ASSERT_EQ(peer.lost_.size(), 1U);
    EXPECT_EQ(peer.lost_[0].messages, 1U);
    EXPECT_EQ(peer.lost_[0].damaged, 1U);
    EXPECT_EQ(peer.store_.counters().damaged.read(), 1U);
}

TEST(SessionResend, BeginStringBodyLengthCheckSumAndNumberAreCheckedBeforeAMessageIsSentAgain) {
    const auto right = [](std::uint64_t number) {
        return message_of("FIX.4.4", "35=D|34=" + std::to_string(number) + "|49=WE|52=20240102-03:04:05|56=YOU|58=x|");
    };
    auto wrong_sum = right(4);
    wrong_sum[wrong_sum.size() - 2] = wrong_sum[wrong_sum.size() - 2] == '0' ? '1' : '0';
    auto wrong_length = right(4);
    wrong_length.insert(wrong_length.find("58=x") + 4, 1, 'y');
    for (const auto& [text, is_sent] :
         {std::pair{right(4), true}, std::pair{wrong_sum, false}, std::pair{wrong_length, false},
          std::pair{message_of("FIX.4.2", "35=D|34=4|49=WE|52=20240102-03:04:05|56=YOU|58=x|"), false},
          std::pair{right(3), false}, std::pair{right(4) + right(4), false}}) {
        Peer peer;
        peer.log_on();
        ASSERT_TRUE(peer.order("x"));
        ASSERT_TRUE(peer.order("x"));
        ASSERT_TRUE(peer.store_.store(text));
        peer.store_.mark_written(4);
        ASSERT_TRUE(peer.order("x"));
        static_cast<void>(peer.sent());
        peer.give("2", "7=3|16=0|");
        ASSERT_EQ(peer.sent_.size(), 3U);
        EXPECT_EQ(peer.sent_[1].starts_with("35=D|34=4|43=Y|"), is_sent) << text;
        EXPECT_EQ(peer.sent_[1].starts_with("35=4|34=4|43=Y|"), !is_sent) << text;
        EXPECT_EQ(peer.store_.counters().damaged.read(), is_sent ? 0U : 1U);
        EXPECT_EQ(peer.lost_.size(), is_sent ? 0U : 1U);
    }
}

TEST(SessionResend, ALongResendContinuesInBurstsAndWaitsForACongestedPeer) {
    Peer peer{{.resend_burst = 4}};
    peer.log_on();
    for (int i = 0; i < 10; ++i) ASSERT_TRUE(peer.order("x"));
    static_cast<void>(peer.sent());
    peer.give("2", "7=1|16=0|");
    EXPECT_EQ(peer.sent_.size(), 5U);  // a gap fill and four orders
    peer.congested_ = true;
    peer.session_.on_timer(peer.now_);
    EXPECT_EQ(peer.sent_.size(), 5U);
    EXPECT_GT(peer.session_.next_deadline_ns(), peer.now_.monotonic_ns);
    peer.congested_ = false;
    peer.session_.on_writable(peer.now_);
    EXPECT_EQ(peer.sent_.size(), 9U);
    peer.pass(0);
    EXPECT_EQ(peer.sent_.size(), 11U);
}

/// Refuses to resend the orders with these ids.
class Choosy : public Peer {
public:
    using Peer::Peer;
    bool may_resend(const Message& message) override {
        asked_.emplace_back(message.text(11).value_or(""));
        if (on_asked_) on_asked_();
        return std::ranges::find(refused_, asked_.back()) == refused_.end();
    }
    void orders(std::initializer_list<const char*> ids) {
        for (const auto* id : ids) ASSERT_TRUE(order(id));
        static_cast<void>(sent());
    }

    std::vector<std::string> refused_;
    std::vector<std::string> asked_;
    std::function<void()> on_asked_;
};

TEST(SessionResend, RefusedMessagesAreGapFilledTogetherWithAdjacentSessionMessages) {
    Choosy peer;
    peer.log_on();
    peer.refused_ = {"a", "b", "d"};
    peer.orders({"a", "b"});
    peer.give("1", "112=x|");
    peer.orders({"c", "d"});
    peer.give("2", "7=1|16=0|");
    EXPECT_EQ(peer.sent(),
              "35=4|34=1|43=Y|122=20240102-03:04:05.000|36=5|123=Y|\n"
              "35=D|34=5|43=Y|122=20240102-03:04:05.000|11=c|55=MSFT|\n"
              "35=4|34=6|43=Y|122=20240102-03:04:05.000|36=7|123=Y|\n");
    EXPECT_EQ(peer.asked_, (std::vector<std::string>{"a", "b", "c", "d"}));
    EXPECT_EQ(peer.session_.counters().withheld.read(), 3U);
    EXPECT_EQ(peer.session_.counters().lost.read(), 0U);  // they are in the store
    EXPECT_TRUE(peer.lost_.empty());
    EXPECT_EQ(peer.store_.next_sender(), 7U);
}

TEST(SessionResend, AGapFillForRefusedMessagesEndsWithTheRequestedRange) {
    Choosy peer;
    peer.log_on();
    peer.orders({"a", "b", "c", "d", "e"});  // 2 to 6
    peer.refused_ = {"a", "b", "c", "d", "e"};
    // In chunks, as requested by a peer with a limit.
    peer.give("2", "7=2|16=3|");
    EXPECT_EQ(peer.sent(), "35=4|34=2|43=Y|122=20240102-03:04:05.000|36=4|123=Y|\n");
    peer.give("2", "7=4|16=5|");
    EXPECT_EQ(peer.sent(), "35=4|34=4|43=Y|122=20240102-03:04:05.000|36=6|123=Y|\n");
    peer.give("2", "7=6|16=0|");
    EXPECT_EQ(peer.sent(), "35=4|34=6|43=Y|122=20240102-03:04:05.000|36=7|123=Y|\n");
}

TEST(SessionResend, RefusedMessagesAreGapFilledOnceEvenIfTheAnswerIsSentInBursts) {
    Choosy peer{{.resend_burst = 1}};
    peer.log_on();
    peer.orders({"a", "b", "c", "d", "e"});
    peer.refused_ = {"b", "c", "e"};
    peer.give("2", "7=2|16=0|");
    EXPECT_EQ(peer.sent(), "35=D|34=2|43=Y|122=20240102-03:04:05.000|11=a|55=MSFT|\n");
    peer.pass(0);
    EXPECT_EQ(peer.sent(),
              "35=4|34=3|43=Y|122=20240102-03:04:05.000|36=5|123=Y|\n"
              "35=D|34=5|43=Y|122=20240102-03:04:05.000|11=d|55=MSFT|\n"
              "35=4|34=6|43=Y|122=20240102-03:04:05.000|36=7|123=Y|\n");
    EXPECT_EQ(peer.session_.counters().withheld.read(), 3U);
}

TEST(SessionResend, ASecondRequestAfterTheFirstOmitsNothingOfTheFirst) {
    Choosy peer{{.resend_burst = 1}};
    peer.log_on();
    peer.orders({"a", "b", "c", "d", "e"});
    peer.refused_ = {"c"};
    peer.give("2", "7=2|16=4|");
    EXPECT_EQ(peer.sent(), "35=D|34=2|43=Y|122=20240102-03:04:05.000|11=a|55=MSFT|\n");
    peer.congested_ = true;
    peer.give("2", "7=5|16=6|");  // before 3 and 4 are answered
    EXPECT_EQ(peer.sent(), "");
    peer.congested_ = false;
    peer.pass(0);
    EXPECT_EQ(peer.sent(),
              "35=D|34=3|43=Y|122=20240102-03:04:05.000|11=b|55=MSFT|\n"
              "35=4|34=4|43=Y|122=20240102-03:04:05.000|36=5|123=Y|\n"
              "35=D|34=5|43=Y|122=20240102-03:04:05.000|11=d|55=MSFT|\n"
              "35=D|34=6|43=Y|122=20240102-03:04:05.000|11=e|55=MSFT|\n");
}

TEST(SessionResend, ASecondRequestForTheSameRangeIsAnsweredAgainWithTheCurrentRefusals) {
    Choosy peer{{.resend_burst = 1}};
    peer.log_on();
    peer.orders({"a", "b", "c"});
    peer.give("2", "7=2|16=0|");
    peer.pass(0);
    EXPECT_EQ(peer.sent_.size(), 3U);
    peer.give("2", "7=2|16=0|");
    peer.refused_ = {"b", "c"};
    static_cast<void>(peer.sent());
    peer.give("2", "7=2|16=0|");
    peer.pass(0);
    EXPECT_EQ(peer.sent(),
              "35=D|34=2|43=Y|122=20240102-03:04:05.000|11=a|55=MSFT|\n"
              "35=4|34=3|43=Y|122=20240102-03:04:05.000|36=5|123=Y|\n");
}

TEST(SessionResend, NoMessageIsSentWhileTheApplicationDecides) {
    Choosy peer;
    peer.log_on();
    peer.orders({"a"});
    peer.on_asked_ = [&] {
        EXPECT_FALSE(peer.order("from within"));
        peer.session_.logout("from within", peer.now_);
    };
    peer.give("2", "7=2|16=0|");
    EXPECT_EQ(peer.sent(), "35=D|34=2|43=Y|122=20240102-03:04:05.000|11=a|55=MSFT|\n");
    EXPECT_EQ(peer.session_.state(), Session::State::active);
    EXPECT_TRUE(peer.order("afterwards"));
}

TEST(SessionResend, ARequestThatComesEarlyIsAnsweredBeforeTheOwnGapIsRequested) {
    Peer peer;
    peer.log_on();
    ASSERT_TRUE(peer.order("a"));
    static_cast<void>(peer.sent());
    peer.give("2", 4, "7=2|16=2|");
    EXPECT_EQ(peer.sent(),
              "35=D|34=2|43=Y|122=20240102-03:04:05.000|11=a|55=MSFT|\n"
              "35=2|34=3|7=2|16=0|\n");
    peer.give("D", 2, "11=a|", poss_dup(peer));
    peer.give("D", 3, "11=b|", poss_dup(peer));
    EXPECT_EQ(peer.sent(), "");
    EXPECT_EQ(peer.store_.next_target(), 5U);
}

TEST(SessionResend, ARequestFromNumberZeroIsRejected) {
    Peer peer;
    peer.log_on();
    peer.give("2", "7=0|16=0|");
    EXPECT_EQ(peer.sent(), "35=3|34=2|45=2|58=Value is incorrect (out of range) for this tag|371=7|372=2|373=5|\n");
}

TEST(SessionResend, ARequestThatEndsBeforeItBeginsIsRejected) {
    Peer peer;
    peer.log_on();
    for (int i = 0; i < 4; ++i) ASSERT_TRUE(peer.order(std::to_string(i)));
    static_cast<void>(peer.sent());
    peer.give("2", "7=4|16=2|");
    EXPECT_EQ(peer.sent(), "35=3|34=6|45=2|58=EndSeqNo=2 is below BeginSeqNo=4|371=16|372=2|373=5|\n");
    EXPECT_EQ(peer.store_.next_target(), 3U);
    // With a number that is too high the gap before it is requested too.
    peer.give("2", 5, "7=4|16=3|");
    EXPECT_EQ(peer.sent(),
              "35=3|34=7|45=5|58=EndSeqNo=3 is below BeginSeqNo=4|371=16|372=2|373=5|\n"
              "35=2|34=8|7=3|16=0|\n");
}

TEST(SessionResend, AResendWithoutProgressForTheTimeoutIsRequestedAgain) {
    Peer peer{{.resend_timeout_ns = 3 * kSecond}};
    peer.log_on("98=0|108=0|");
    peer.give("D", 4, "11=c|");
    EXPECT_EQ(peer.sent(), "35=2|34=2|7=2|16=0|\n");
    EXPECT_EQ(peer.session_.next_deadline_ns(), peer.now_.monotonic_ns + 3 * kSecond);
    peer.pass(3 * kSecond - 1);
    EXPECT_EQ(peer.sent(), "");
    peer.pass(1);
    EXPECT_EQ(peer.sent(), "35=2|34=3|7=2|16=0|\n");
    // Each message restarts the timeout; the last one ends it.
    peer.pass(2 * kSecond);
    peer.give("D", 2, "11=a|", poss_dup(peer));
    peer.pass(3 * kSecond - 1);
    EXPECT_EQ(peer.sent(), "");
    peer.give("D", 3, "11=b|", poss_dup(peer));
    peer.pass(60 * kSecond);
    EXPECT_EQ(peer.sent(), "");
    EXPECT_EQ(peer.delivered_, (std::vector<std::uint64_t>{2, 3, 4}));
}

}  // namespace
}  // namespace millpond::fix
