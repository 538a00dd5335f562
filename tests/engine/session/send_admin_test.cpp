// The application changes session messages before they are sent.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/engine/engine_pair.hpp"

namespace millpond::engine {
namespace {

using ::testing::Contains;
using ::testing::Each;

/// Signs its Logon, or refuses to sign.
class Signing final : public Counterparty {
public:
    void on_send_admin(SessionLink& link, fix::AdminDraft& draft) override {
        sequences.push_back(draft.sequence());
        if (refuses) {
            EXPECT_EQ(draft.refuse("no key"), draft.is_logon());
            return;
        }
        EXPECT_TRUE(draft.set(fix::tag::kSenderSubId, link.handle().name()));
        if (!draft.is_logon()) return;
        EXPECT_TRUE(draft.set(96, "for " + std::string{draft.sending_time()}));
    }
    void on_refused(SessionLink&, const Refusal& why) override { refusals.emplace_back(why.detail); }

    bool refuses{false};
    std::vector<std::uint64_t> sequences;
    std::vector<std::string> refusals;
};

/// Accepts the Logons that `sees` accepts.
class Looking final : public Counterparty {
public:
    bool may_log_on(SessionLink&, const fix::Message& logon) override {
        data = logon.text(96).value_or("");
        sub_id = logon.text(fix::tag::kSenderSubId).value_or("");
        time = logon.text(fix::tag::kSendingTime).value_or("");
        return true;
    }
    std::string data;
    std::string sub_id;
    std::string time;
};

struct SigningPair {
    fix::Dictionary dictionary = fix::Dictionary::session_level(fix::Version::fix44);
    Looking house;
    Signing desk;
    IoThread io;
    Acceptor acceptor{io, {}};
    Initiator initiator{io};

    explicit SigningPair(bool refuses) {
        desk.refuses = refuses;
        acceptor.add({.config = {.sender_comp_id = "HOUSE", .target_comp_id = "DESK"}, .dictionary = &dictionary},
                     house);
        initiator.add({.config = {.sender_comp_id = "DESK", .target_comp_id = "HOUSE"}, .dictionary = &dictionary},
                      {.hosts = {{"127.0.0.1", acceptor.port()}}, .reconnect = {.first = std::chrono::milliseconds{5}}},
                      desk);
    }
};

TEST(SendAdmin, TheApplicationsFieldsReachThePeer) {
    SigningPair pair{false};
    ASSERT_TRUE(run_until(pair.io, [&] { return pair.house.logons == 1 && pair.desk.logons == 1; }));
    EXPECT_EQ(pair.house.sub_id, "FIX.4.4:DESK->HOUSE");
    EXPECT_EQ(pair.house.data, "for " + pair.house.time);
    EXPECT_THAT(pair.desk.sequences, ::testing::ElementsAre(1U));
}

TEST(SendAdmin, ARefusedLogonClosesTheConnectionWithItsReasonAndIsTriedAgain) {
    SigningPair pair{true};
    ASSERT_TRUE(run_until(pair.io, [&] { return pair.desk.closed.size() >= 2; }));
    EXPECT_THAT(pair.desk.refusals, Each(std::string{"no key"}));
    EXPECT_THAT(pair.desk.closed, Each(Closed::logon_refused));
    EXPECT_THAT(pair.desk.sequences, Each(1U));
    EXPECT_EQ(pair.house.logons, 0);
    // With a key the session continues with its numbers.
    pair.desk.refuses = false;
    ASSERT_TRUE(run_until(pair.io, [&] { return pair.house.logons == 1 && pair.desk.logons == 1; }));
    EXPECT_THAT(pair.desk.sequences, Each(1U));
}

}  // namespace
}  // namespace millpond::engine
