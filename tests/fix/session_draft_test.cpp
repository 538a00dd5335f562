// The handler and the configuration complete session messages.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <millpond/fix/file_store.hpp>

#include "tests/fix/session_peer.hpp"
#include "tests/support/scratch_file.hpp"

namespace millpond::fix {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// A peer whose handler completes session messages.
class Completing : public Peer {
public:
    using Peer::Peer;
    void on_send_admin(AdminDraft& draft) override {
        seen_.push_back(std::string{draft.msg_type()} + " " + std::to_string(draft.sequence()));
        if (complete_) complete_(draft);
    }
    std::function<void(AdminDraft&)> complete_;
    std::vector<std::string> seen_;
};

SessionConfig initiator() {
    SessionConfig config;
    config.role = Role::initiator;
    return config;
}

TEST(SessionDraft, EverySessionMessageIsShownWithItsNumberBeforeItIsSent) {
    Completing peer;
    peer.log_on();
    peer.give("1", "112=a|");                         // Heartbeat
    peer.give("D", peer.next_ + 1, "11=x|55=MSFT|");  // ResendRequest
    peer.give("4", 3, "36=5|123=Y|", "43=Y|");        // no reply
    peer.give("0", 5, "");
    peer.give("2", 6, "7=1|16=0|");     // a gap fill instead of the three messages
    peer.give("A", 7, "98=0|108=30|");  // Reject
    peer.give("5", 8, "");              // Logout
    EXPECT_THAT(peer.seen_, ElementsAre("A 1", "0 2", "2 3", "4 1", "3 4", "5 5"));
    EXPECT_EQ(peer.store_.next_sender(), 6U);
}

TEST(SessionDraft, FieldsAreAddedToBodyAndHeaderAndReplaceWhatWasThere) {
    Completing peer{initiator()};
    peer.complete_ = [](AdminDraft& draft) {
        EXPECT_EQ(draft.text(49), "WE");
        EXPECT_EQ(draft.text(108), "30");
        EXPECT_EQ(draft.text(10), std::nullopt);
        EXPECT_EQ(draft.sending_time().size(), 21U);
        EXPECT_TRUE(draft.set(50, "desk"));
        EXPECT_TRUE(draft.set(553, "me"));
        EXPECT_TRUE(draft.set(553, "desk"));
        EXPECT_EQ(draft.text(553), "desk");
        EXPECT_TRUE(draft.set(96, "a\x01z"));
        EXPECT_TRUE(draft.append(384, "2"));
        EXPECT_TRUE(draft.append(372, "D"));
        EXPECT_TRUE(draft.append(372, "8"));
    };
    peer.session_.on_connect(peer.now_);
    EXPECT_EQ(peer.sent(), "35=A|34=1|50=desk|98=0|108=30|553=desk|95=3|96=a\x01z|384=2|372=D|372=8|\n");
    // The sent message is the stored one.
    EXPECT_EQ(peer.store_.retrieve(1), peer.whole_.back());
}

TEST(SessionDraft, ADataFieldThatTheStandardDoesNotHaveIsGivenWithItsLengthField) {
    Completing peer{initiator()};
    peer.complete_ = [](AdminDraft& draft) {
        EXPECT_TRUE(draft.set_data(9000, 9001, "abc"));
        EXPECT_TRUE(draft.set_data(9000, 9001, "ab"));
        EXPECT_EQ(draft.text(9001), "ab");
    };
    peer.session_.on_connect(peer.now_);
    EXPECT_EQ(peer.sent(), "35=A|34=1|98=0|108=30|9000=2|9001=ab|\n");
}

TEST(SessionDraft, FieldsThatTheSessionAgreesOnWithItsPeerCannotBeSet) {
    Completing peer{initiator()};
    peer.complete_ = [](AdminDraft& draft) {
        for (const Tag tag : {0U,  8U,  9U,  10U,  34U,  35U,  43U,  49U,  52U,  56U,   89U,   93U,
                              95U, 97U, 98U, 108U, 122U, 123U, 141U, 369U, 789U, 1128U, 1137U, 1'000'000'000U}) {
            EXPECT_FALSE(draft.set(tag, "1")) << tag;
            EXPECT_FALSE(draft.append(tag, "1")) << tag;
        }
        EXPECT_FALSE(draft.set(58, ""));
        EXPECT_FALSE(draft.set(58, "a\x01z"));
        EXPECT_FALSE(draft.set_data(95, 9001, "x"));
        EXPECT_FALSE(draft.set_data(9000, 96, "x"));
        EXPECT_FALSE(draft.set_data(34, 9001, "x"));
        EXPECT_FALSE(draft.append(96, "x"));
    };
    peer.session_.on_connect(peer.now_);
    EXPECT_EQ(peer.sent(), "35=A|34=1|98=0|108=30|\n");
}

TEST(SessionDraft, AFullDraftRefusesFieldsAndIsSentWithoutThem) {
    Completing peer{initiator()};
    std::size_t added = 0;
    peer.complete_ = [&](AdminDraft& draft) {
        while (draft.append(static_cast<Tag>(5000 + added), "x")) ++added;
        EXPECT_FALSE(draft.set(58, "x"));
        EXPECT_FALSE(draft.set(553, std::string(100'000, 'x')));
        EXPECT_TRUE(draft.set(5000, "y"));
    };
    peer.session_.on_connect(peer.now_);
    EXPECT_GT(added, 100U);
    EXPECT_THAT(peer.sent(), HasSubstr("5000=y|5001=x|"));
}

TEST(SessionDraft, ALogonMayBeRefusedAndUsesUpNoNumber) {
    for (const auto role : {Role::initiator, Role::acceptor}) {
        SessionConfig config;
        config.role = role;
        Completing peer{config};
        peer.complete_ = [](AdminDraft& draft) { EXPECT_TRUE(draft.refuse("no signature")); };
        peer.session_.on_connect(peer.now_);
        if (role == Role::acceptor) peer.give("A", "98=0|108=30|");
        EXPECT_EQ(peer.sent(), "");
        EXPECT_EQ(peer.closed_, Disconnect::logon_refused);
        EXPECT_THAT(peer.refusals_, ElementsAre("0 no signature"));
        EXPECT_EQ(peer.store_.next_sender(), 1U);
        EXPECT_EQ(peer.logons_, 0);
    }
}

TEST(SessionDraft, OnlyALogonMayBeRefused) {
    Completing peer;
    peer.complete_ = [](AdminDraft& draft) {
        if (draft.is_logon()) return;
        EXPECT_FALSE(draft.refuse("never"));
    };
    peer.log_on();
    peer.give("1", "112=a|");
    EXPECT_EQ(peer.sent(), "35=0|34=2|112=a|\n");
    EXPECT_FALSE(peer.closed_);
}

TEST(SessionDraft, SendingWithinTheCallIsRefused) {
    Completing peer;
    peer.complete_ = [&](AdminDraft&) {
        EXPECT_FALSE(peer.order("early"));
        peer.session_.logout("early", peer.now_);
    };
    peer.log_on();
    peer.give("1", "112=a|");
    EXPECT_EQ(peer.sent(), "35=0|34=2|112=a|\n");
    EXPECT_TRUE(peer.order("late"));
}

TEST(SessionDraft, TheConfigurationAddsFieldsToLogonAndHeader) {
    auto config = initiator();
    config.username = "me";
    config.logon_fields = {{553, "other"}, {96, "sig"}, {9406, "Y"}, {50, "logon"}};
    config.header_fields = {{50, "desk"}, {57, "floor"}, {142, "LON"}, {115, "firm"}};
    Peer peer{config};
    peer.session_.on_connect(peer.now_);
    EXPECT_EQ(peer.sent(), "35=A|34=1|50=logon|57=floor|142=LON|115=firm|98=0|108=30|553=other|95=3|96=sig|9406=Y|\n");
    peer.give("A", "98=0|108=30|");
    ASSERT_TRUE(peer.order("a"));
    peer.give("1", "112=t|");
    EXPECT_EQ(peer.sent(),
              "35=D|34=2|50=desk|57=floor|142=LON|115=firm|11=a|55=MSFT|\n"
              "35=0|34=3|50=desk|57=floor|142=LON|115=firm|112=t|\n");
}

TEST(SessionDraft, AMessagesOwnHeaderFieldsGoBeforeThoseOfTheSession) {
    SessionConfig config;
    config.header_fields = {{50, "desk"}, {143, "NYC"}};
    Peer peer{config};
    peer.log_on();
    const auto send = [&](const Routing& routing) {
        EXPECT_TRUE(peer.session_.send("D", peer.now_, [](Writer& writer) { writer.add<11>("a"); }, routing));
        return peer.sent();
    };
    EXPECT_EQ(send({.sender_sub_id = "trader7", .target_sub_id = "pit"}),
              "35=D|34=2|50=trader7|57=pit|143=NYC|11=a|\n");
    EXPECT_EQ(send({.sender_location_id = "LON", .target_location_id = "PAR", .deliver_to_comp_id = "X"}),
              "35=D|34=3|50=desk|142=LON|143=PAR|128=X|11=a|\n");
    EXPECT_EQ(send({}), "35=D|34=4|50=desk|143=NYC|11=a|\n");
}

TEST(SessionDraft, AResendKeepsTheOriginalsFieldsAlsoAfterARestartWithOthers) {
    const test::ScratchFile file{test::scratch_name("draft.store"), ""};
    std::filesystem::remove(file.path());
    const auto dictionary = Dictionary::session_level(Version::fix44);
    Peer reader;  // A handler that records messages.
    const auto open = [&] {
        return std::make_unique<FileStore>(file.path(), kStart,
                                           FileStore::Options{.data_bytes = 1U << 17U, .segments = 1});
    };
    SessionConfig config{.sender_comp_id = "WE", .target_comp_id = "YOU", .max_message_bytes = 4096};
    const auto give = [&](Session& session, std::uint64_t number, const std::string& body) {
        const auto text = message_of("FIX.4.4", "35=" + body.substr(0, 1) + "|34=" + std::to_string(number) +
                                                    "|49=YOU|52=" + reader.time() + "|56=WE|" + body.substr(1));
        EXPECT_EQ(session.on_bytes(bytes_of(text), kStartMoment), text.size());
    };
    {
        auto store = open();
        config.header_fields = {{50, "first"}, {57, "floor"}};
        Session session{config, dictionary, nullptr, *store, reader, kStartMoment};
        session.on_connect(kStartMoment);
        give(session, 1, "A98=0|108=30|");
        EXPECT_TRUE(
            session.send("D", kStartMoment, [](Writer& writer) { writer.add<11>("a"); }, {.target_sub_id = "pit"}));
    }
    static_cast<void>(reader.sent());
    auto store = open();
    config.header_fields = {{50, "second"}, {115, "firm"}};
    Session session{config, dictionary, nullptr, *store, reader, kStartMoment};
    session.on_connect(kStartMoment);
    give(session, 2, "A98=0|108=30|");
    static_cast<void>(reader.sent());
    give(session, 3, "27=2|16=2|");
    const auto resent = reader.sent();
    EXPECT_THAT(resent, HasSubstr("35=D|34=2|43=Y|"));
    EXPECT_THAT(resent, HasSubstr("50=first|57=pit|"));
    EXPECT_THAT(resent, ::testing::Not(HasSubstr("firm")));
    session.on_disconnect(kStartMoment);
}

TEST(SessionDraft, FieldsThatCannotBeSetAreRefusedWhenTheSessionIsMade) {
    const auto error_of = [](auto change) {
        SessionConfig config;
        change(config);
        try {
            Peer peer{config};
        } catch (const std::invalid_argument& error) {
            return std::string{error.what()};
        }
        return std::string{};
    };
    EXPECT_EQ(error_of([](auto& c) { c.header_fields = {{58, "x"}}; }), "header field 58 cannot be set");
    EXPECT_EQ(error_of([](auto& c) { c.header_fields = {{50, ""}}; }), "header field 50 has no valid value");
    EXPECT_EQ(error_of([](auto& c) {
                  c.version = Version::fix40;
                  c.header_fields = {{142, "LON"}};
              }),
              "header field 142 is not part of FIX.4.0");
    EXPECT_EQ(error_of([](auto& c) { c.logon_fields = {{108, "1"}}; }), "Logon field 108 cannot be set");
    EXPECT_EQ(error_of([](auto& c) { c.logon_fields = {{58, "a\x01z"}}; }), "Logon field 58 has no valid value");
}

}  // namespace
}  // namespace millpond::fix
