#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace millpond::fix
