#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include <millpond/engine/application.hpp>
#include <millpond/engine/io_thread.hpp>
#include <millpond/fix/dictionary.hpp>
#include <millpond/fix/frame.hpp>
#include <millpond/fix/parser.hpp>

#include "src/engine/accept/roster.hpp"
#include "tests/engine/fix_text.hpp"

namespace millpond::engine {
namespace {

class Silent : public Application {
public:
    fix::Verdict on_message(SessionLink&, const fix::Message&) override { return fix::Verdict::accepted; }
};

/// Sessions of HOUSE with clients in FIX.4.4, and Logons that select one; without sockets.
class RosterTest : public testing::Test {
protected:
    std::shared_ptr<SessionHost> add(std::string_view client) {
        auto host = std::make_shared<SessionHost>(
            SessionOptions{.config = {.sender_comp_id = "HOUSE", .target_comp_id = std::string{client}},
                           .dictionary = &dictionary_},
            application_, io_);
        roster_.add(host);
        return host;
    }
    auto claim(std::string_view client, std::string_view version = "FIX.4.4") {
        const auto logon = message(version, "A", 1, client, "98=0|108=30|");
        return roster_.claim(parser_.parse(fix::next_frame(std::as_bytes(std::span{logon})).value()).value());
    }

    fix::Dictionary dictionary_ = fix::Dictionary::session_level(fix::Version::fix44);
    Silent application_;
    IoThread io_;
    fix::Parser parser_;
    Roster roster_;
    fix::Tag fault_{fix::tag::kInvalid};
};

TEST_F(RosterTest, ALogonClaimsTheSessionOfItsIdentity) {
    const auto a = add("A");
    const auto b = add("B");
    EXPECT_EQ(claim("B").value(), b);
    EXPECT_TRUE(b->claimed());
    EXPECT_FALSE(a->claimed());
    EXPECT_EQ(roster_.claimed(), 1U);
}

TEST_F(RosterTest, ADuplicateIdentityIsRefusedUntilTheFirstIsGone) {
    const auto a = add("A");
    ASSERT_TRUE(claim("A"));
    EXPECT_EQ(claim("A").error(), Roster::Refusal::duplicate);
    EXPECT_TRUE(a->claimed());
    a->release_claim();
    EXPECT_EQ(claim("A").value(), a);
}

TEST_F(RosterTest, AWrongCompIdOrVersionIdentifiesNoPeer) {
    const auto a = add("A");
    EXPECT_EQ(claim("C").error(), Roster::Refusal::unknown);
    EXPECT_EQ(claim("A", "FIX.4.2").error(), Roster::Refusal::unknown);
    EXPECT_FALSE(a->claimed());
}

TEST_F(RosterTest, SubIdsAndLocationIdsArePartsOfTheIdentity) {
    const auto host_of = [&](fix::SessionConfig config) {
        config.sender_comp_id = "HOUSE";
        config.target_comp_id = "A";
        auto host = std::make_shared<SessionHost>(SessionOptions{.config = config, .dictionary = &dictionary_},
                                                  application_, io_);
        EXPECT_EQ(roster_.find(config), nullptr) << host->name();
        roster_.add(host);
        return host;
    };
    const auto sub = host_of({.target_sub_id = "X"});
    const auto location = host_of({.target_location_id = "X"});
    const auto own_sub = host_of({.sender_sub_id = "X"});
    const auto own_location = host_of({.sender_location_id = "X"});
    const auto both = host_of({.sender_sub_id = "X", .target_sub_id = "X"});
    const auto named_by = [&](std::string_view header) {
        const auto logon = message("FIX.4.4", "A", 1, "A", std::string{header} + "98=0|108=30|");
        const auto parsed = parser_.parse(fix::next_frame(std::as_bytes(std::span{logon})).value()).value();
        fault_ = roster_.fault_of(parsed);
        return roster_.named_by(parsed);
    };
    EXPECT_EQ(named_by(""), nullptr);
    EXPECT_EQ(fault_, fix::tag::kSenderSubId);
    EXPECT_EQ(named_by("50=X|"), sub);
    EXPECT_EQ(named_by("50=Y|"), nullptr);
    EXPECT_EQ(named_by("142=X|"), location);
    EXPECT_EQ(named_by("57=X|"), own_sub);
    EXPECT_EQ(named_by("143=X|"), own_location);
    EXPECT_EQ(named_by("50=X|57=X|"), both);
    EXPECT_EQ(sub->name(), "FIX.4.4:HOUSE->A/X");
    EXPECT_EQ(location->name(), "FIX.4.4:HOUSE->A//X");
    EXPECT_EQ(both->name(), "FIX.4.4:HOUSE/X->A/X");
    const auto plain = add("A");  // accepts Logons that match no other session
    EXPECT_EQ(plain->name(), "FIX.4.4:HOUSE->A");
    EXPECT_EQ(named_by("50=Y|"), plain);
    EXPECT_EQ(named_by("50=X|"), sub);
    // No Logon could distinguish these sessions.
    EXPECT_EQ(roster_.find({.sender_comp_id = "HOUSE", .target_comp_id = "A", .qualifier = "2"}), plain);
}

TEST_F(RosterTest, ARemovedSessionIsUnknown) {
    const auto a = add("A");
    EXPECT_EQ(roster_.find(a->config()), a);
    roster_.remove(*a);
    EXPECT_EQ(roster_.find(a->config()), nullptr);
    EXPECT_EQ(claim("A").error(), Roster::Refusal::unknown);
    EXPECT_TRUE(roster_.all().empty());
}

}  // namespace
}  // namespace millpond::engine
