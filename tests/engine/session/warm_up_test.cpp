// A session that is warmed up while it is idle sends nothing, uses no number and no heap, and delays nothing.

#include <chrono>

#include <gtest/gtest.h>

#include "src/engine/io/io_loop.hpp"
#include "tests/engine/engine_pair.hpp"
#include "tests/support/allocation_counter.hpp"

namespace millpond::engine {
namespace {

struct WarmPair {
    explicit WarmPair(std::chrono::nanoseconds warm_up)
        : accepted(&acceptor.add({.config = {.sender_comp_id = "HOUSE", .target_comp_id = "DESK"},
                                  .dictionary = &dictionary,
                                  .warm_up = warm_up},
                                 house)),
          initiated(&initiator.add(
              {.config = {.sender_comp_id = "DESK", .target_comp_id = "HOUSE"}, .dictionary = &dictionary},
              {.hosts = {{"127.0.0.1", acceptor.port()}}, .reconnect = {.first = std::chrono::milliseconds{10}}},
              desk)) {
        house.on_order = [this](SessionLink& from, const fix::Message&) { session = &from.session(); };
    }
    [[nodiscard]] bool trade(std::uint64_t id) {
        const bool sent = link->send("D", [&](fix::Writer& writer) { writer.add<11>(id).add<38>(1); });
        return sent && run_until(io, [&] { return !house.orders.empty() && house.orders.back() == id; });
    }

    class Desk final : public Counterparty {
    public:
        explicit Desk(WarmPair& pair) : pair_(&pair) {}
        void on_logon(SessionLink& with) override {
            pair_->link = &with;
            Counterparty::on_logon(with);
        }

    private:
        WarmPair* pair_;
    };

    fix::Dictionary dictionary = fix::Dictionary::session_level(fix::Version::fix44);
    Counterparty house;
    Desk desk{*this};
    SessionLink* link{nullptr};
    const fix::Session* session{nullptr};
    IoThread io;
    Acceptor acceptor{io, {}};
    Initiator initiator{io};
    SessionHandle* accepted;
    SessionHandle* initiated;
};

TEST(EngineWarmUp, AnIdleSessionIsWarmedUpAndNothingElseHappens) {
    WarmPair pair{std::chrono::microseconds{200}};
    ASSERT_TRUE(run_until(pair.io, [&] { return pair.house.logons == 1 && pair.desk.logons == 1; }));
    ASSERT_TRUE(pair.trade(1));
    const auto& counters = pair.session->counters();
    const auto before = pair.accepted->status();
    const auto warmed = counters.warm_ups.read();
    ASSERT_TRUE(run_until(pair.io, [&] { return counters.warm_ups.read() > warmed + 3; }));
    {
        const test::AllocationCounter heap;
        const auto end = counters.warm_ups.read() + 20;
        ASSERT_TRUE(run_until(pair.io, [&] { return counters.warm_ups.read() >= end; }));
        EXPECT_EQ(heap.allocations(), 0U);
    }
    const auto after = pair.accepted->status();
    EXPECT_EQ(after.sent, before.sent);
    EXPECT_EQ(after.received, before.received);
    EXPECT_EQ(after.next_sender, before.next_sender);
    EXPECT_EQ(after.pending_bytes, 0U);
    EXPECT_TRUE(pair.trade(2));
    EXPECT_TRUE(pair.trade(3));
    EXPECT_EQ(pair.house.orders, (std::vector<std::uint64_t>{1, 2, 3}));
}

TEST(EngineWarmUp, ASessionWithoutItOrWithoutLogonIsLeftAlone) {
    WarmPair pair{std::chrono::nanoseconds{0}};
    ASSERT_TRUE(run_until(pair.io, [&] { return pair.house.logons == 1 && pair.desk.logons == 1; }));
    ASSERT_TRUE(pair.trade(1));
    for (int i = 0; i < 20; ++i) pair.io.poll(std::chrono::milliseconds{1});
    EXPECT_EQ(pair.session->counters().warm_ups.read(), 0U);
}

TEST(EngineWarmUp, AThreadWarmsUpOneSessionInAWhileWhateverTheirNumber) {
    IoThread io;
    auto now = io.loop().now();
    int warmed = 0;
    for (int i = 0; i < 1'000; ++i) {
        if (io.loop().may_warm_up(now)) ++warmed;  // a thousand sessions within half a millisecond
        now = now.after(500);
    }
    EXPECT_EQ(warmed, 10);
    EXPECT_FALSE(io.loop().may_warm_up({.utc_ns = now.utc_ns, .monotonic_ns = now.monotonic_ns - 1}));
}

}  // namespace
}  // namespace millpond::engine
