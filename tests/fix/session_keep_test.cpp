// Messages stored while a session is not logged on, requests beyond its last number, and warm-ups, which change
// nothing.

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fix/session_peer.hpp"
#include "tests/support/allocation_counter.hpp"

namespace millpond::fix {
namespace {

using ::testing::HasSubstr;

bool keep(Peer& peer, std::string_view id) {
    return peer.session_.keep("D", peer.now_, [&](Writer& writer) { writer.add<tag::kClOrdId>(id); });
}

TEST(SessionKeep, AMessageOfADisconnectedSessionIsResentOnRequest) {
    Peer peer;
    EXPECT_TRUE(peer.session_.may_keep(peer.now_));
    EXPECT_TRUE(keep(peer, "one"));
    EXPECT_TRUE(keep(peer, "two"));
    EXPECT_EQ(peer.sent(), "");
    EXPECT_EQ(peer.store_.next_sender(), 3U);
    EXPECT_EQ(peer.session_.counters().kept.read(), 2U);
    peer.session_.on_connect(peer.now_);
    peer.give("A", "98=0|108=30|");
    EXPECT_THAT(peer.sent(), HasSubstr("35=A|34=3|"));
    EXPECT_FALSE(peer.session_.may_keep(peer.now_));
    EXPECT_FALSE(keep(peer, "three"));
    peer.give("2", "7=1|16=0|");
    const auto sent = peer.sent();
    EXPECT_THAT(sent, HasSubstr("35=D|34=1|43=Y|"));
    EXPECT_THAT(sent, HasSubstr("11=one|"));
    EXPECT_THAT(sent, HasSubstr("35=D|34=2|43=Y|"));
}

TEST(SessionKeep, ANewRunOfTheScheduleBeginsWithTheFirstMessageThatIsKept) {
    SessionConfig config;
    config.schedule = Schedule::daily(0, 0);
    Peer peer{config};
    EXPECT_TRUE(keep(peer, "today"));
    peer.pass(24 * 3600 * kSecond);
    EXPECT_TRUE(keep(peer, "tomorrow"));
    EXPECT_EQ(peer.store_.next_sender(), 2U);
    EXPECT_THAT(std::string{*peer.store_.retrieve(1)}, HasSubstr("11=tomorrow"));
}

TEST(SessionKeep, AFullStoreHasCapacityForTheLogonAndKeptMessagesAreResent) {
    Peer peer{{.resend_burst = 1'000}};
    peer.socket_accepts_ = false;  // the socket accepts nothing
    std::uint64_t kept = 0;
    while (keep(peer, std::string(100 + kept % 200, 'x'))) ++kept;
    EXPECT_GT(kept, 10U);
    EXPECT_EQ(peer.store_.next_sender(), kept + 1);
    EXPECT_EQ(peer.store_.counters().refused.read(), 1U);
    EXPECT_EQ(peer.store_.counters().overwritten.read(), 0U);
    peer.session_.on_connect(peer.now_);
    peer.give("A", "98=0|108=30|");
    EXPECT_EQ(peer.session_.state(), Session::State::active);
    EXPECT_THAT(peer.sent(), HasSubstr("35=A|34=" + std::to_string(kept + 1) + "|"));
    peer.store_.mark_written(kept + 1);
    peer.give("2", "7=1|16=" + std::to_string(kept) + "|");
    EXPECT_EQ(peer.session_.counters().resent.read(), kept);
    EXPECT_EQ(peer.session_.counters().lost.read(), 0U);
    ASSERT_TRUE(peer.order("next"));
}

TEST(SessionKeep, ARequestBeyondTheLastNumberIsRejectedAndNamed) {
    Peer peer;
    peer.log_on();
    peer.give("2", "7=3|16=0|");  // our Logon was 1: there is no 3
    EXPECT_THAT(peer.sent(),
                HasSubstr("35=3|34=2|45=2|58=BeginSeqNo=3 is beyond the last number sent, 1|371=7|372=2|373=5|"));
    EXPECT_EQ(peer.session_.counters().beyond.read(), 1U);
    EXPECT_EQ(peer.session_.state(), Session::State::active);
    // A request from the next number on needs no answer.
    peer.give("2", "7=3|16=0|");
    EXPECT_EQ(peer.sent(), "");
    // A request in a message with a gap before it is answered likewise, and the gap is requested.
    peer.give("2", 9, "7=100|16=101|");
    const auto sent = peer.sent();
    EXPECT_THAT(sent, HasSubstr("BeginSeqNo=100 is beyond"));
    EXPECT_THAT(sent, HasSubstr("35=2|"));
    EXPECT_EQ(peer.session_.counters().beyond.read(), 2U);
}

TEST(SessionKeep, WarmingUpSendsNothingUsesNoNumberAndNoHeap) {
    Peer peer;
    peer.log_on();
    const auto before = peer.store_.counters().stored.read();
    peer.session_.warm_up(peer.now_);
    const test::AllocationCounter allocations;
    for (int i = 0; i < 100; ++i) peer.session_.warm_up(peer.now_);
    EXPECT_EQ(allocations.allocations(), 0U);
    EXPECT_EQ(peer.sent(), "");
    EXPECT_EQ(peer.store_.counters().stored.read(), before);
    EXPECT_EQ(peer.store_.next_sender(), 2U);
    // Messages between the warm-ups are processed as usual.
    ASSERT_TRUE(peer.session_.send("D", peer.now_, [](Writer& writer) { writer.add<tag::kClOrdId>("x"); }));
    EXPECT_EQ(peer.sent(), "35=D|34=2|11=x|\n");
    peer.give("D", "11=y|");
    peer.session_.warm_up(peer.now_);
    peer.give("2", "7=2|16=2|");
    EXPECT_THAT(peer.sent(), HasSubstr("35=D|34=2|43=Y|"));
}

TEST(SessionKeep, WarmingUpAStoreThatIsAboutToWrapChangesNothing) {
    Peer peer;
    peer.log_on();
    for (int i = 0; i < 5'000; ++i) {
        peer.session_.warm_up(peer.now_);
        ASSERT_TRUE(peer.session_.send("D", peer.now_, [&](Writer& writer) {
            writer.add<tag::kClOrdId>(i).add<tag::kText>(std::string_view{"a text that makes the message longer"});
        }));
    }
    static_cast<void>(peer.sent());
    peer.give("2", "7=4999|16=4999|");
    EXPECT_THAT(peer.sent(), HasSubstr("34=4999|43=Y|"));
}

}  // namespace
}  // namespace millpond::fix
