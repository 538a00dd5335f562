// Messages of a sender that are stored while the session is not logged on.

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <millpond/engine/async_sender.hpp>

#include "tests/engine/engine_pair.hpp"

namespace millpond::engine {
namespace {

class Outcomes final : public SendListener<Order> {
public:
    void on_sent(const Sent& sent) noexcept override { sent_.push_back(sent); }
    void on_failed(const Order&, SendFailure failure, std::uint64_t) noexcept override { failed_.push_back(failure); }
    std::vector<Sent> sent_;
    std::vector<SendFailure> failed_;
};

void send(AsyncSender<Order, OrderEncoder>& sender, std::uint64_t id, std::int64_t quantity = 1) {
    auto order = sender.try_make();
    order->id = id;
    order->quantity = quantity;
    EXPECT_EQ(sender.try_send(std::move(order), {.token = id}), Handed::queued);
}

TEST(EngineKeep, MessagesSentBeforeTheLogonAreResentAfterItInOrder) {
    EnginePair pair;
    memory::MessagePool<Order> pool{64};
    Outcomes outcomes;
    AsyncSender<Order, OrderEncoder> sender{*pair.initiated, pool, {}, {.while_down = WhileDown::keep}, &outcomes};
    pair.initiated->request_logout("not yet");
    for (std::uint64_t id = 1; id <= 3; ++id) send(sender, id);
    send(sender, 4, -1);  // the encoder refuses
    ASSERT_TRUE(run_until(pair.io, [&] { return sender.counters().kept.read() == 3; }));
    ASSERT_EQ(outcomes.sent_.size(), 3U);
    for (std::uint64_t i = 0; i < 3; ++i) {
        EXPECT_EQ(outcomes.sent_[i].token, i + 1);
        EXPECT_EQ(outcomes.sent_[i].sequence, i + 1);
        EXPECT_FALSE(outcomes.sent_[i].written);
    }
    ASSERT_TRUE(run_until(pair.io, [&] { return !outcomes.failed_.empty(); }));
    EXPECT_EQ(outcomes.failed_, (std::vector{SendFailure::not_encoded}));
    EXPECT_TRUE(pair.house.orders.empty());
    pair.initiated->request_logon();
    ASSERT_TRUE(run_until(pair.io, [&] { return pair.house.orders.size() == 3; }));
    send(sender, 5);
    ASSERT_TRUE(run_until(pair.io, [&] { return pair.house.orders.size() == 4; }));
    EXPECT_EQ(pair.house.orders, (std::vector<std::uint64_t>{1, 2, 3, 5}));
    EXPECT_TRUE(outcomes.sent_.back().written);
    EXPECT_EQ(pool.shutdown(), 0U);
}

TEST(EngineKeep, ADrainKeepsWhatCouldNotBeSent) {
    EnginePair pair;
    memory::MessagePool<Order> pool{64};
    AsyncSender<Order, OrderEncoder> sender{*pair.initiated, pool, {}, {.while_down = WhileDown::keep}};
    pair.initiated->request_logout("never");
    send(sender, 1);
    EXPECT_TRUE(pair.io.drain(std::chrono::seconds{5}));
    EXPECT_EQ(sender.counters().kept.read(), 1U);
    EXPECT_EQ(sender.counters().shut_down.read(), 0U);
}

}  // namespace
}  // namespace millpond::engine
