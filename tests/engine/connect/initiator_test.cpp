#include <millpond/engine/initiator.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/engine/engine_pair.hpp"

namespace millpond::engine {
namespace {

constexpr Reconnect kSoon{.first = std::chrono::milliseconds{5}, .max = std::chrono::milliseconds{20}};

/// A port on which no process listens.
std::uint16_t dead_port() {
    const auto socket = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(::bind(socket, reinterpret_cast<const sockaddr*>(&address), size), 0);
    EXPECT_EQ(::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size), 0);
    ::close(socket);
    return ntohs(address.sin_port);
}

class InitiatorTest : public testing::Test {
protected:
    [[nodiscard]] SessionOptions session(std::string sender, std::string target) const {
        return {.config = {.sender_comp_id = std::move(sender), .target_comp_id = std::move(target)},
                .dictionary = &dictionary_};
    }

    fix::Dictionary dictionary_ = fix::Dictionary::session_level(fix::Version::fix44);
    Counterparty house_;
    Counterparty desk_;
    IoThread io_;
};

TEST_F(InitiatorTest, ItLogsOnAndItsOrdersArrive) {
    EnginePair pair;
    ASSERT_TRUE(pair.log_on());
    const auto status = pair.initiated->status();
    EXPECT_EQ(status.name, "FIX.4.4:DESK->HOUSE");
    EXPECT_EQ(status.state, fix::Session::State::active);
    EXPECT_EQ(status.peer, "127.0.0.1:" + std::to_string(pair.acceptor.port()));
    EXPECT_EQ(status.next_sender, 2U);
    EXPECT_EQ(status.next_target, 2U);
    EXPECT_EQ(pair.acceptor.connected(), 1U);
    EXPECT_EQ(pair.initiator.connected(), 1U);
}

TEST_F(InitiatorTest, IfTheFirstHostDoesNotAnswerTheSecondIsTried) {
    Acceptor acceptor{io_, {}};
    acceptor.add(session("HOUSE", "DESK"), house_);
    Initiator initiator{io_};
    auto& handle = initiator.add(session("DESK", "HOUSE"),
                                 {.hosts = {{"127.0.0.1", dead_port()}, {"127.0.0.1", acceptor.port()}},
                                  .reconnect = {.first = std::chrono::hours{1}}},
                                 desk_);
    ASSERT_TRUE(run_until(io_, [&] { return desk_.logons == 1; }));
    EXPECT_EQ(handle.status().peer, "127.0.0.1:" + std::to_string(acceptor.port()));
}

TEST_F(InitiatorTest, ANameIsLookedUp) {
    Acceptor acceptor{io_, {}};
    acceptor.add(session("HOUSE", "DESK"), house_);
    Initiator initiator{io_};
    initiator.add(session("DESK", "HOUSE"), {.hosts = {{"localhost", acceptor.port()}}, .reconnect = kSoon}, desk_);
    EXPECT_TRUE(run_until(io_, [&] { return desk_.logons == 1; }));
}

TEST_F(InitiatorTest, ItReconnectsWhenItsHostIsBackAndTheNumbersContinue) {
    auto acceptor = std::make_unique<Acceptor>(io_, Acceptor::Options{});
    const auto port = acceptor->port();
    acceptor->add(session("HOUSE", "DESK"), house_);
    Initiator initiator{io_};
    auto& handle = initiator.add(session("DESK", "HOUSE"), {.hosts = {{"127.0.0.1", port}}, .reconnect = kSoon}, desk_);
    ASSERT_TRUE(run_until(io_, [&] { return desk_.logons == 1; }));
    acceptor.reset();
    ASSERT_TRUE(run_until(io_, [&] { return initiator.connected() == 0; }));
    EXPECT_EQ(desk_.closed.at(0), Closed::by_peer);
    EXPECT_EQ(desk_.logouts, 1);
    acceptor = std::make_unique<Acceptor>(io_, Acceptor::Options{.port = port});
    auto restarted = session("HOUSE", "DESK");
    restarted.config.max_latency_ns = 0;
    auto& accepted = acceptor->add(restarted, house_);
    bool set = false;
    accepted.request_numbers(2, 2, [&](bool done) { set = done; });
    ASSERT_TRUE(run_until(io_, [&] { return desk_.logons == 2; }));
    EXPECT_TRUE(set);
    EXPECT_EQ(handle.status().next_sender, 3U);
    EXPECT_EQ(handle.status().connections, 2U);
}

TEST_F(InitiatorTest, ARequestedLogoutLastsUntilALogonIsRequested) {
    EnginePair pair;
    ASSERT_TRUE(pair.log_on());
    pair.initiated->request_logout("the day is over");
    ASSERT_TRUE(run_until(pair.io, [&] { return pair.initiator.connected() == 0; }));
    EXPECT_EQ(pair.desk.closed.at(0), Closed::logged_out);
    for (int i = 0; i < 20; ++i) pair.io.poll(std::chrono::milliseconds{2});
    EXPECT_EQ(pair.initiator.connected(), 0U);
    pair.initiated->request_logon();
    EXPECT_TRUE(run_until(pair.io, [&] { return pair.desk.logons == 2; }));
}

TEST_F(InitiatorTest, OutsideOfItsScheduleItDoesNotConnect) {
    Acceptor acceptor{io_, {}};
    acceptor.add(session("HOUSE", "DESK"), house_);
    Initiator initiator{io_};
    auto closed = session("DESK", "HOUSE");
    closed.config.schedule = fix::Schedule::daily(0, 1, {false, false, false, false, false, false, false});
    initiator.add(closed, {.hosts = {{"127.0.0.1", acceptor.port()}}, .reconnect = kSoon}, desk_);
    for (int i = 0; i < 20; ++i) io_.poll(std::chrono::milliseconds{2});
    EXPECT_EQ(acceptor.counters().accepted.read(), 0U);
}

TEST_F(InitiatorTest, ResetOnLogonResetsBothNumbers) {
    Acceptor acceptor{io_, {}};
    auto& accepted = acceptor.add(session("HOUSE", "DESK"), house_);
    accepted.request_numbers(70, 80);
    Initiator initiator{io_};
    auto fresh = session("DESK", "HOUSE");
    fresh.config.reset_on_logon = true;
    auto& handle = initiator.add(fresh, {.hosts = {{"127.0.0.1", acceptor.port()}}, .reconnect = kSoon}, desk_);
    ASSERT_TRUE(run_until(io_, [&] { return desk_.logons == 1; }));
    EXPECT_EQ(handle.status().next_target, 2U);
    EXPECT_EQ(accepted.status().next_target, 2U);
}

TEST_F(InitiatorTest, ASessionResetWhileItIsOnLogsOutFirst) {
    EnginePair pair;
    ASSERT_TRUE(pair.log_on());
    pair.initiated->request_reset();
    pair.accepted->request_reset();
    ASSERT_TRUE(run_until(pair.io, [&] { return pair.desk.logons == 2; }));
    EXPECT_EQ(pair.initiated->status().next_sender, 2U);
    EXPECT_EQ(pair.initiated->status().next_target, 2U);
}

TEST_F(InitiatorTest, TheNumbersOfAConnectedSessionAreNotSet) {
    EnginePair pair;
    ASSERT_TRUE(pair.log_on());
    bool asked = false;
    bool done = true;
    pair.initiated->request_numbers(99, 99, [&](bool was_done) {
        asked = true;
        done = was_done;
    });
    ASSERT_TRUE(run_until(pair.io, [&] { return asked; }));
    EXPECT_FALSE(done);
    EXPECT_EQ(pair.initiated->status().next_sender, 2U);
}

TEST_F(InitiatorTest, AWrongSettingIsRefusedByName) {
    Initiator initiator{io_};
    EXPECT_THROW(initiator.add(session("DESK", "HOUSE"), {}, desk_), std::invalid_argument);
    auto small = session("DESK", "HOUSE");
    small.store.bytes = 32'768;
    EXPECT_THROW(initiator.add(small, {.hosts = {{"127.0.0.1", 1}}}, desk_), std::invalid_argument);
    initiator.add(session("DESK", "HOUSE"), {.hosts = {{"127.0.0.1", 1}}}, desk_);
    EXPECT_THROW(initiator.add(session("DESK", "HOUSE"), {.hosts = {{"127.0.0.1", 1}}}, desk_), std::invalid_argument);
}

TEST_F(InitiatorTest, FortySessionsOfTwoKindsShareTwoThreads) {
    constexpr int kSessions = 40;
    IoThread one{{.name = "io-one"}};
    IoThread two{{.name = "io-two"}};
    std::vector<std::unique_ptr<Counterparty>> houses;
    std::vector<std::unique_ptr<Counterparty>> desks;
    {
        Acceptor acceptor{one, {.max_connections = 64}};
        Initiator initiator{two};
        std::vector<std::unique_ptr<AsyncSender<Order, OrderEncoder>>> senders;
        memory::MessagePool<Order> pool{1024};
        one.start();
        two.start();
        for (int i = 0; i < kSessions; ++i) {
            const auto desk = "DESK" + std::to_string(i);
            auto& here = *houses.emplace_back(std::make_unique<Counterparty>());
            auto& there = *desks.emplace_back(std::make_unique<Counterparty>());
            acceptor.add(session("HOUSE", desk), here, i % 2 == 0 ? &one : &two);
            auto& handle =
                initiator.add(session(desk, "HOUSE"), {.hosts = {{"127.0.0.1", acceptor.port()}}, .reconnect = kSoon},
                              there, i % 3 == 0 ? &one : &two);
            senders.push_back(std::make_unique<AsyncSender<Order, OrderEncoder>>(handle, pool));
        }
        for (std::uint64_t id = 1; id <= 10; ++id) {
            for (auto& sender : senders) {
                ASSERT_EQ(sender->try_send(sender->try_make(Order{id, 1, {}})), Handed::queued);
            }
        }
        const auto end = core::monotonic_nanos() + 20'000'000'000;
        const auto arrived = [&] {
            std::size_t sum = 0;
            for (auto* io : {&one, &two}) {
                io->call([&] {
                    for (std::size_t i = 0; i < houses.size(); ++i) {
                        if ((i % 2 == 0) == (io == &one)) sum += houses[i]->orders.size();
                    }
                });
            }
            return sum;
        };
        while (arrived() < kSessions * 10 && core::monotonic_nanos() < end) std::this_thread::yield();
        one.stop();
        two.stop();
        senders.clear();
    }
    for (const auto& house : houses) EXPECT_EQ(house->orders.size(), 10U);
    for (const auto& desk : desks) EXPECT_EQ(desk->logons, 1);
}

}  // namespace
}  // namespace millpond::engine
