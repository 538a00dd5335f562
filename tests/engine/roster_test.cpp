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

#include "src/engine/roster.hpp"
#include "tests/engine/fix_text.hpp"

namespace millpond::engine {
namespace {

class Silent : public Application {
public:
    fix::Verdict on_message(SessionLink&, const fix::Message&) override { return fix::Verdict::accepted; }
};

/// Sessions of HOUSE with clients in FIX.4.4, and Logons that ask for them; no socket anywhere.
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
    a->give_up_claim();
    EXPECT_EQ(claim("A").value(), a);
}

TEST_F(RosterTest, AWrongCompIdOrVersionIdentifiesNoPeer) {
    const auto a = add("A");
    EXPECT_EQ(claim("C").error(), Roster::Refusal::unknown);
    EXPECT_EQ(claim("A", "FIX.4.2").error(), Roster::Refusal::unknown);
    EXPECT_FALSE(a->claimed());
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
