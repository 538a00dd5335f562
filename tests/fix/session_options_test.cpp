// Options that counterparties require.

#include <gtest/gtest.h>

#include <string>

#include "tests/fix/session_peer.hpp"
#include "tests/fix/small_dictionary.hpp"

namespace millpond::fix {
namespace {

SessionConfig resets() {
    SessionConfig config;
    config.reset_on_error = true;
    return config;
}

TEST(SessionOptions, AConnectionThatEndsByAFaultResetsBothNumbersIfConfigured) {
    for (const bool asked : {true, false}) {
        Peer silent{asked ? resets() : SessionConfig{}};
        silent.log_on();
        ASSERT_TRUE(silent.order("a"));
        silent.pass(200 * kSecond);
        EXPECT_EQ(silent.closed_, Disconnect::heartbeat_timeout);
        EXPECT_EQ(silent.store_.next_sender() == 1 && silent.store_.next_target() == 1, asked);

        Peer behind{asked ? resets() : SessionConfig{}};
        behind.log_on();
        ASSERT_TRUE(behind.order("a"));
        behind.give("0", 1, "");                     // its number was used already
        behind.session_.on_disconnect(behind.now_);  // the peer closes before our timeout
        EXPECT_EQ(behind.store_.next_sender() == 1 && behind.store_.next_target() == 1, asked);
    }
}

TEST(SessionOptions, ANormalEndOfTheConnectionResetsNothing) {
    Peer logged_out{resets()};
    logged_out.log_on();
    logged_out.session_.logout("done", logged_out.now_);
    logged_out.give("5", "");
    EXPECT_EQ(logged_out.closed_, Disconnect::logged_out);
    EXPECT_EQ(logged_out.store_.next_sender(), 3U);

    Peer cut{resets()};
    cut.log_on();
    cut.session_.on_disconnect(cut.now_);
    EXPECT_EQ(cut.store_.next_sender(), 2U);

    // A Logon that is refused, which any client can send.
    Peer refused{resets()};
    refused.log_on();
    refused.session_.on_disconnect(refused.now_);
    refused.password_ = "right";
    refused.session_.on_connect(refused.now_);
    refused.give("A", 2, "98=0|108=30|554=wrong|");
    EXPECT_EQ(refused.closed_, Disconnect::logon_refused);
    EXPECT_EQ(refused.store_.next_sender(), 2U);
}

TEST(SessionOptions, ALogonWhoseNumberIsTooLowResetsNothingOfAnAcceptor) {
    Peer peer{resets()};
    peer.log_on();
    peer.session_.on_disconnect(peer.now_);
    peer.session_.on_connect(peer.now_);
    peer.give("A", 1, "98=0|108=30|");  // of an unauthenticated peer
    EXPECT_EQ(peer.closed_, Disconnect::sequence_too_low);
    EXPECT_EQ(peer.store_.next_target(), 2U);
    EXPECT_EQ(peer.store_.next_sender(), 3U);  // after our Logout
}

TEST(SessionOptions, AnInitiatorWhosePeerHasLostItsNumbersResetsBoth) {
    auto config = resets();
    config.role = Role::initiator;
    Peer peer{config};
    peer.log_on();
    peer.session_.on_disconnect(peer.now_);
    peer.session_.on_connect(peer.now_);
    peer.give("A", 1, "98=0|108=30|");
    EXPECT_EQ(peer.closed_, Disconnect::sequence_too_low);
    EXPECT_EQ(peer.store_.next_target(), 1U);
    EXPECT_EQ(peer.store_.next_sender(), 1U);
}

TEST(SessionOptions, AFaultOfAnEarlierConnectionDoesNotCountForTheNextOne) {
    Peer peer{resets()};
    peer.log_on();
    peer.pass(200 * kSecond);
    peer.closed_.reset();
    peer.next_ = 1;
    peer.log_on();
    ASSERT_TRUE(peer.order("a"));
    peer.session_.on_disconnect(peer.now_);
    EXPECT_EQ(peer.store_.next_sender(), 3U);
}

TEST(SessionOptions, CompIdsAfterTheLogonAreComparedUnlessDisabled) {
    const auto reply = [](bool check) {
        SessionConfig config;
        config.check_comp_ids = check;
        Peer peer{config};
        peer.log_on();
        peer.give_whole("35=1|34=2|49=OTHER|52=" + peer.time() + "|56=WE|112=t|");
        return peer.sent();
    };
    EXPECT_NE(reply(true).find("35=3|"), std::string::npos);
    EXPECT_EQ(reply(false), "35=0|34=2|112=t|\n");
    // A Logon with other CompIDs is refused in any case.
    SessionConfig config;
    config.check_comp_ids = false;
    Peer peer{config};
    peer.session_.on_connect(peer.now_);
    peer.give_whole("35=A|34=1|49=OTHER|52=" + peer.time() + "|56=WE|98=0|108=30|");
    EXPECT_EQ(peer.closed_, Disconnect::logon_refused);
}

TEST(SessionOptions, FieldsThatAMessageDoesNotHaveAndTypesThatAreNotCheckedPass) {
    const auto dictionary = small_dictionary();
    const auto reply = [&](Validator::Options validation, const std::string& type, const std::string& body) {
        SessionConfig config;
        config.validation = std::move(validation);
        Peer peer{config, &dictionary};
        peer.log_on();
        peer.give(type, body);
        return peer.sent();
    };
    // Unknown to the dictionary, or known but not part of the message.
    for (const auto* field : {"4321=x|", "112=x|"}) {
        const auto order = "11=a|40=1|" + std::string{field};
        EXPECT_NE(reply({}, "D", order).find("35=3|"), std::string::npos) << field;
        EXPECT_EQ(reply({.message_fields_are_known = false}, "D", order), "") << field;
        EXPECT_NE(reply({.message_fields_are_known = false}, "0", "4321=x|7777=x|").find("371=7777"),
                  std::string::npos);
    }
    EXPECT_NE(reply({}, "D", "4321=x|").find("35=3|"), std::string::npos);
    EXPECT_EQ(reply({.unchecked_types = {"8", "D"}}, "D", "4321=x|"), "");
    EXPECT_EQ(reply({.unchecked_types = {"*"}}, "D", "4321=x|"), "");
    EXPECT_EQ(reply({.unchecked_types = {"*"}}, "zz", "4321=x|"), "");
    // Values, order, and misplaced fields. 18 has a list of values, 38 is a quantity, 60 a time.
    for (const auto* body :
         {"18=Z|", "38=abc|", "60=2026-11-26|", "58=|", "50=header|", "11=b|", "93=1|89=x|55=MSFT|"}) {
        const auto order = "11=a|40=1|" + std::string{body} + "44=1|";
        EXPECT_EQ(reply({.unchecked_types = {"D"}}, "D", order), "") << body;
        EXPECT_NE(reply({}, "D", order).find("35=3|"), std::string::npos) << body;
    }
    EXPECT_NE(reply({.unchecked_types = {"F"}}, "D", "4321=x|").find("35=3|"), std::string::npos);
    // Session messages are always checked.
    EXPECT_NE(reply({.unchecked_types = {"*", "1"}}, "1", "").find("371=112"), std::string::npos);
    // The header still is.
    EXPECT_NE(reply({.unchecked_types = {"*"}}, "D", "43=maybe|11=a|").find("371=43"), std::string::npos);
}

std::string garbled(Peer& peer, std::string_view type, std::uint64_t number, std::string_view body = "") {
    auto bytes = message_of(begin_string(peer.session_.config().version),
                            "35=" + std::string{type} + "|34=" + std::to_string(number) + "|49=YOU|52=" + peer.time() +
                                "|56=WE|" + std::string{body});
    auto& last = bytes[bytes.size() - 2];
    last = last == '0' ? '1' : '0';
    return bytes;
}

TEST(SessionOptions, AGarbledMessageIsRejectedAndCountedAsReceivedIfConfigured) {
    for (const bool asked : {true, false}) {
        SessionConfig config;
        config.reject_garbled = asked;
        Peer peer{config};
        peer.log_on();
        peer.sent_.clear();
        peer.give_bytes(garbled(peer, "D", 2, "11=a|"));
        EXPECT_EQ(peer.store_.next_target(), asked ? 3U : 2U);
        ASSERT_EQ(peer.sent_.size(), asked ? 1U : 0U);
        EXPECT_EQ(peer.session_.counters().garbled.read(), 1U);
        if (!asked) continue;
        EXPECT_EQ(peer.sent_[0], "35=3|34=2|45=2|58=garbled: CheckSum or a field is wrong|372=D|");
        EXPECT_EQ(peer.session_.counters().rejected.read(), 1U);
        // The next message is in order, and nothing is requested.
        peer.give("0", 3, "");
        EXPECT_EQ(peer.store_.next_target(), 4U);
        EXPECT_EQ(peer.sent_.size(), 1U);
    }
}

TEST(SessionOptions, TheRejectOfAGarbledMessageHasTheTextOfQuickFixIfConfigured) {
    SessionConfig config;
    config.reject_garbled = true;
    config.quickfix_replies = true;
    Peer peer{config};
    peer.log_on();
    peer.sent_.clear();
    peer.give_bytes(garbled(peer, "D", 2));
    EXPECT_EQ(peer.sent_, std::vector<std::string>{"35=3|34=2|45=2|58=Message failed basic validity check|372=D|"});
}

TEST(SessionOptions, AGarbledMessageWhoseNumberIsNotTheNextOrCannotBeTrustedIsIgnored) {
    SessionConfig config;
    config.reject_garbled = true;
    Peer peer{config};
    peer.log_on();
    peer.sent_.clear();
    for (const auto& bytes :
         {garbled(peer, "D", 1), garbled(peer, "D", 3), garbled(peer, "A", 2), garbled(peer, "4", 2, "36=9|")}) {
        peer.give_bytes(bytes);
    }
    auto unnumbered = garbled(peer, "D", 2);
    unnumbered.replace(unnumbered.find("\x01"
                                       "34=") +
                           1,
                       2, "33");
    peer.give_bytes(unnumbered);
    EXPECT_EQ(peer.store_.next_target(), 2U);
    EXPECT_TRUE(peer.sent_.empty());
    EXPECT_EQ(peer.session_.counters().garbled.read(), 5U);
    EXPECT_FALSE(peer.closed_);
}

TEST(SessionOptions, MessagesThatWaitBehindAGarbledOneAreProcessedWhenItIsRejected) {
    SessionConfig config;
    config.reject_garbled = true;
    Peer peer{config};
    peer.log_on();
    peer.give("0", 3, "");  // 2 is missing: the message waits
    peer.give_bytes(garbled(peer, "D", 2));
    EXPECT_EQ(peer.store_.next_target(), 4U);
}

}  // namespace
}  // namespace millpond::fix
