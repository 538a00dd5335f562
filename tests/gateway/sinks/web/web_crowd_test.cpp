// A thousand WebSocket clients, some of them stuck, one that sends garbage, one that connects in a loop.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <sys/resource.h>
#include <unistd.h>

#include <millpond/core/clock.hpp>
#include <millpond/feed/quotes_encoder.hpp>
#include <millpond/net/socket_address.hpp>
#include <millpond/net/udp_sender.hpp>

#include "gateway/receive/pipeline.hpp"
#include "gateway/settings/config.hpp"
#include "gateway/sinks/sink_thread.hpp"
#include "gateway/sinks/web/web_sink.hpp"
#include "tests/gateway/sinks/events.hpp"
#include "tests/gateway/sinks/ring_fixture.hpp"
#include "tests/gateway/sinks/settings_with.hpp"
#include "tests/support/line_client.hpp"
#include "tests/support/web_socket_client.hpp"

namespace millpond::gateway::web {
namespace {

using millpond::test::LineClient;
using millpond::test::WebSocketClient;

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr std::size_t kClients = 200;
constexpr bool kMemoryIsOurs = false;  // most of it is the sanitizer's
#else
constexpr std::size_t kClients = 1'000;
constexpr bool kMemoryIsOurs = true;
#endif
constexpr std::size_t kStuck = 10;
constexpr std::size_t kLoops = 500;
constexpr std::uint64_t kRounds = 50;
constexpr std::uint64_t kPerRound = 200;
constexpr std::int64_t kPatienceNs = 120'000'000'000;

std::size_t resident_bytes() {
    std::ifstream statm{"/proc/self/statm"};
    std::size_t all = 0;
    std::size_t resident = 0;
    statm >> all >> resident;
    return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

bool permits_descriptors(std::size_t count) {
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    return limit.rlim_cur >= count;
}

/// Waits until `done` returns true; false after a timeout.
template <class Done>
bool comes(Done done) {
    const auto deadline = core::monotonic_nanos() + kPatienceNs;
    while (!done()) {
        if (core::monotonic_nanos() > deadline) return false;
        std::this_thread::yield();
    }
    return true;
}

/// A receive thread that receives `quotes` datagrams and publishes to its ring.
class ReceivePath {
public:
    ReceivePath() : pipeline_(config_.rings.front(), config_) {
        pipeline_.start();
        pipeline_.for_each_feed([&](const auto& feed) {
            sender_ = std::make_unique<net::UdpSender>(net::UdpSender::Options{.to = feed.receiver().report().local});
        });
    }
    [[nodiscard]] const std::string& ring() const { return config_.rings.front().name; }

    /// Sends quotes of two instruments in turn and waits until they are published; false after a timeout.
    bool send(std::uint64_t count) {
        for (std::uint64_t i = 0; i < count; ++i) {
            std::array<std::byte, feed::quotes_layout::kMaxDatagramBytes> buffer;
            encoder_.begin(buffer);
            const auto* const symbol = ++sent_ % 2 == 0 ? "AAPL" : "MSFT";
            if (!encoder_.add(quote_of(0, static_cast<feed::Price>(sent_)), feed::Venue{"X"}, feed::Symbol{symbol}))
                return false;
            const auto datagram = encoder_.finish(core::utc_nanos());
            while (!sender_->send(datagram)) std::this_thread::yield();
        }
        return comes([this] { return pipeline_.publisher().published().read() == sent_; });
    }
    /// Expects that everything sent was received, decoded and published.
    void expect_untouched() const {
        pipeline_.for_each_feed([&](const auto& feed) {
            EXPECT_EQ(feed.receiver().counters().datagrams.read(), sent_);
            EXPECT_EQ(feed.receiver().counters().kernel_drops.read(), 0U);
            EXPECT_EQ(feed.counters().quotes.read(), sent_);
            EXPECT_EQ(feed.counters().malformed.read(), 0U);
            feed.visit_counters([](std::string_view name, std::string_view, const core::Tally& count) {
                if (name == "sequence_missing") {
                    EXPECT_EQ(count.read(), 0U);
                }
            });
        });
        EXPECT_EQ(pipeline_.publisher().published().read(), sent_);
    }

private:
    static Config config() {
        Config config;
        config.rings.emplace_back().name = ring_name("crowd");
        config.rings.front().huge_pages = Wanted::none;
        config.feeds.emplace_back().listen = net::SocketAddress::parse("127.0.0.1:0");
        complete(config);
        return config;
    }

    Config config_{config()};
    Pipeline pipeline_;
    std::unique_ptr<net::UdpSender> sender_;
    feed::QuotesEncoder encoder_{{.channel = 0, .session = 1}};
    std::uint64_t sent_{0};
};

TEST(WebCrowd, ManyClientsSomeOfThemBadLeaveTheReceivePathAndTheSinksAccountWholeAndMemoryBounded) {
    if (!permits_descriptors(2 * kClients + 2 * kLoops)) GTEST_SKIP() << "needs more file descriptors";
    ReceivePath path;
    auto made = std::make_unique<WebSink>(test::settings_with<Settings>([](Settings& s) {
                                              s.listen = net::SocketAddress::parse("127.0.0.1:0");
                                              s.backlog = 1'024;
                                              s.send_buffer = 16'384;
                                          }),
                                          ClientAccess{}, http::Pages{},
                                          [](service::Severity, std::string_view, const std::string&) {});
    auto& sink = *made;
    const auto port = sink.address().port();
    SinkThread thread{{.ring = path.ring(), .name = "web"},
                      std::move(made),
                      [](service::Severity, std::string_view, const std::string&) {}};
    thread.start();

    constexpr int kSmallBuffer = 4'096;
    std::vector<std::unique_ptr<WebSocketClient>> clients;
    for (std::size_t i = 0; i < kClients; ++i) {
        clients.push_back(std::make_unique<WebSocketClient>(port, "", i < kStuck ? kSmallBuffer : 0));
    }
    ASSERT_TRUE(comes([&] { return sink.counters().clients.read() == kClients; }));
    const auto before = resident_bytes();

    std::atomic<bool> enough{false};
    std::thread garbage{[&] {
        WebSocketClient noise{port};
        for (int i = 0; i < 20 && !enough; ++i) noise.send_text("nonsense");
        noise.send_raw(std::string(512, '\xFF'));
    }};
    std::thread loop{[&] {
        std::vector<std::unique_ptr<LineClient>> open;
        for (std::size_t i = 0; i < kLoops && !enough; ++i) open.push_back(std::make_unique<LineClient>(port));
    }};
    for (std::uint64_t round = 0; round < kRounds; ++round) {
        ASSERT_TRUE(path.send(kPerRound));
        for (std::size_t i = kStuck; i < clients.size(); ++i) clients[i]->receive();
    }
    enough = true;
    garbage.join();
    loop.join();
    constexpr std::uint64_t kAll = kRounds * kPerRound;
    const auto last = "\"sequence\":" + std::to_string(kAll);
    for (std::size_t i = kStuck; i < clients.size(); ++i) {
        ASSERT_TRUE(comes([&] {
            clients[i]->receive();
            return !clients[i]->lines().empty() && clients[i]->lines().back().find(last) != std::string::npos;
        })) << "client "
            << i << " of " << clients.size() << " lacks the newest quote";
    }
    ASSERT_TRUE(comes([&] { return thread.account().delivered == kAll; }));
    const auto account = thread.account();
    EXPECT_EQ(account.missed, 0U);
    EXPECT_TRUE(account.closes());
    path.expect_untouched();
    // Lines that the good clients keep use memory of this process too.
    std::size_t held = 0;
    for (const auto& client : clients) held += client->bytes();
    constexpr std::size_t kMaxPerClient = std::size_t{160} * 1024;
    if (kMemoryIsOurs) {
        EXPECT_LT(resident_bytes(), before + 3 * held + kClients * kMaxPerClient);
    }
    EXPECT_GT(sink.counters().conflated.read(), 0U);
    thread.stop();
}

}  // namespace
}  // namespace millpond::gateway::web
