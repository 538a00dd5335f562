// The system clock is set while the engine runs.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "tests/engine/engine_pair.hpp"
#include "tests/engine/fix_text.hpp"
#include "tests/engine/raw_client.hpp"
#include "tests/support/stepped_clock.hpp"

namespace millpond::engine {
namespace {

constexpr std::int64_t kHour = 3'600'000'000'000;

/// Polls until the engine has detected a step, which takes a millisecond: messages in flight meanwhile have a time that
/// the receiver refuses.
bool notice_step(IoThread& io) {
    const auto end = core::monotonic_nanos() + 5'000'000;
    return run_until(io, [&] { return core::monotonic_nanos() > end; });
}

class ClockStepTest : public testing::TestWithParam<std::int64_t> {};

TEST_P(ClockStepTest, SessionsStayConnectedAndTheirMessagesBearTheNewTime) {
    EnginePair pair;
    ASSERT_TRUE(pair.log_on());
    std::optional<std::int64_t> sent_ns;
    pair.house.on_order = [&](SessionLink&, const fix::Message& message) {
        sent_ns = message.utc_timestamp_ns(fix::tag::kSendingTime);
    };
    memory::MessagePool<Order> pool{16};
    AsyncSender<Order, OrderEncoder> sender{*pair.initiated, pool, {}, {}};
    const test::ClockStep step{GetParam()};
    ASSERT_TRUE(notice_step(pair.io));
    for (std::uint64_t id = 1;
         !sent_ns || *sent_ns < core::utc_nanos() - 1'000'000'000 || *sent_ns > core::utc_nanos() + 1'000'000'000;
         ++id) {
        ASSERT_LT(id, 1'000U);
        ASSERT_EQ(sender.try_send(sender.try_make(Order{id, 100, {}})), Handed::queued);
        ASSERT_TRUE(run_until(pair.io, [&] { return pair.house.orders.size() == id; }));
    }
    EXPECT_TRUE(pair.house.closed.empty());
    EXPECT_TRUE(pair.desk.closed.empty());
    EXPECT_EQ(pair.initiated->status().state, fix::Session::State::active);
}

TEST_P(ClockStepTest, TheTimeoutOfASilentConnectionNeitherEndsEarlyNorFreezes) {
    IoThread io;
    Acceptor acceptor{io, {.first_message_timeout = std::chrono::milliseconds{50}}};
    const auto begin = core::monotonic_nanos();
    RawClient client{acceptor.port()};
    ASSERT_TRUE(run_until(io, [&] { return acceptor.counters().accepted.read() == 1; }));
    const test::ClockStep step{GetParam()};
    ASSERT_TRUE(run_until(io, [&] { return client.receive(), client.over(); }));
    EXPECT_GE(core::monotonic_nanos() - begin, 50'000'000);
    EXPECT_EQ(acceptor.counters().silent.read(), 1U);
}

TEST_P(ClockStepTest, AnAcceptedMessageWithADeadlineIsNotExpiredByAStep) {
    EnginePair pair;
    memory::MessagePool<Order> pool{16};
    AsyncSender<Order, OrderEncoder> sender{*pair.initiated, pool, {}, {.while_down = WhileDown::hold}};
    // The message is accepted while there is no session.
    pair.initiated->request_logout({});
    ASSERT_TRUE(run_until(pair.io, [&] { return !pair.initiated->status().enabled; }));
    ASSERT_EQ(sender.try_send(sender.try_make(Order{1, 100, {}}), {.deadline_utc_ns = core::utc_nanos() + kHour / 2}),
              Handed::queued);
    ASSERT_TRUE(run_until(pair.io, [&] { return sender.counters().popped.read() == 1; }));
    const test::ClockStep step{GetParam()};
    ASSERT_TRUE(notice_step(pair.io));
    pair.initiated->request_logon();
    ASSERT_TRUE(run_until(pair.io, [&] { return pair.house.orders.size() == 1; }));
    EXPECT_EQ(sender.counters().expired.read(), 0U);
}

TEST_P(ClockStepTest, DrainingIsBoundedByTimeThatPasses) {
    EnginePair pair;
    ASSERT_TRUE(pair.log_on());
    const test::ClockStep step{GetParam()};
    ASSERT_TRUE(notice_step(pair.io));
    pair.io.start();
    EXPECT_TRUE(pair.io.drain(std::chrono::seconds{20}));
    pair.io.stop();
    EXPECT_EQ(pair.house.closed, std::vector{Closed::logged_out});
}

INSTANTIATE_TEST_SUITE_P(OneHour, ClockStepTest, testing::Values(kHour, -kHour),
                         [](const auto& step) { return step.param > 0 ? "Forward" : "Back"; });

}  // namespace
}  // namespace millpond::engine
