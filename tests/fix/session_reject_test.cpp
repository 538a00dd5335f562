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

TEST(SessionRejects, AValueOfAnyLengthIsDeliveredIfItHasTheFormOfItsType) {
    const auto dictionary = small_dictionary();
    for (const auto* field :
         {"44=12.000000000000000000|", "44=0.00000000000000000000|", "44=12345.123456789012345678|",
          "44=100000000000000000000|", "38=-0.0000000000000000000001|", "60=99991231-23:59:59.999|"}) {
        Peer peer{{}, &dictionary};
        peer.log_on();
        peer.give("D", 2, "11=a|40=2|" + std::string{field});
        EXPECT_EQ(peer.sent(), "") << field;
        EXPECT_EQ(peer.delivered_, std::vector<std::uint64_t>{2}) << field;
    }
    for (const auto* field : {"44=1e5|", "44=1.2.3|", "44=.|", "38=1,000|", "60=99991331-23:59:59|"}) {
        Peer peer{{}, &dictionary};
        peer.log_on();
        peer.give("D", 2, "11=a|40=2|" + std::string{field});
        EXPECT_NE(peer.sent().find("373=6"), std::string::npos) << field;
    }
}

TEST(SessionRejects, EachRejectIsReportedWithNumberTypeFieldAndReason) {
    const auto dictionary = small_dictionary();
    const auto reported = [&](std::string_view type, const std::string& body, const std::string& header = "",
                              SessionConfig config = {}) {
        Peer peer{std::move(config), &dictionary};
        peer.log_on();
        peer.give(type, 2, body, header);
        EXPECT_EQ(peer.rejected_.size(), 1U) << body;
        EXPECT_FALSE(peer.sent().empty());
        return peer.rejected_.empty() ? "" : peer.rejected_.front();
    };
    EXPECT_EQ(reported("D", "11=a|40=2|44=1e5|"), "2 D 44=1e5 Incorrect data format for value");
    EXPECT_EQ(reported("D", "11=a|40=2|44=1e5|", "", {.quickfix_replies = true}),
              "2 D 44=1e5 Incorrect data format for value");
    EXPECT_EQ(reported("D", "11=a|"), "2 D 40= Required tag missing");
    EXPECT_EQ(reported("D", "11=a|40=9|"), "2 D 40=9 Value is incorrect (out of range) for this tag");
    EXPECT_EQ(reported("D", "11=a|40=2|11=b|"), "2 D 11=b Tag appears more than once");
    EXPECT_EQ(reported("XX", "11=a|"), "2 XX 35=XX Invalid MsgType");
    EXPECT_EQ(reported("D", "11=a|40=2|", "43=Y|"), "2 D 122= Required tag missing");
    EXPECT_EQ(reported("D", "11=a|40=2|", "43=Y|122=20990101-00:00:00|"),
              "2 D 122=20990101-00:00:00 SendingTime accuracy problem");
    Peer business;
    business.log_on();
    business.give("8", 2, "11=a|");
    EXPECT_EQ(business.rejected_, std::vector<std::string>{"2 8 = Unsupported Message Type"});
    Peer garbled{{.reject_garbled = true}};
    garbled.log_on();
    auto bytes = message_of("FIX.4.4", "35=D|34=2|49=YOU|52=" + garbled.time() + "|56=WE|11=a|");
    bytes[bytes.size() - 2] = bytes[bytes.size() - 2] == '0' ? '1' : '0';
    garbled.give_bytes(bytes);
    EXPECT_EQ(garbled.rejected_, std::vector<std::string>{"2 D = garbled: CheckSum or a field is wrong"});
}

TEST(SessionRejects, AMessageThatIsTooLongIsReportedAndRejectedWhenItComesAgain) {
    Peer peer{{.max_message_bytes = 4096}};
    peer.log_on();
    const std::string long_text = "58=" + std::string(5'000, 'x') + "|";
    peer.give("D", 2, long_text);
    EXPECT_EQ(peer.sent(), "");
    EXPECT_EQ(peer.rejected_, std::vector<std::string>{"2 D = longer than max_message_bytes"});
    EXPECT_EQ(peer.session_.counters().too_long.read(), 1U);
    EXPECT_EQ(peer.session_.counters().garbled.read(), 0U);
    peer.give("D", 3, "11=after|");
    EXPECT_EQ(peer.sent(), "35=2|34=2|7=2|16=0|\n");
    peer.give("D", 2, long_text, poss_dup(peer));
    const auto reject = peer.sent();
    EXPECT_TRUE(reject.starts_with("35=3|34=3|45=2|58=message of 5")) << reject;
    EXPECT_NE(reject.find("bytes is longer than the 4096 allowed|372=D|"), std::string::npos) << reject;
    EXPECT_EQ(peer.delivered_, std::vector<std::uint64_t>{3});
    peer.pass(60 * kSecond);
    EXPECT_EQ(peer.session_.counters().requests.read(), 1U);
    EXPECT_EQ(peer.rejected_.size(), 2U);
}

TEST(SessionRejects, EachOfSeveralMessagesThatAreTooLongIsRejectedInItsTurn) {
    Peer peer{{.max_message_bytes = 4096}};
    peer.log_on();
    const std::string long_text = "58=" + std::string(5'000, 'x') + "|";
    peer.give("D", 2, long_text);
    peer.give("D", 3, long_text);
    peer.give("D", 4, "11=after|");
    EXPECT_EQ(peer.sent(), "35=2|34=2|7=2|16=0|\n");
    for (const auto number : {2U, 3U}) {
        peer.give("D", 2, long_text, poss_dup(peer));
        peer.give("D", 3, long_text, poss_dup(peer));
        const auto sent = peer.sent();
        EXPECT_NE(sent.find("|45=" + std::to_string(number) + "|58=message of 5"), std::string::npos) << sent;
    }
    EXPECT_EQ(peer.delivered_, std::vector<std::uint64_t>{4});
    EXPECT_EQ(peer.store_.next_target(), 5U);
    peer.pass(60 * kSecond);
    EXPECT_EQ(peer.session_.counters().requests.read(), 1U);
    EXPECT_EQ(peer.session_.counters().rejected.read(), 2U);
}

TEST(SessionRejects, AMessageThatIsTooLongBeforeAResetIsNotSeenAgainAfterIt) {
    Peer peer{{.max_message_bytes = 4096}};
    peer.log_on();
    const std::string long_text = "58=" + std::string(5'000, 'x') + "|";
    peer.give("D", 2, long_text);
    peer.give("4", 7, "36=2|");
    peer.give("D", 2, long_text);
    EXPECT_EQ(peer.sent(), "");
    EXPECT_EQ(peer.store_.next_target(), 2U);
    EXPECT_EQ(peer.rejected_.size(), 2U);
}

TEST(SessionRejects, TypeAndNumberOfAMessageThatIsTooLongMayComeLater) {
    Peer peer{{.max_message_bytes = 4096}};
    peer.log_on();
    const auto front = delimited("8=FIX.4.4|9=70000|");
    const auto rest = delimited("35=D|34=2|49=YOU|");
    EXPECT_EQ(peer.session_.on_bytes(bytes_of(front), peer.now_), 0U);
    EXPECT_TRUE(peer.rejected_.empty());
    peer.give_bytes(front + rest);
    EXPECT_EQ(peer.rejected_, std::vector<std::string>{"2 D = longer than max_message_bytes"});
}

TEST(SessionRejects, AMessageThatIsTooLongAtTheLogonIsTheReasonOfTheRefusal) {
    Peer peer{{.max_message_bytes = 4096}};
    peer.session_.on_connect(peer.now_);
    peer.give("A", "98=0|108=30|58=" + std::string(5'000, 'x') + "|");
    ASSERT_EQ(peer.refusals_.size(), 1U);
    EXPECT_NE(peer.refusals_.front().find("longer than the 4096 allowed"), std::string::npos) << peer.refusals_.front();
}

TEST(SessionRejects, ValuesThatTheDictionaryDoesNotListPassIfTheyMay) {
    const auto dictionary = small_dictionary();
    Peer peer{{.validation = {.values_are_known = false}}, &dictionary};
    peer.log_on();
    peer.give("D", 2, "11=a|40=9|18=1 Z|");
    peer.give("D", 3, "11=a|40=99|");  // not of the field's type
    EXPECT_EQ(peer.delivered_, std::vector<std::uint64_t>{2});
    EXPECT_NE(peer.sent().find("371=40|372=D|373=6|"), std::string::npos);
}

TEST(SessionRejects, PossDupMessagesWithoutOrigSendingTimeAreDeliveredIfItIsNotRequired) {
    Peer peer{{.requires_orig_sending_time = false}};
    peer.log_on();
    peer.give("D", 2, "11=a|", "43=Y|");
    peer.give("D", 2, "11=a|", "43=Y|");  // a duplicate
    EXPECT_EQ(peer.sent(), "");
    EXPECT_EQ(peer.delivered_, std::vector<std::uint64_t>{2});
    EXPECT_EQ(peer.session_.counters().duplicates.read(), 1U);
    peer.give("D", 3, "11=b|", "43=Y|122=yesterday|");
    EXPECT_EQ(peer.delivered_, std::vector<std::uint64_t>{2});
    EXPECT_NE(peer.sent().find("371=122|"), std::string::npos);
}

TEST(SessionRejects, ANumberThatIsTooLowIsRejectedInPlaceOfALogoutIfTheCounterpartyWantsIt) {
    Peer peer{{.reject_low_sequence = true}};
    peer.log_on();
    peer.give("D", 2, "11=a|");
    peer.give("D", 1, "11=b|");
    EXPECT_EQ(peer.sent(), "35=3|34=2|45=1|58=MsgSeqNum too low, expecting 3 but received 1|371=34|372=D|373=5|\n");
    EXPECT_EQ(peer.closed_, Disconnect::sequence_too_low);
    Peer logon{{.reject_low_sequence = true}};
    logon.store_.set_next_target(5);
    logon.session_.on_connect(logon.now_);
    logon.give("A", 1, "98=0|108=30|");
    EXPECT_EQ(logon.sent(), "35=3|34=1|45=1|58=MsgSeqNum too low, expecting 5 but received 1|371=34|372=A|373=5|\n");
    EXPECT_EQ(logon.closed_, Disconnect::sequence_too_low);
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

TEST(SessionReject, AnInvalidMessageIsRejectedAndItsNumberIsUsed) {
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

TEST(SessionReject, OfThePeerIsPassedToTheApplicationAndNotAnswered) {
    Peer peer;
    peer.log_on();
    peer.give("3", "45=1|");
    EXPECT_EQ(peer.rejects_, std::vector<std::string>{"3"});
    EXPECT_EQ(peer.sent(), "");
    EXPECT_EQ(peer.store_.next_target(), 3U);
}

TEST(SessionReject, AnUnsupportedMessageGetsABusinessReject) {
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

TEST(SessionHeader, HasTheLastNumberProcessedIfConfigured) {
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

TEST(SessionHeader, TheApplicationSetsPossResend) {
    Peer peer;
    peer.log_on();
    ASSERT_TRUE(peer.session_.send("D", peer.now_, [](Writer& writer) { writer.add<11>("a"); }, {.poss_resend = true}));
    EXPECT_EQ(peer.sent(), "35=D|34=2|97=Y|11=a|\n");
}

}  // namespace
}  // namespace millpond::fix
