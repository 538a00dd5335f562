#include <millpond/engine/async_sender.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <numeric>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <millpond/fix/schedule.hpp>
#include <millpond/metrics/registry.hpp>

#include "tests/engine/engine_pair.hpp"
#include "tests/engine/fix_text.hpp"
#include "tests/engine/raw_client.hpp"

namespace millpond::engine {
namespace {

class Receipts final : public SendListener<Order> {
public:
    void on_sent(const Sent& one) noexcept override { sent.push_back(one); }
    void on_failed(const Order& order, SendFailure why, std::uint64_t token) noexcept override {
        failed.emplace_back(order.id, why);
        failed_tokens.push_back(token);
    }
    std::vector<Sent> sent;
    std::vector<std::pair<std::uint64_t, SendFailure>> failed;
    std::vector<std::uint64_t> failed_tokens;
};

using Sender = AsyncSender<Order, OrderEncoder>;

class AsyncSenderTest : public testing::Test {
protected:
    [[nodiscard]] bool send(Sender& sender, std::uint64_t id, Lane lane = Lane::normal) {
        return sender.try_send(sender.try_make(Order{id, 100, {}}), {.lane = lane, .token = id}) == Handed::queued;
    }

    EnginePair pair_;
    memory::MessagePool<Order> pool_{4096};
    Receipts receipts_;
};

TEST_F(AsyncSenderTest, MessagesArriveInOrderAndReturnToThePool) {
    Sender sender{*pair_.initiated, pool_, {}, {}, &receipts_};
    ASSERT_TRUE(pair_.log_on());
    std::vector<std::uint64_t> ids(1000);
    std::iota(ids.begin(), ids.end(), 1U);
    for (const auto id : ids) ASSERT_TRUE(send(sender, id));
    ASSERT_TRUE(run_until(pair_.io, [&] { return pair_.house.orders.size() == ids.size(); }));
    EXPECT_EQ(pair_.house.orders, ids);
    EXPECT_EQ(pool_.stats().in_use, 0U);
    ASSERT_EQ(receipts_.sent.size(), ids.size());
    for (std::size_t i = 0; i < ids.size(); ++i) {
        EXPECT_EQ(receipts_.sent[i].token, ids[i]);
        EXPECT_EQ(receipts_.sent[i].sequence, i + 2);  // the Logon was 1
        EXPECT_TRUE(receipts_.sent[i].written);
    }
    EXPECT_EQ(sender.counters().written.read(), ids.size());
    EXPECT_EQ(sender.counters().in_flight.read(), 0U);
}

TEST_F(AsyncSenderTest, MessagesThatWaitForThoseInFlightGoOnWhenTheSocketHasThem) {
    Sender sender{*pair_.initiated, pool_, {}, {.max_in_flight = 4}};
    ASSERT_TRUE(pair_.log_on());
    std::vector<std::uint64_t> ids(100);
    std::iota(ids.begin(), ids.end(), 1U);
    for (const auto id : ids) ASSERT_TRUE(send(sender, id));
    ASSERT_TRUE(run_until(pair_.io, [&] { return pair_.house.orders.size() == ids.size(); }))
        << pair_.house.orders.size();
    EXPECT_EQ(pair_.house.orders, ids);
}

TEST_F(AsyncSenderTest, TheMostUrgentLaneGoesFirst) {
    Sender sender{*pair_.initiated, pool_};
    ASSERT_TRUE(pair_.log_on());
    ASSERT_TRUE(send(sender, 4, Lane::low) && send(sender, 3, Lane::normal) && send(sender, 2, Lane::high) &&
                send(sender, 1, Lane::urgent));
    ASSERT_TRUE(run_until(pair_.io, [&] { return pair_.house.orders.size() == 4; }));
    EXPECT_EQ(pair_.house.orders, (std::vector<std::uint64_t>{1, 2, 3, 4}));
}

TEST_F(AsyncSenderTest, AFullLaneRefusesAtOnceAndTheCallerKeepsTheMessage) {
    Sender sender{*pair_.initiated, pool_, {}, {.lane_capacity = 4}};
    for (std::uint64_t id = 1; id <= 4; ++id) ASSERT_TRUE(send(sender, id));
    auto fifth = sender.try_make(Order{5, 100, {}});
    EXPECT_EQ(sender.try_send(std::move(fifth)), Handed::full);
    EXPECT_EQ(fifth->id, 5U);  // NOLINT(bugprone-use-after-move): this is the promise
    EXPECT_TRUE(send(sender, 6, Lane::urgent));
    EXPECT_EQ(sender.refused(), 1U);
    EXPECT_EQ(sender.depth(), 5U);
    EXPECT_EQ(sender.depth(Lane::urgent), 1U);
}

TEST_F(AsyncSenderTest, WhileTheSessionIsDownMessagesWaitForTheLogonOrFailAsAsked) {
    Sender patient{*pair_.initiated, pool_, {}, {}, &receipts_};
    ASSERT_TRUE(send(patient, 1));
    pair_.io.poll(std::chrono::milliseconds{0});
    EXPECT_TRUE(receipts_.failed.empty());
    ASSERT_TRUE(run_until(pair_.io, [&] { return pair_.house.orders.size() == 1; }));

    Sender hasty{*pair_.accepted, pool_, {}, {.while_down = WhileDown::fail}, &receipts_};
    pair_.initiated->request_logout("enough");
    ASSERT_TRUE(run_until(pair_.io, [&] { return pair_.acceptor.connected() == 0; }));
    ASSERT_TRUE(send(hasty, 2));
    ASSERT_TRUE(run_until(pair_.io, [&] { return receipts_.failed.size() == 1; }));
    EXPECT_EQ(receipts_.failed[0], (std::pair<std::uint64_t, SendFailure>{2, SendFailure::not_logged_on}));
    EXPECT_EQ(receipts_.failed_tokens[0], 2U);
}

TEST_F(AsyncSenderTest, AMessageWhoseDeadlineIsOverIsNotSent) {
    Sender sender{*pair_.initiated, pool_, {}, {}, &receipts_};
    ASSERT_EQ(sender.try_send(sender.try_make(Order{1, 100, {}}), {.deadline_utc_ns = core::utc_nanos() - 1}),
              Handed::queued);
    ASSERT_TRUE(send(sender, 2));
    ASSERT_TRUE(run_until(pair_.io, [&] { return pair_.house.orders.size() == 1; }));
    EXPECT_EQ(pair_.house.orders, std::vector<std::uint64_t>{2});
    EXPECT_EQ(receipts_.failed[0].second, SendFailure::expired);
    EXPECT_EQ(sender.counters().expired.read(), 1U);
}

TEST_F(AsyncSenderTest, ADeadlineEndsTheWaitForALogon) {
    pair_.initiated->request_logout("never on");
    Sender sender{*pair_.initiated, pool_, {}, {}, &receipts_};
    ASSERT_EQ(sender.try_send(sender.try_make(Order{1, 100, {}}), {.deadline_utc_ns = core::utc_nanos() + 5'000'000}),
              Handed::queued);
    ASSERT_TRUE(run_until(pair_.io, [&] { return !receipts_.failed.empty(); }));
    EXPECT_EQ(receipts_.failed[0].second, SendFailure::expired);
}

TEST_F(AsyncSenderTest, AFailedEncodeUsesUpNoSequenceNumber) {
    Sender sender{*pair_.initiated, pool_, {}, {}, &receipts_};
    ASSERT_TRUE(pair_.log_on());
    const std::string long_text(20'000, 'x');
    ASSERT_TRUE(send(sender, 1));
    ASSERT_EQ(sender.try_send(sender.try_make(Order{2, -1, {}})), Handed::queued);        // the encoder refuses
    ASSERT_EQ(sender.try_send(sender.try_make(Order{3, 1, long_text})), Handed::queued);  // too long
    ASSERT_EQ(sender.try_send(sender.try_make(Order{4, 1,
                                                    "a\x01"
                                                    "b"})),
              Handed::queued);  // a delimiter
    ASSERT_TRUE(send(sender, 5));
    ASSERT_TRUE(run_until(pair_.io, [&] { return pair_.house.orders.size() == 2; }));
    EXPECT_EQ(pair_.house.orders, (std::vector<std::uint64_t>{1, 5}));
    EXPECT_EQ(receipts_.failed.size(), 3U);
    EXPECT_EQ(sender.counters().not_encoded.read(), 3U);
    EXPECT_EQ(pair_.initiated->status().next_sender, 4U);
    EXPECT_EQ(pool_.stats().in_use, 0U);
}

TEST_F(AsyncSenderTest, ProducersOfManyThreadsLoseNothingAndKeepTheirOwnOrder) {
    constexpr std::size_t kThreads = 3;
    constexpr std::uint64_t kEach = 2'000;
    Sender sender{*pair_.initiated, pool_};
    ASSERT_TRUE(pair_.log_on());
    std::vector<std::jthread> producers;
    for (std::size_t thread = 0; thread < kThreads; ++thread) {
        producers.emplace_back([&, thread] {
            for (std::uint64_t i = 0; i < kEach; ++i) {
                while (!send(sender, thread * kEach + i)) std::this_thread::yield();
            }
        });
    }
    ASSERT_TRUE(run_until(pair_.io, [&] { return pair_.house.orders.size() == kThreads * kEach; }));
    std::array<std::uint64_t, kThreads> next{};
    for (const auto id : pair_.house.orders) EXPECT_EQ(id % kEach, next[id / kEach]++);
}

TEST_F(AsyncSenderTest, MessagesThatStillWaitWhenTheSenderEndsAreReported) {
    {
        Sender sender{*pair_.initiated, pool_, {}, {}, &receipts_};
        ASSERT_TRUE(send(sender, 1) && send(sender, 2));
    }
    ASSERT_EQ(receipts_.failed.size(), 2U);
    EXPECT_EQ(receipts_.failed[0].second, SendFailure::shut_down);
    EXPECT_EQ(pool_.stats().in_use, 0U);
}

/// Threads that hand over `each` messages, a few of which may be in flight at once.
class Producers {
public:
    Producers(SessionHandle& session, std::size_t threads, std::uint64_t each)
        : threads_count_(threads), each_(each), sender_{session, pool_, {}, {.lane_capacity = 64, .max_in_flight = 4}} {
        for (std::size_t i = 0; i < threads; ++i) threads_.emplace_back([this, i] { run(i); });
    }
    ~Producers() {
        stopped_.store(true);
        for (auto& thread : threads_) thread.join();
    }
    Producers(const Producers&) = delete;
    Producers& operator=(const Producers&) = delete;

    [[nodiscard]] std::size_t all() const noexcept { return threads_count_ * each_; }
    /// Each message arrived once, and those of a thread in order.
    void expect_all_came(const std::vector<std::uint64_t>& orders) const {
        std::vector<std::uint64_t> next(threads_count_);
        for (const auto id : orders) ASSERT_EQ(id / threads_count_, next[id % threads_count_]++) << id;
        EXPECT_EQ(orders.size(), all());
    }
    [[nodiscard]] const Sender& sender() const noexcept { return sender_; }

private:
    void run(std::size_t thread) {
        for (std::uint64_t sent = 0; sent < each_ && !stopped_.load();) {
            auto draft = sender_.try_make(Order{.id = sent * threads_count_ + thread, .quantity = 1});
            if (draft && sender_.try_send(std::move(draft)) == Handed::queued) {
                ++sent;
            } else {
                std::this_thread::yield();
            }
        }
    }

    std::size_t threads_count_;
    std::uint64_t each_;
    memory::MessagePool<Order> pool_{1024};
    Sender sender_;
    std::vector<std::thread> threads_;
    std::atomic<bool> stopped_{false};
};

/// An application that fails sometimes, which ends the connection.
class Fragile final : public Counterparty {
public:
    fix::Verdict on_message(SessionLink& link, const fix::Message& message) override {
        if (random_() % 300 == 0) throw std::runtime_error("fragile");
        return Counterparty::on_message(link, message);
    }

private:
    std::mt19937 random_{11};
};

TEST_F(AsyncSenderTest, ThreadsThatWaitGoOnAfterDisconnectionsInTheMiddleOfResends) {
    Fragile house;
    Acceptor acceptor{pair_.io, {}};
    acceptor.add({.config = {.sender_comp_id = "HOUSE", .target_comp_id = "THREADS"}, .dictionary = &pair_.dictionary},
                 house);
    Initiator initiator{pair_.io};
    auto& session =
        initiator.add({.config = {.sender_comp_id = "THREADS", .target_comp_id = "HOUSE", .resend_burst = 8},
                       .dictionary = &pair_.dictionary},
                      {.hosts = {{"127.0.0.1", acceptor.port()}},
                       .reconnect = {.first = std::chrono::milliseconds{2}, .max = std::chrono::milliseconds{4}}},
                      pair_.desk);
    Producers producers{session, 3, 3'000};
    const auto end = core::monotonic_nanos() + 20'000'000'000;
    while (house.orders.size() < producers.all() && core::monotonic_nanos() < end) {
        try {
            pair_.io.poll(std::chrono::milliseconds{2});
        } catch (const std::runtime_error&) {
        }
    }
    producers.expect_all_came(house.orders);
    EXPECT_GT(house.logons, 10);
    const auto& counters = producers.sender().counters();
    EXPECT_TRUE(run_until(pair_.io, [&] { return counters.in_flight.read() == 0; }));
    EXPECT_EQ(counters.written.read() + counters.not_written.read(), producers.all());
}

TEST_F(AsyncSenderTest, ThreadsThatWaitGoOnInTheNextRunOfTheSchedule) {
    // The next run starts in one to two seconds.
    const auto second = core::utc_nanos() / 1'000'000'000 % 86'400;
    const auto schedule = fix::Schedule::daily((second + 2) % 86'400, (second + 2) % 86'400);
    std::size_t before = 0;
    Counterparty house;
    Acceptor acceptor{pair_.io, {}};
    acceptor.add({.config = {.sender_comp_id = "HOUSE", .target_comp_id = "THREADS", .schedule = schedule},
                  .dictionary = &pair_.dictionary},
                 house);
    Initiator initiator{pair_.io};
    auto& session = initiator.add(
        {.config = {.sender_comp_id = "THREADS", .target_comp_id = "HOUSE", .schedule = schedule},
         .dictionary = &pair_.dictionary},
        {.hosts = {{"127.0.0.1", acceptor.port()}}, .reconnect = {.first = std::chrono::milliseconds{10}}}, pair_.desk);
    house.on_order = [&](SessionLink&, const fix::Message&) { before += house.logons == 1 ? 1 : 0; };
    Producers producers{session, 3, 1'000'000};
    ASSERT_TRUE(run_until(pair_.io, [&] { return house.logons == 2 && house.orders.size() > before + 1'000; }));
    EXPECT_GT(before, 0U);
    std::vector<std::uint64_t> next(3);
    for (const auto id : house.orders) ASSERT_EQ(id / 3, next[id % 3]++) << id;
    EXPECT_LE(session.status().next_sender, house.orders.size() - before + 100);
}

TEST_F(AsyncSenderTest, IfALogoutResetsTheNumbersOnlyBytesInTheSocketAreReportedAsWritten) {
    constexpr std::size_t kMany = 1'000;
    Counterparty house;
    Acceptor acceptor{pair_.io, {}};
    auto& session =
        acceptor.add({.config = {.sender_comp_id = "HOUSE", .target_comp_id = "SLOW", .reset_on_logout = true},
                      .dictionary = &pair_.dictionary,
                      .store = {.bytes = 32U << 20U},
                      .limits = {.pending_bytes = 64U << 20U}},
                     house);
    Sender sender{session, pool_, {}, {}, &receipts_};
    std::optional<RawClient> client{std::in_place, acceptor.port(), 4096};
    client->send(message("FIX.4.4", "A", 1, "SLOW", "98=0|108=30|"));
    ASSERT_TRUE(run_until(pair_.io, [&] { return house.logons == 1; }));
    const std::string text(15'000, 'x');
    for (std::uint64_t id = 1; id <= kMany; ++id) {
        ASSERT_EQ(sender.try_send(sender.try_make(Order{id, 100, text}), {.token = id}), Handed::queued);
    }
    ASSERT_TRUE(run_until(pair_.io, [&] { return sender.counters().sent.read() == kMany; }));
    client->send(message("FIX.4.4", "5", 2, "SLOW", ""));
    ASSERT_TRUE(run_until(pair_.io, [&] { return house.logouts == 1; }));
    const auto before = receipts_.sent.size();
    ASSERT_TRUE(run_until(pair_.io, [&] { return client->receive(), receipts_.sent.size() > before; }));
    client.reset();
    ASSERT_TRUE(run_until(pair_.io, [&] { return receipts_.sent.size() == kMany; }));
    EXPECT_GT(sender.counters().written.read(), 0U);
    EXPECT_GT(sender.counters().not_written.read(), kMany / 4);
    EXPECT_FALSE(receipts_.sent.back().written);
}

TEST_F(AsyncSenderTest, TheMetricsPageHasCountersDepthAndStages) {
    metrics::Registry registry;
    Sender sender{*pair_.initiated, pool_};
    const auto of_sender = sender.add_metrics(registry, "orders");
    const auto of_session = pair_.initiated->add_metrics(registry);
    ASSERT_TRUE(pair_.log_on());
    ASSERT_TRUE(send(sender, 1));
    ASSERT_TRUE(run_until(pair_.io, [&] { return pair_.house.orders.size() == 1; }));
    const auto page = registry.prometheus_text();
    for (const auto* line : {"millpond_fix_sender_sent_total{sender=\"orders\",session=\"FIX.4.4:DESK->HOUSE\"} 1",
                             "millpond_fix_sender_depth", "millpond_fix_sender_in_flight", "stage=\"acquire\"",
                             "stage=\"queue\"", "stage=\"encode\"", "stage=\"write\"", "reason=\"expired\"",
                             "millpond_fix_next_sender{session=\"FIX.4.4:DESK->HOUSE\"} 3"}) {
        EXPECT_NE(page.find(line), std::string::npos) << line << "\n" << page;
    }
}

}  // namespace
}  // namespace millpond::engine
