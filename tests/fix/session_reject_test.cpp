#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/fix/session_peer.hpp"
#include "tests/fix/small_dictionary.hpp"

namespace millpond::fix {
namespace {

TEST(SessionIdentity, AWrongCompIdIsRejectedAndLoggedOut) {
    for (const auto& [ids, tag] : {std::pair{"49=HE|52=%|56=WE|", "49"}, {"49=YOU|52=%|56=THEM|", "56"}}) {
        Peer peer;
        peer.log_on();
        std::string header = ids;
        header.replace(header.find('%'), 1, peer.time());
        peer.give_whole("35=D|34=2|" + header + "11=a|");
        EXPECT_EQ(peer.sent(), "35=3|34=2|45=2|58=CompID problem|371=" + std::string{tag} +
                                   "|372=D|373=9|\n35=5|34=3|58=CompID problem|\n");
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
        EXPECT_EQ(peer.sent(),
                  "35=3|34=2|45=2|58=SendingTime accuracy problem|371=52|372=0|373=10|\n"
                  "35=5|34=3|58=SendingTime accuracy problem|\n");
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
    peer.pass(10 * kSecond);
    EXPECT_EQ(peer.closed_, Disconnect::logout_timeout);
}

TEST(SessionIdentity, ASendingTimeCenturiesAwayIsRejectedToo) {
    for (const auto* time : {"16780101-00:00:00", "22611231-23:59:60"}) {
        Peer peer;
        peer.log_on();
        peer.give_whole("35=0|34=2|49=YOU|52=" + std::string{time} + "|56=WE|");
        EXPECT_NE(peer.sent().find("58=SendingTime accuracy problem|371=52|"), std::string::npos);
    }
}

TEST(SessionIdentity, WithQuickFixRepliesNeitherTheFieldNorTheLogoutsReasonIsNamed) {
    Peer peer{{.quickfix_replies = true}};
    peer.log_on();
    peer.give_whole("35=0|34=2|49=YOU|52=" + peer.time(200 * kSecond) + "|56=WE|");
    EXPECT_EQ(peer.sent(), "35=3|34=2|45=2|58=SendingTime accuracy problem|372=0|373=10|\n35=5|34=3|\n");
    Peer ids{{.quickfix_replies = true}};
    ids.log_on();
    ids.give_whole("35=0|34=2|49=HE|52=" + ids.time() + "|56=WE|");
    EXPECT_EQ(ids.sent(), "35=3|34=2|45=2|58=CompID problem|372=0|373=9|\n35=5|34=3|\n");
}

TEST(SessionIdentity, AnApplVerIdOfAnotherVersionIsRejected) {
    Peer peer{{.version = Version::fixt11}};
    peer.log_on("98=0|108=30|1137=9|");
    peer.give("D", 2, "11=a|", "1128=7|");
    EXPECT_EQ(peer.sent(), "35=3|34=2|45=2|58=Invalid/Unsupported Application Version|371=1128|372=D|373=18|\n");
    EXPECT_TRUE(peer.delivered_.empty());
    peer.give("D", 3, "11=b|", "1128=9|");
    peer.give("D", 4, "11=c|");
    EXPECT_EQ(peer.delivered_, (std::vector<std::uint64_t>{3, 4}));
    EXPECT_EQ(peer.sent(), "");
}

TEST(SessionReject, MembersOfAGroupOutOfTheDictionarysOrderAreRejectedUnlessTheOrderIsFree) {
    const auto dictionary = small_dictionary();
    Peer strict{{}, &dictionary};
    strict.log_on();
    strict.give("D", 2, "11=a|40=1|453=2|448=x|452=1|448=y|802=1|523=s|452=2|");
    EXPECT_EQ(strict.sent(), "35=3|34=2|45=2|58=Repeating group fields out of order|371=452|372=D|373=15|\n");
    strict.give("D", 3, "11=a|40=1|453=2|448=x|452=1|448=y|452=2|802=1|523=s|");
    EXPECT_EQ(strict.delivered_, std::vector<std::uint64_t>{3});
    Peer free{{.validation = {.members_are_in_order = false}}, &dictionary};
    free.log_on();
    free.give("D", 2, "11=a|40=1|453=1|448=y|802=1|523=s|452=2|");
    EXPECT_EQ(free.delivered_, std::vector<std::uint64_t>{2});
}

TEST(SessionReject, AnUnknownMsgTypeIsRejectedWithItsField) {
    const auto dictionary = small_dictionary();
    Peer peer{{}, &dictionary};
    peer.log_on();
    peer.give("ZZ", "11=a|");
    EXPECT_EQ(peer.sent(), "35=3|34=2|45=2|58=Invalid MsgType|371=35|372=ZZ|373=11|\n");
    Peer quickfix{{.quickfix_replies = true}, &dictionary};
    quickfix.log_on();
    quickfix.give("ZZ", "11=a|");
    EXPECT_EQ(quickfix.sent(), "35=3|34=2|45=2|58=Invalid MsgType|372=ZZ|373=11|\n");
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

}  // namespace
}  // namespace millpond::fix
