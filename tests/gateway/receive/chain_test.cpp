#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <millpond/core/clock.hpp>
#include <millpond/market/ring_reader.hpp>
#include <millpond/net/socket_address.hpp>

#include "gateway/receive/pipeline.hpp"
#include "gateway/settings/config.hpp"
#include "gateway/sinks/sink_thread.hpp"
#include "gateway/sinks/udp/udp_sink.hpp"
#include "tests/gateway/sinks/ring_fixture.hpp"
#include "tests/gateway/sinks/settings_with.hpp"

namespace millpond::gateway {
namespace {

constexpr std::int64_t kPatienceNs = 20'000'000'000;

/// Events that a subscriber of the second gateway receives.
struct Subscriber {
    void on(const feed::Quote& quote) { bids.push_back(quote.bid_price); }
    void on(const feed::Trade&) {}
    void on(const feed::TradeBreak&) {}
    void on(const feed::Status&) {}
    void on(const feed::Gap& gap) { lost += gap.last - gap.first + 1; }
    void on(const feed::Clear&) {}
    void on(const queue::MissedRange& range) { missed += range.count(); }
    std::vector<feed::Price> bids;
    std::uint64_t lost{0};
    std::uint64_t missed{0};
};

/// The second gateway of a chain: receives `quotes` datagrams and publishes to its ring.
class Downstream {
public:
    Downstream() : pipeline_(config_.rings.front(), config_), reader_({.name = config_.rings.front().name}) {
        pipeline_.start();
    }
    [[nodiscard]] net::SocketAddress address() const {
        net::SocketAddress result;
        pipeline_.for_each_feed([&](const auto& feed) { result = feed.receiver().report().local; });
        return result;
    }
    /// Polls until this many quotes have been read.
    void read(std::size_t quotes) {
        const auto deadline = core::monotonic_nanos() + kPatienceNs;
        while (subscriber.bids.size() < quotes && core::monotonic_nanos() < deadline) {
            if (reader_.poll(subscriber, 1'024) == 0) std::this_thread::yield();
        }
    }
    Subscriber subscriber;

private:
    static Config config() {
        Config config;
        config.rings.emplace_back().name = ring_name("chain2");
        config.rings.front().huge_pages = Wanted::none;
        config.rings.front().max_instruments = 16;
        config.feeds.emplace_back().listen = net::SocketAddress::parse("127.0.0.1:0");
        complete(config);
        return config;
    }
    Config config_{config()};
    Pipeline pipeline_;
    market::RingReader reader_;
};

TEST(Chain, WhatTheFirstGatewaysSinkMissedIsAGapOfTheSecond) {
    constexpr std::uint64_t kCapacity = 256;
    TestRing first{"chain1", kCapacity};
    Downstream second;
    const service::LogFunction silent = [](service::Severity, std::string_view, const std::string&) {};
    SinkThread sink{{.ring = first.name, .name = "udp"},
                    std::make_unique<udp::UdpSink>(test::settings_with<udp::Settings>([&](auto& s) {
                                                       s.to = second.address();
                                                       s.refresh_seconds = 3'600;  // it counts quotes
                                                   }),
                                                   42, silent),
                    silent};
    first.publish_quotes(10);
    while (sink.round(core::monotonic_nanos()) != 0) {
    }
    second.read(10);
    first.publish_quotes(4 * kCapacity);  // the sink is lapped
    while (sink.round(core::monotonic_nanos()) != 0) {
    }
    const auto account = sink.account();
    EXPECT_TRUE(account.closes());
    EXPECT_GT(account.missed, 2 * kCapacity);
    EXPECT_EQ(account.delivered + account.missed, 10 + 4 * kCapacity);
    second.read(account.delivered);
    auto& subscriber = second.subscriber;
    EXPECT_EQ(subscriber.missed, 0U);
    EXPECT_EQ(subscriber.lost, account.missed);
    ASSERT_EQ(subscriber.bids.size(), account.delivered);
    EXPECT_EQ(subscriber.bids.front(), 1);
    EXPECT_EQ(subscriber.bids[10], static_cast<feed::Price>(10 + account.missed + 1));
    EXPECT_EQ(subscriber.bids.back(), static_cast<feed::Price>(10 + 4 * kCapacity));
}

}  // namespace
}  // namespace millpond::gateway
