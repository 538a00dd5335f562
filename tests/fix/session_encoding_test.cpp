// Session messages that repeat the peer's text are sent whatever it contains.

#include <string>

#include <gtest/gtest.h>

#include "tests/fix/session_peer.hpp"
#include "tests/fix/small_dictionary.hpp"

namespace millpond::fix {
namespace {

TEST(SessionEncoding, ALogoutGoesOutWhateverItsReasonHolds) {
    const auto text_of = [](const std::string& reason, SessionConfig config = {}) {
        Peer peer{std::move(config)};
        peer.log_on();
        peer.session_.logout(reason, peer.now_);
        EXPECT_FALSE(peer.closed_);
        EXPECT_EQ(peer.session_.state(), Session::State::awaiting_logout);
        return peer.sent();
    };
    EXPECT_EQ(text_of(""), "35=5|34=2|58=logout requested|\n");
    EXPECT_EQ(text_of("a\x01"
                      "b\nc\td\x7f"),
              "35=5|34=2|58=a?b?c?d?|\n");
    EXPECT_EQ(text_of(std::string(100'000, 'x')), "35=5|34=2|58=" + std::string(256, 'x') + "|\n");
    EXPECT_EQ(text_of(std::string(1'000, 'x'), {.max_message_bytes = 400}),
              "35=5|34=2|58=" + std::string(100, 'x') + "|\n");
    // The text is not cut within a character.
    EXPECT_EQ(text_of(std::string(255, 'x') + "\xc3\xa9"), "35=5|34=2|58=" + std::string(255, 'x') + "|\n");
}

TEST(SessionEncoding, ATestReqIdWithoutAValueIsAnsweredWithoutTheField) {
    Peer peer{{.validation = {.fields_have_values = false}}};
    peer.log_on();
    peer.give("1", "112=|");
    EXPECT_EQ(peer.sent(), "35=0|34=2|\n");
}

TEST(SessionEncoding, ATestReqIdThatFitsIntoNoHeartbeatIsRejectedWithTheReason) {
    Peer peer{{.send_last_processed = true, .max_message_bytes = 400}};
    peer.log_on();
    const auto request = [&](std::size_t bytes) {
        peer.give("1", "112=" + std::string(bytes, 'x') + "|");
        return peer.sent();
    };
    EXPECT_NE(request(200).find("35=0|"), std::string::npos);
    // A text of the greatest length that the peer can send.
    std::size_t longest = 400;
    while (message_of("FIX.4.4", "35=1|34=3|49=YOU|52=" + peer.time() + "|56=WE|112=" + std::string(longest, 'x') + "|")
               .size() > 400) {
        --longest;
    }
    const auto reply = request(longest);
    EXPECT_NE(reply.find("58=TestReqID is too long for a Heartbeat|371=112|372=1|373=5|"), std::string::npos) << reply;
    EXPECT_FALSE(peer.closed_);
    EXPECT_NE(request(1).find("112=x|"), std::string::npos);
}

TEST(SessionEncoding, ARejectOmitsTextThatIsTooLong) {
    const auto dictionary = small_dictionary();
    Peer peer{{.max_message_bytes = 1'024}, &dictionary};
    peer.log_on();
    const std::string longest(700, 'x');
    peer.give(longest, "");
    EXPECT_EQ(peer.sent(), "35=3|34=2|45=2|58=Invalid MsgType|371=35|373=11|\n");
    peer.give("0", 3, "", "115=" + longest + "|128=FLOOR|99999=1|");
    EXPECT_NE(peer.sent().find("35=3|34=3|115=FLOOR|"), std::string::npos);
    const auto digits = std::string(699, '0') + "7";  // a number, but no valid tag
    peer.give("0", digits + "=1|");
    EXPECT_NE(peer.sent().find("35=3|34=4|45=4|"), std::string::npos);
    EXPECT_FALSE(peer.closed_);
}

TEST(SessionEncoding, ALogonThatCannotBeEncodedIsReportedAsThat) {
    Peer peer{{.role = Role::initiator, .username = delimited("a|b")}};
    peer.session_.on_connect(peer.now_);
    EXPECT_EQ(peer.sent(), "");
    EXPECT_EQ(peer.closed_, Disconnect::not_encoded);
    EXPECT_EQ(peer.refusals_, std::vector<std::string>{"0 a session message could not be encoded"});
}

}  // namespace
}  // namespace millpond::fix
