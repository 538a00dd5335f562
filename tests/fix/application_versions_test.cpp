#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <millpond/fix/application_versions.hpp>

#include "tests/fix/session_peer.hpp"
#include "tests/fix/small_dictionary.hpp"
#include "tests/support/allocation_counter.hpp"

namespace millpond::fix {
namespace {

constexpr const char* kUnsupported = "58=Invalid/Unsupported Application Version|";

/// An order of FIX Latest with a field that no earlier version has, and without OrdType.
Dictionary latest_dictionary() {
    Dictionary dictionary{"FIX.Latest"};
    dictionary.define_field(11, "ClOrdID", FieldType::text);
    dictionary.define_field(2964, "OwnershipType", FieldType::character);
    auto& order = dictionary.define_message("D", "NewOrderSingle", false).fields;
    order.add(11, true);
    order.add(2964, false);
    dictionary.define_message("EZ", "MarginRequirementInquiryAck", false).fields.add(11, false);
    return dictionary;
}

/// A session of FIX 5.0 SP2 without message validation, which also carries FIX 4.4 and FIX Latest.
class SessionVersions : public ::testing::Test {
protected:
    static constexpr const char* kLogon = "98=0|108=30|1137=9|";

    [[nodiscard]] SessionConfig config() const {
        return {.version = Version::fixt11,
                .further_versions = {{ApplicationVersion::fix44, &fix44_}, {ApplicationVersion::latest, &latest_}}};
    }
    [[nodiscard]] static std::optional<ApplicationVersion> version_of(const Peer& peer, const std::string& body) {
        const auto bytes = message_of("FIXT.1.1", body);
        Parser parser;
        return peer.session_.application_versions().of(*parser.parse(*next_frame(bytes_of(bytes))));
    }

    Dictionary fix44_ = small_dictionary();
    Dictionary latest_ = latest_dictionary();
};

TEST_F(SessionVersions, EachMessageIsComparedWithTheDictionaryOfItsVersion) {
    Peer peer{config()};
    peer.log_on(kLogon);
    peer.give("D", 2, "11=a|40=1|", "1128=6|");
    peer.give("D", 3, "11=a|2964=1|", "1128=10|");
    peer.give("D", 4, "11=a|9999=x|", "1128=9|");
    peer.give("D", 5, "11=a|9999=x|");
    EXPECT_EQ(peer.sent(), "");
    EXPECT_EQ(peer.delivered_, (std::vector<std::uint64_t>{2, 3, 4, 5}));
    peer.give("D", 6, "11=a|", "1128=6|");
    peer.give("D", 7, "11=a|40=1|", "1128=10|");
    peer.give("EZ", 8, "11=a|", "1128=6|");
    EXPECT_EQ(peer.sent(),
              "35=3|34=2|45=6|58=Required tag missing|371=40|372=D|373=1|\n"
              "35=3|34=3|45=7|58=Invalid tag number|371=40|372=D|373=0|\n"
              "35=3|34=4|45=8|58=Invalid MsgType|371=35|372=EZ|373=11|\n");
}

TEST_F(SessionVersions, AVersionThatTheSessionDoesNotCarryIsRejectedAndTheSessionGoesOn) {
    Peer peer{config()};
    peer.log_on(kLogon);
    std::uint64_t number = 2;
    for (const auto* id : {"7", "0", "11", "33", "06", "-6", "FIX.4.4", "1000000000000000000000"}) {
        peer.give("D", number, "11=a|40=1|", "1128=" + std::string{id} + "|");
        EXPECT_EQ(peer.sent(), "35=3|34=" + std::to_string(number) + "|45=" + std::to_string(number) + "|" +
                                   kUnsupported + "371=1128|372=D|373=18|\n");
        ++number;
    }
    peer.give("D", number, "11=a|40=1|", "1128=6|");
    EXPECT_EQ(peer.delivered_, std::vector<std::uint64_t>{number});
}

TEST_F(SessionVersions, TheLogonGivesMessageTypesTheirVersions) {
    Peer peer{config()};
    peer.log_on(
        "98=0|108=30|384=5|372=D|385=S|1130=6|1410=Y|372=8|385=R|1130=6|372=F|385=S|1130=10|372=G|1130=7|"
        "372=AE|385=S|1130=10|1410=N|1137=9|");
    EXPECT_EQ(version_of(peer, "35=D|34=2|"), ApplicationVersion::fix44);
    EXPECT_EQ(version_of(peer, "35=8|34=2|"), ApplicationVersion::fix50sp2);  // what the peer receives
    EXPECT_EQ(version_of(peer, "35=F|34=2|"), ApplicationVersion::latest);
    EXPECT_EQ(version_of(peer, "35=G|34=2|"), std::nullopt);
    EXPECT_EQ(version_of(peer, "35=AE|34=2|"), ApplicationVersion::fix50sp2);  // supported, not the default
    EXPECT_EQ(version_of(peer, "35=DD|34=2|"), ApplicationVersion::fix50sp2);
    EXPECT_EQ(version_of(peer, "35=D|34=2|1128=10|"), ApplicationVersion::latest);
    peer.give("D", 2, "11=a|");
    EXPECT_EQ(peer.sent(), "35=3|34=2|45=2|58=Required tag missing|371=40|372=D|373=1|\n");
    peer.give("G", 3, "11=a|");
    EXPECT_EQ(peer.sent(), "35=3|34=3|45=3|" + std::string{kUnsupported} + "372=G|373=18|\n");
    peer.give("G", 4, "11=a|", "1128=9|");
    EXPECT_EQ(peer.delivered_, std::vector<std::uint64_t>{4});
}

TEST_F(SessionVersions, TheIndicatorDecidesBetweenVersionsOfOneType) {
    Peer peer{config()};
    peer.log_on("98=0|108=30|384=4|372=D|1130=9|372=D|1130=10|1410=Y|372=F|1130=6|372=F|1130=10|1137=9|");
    EXPECT_EQ(version_of(peer, "35=D|34=2|"), ApplicationVersion::latest);
    EXPECT_EQ(version_of(peer, "35=F|34=2|"), ApplicationVersion::fix44);
}

TEST_F(SessionVersions, SessionMessagesHaveNoApplicationVersion) {
    Peer peer{config()};
    peer.log_on("98=0|108=30|384=2|372=0|1130=7|1410=Y|372=5|1130=7|1410=Y|1137=9|");
    peer.give("0", "");
    EXPECT_EQ(peer.sent(), "");
    peer.give("5", "");
    EXPECT_EQ(peer.sent(), "35=5|34=2|58=Logout received|\n");
}

TEST_F(SessionVersions, ThePeersDefaultMayBeAnyVersionOfTheSession) {
    Peer peer{config()};
    peer.session_.on_connect(peer.now_);
    peer.give("A", "98=0|108=30|1137=10|");
    EXPECT_EQ(peer.sent(), "35=A|34=1|98=0|108=30|1137=9|\n");
    EXPECT_EQ(version_of(peer, "35=D|34=2|"), ApplicationVersion::latest);
    EXPECT_EQ(peer.session_.application_versions().usual(), ApplicationVersion::fix50sp2);
    peer.give("D", 2, "11=a|40=1|");
    EXPECT_EQ(peer.sent(), "35=3|34=2|45=2|58=Invalid tag number|371=40|372=D|373=0|\n");
}

TEST_F(SessionVersions, ALaterLogonReplacesAnEarlierOne) {
    Peer peer{config()};
    peer.log_on("98=0|108=30|384=1|372=D|1130=6|1137=10|");
    EXPECT_EQ(version_of(peer, "35=D|34=2|"), ApplicationVersion::fix44);
    peer.give("A", 1, "98=0|108=30|141=Y|1137=9|");
    EXPECT_EQ(version_of(peer, "35=D|34=2|"), ApplicationVersion::fix50sp2);
    peer.give("A", 1, "98=0|108=30|141=Y|384=1|372=D|1130=10|1137=9|");
    EXPECT_EQ(version_of(peer, "35=D|34=2|"), ApplicationVersion::latest);
    peer.session_.on_disconnect(peer.now_);
    peer.log_on(kLogon);
    EXPECT_EQ(version_of(peer, "35=D|34=2|"), ApplicationVersion::fix50sp2);
}

TEST_F(SessionVersions, AnUnknownDefaultIsRefusedWithThoseThatAreRight) {
    for (const auto* field : {"1137=7|", "1137=33|"}) {
        Peer peer{config()};
        peer.session_.on_connect(peer.now_);
        peer.give("A", "98=0|108=30|" + std::string{field});
        EXPECT_EQ(peer.sent(),
                  "35=3|34=1|45=1|58=DefaultApplVerID is not 6 or 9 or 10|371=1137|372=A|373=5|\n"
                  "35=5|34=2|58=DefaultApplVerID is not 6 or 9 or 10|\n");
        EXPECT_EQ(peer.closed_, Disconnect::logon_refused);
    }
}

TEST_F(SessionVersions, WithQuickFixRepliesAnUnknownDefaultGetsTheLogoutOfQuickFixJ) {
    auto replies = config();
    replies.quickfix_replies = true;
    Peer peer{replies};
    peer.session_.on_connect(peer.now_);
    peer.give("A", "98=0|108=30|1137=33|");
    EXPECT_EQ(peer.sent(), "35=5|34=1|58=Invalid DefaultApplVerID=33|\n");
    EXPECT_EQ(peer.closed_, Disconnect::logon_refused);
    replies.reset_on_logon = true;
    Peer again{replies};
    again.log_on(kLogon);
    again.give("0", "");
    again.session_.on_disconnect(again.now_);
    again.session_.on_connect(again.now_);
    again.give("A", 1, "98=0|108=30|1137=33|");
    EXPECT_EQ(again.sent(), "35=5|34=1|58=Invalid DefaultApplVerID=33|\n");
}

TEST_F(SessionVersions, ALogonWithTooManyMessageTypesIsRefused) {
    const auto logon_of = [](std::size_t types) {
        std::string body = "98=0|108=30|384=" + std::to_string(types) + "|";
        for (std::size_t i = 0; i < types; ++i) body += "372=U" + std::to_string(i) + "|1130=6|";
        return body + "1137=9|";
    };
    Peer full{config()};
    full.log_on(logon_of(ApplicationVersions::kMaxTypes));
    for (const auto* type : {"U0", "U100", "U255"}) {
        EXPECT_EQ(version_of(full, "35=" + std::string{type} + "|34=2|"), ApplicationVersion::fix44);
    }
    EXPECT_EQ(version_of(full, "35=U256|34=2|"), ApplicationVersion::fix50sp2);
    Peer over{config()};
    over.session_.on_connect(over.now_);
    over.give("A", logon_of(ApplicationVersions::kMaxTypes + 1));
    EXPECT_EQ(over.refusals_, std::vector<std::string>{"384 NoMsgTypes gives versions to more than 256 message types"});
    Peer longer{config()};
    longer.session_.on_connect(longer.now_);
    longer.give("A", "98=0|108=30|384=1|372=ABCDEFGHI|1130=6|1137=9|");
    EXPECT_EQ(longer.refusals_, std::vector<std::string>{"372 RefMsgType has more than 8 characters"});
}

TEST_F(SessionVersions, AMessageIsSentInTheVersionThatItsRoutingNames) {
    Peer peer{config()};
    peer.log_on(kLogon);
    const auto fill = [](Writer& writer) { writer.add<11>(std::string_view{"a"}); };
    ASSERT_TRUE(peer.session_.send("D", peer.now_, fill, {.appl_ver_id = appl_ver_id(ApplicationVersion::latest)}));
    ASSERT_TRUE(peer.session_.send("D", peer.now_, fill));
    EXPECT_EQ(peer.sent(), "35=D|34=2|1128=10|11=a|\n35=D|34=3|11=a|\n");
    peer.give("2", "7=2|16=0|");
    EXPECT_EQ(peer.sent(),
              "35=D|34=2|43=Y|122=20240102-03:04:05.000|1128=10|11=a|\n"
              "35=D|34=3|43=Y|122=20240102-03:04:05.000|11=a|\n");
}

TEST_F(SessionVersions, DataFieldsOfEachVersionMayHoldTheDelimiter) {
    latest_.define_field(40001, "BlobLen", FieldType::count);
    latest_.define_field(40002, "Blob", FieldType::data);
    auto& order = latest_.define_message("U1", "Blob", false).fields;
    order.add(40001, true);
    order.add(40002, true);
    Peer peer{config()};
    peer.log_on(kLogon);
    peer.give("U1", 2, "40001=3|40002=a|b|", "1128=10|");
    EXPECT_EQ(peer.sent(), "");
    EXPECT_EQ(peer.delivered_, std::vector<std::uint64_t>{2});
}

TEST_F(SessionVersions, AMessageThatWaitedForItsTurnIsComparedWithItsDictionaryToo) {
    Peer peer{config()};
    peer.log_on(kLogon);
    peer.give("D", 3, "11=a|", "1128=6|");
    peer.give("D", 4, "11=a|40=1|", "1128=6|");
    EXPECT_EQ(peer.sent(), "35=2|34=2|7=2|16=0|\n");
    peer.give("D", 2, "11=a|2964=1|", poss_dup(peer) + "1128=10|");
    EXPECT_EQ(peer.sent(), "35=3|34=3|45=3|58=Required tag missing|371=40|372=D|373=1|\n");
    EXPECT_EQ(peer.delivered_, (std::vector<std::uint64_t>{2, 4}));
}

TEST_F(SessionVersions, AMessageOfAnyVersionNeedsNoAllocation) {
    auto plain = config();
    plain.quickfix_replies = true;
    MemoryStore store{kStart, ByteCount{1U << 16U}};
    struct Quiet final : SessionHandler {
        void send(std::uint64_t, std::string_view) override {}
        void disconnect(Disconnect) override {}
        Verdict on_message(const Message&) override { return ++messages, Verdict::accepted; }
        int messages{0};
    } quiet;
    plain.sender_comp_id = "WE";
    plain.target_comp_id = "YOU";
    plain.default_appl_ver_id = "9";
    const auto dictionary = Dictionary::session_level(Version::fixt11);
    Session session{plain, dictionary, nullptr, store, quiet, kStartMoment};
    std::vector<std::string> messages;
    const auto give = [&](const std::string& type, const std::string& rest) {
        const auto number = std::to_string(messages.size() + 1);
        messages.push_back(
            message_of("FIXT.1.1", "35=" + type + "|34=" + number + "|49=YOU|52=20240102-03:04:05|56=WE|" + rest));
    };
    give("A", "98=0|108=30|384=2|372=F|1130=6|372=G|1130=10|1137=9|");
    for (const auto* rest : {"1128=6|11=a|40=1|", "1128=10|11=a|", "1128=7|11=a|", "11=a|"}) give("D", rest);
    give("F", "11=a|");
    session.on_connect(kStartMoment);
    const test::AllocationCounter heap;
    for (const auto& message : messages) {
        static_cast<void>(session.on_bytes(bytes_of(message), kStartMoment));
    }
    const auto allocations = heap.allocations();
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)  // Sanitizers allocate.
    EXPECT_EQ(allocations, 0U);
#else
    static_cast<void>(allocations);
#endif
    EXPECT_EQ(quiet.messages, 3);
}

TEST(SessionVersionsConfig, WrongOnesAreRefused) {
    const auto fault = [](SessionConfig config) -> std::string {
        const auto dictionary = Dictionary::session_level(config.version);
        MemoryStore store{kStart, ByteCount{1U << 16U}};
        Peer handler;
        config.sender_comp_id = "WE";
        config.target_comp_id = "YOU";
        try {
            const Session session{std::move(config), dictionary, nullptr, store, handler, kStartMoment};
        } catch (const std::invalid_argument& error) {
            return error.what();
        }
        return "";
    };
    EXPECT_EQ(fault({.further_versions = {{ApplicationVersion::fix44}}}),
              "only a FIXT.1.1 session has further_versions");
    EXPECT_EQ(fault({.version = Version::fixt11, .default_appl_ver_id = "33"}),
              "default_appl_ver_id '33' is not from 2 to 10");
    EXPECT_EQ(fault({.version = Version::fixt11,
                     .default_appl_ver_id = "9",
                     .further_versions = {{ApplicationVersion::latest}, {ApplicationVersion::fix50sp2}}}),
              "application version FIX.5.0SP2 is there twice");
}

TEST(ApplicationVersion, NumbersAndNamesAreThoseOfTheStandard) {
    EXPECT_EQ(application_version_of("10"), ApplicationVersion::latest);
    EXPECT_EQ(application_version_of("6"), ApplicationVersion::fix44);
    EXPECT_EQ(name(ApplicationVersion::fix40), "FIX.4.0");
    EXPECT_EQ(name(ApplicationVersion::fix50sp2), "FIX.5.0SP2");
    EXPECT_EQ(name(ApplicationVersion::latest), "FIX.Latest");
    for (auto i = 2; i <= 10; ++i) {
        EXPECT_EQ(appl_ver_id(static_cast<ApplicationVersion>(i)), std::to_string(i));
        EXPECT_EQ(application_version_of(std::to_string(i)), static_cast<ApplicationVersion>(i));
    }
    for (const auto* id : {"", "0", "1", "11", "02", "x", "10 "}) EXPECT_EQ(application_version_of(id), std::nullopt);
}

}  // namespace
}  // namespace millpond::fix
