// The cost of a hostile, slow or dead peer is bounded, and other peers are not affected.

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <millpond/engine/acceptor.hpp>
#include <millpond/engine/allow_list.hpp>

#include "tests/engine/engine_pair.hpp"
#include "tests/engine/fix_text.hpp"
#include "tests/engine/raw_client.hpp"

namespace millpond::engine {
namespace {

class LimitsTest : public testing::Test {
protected:
    SessionHandle& add(Acceptor& acceptor, std::string client, SessionLimits limits = {}) {
        return acceptor.add({.config = {.sender_comp_id = "HOUSE", .target_comp_id = std::move(client)},
                             .dictionary = &dictionary_,
                             .limits = limits},
                            house_);
    }
    [[nodiscard]] bool logs_on(RawClient& client, std::string_view id) {
        client.send(message("FIX.4.4", "A", 1, id, "98=0|108=30|"));
        return run_until(io_, [&] { return client.received().find("35=A") != std::string::npos; });
    }
    [[nodiscard]] bool is_closed(RawClient& client) {
        return run_until(io_, [&] { return client.receive(), client.over(); });
    }

    fix::Dictionary dictionary_ = fix::Dictionary::session_level(fix::Version::fix44);
    Counterparty house_;
    IoThread io_;
};

TEST_F(LimitsTest, AddressesThatAreNotOnTheListAreClosedAtOnce) {
    AllowList only_others;
    only_others.add("10.0.0.0/8");
    Acceptor acceptor{io_, {.allowed = only_others}};
    add(acceptor, "A");
    RawClient client{acceptor.port()};
    EXPECT_TRUE(is_closed(client));
    EXPECT_EQ(acceptor.counters().not_allowed.read(), 1U);
}

TEST_F(LimitsTest, AnAllowListHasRangesOfBothFamilies) {
    AllowList list;
    EXPECT_TRUE(list.contains(net::SocketAddress::parse("1.2.3.4:5")));
    list.add("10.1.0.0/15");
    list.add("192.168.1.7");
    list.add("fd00::/8");
    for (const auto* in : {"10.0.0.1:1", "10.1.255.255:1", "192.168.1.7:9", "[fd12::1]:1", "[::ffff:10.1.2.3]:1"}) {
        EXPECT_TRUE(list.contains(net::SocketAddress::parse(in))) << in;
    }
    for (const auto* out : {"10.2.0.1:1", "192.168.1.8:9", "[fe80::1]:1", "[::1]:1"}) {
        EXPECT_FALSE(list.contains(net::SocketAddress::parse(out))) << out;
    }
    for (const auto* bad : {"", "10.0.0.0/33", "10.0.0.0/", "fd00::/129", "host", "10.0.0.0/8x"}) {
        EXPECT_THROW(list.add(bad), std::invalid_argument) << bad;
    }
}

TEST_F(LimitsTest, ConnectionsWithoutALogonAreBoundedInNumberAndTime) {
    Acceptor acceptor{io_, {.max_before_logon = 2, .first_message_timeout = std::chrono::milliseconds{50}}};
    add(acceptor, "A");
    std::vector<RawClient> clients;
    for (int i = 0; i < 3; ++i) clients.emplace_back(acceptor.port());
    ASSERT_TRUE(run_until(io_, [&] { return acceptor.counters().accepted.read() == 3; }));
    EXPECT_EQ(acceptor.counters().full.read(), 1U);
    EXPECT_TRUE(is_closed(clients[0]) && is_closed(clients[1]) && is_closed(clients[2]));
    EXPECT_EQ(acceptor.counters().silent.read(), 2U);
}

TEST_F(LimitsTest, AFirstMessageThatNeverEndsIsClosed) {
    Acceptor acceptor{io_, {.first_message_bytes = 512}};
    add(acceptor, "A");
    RawClient client{acceptor.port()};
    client.send(
        "8=FIX.4.4\x01"
        "9=400\x01"
        "35=A\x01" +
        std::string(600, 'x'));
    EXPECT_TRUE(is_closed(client));
    EXPECT_EQ(acceptor.counters().unknown.read(), 1U);
}

TEST_F(LimitsTest, APeerThatSendsMoreThanItsRateIsReadMoreSlowlyAndLosesNothing) {
    Acceptor acceptor{io_, {}};
    add(acceptor, "A", {.messages_per_second = 2'000, .burst = 10});
    RawClient client{acceptor.port()};
    ASSERT_TRUE(logs_on(client, "A"));
    std::string all;
    for (int number = 2; number < 102; ++number) {
        all += message("FIX.4.4", "D", number, "A", "11=" + std::to_string(number) + "|");
    }
    const auto begin = core::monotonic_nanos();
    client.send(all);
    client.send(message("FIX.4.4", "D", 102, "A", "11=102|"));
    ASSERT_TRUE(run_until(io_, [&] { return house_.orders.size() == 101; }));
    EXPECT_GE(core::monotonic_nanos() - begin, 40'000'000);  // 90 more than the burst, at 2,000 a second
    metrics::Registry registry;
    const auto listed = acceptor.sessions()[0]->add_metrics(registry);
    EXPECT_EQ(registry.prometheus_text().find("millpond_fix_paused_total{session=\"FIX.4.4:HOUSE->A\"} 0"),
              std::string::npos);
}

TEST_F(LimitsTest, APeerThatSendsTooManyMessagesIsDisconnectedIfConfigured) {
    Acceptor acceptor{io_, {}};
    auto& handle = add(acceptor, "A", {.messages_per_second = 1, .burst = 10, .cut_off_when_exceeded = true});
    RawClient client{acceptor.port()};
    ASSERT_TRUE(logs_on(client, "A"));
    std::string all;
    for (int number = 2; number < 102; ++number) all += message("FIX.4.4", "D", number, "A", "11=1|");
    client.send(all);
    EXPECT_TRUE(is_closed(client));
    EXPECT_EQ(handle.status().last_closed, Closed::too_many_messages);
}

TEST_F(LimitsTest, AMessageLongerThanAllowedIsGarbledAndBindsNoMemory) {
    Acceptor acceptor{io_, {}};
    add(acceptor, "A");
    RawClient client{acceptor.port()};
    ASSERT_TRUE(logs_on(client, "A"));
    client.send(
        "8=FIX.4.4\x01"
        "9=99999999\x01"
        "35=D\x01");
    client.send(message("FIX.4.4", "D", 2, "A", "11=7|"));
    client.send(message("FIX.4.4", "D", 3, "A", "11=8|"));
    ASSERT_TRUE(run_until(io_, [&] { return !house_.orders.empty(); }));
}

TEST_F(LimitsTest, APeerThatReadsNothingForTooLongIsDisconnectedWithTheReason) {
    Acceptor acceptor{io_, {}};
    auto& handle = add(acceptor, "A", {.pending_bytes = 64U << 20U, .stalled = std::chrono::milliseconds{100}});
    house_.on_order = [](SessionLink& link, const fix::Message&) {
        for (int i = 0; i < 1'000; ++i) {
            static_cast<void>(link.send("8", [](fix::Writer& writer) { writer.add<58>(std::string(8'000, 'x')); }));
        }
    };
    RawClient client{acceptor.port()};
    ASSERT_TRUE(logs_on(client, "A"));
    client.send(message("FIX.4.4", "D", 2, "A", "11=1|"));
    ASSERT_TRUE(run_until(io_, [&] { return acceptor.connected() == 0; }));
    EXPECT_EQ(handle.status().last_closed, Closed::slow_consumer);
    EXPECT_EQ(house_.closed.at(0), Closed::slow_consumer);
}

TEST_F(LimitsTest, SessionsByTemplateAreBoundedAndGoWithPeersThatNeverLogOn) {
    Acceptor acceptor{io_, {}};
    SessionOptions model{.config = {.sender_comp_id = "HOUSE", .target_comp_id = "*"},
                         .dictionary = &dictionary_,
                         .store = {.bytes = 1U << 20U}};
    acceptor.add_template(model, house_, 2);
    RawClient one{acceptor.port()};
    RawClient two{acceptor.port()};
    ASSERT_TRUE(logs_on(one, "NEW1") && logs_on(two, "NEW2"));
    EXPECT_EQ(acceptor.sessions().size(), 2U);
    RawClient three{acceptor.port()};
    three.send(message("FIX.4.4", "A", 1, "NEW3", "98=0|108=30|"));
    EXPECT_TRUE(is_closed(three));
    EXPECT_EQ(acceptor.sessions().size(), 2U);
    RawClient path{acceptor.port()};
    path.send(message("FIX.4.4", "A", 1, "../NEW", "98=0|108=30|"));
    EXPECT_TRUE(is_closed(path));

    Acceptor strict{io_, {}};
    strict.add_template(model, house_, 1);
    RawClient rude{strict.port()};
    rude.send(message("FIX.4.4", "A", 1, "RUDE", "98=5|108=30|"));  // an encryption that is not supported
    EXPECT_TRUE(is_closed(rude));
    EXPECT_TRUE(run_until(io_, [&] { return strict.sessions().empty(); }));
}

TEST_F(LimitsTest, ADeadPeerNeverHoldsUpAProducer) {
    Acceptor acceptor{io_, {}};
    auto& handle = add(acceptor, "A", {.pending_bytes = 128U << 10U, .stalled = std::chrono::hours{1}});
    RawClient dead{acceptor.port()};
    ASSERT_TRUE(logs_on(dead, "A"));
    memory::MessagePool<Order> pool{1024};
    const std::string text(4'000, 'x');
    AsyncSender<Order, OrderEncoder> sender{handle, pool, {}, {.lane_capacity = 256}};
    // The peer reads nothing: first its socket fills, then the queue of its output, then the lane.
    std::uint64_t id = 0;
    ASSERT_TRUE(run_until(io_, [&] {
        while (sender.try_send(sender.try_make(Order{++id, 1, text})) == Handed::queued) {
        }
        return sender.counters().retried.read() > 0 && sender.depth() == 256;
    }));
    EXPECT_GT(sender.refused(), 0U);
    EXPECT_EQ(acceptor.connected(), 1U);
    EXPECT_LE(handle.status().pending_bytes, 128U << 10U);
    // The peer reads again: nothing is lost.
    const auto handed_over = sender.counters().popped.read() + 256;
    ASSERT_TRUE(run_until(io_, [&] {
        dead.receive();
        return sender.counters().written.read() == handed_over;
    }));
}

TEST(Limits, LongMessagesThatFillTheOutputGoOnWhenTheSocketHasThem) {
    EnginePair pair{{.pending_bytes = 32U << 10U}};
    memory::MessagePool<Order> pool{128};
    const std::string text(8'000, 'x');
    AsyncSender<Order, OrderEncoder> sender{*pair.initiated, pool};
    ASSERT_TRUE(pair.log_on());
    for (std::uint64_t id = 1; id <= 100; ++id) {
        ASSERT_EQ(sender.try_send(sender.try_make(Order{id, 1, text})), Handed::queued);
    }
    EXPECT_TRUE(run_until(pair.io, [&] { return pair.house.orders.size() == 100; })) << pair.house.orders.size();
}

TEST_F(LimitsTest, AResetWhileMessagesWaitForTheSocketDoesNotHoldUpTheirSender) {
    Acceptor acceptor{io_, {}};
    auto& handle = add(acceptor, "A", {.pending_bytes = 128U << 10U, .stalled = std::chrono::hours{1}});
    handle.request_numbers(1'000'000, std::nullopt, {});
    RawClient peer{acceptor.port()};
    ASSERT_TRUE(logs_on(peer, "A"));
    memory::MessagePool<Order> pool{1024};
    const std::string text(4'000, 'x');
    AsyncSender<Order, OrderEncoder> sender{handle, pool, {}, {.lane_capacity = 256, .max_in_flight = 16}};
    std::uint64_t id = 0;
    ASSERT_TRUE(run_until(io_, [&] {
        while (sender.try_send(sender.try_make(Order{++id, 1, text})) == Handed::queued) {
        }
        return sender.counters().retried.read() > 0 && sender.depth() == 256;
    }));
    ASSERT_GT(sender.counters().in_flight.read(), 0U);
    // The numbers in flight are far above those of the messages that follow the reset.
    peer.send(message("FIX.4.4", "A", 1, "A", "98=0|108=30|141=Y|"));
    ASSERT_TRUE(run_until(io_, [&] { return handle.status().next_sender < 1'000'000; }));
    const auto handed_over = sender.counters().popped.read() + sender.depth();
    ASSERT_TRUE(run_until(io_,
                          [&] {
                              peer.receive();
                              return sender.counters().written.read() == handed_over;
                          }))
        << sender.counters().written.read() << " of " << handed_over << ", in flight "
        << sender.counters().in_flight.read() << ", closed: " << name(handle.status().last_closed);
    EXPECT_EQ(sender.counters().in_flight.read(), 0U);
}

TEST_F(LimitsTest, AMessageThatFindsTheConnectionBusyTooOftenFailsWithThatReason) {
    struct Reasons final : SendListener<Order> {
        void on_failed(const Order&, SendFailure failure, std::uint64_t) noexcept override {
            ++failed;
            busy += failure == SendFailure::too_busy ? 1U : 0U;
        }
        std::uint64_t failed{0};
        std::uint64_t busy{0};
    };
    Acceptor acceptor{io_, {}};
    auto& handle = add(acceptor, "A", {.pending_bytes = 128U << 10U, .stalled = std::chrono::hours{1}});
    RawClient dead{acceptor.port()};
    ASSERT_TRUE(logs_on(dead, "A"));
    memory::MessagePool<Order> pool{1024};
    const std::string text(4'000, 'x');
    Reasons reasons;
    AsyncSender<Order, OrderEncoder> sender{handle, pool, {}, {.lane_capacity = 256, .max_attempts = 3}, &reasons};
    // Each message that is handed over makes the sender check the oldest one.
    ASSERT_TRUE(run_until(io_, [&] {
        EXPECT_EQ(sender.try_send(sender.try_make(Order{1, 1, text})), Handed::queued);
        return reasons.busy >= 5;
    }));
    EXPECT_EQ(reasons.failed, reasons.busy);
    EXPECT_EQ(sender.counters().too_busy.read(), reasons.busy);
    // Each message was checked three times.
    EXPECT_GE(sender.counters().retried.read(), 3 * reasons.busy);
    EXPECT_EQ(acceptor.connected(), 1U);
}

TEST_F(LimitsTest, ADrainEndsWithinItsBoundThoughThePeerIsDead) {
    Acceptor acceptor{io_, {}};
    auto& handle = add(acceptor, "A", {.pending_bytes = 128U << 10U, .stalled = std::chrono::hours{1}});
    RawClient dead{acceptor.port()};
    ASSERT_TRUE(logs_on(dead, "A"));
    memory::MessagePool<Order> pool{4096};
    const std::string text(8'000, 'x');
    AsyncSender<Order, OrderEncoder> sender{handle, pool, {}, {.lane_capacity = 4096}};
    for (std::uint64_t id = 0; id < 4000; ++id) {
        ASSERT_EQ(sender.try_send(sender.try_make(Order{id, 1, text})), Handed::queued);
    }
    EXPECT_FALSE(io_.drain(std::chrono::milliseconds{50}));
    EXPECT_EQ(acceptor.connected(), 0U);
    EXPECT_GT(sender.counters().shut_down.read(), 0U);
    EXPECT_EQ(sender.counters().popped.read(), sender.counters().sent.read() + sender.counters().shut_down.read());
    EXPECT_EQ(sender.try_send(sender.try_make(Order{1, 1, {}})), Handed::closed);
    EXPECT_EQ(pool.stats().in_use, 0U);
}

TEST_F(LimitsTest, ADrainSendsWhatWasHandedOverAndLogsOut) {
    Counterparty desk;
    IoThread far;
    Acceptor acceptor{far, {}};
    add(acceptor, "DESK");
    Initiator initiator{io_};
    auto& handle =
        initiator.add({.config = {.sender_comp_id = "DESK", .target_comp_id = "HOUSE"}, .dictionary = &dictionary_},
                      {.hosts = {{"127.0.0.1", acceptor.port()}}}, desk);
    memory::MessagePool<Order> pool{1024};
    AsyncSender<Order, OrderEncoder> sender{handle, pool};
    for (std::uint64_t id = 0; id < 500; ++id) {
        ASSERT_EQ(sender.try_send(sender.try_make(Order{id, 1, {}})), Handed::queued);
    }
    far.start();
    EXPECT_TRUE(io_.drain(std::chrono::seconds{20}));
    far.stop();
    EXPECT_EQ(house_.orders.size(), 500U);
    EXPECT_EQ(house_.logouts, 1);
    EXPECT_EQ(desk.logouts, 1);
}

}  // namespace
}  // namespace millpond::engine
