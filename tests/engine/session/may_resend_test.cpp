// The application decides which messages are resent.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <set>
#include <stdexcept>
#include <vector>

#include "tests/engine/engine_pair.hpp"

namespace millpond::engine {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;

/// Refuses to resend some of its orders.
class Choosy final : public Counterparty {
public:
    void on_logon(SessionLink& link) override {
        Counterparty::on_logon(link);
        link_ = &link;
    }
    bool may_resend(SessionLink& link, const fix::Message& message) override {
        EXPECT_EQ(&link, link_);
        EXPECT_FALSE(link.send("D", [](fix::Writer& writer) { writer.add<fix::tag::kClOrdId>(99); }));
        if (throws) throw std::runtime_error("cannot say");
        return !stale.contains(message.unsigned_integer(fix::tag::kClOrdId).value_or(0));
    }
    [[nodiscard]] bool order(std::uint64_t id) {
        return link_->send("D", [&](fix::Writer& writer) { writer.add<fix::tag::kClOrdId>(id); });
    }

    std::set<std::uint64_t> stale;
    bool throws{false};

private:
    SessionLink* link_{nullptr};
};

/// HOUSE has received six orders of DESK and loses its state.
class MayResend : public testing::Test {
protected:
    void connect(std::uint64_t chunk) {
        accepted_ = &acceptor_.add(
            {.config = {.sender_comp_id = "HOUSE", .target_comp_id = "DESK", .resend_request_chunk = chunk},
             .dictionary = &dictionary_},
            house_);
        initiated_ = &initiator_.add(
            {.config = {.sender_comp_id = "DESK", .target_comp_id = "HOUSE"}, .dictionary = &dictionary_},
            {.hosts = {{"127.0.0.1", acceptor_.port()}}, .reconnect = {.first = std::chrono::milliseconds{5}}}, desk_);
        ASSERT_TRUE(run_until(io_, [&] { return house_.logons == 1 && desk_.logons == 1; }));
        for (std::uint64_t id = 1; id <= 6; ++id) ASSERT_TRUE(desk_.order(id));
        ASSERT_TRUE(run_until(io_, [&] { return house_.orders.size() == 6; }));
        initiated_->request_logout("later");
        ASSERT_TRUE(run_until(io_, [&] { return !house_.closed.empty() && !desk_.closed.empty(); }));
        std::optional<bool> done;
        accepted_->request_numbers(std::nullopt, 2, [&](bool set) { done = set; });
        ASSERT_TRUE(run_until(io_, [&] { return done.has_value(); }));
        ASSERT_TRUE(*done);
        house_.orders.clear();
    }

    fix::Dictionary dictionary_ = fix::Dictionary::session_level(fix::Version::fix44);
    Counterparty house_;
    Choosy desk_;
    IoThread io_;
    Acceptor acceptor_{io_, {}};
    Initiator initiator_{io_};
    SessionHandle* accepted_{nullptr};
    SessionHandle* initiated_{nullptr};
};

TEST_F(MayResend, RefusedOrdersNeverArriveAndTheOthersDoEvenIfRequestedInChunks) {
    ASSERT_NO_FATAL_FAILURE(connect(2));
    desk_.stale = {1, 2, 5};
    initiated_->request_logon();
    ASSERT_TRUE(run_until(io_, [&] { return house_.orders.size() == 3; }));
    ASSERT_TRUE(desk_.order(7));
    ASSERT_TRUE(run_until(io_, [&] { return house_.orders.size() == 4; }));
    EXPECT_THAT(house_.orders, ElementsAre(3, 4, 6, 7));
    EXPECT_EQ(initiated_->status().lost, 0U);  // they are in the store
}

TEST_F(MayResend, AnExceptionEndsTheConnectionAndLosesNoMessage) {
    ASSERT_NO_FATAL_FAILURE(connect(0));
    desk_.throws = true;
    initiated_->request_logon();
    EXPECT_THROW(static_cast<void>(run_until(io_, [&] { return house_.orders.size() == 6; })), std::runtime_error);
    desk_.throws = false;
    ASSERT_TRUE(run_until(io_, [&] { return house_.orders.size() == 6; }));
    EXPECT_THAT(house_.orders, ElementsAre(1, 2, 3, 4, 5, 6));
    ASSERT_TRUE(run_until(io_, [&] { return !desk_.closed.empty() && desk_.logons == 3; }));
    EXPECT_THAT(desk_.closed, Contains(Closed::application_error));
}

}  // namespace
}  // namespace millpond::engine
