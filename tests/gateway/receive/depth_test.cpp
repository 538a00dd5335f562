// Books that readers of a gateway's ring make, against books of ordered maps that are made of the messages sent to its
// feed.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include <millpond/core/clock.hpp>
#include <millpond/core/tally.hpp>
#include <millpond/feed/event.hpp>
#include <millpond/feed/moldudp64_encoder.hpp>
#include <millpond/market/board_layout.hpp>
#include <millpond/market/books.hpp>
#include <millpond/market/ring_reader.hpp>
#include <millpond/net/socket_address.hpp>

#include "gateway/feeds/itch/settings.hpp"
#include "gateway/receive/pipeline.hpp"
#include "gateway/sinks/tcp/settings.hpp"
#include "tests/gateway/running_gateway.hpp"
#include "tests/market/itch_flow.hpp"
#include "tests/support/scratch_file.hpp"

namespace millpond::gateway::test {
namespace {

using feed::Side;
using market::Flow;
using market::ladder_of;
using market::Oracle;

constexpr std::uint32_t kDepth = 10;
constexpr std::uint32_t kOrders = 20'000;
using Messages = std::vector<std::vector<std::byte>>;

Messages messages_of(std::uint64_t seed, std::size_t count) {
    Flow flow{seed};
    Messages messages;
    while (messages.size() < count) {
        const auto message = flow.next();
        messages.emplace_back(message.begin(), message.end());
    }
    return messages;
}

/// A reader with books of levels and of orders. At the end of each group it compares the instrument's books, if they
/// are complete, with those of the messages up to the group's.
class Subscriber {
public:
    Subscriber(const std::string& ring, const std::vector<const Messages*>& sessions)
        : reader_{{.name = ring}}, sessions_(sessions) {
        reader_.join(*this);
    }

    template <class Event>
    void on(const Event& event) {
        bool ends = levels_.on(event);
        ends = orders_.on(event) || ends;
        if constexpr (std::is_same_v<Event, queue::MissedRange>) ++lapped;
        if constexpr (std::is_same_v<Event, feed::Gap>) ++gaps;
        if constexpr (std::is_same_v<Event, feed::Clear>) {
            if (event.reason == feed::ClearReason::new_session && applied_ != 0) {
                ++session_;
                oracle_ = {};
                applied_ = 0;
            }
        }
        if constexpr (std::is_same_v<Event, feed::Level> || std::is_same_v<Event, feed::Order>) {
            // Otherwise a journal's book at a time between them would lack the later one. The board has no order of
            // time.
            if (reader_.current() >= reader_.account().since) {
                EXPECT_GE(event.receive_utc_ns, std::exchange(newest_utc_ns_, event.receive_utc_ns));
            }
        }
        if constexpr (requires { event.feed_sequence; }) {
            if (ends) compare(event.instrument, event.feed_sequence);
        }
    }
    /// Reads until `done` returns true; false after a timeout.
    template <class Done>
    bool read_until(Done&& done) {
        constexpr std::int64_t kTimeoutNs = 40'000'000'000;
        const auto deadline = core::monotonic_nanos() + kTimeoutNs;
        for (;;) {
            const auto read = reader_.poll(*this, 1'024);
            if (done()) return true;
            if (core::monotonic_nanos() > deadline) return false;
            if (read == 0) std::this_thread::yield();
        }
    }
    /// Complete books, each of which equals that of the messages.
    [[nodiscard]] std::size_t complete_books() {
        std::size_t complete = 0;
        for (feed::InstrumentId id = 0; id < Flow::kStocks; ++id) complete += expect_equal(id);
        return complete;
    }

    [[nodiscard]] bool has_read_all() { return reader_.poll(*this, 1'024) == 0; }

    std::uint64_t gaps{0};
    std::uint64_t lapped{0};
    std::uint64_t compared{0};

private:
    void compare(feed::InstrumentId id, std::uint64_t sequence) {
        for (; applied_ < sequence; ++applied_) oracle_.apply(sessions_.at(session_)->at(applied_));
        compared += expect_equal(id);
    }
    [[nodiscard]] std::size_t expect_equal(feed::InstrumentId id) {
        const auto* const instrument = reader_.instrument(id);
        if (instrument == nullptr) return 0;
        const auto locate = static_cast<std::uint16_t>(instrument->symbol.view().back() - '0');
        std::size_t complete = 0;
        for (const auto* const book : {levels_.find(id), orders_.find(id)}) {
            if (book == nullptr || !book->complete()) continue;
            ++complete;
            for (const auto side : {Side::bid, Side::ask}) {
                EXPECT_EQ(ladder_of(*book, side), oracle_.best(locate, side, kDepth)) << "after message " << applied_;
                if (book->live_orders() != 0) expect_queues(oracle_, locate, side, *book);
            }
        }
        return complete;
    }

    market::RingReader reader_;
    std::vector<const Messages*> sessions_;
    market::Books::DepthOf depth_of_ = [this](std::uint16_t channel) { return reader_.depth(channel); };
    market::Books levels_{{.max_instruments = 16}, depth_of_};
    market::Books orders_{{.max_instruments = 16, .orders = kOrders, .levels = 4'096}, depth_of_};
    Oracle oracle_;
    std::size_t session_{0};
    std::size_t applied_{0};
    std::int64_t newest_utc_ns_{0};
};

/// A gateway whose feed sends levels and orders, and the messages that it gets.
class Depth : public ::testing::Test {
protected:
    static void use_books(Config& config) {
        auto& itch = config.feeds[0].use<itch::Settings>();
        itch.max_orders = kOrders;
        itch.depth = kDepth;
        itch.orders = true;
        config.rings[0].max_instruments = 16;
    }
    /// Sends messages first..last - 1, several in a datagram, and reads what the gateway makes of them.
    void send(RunningGateway& gateway, const Messages& messages, std::size_t first, std::size_t last,
              std::span<Subscriber* const> subscribers) {
        std::array<std::byte, 1'400> buffer;
        for (auto next = first; next < last;) {
            mold_.begin(buffer);
            for (const auto end = std::min(last, next + 1 + next % 7); next < end; ++next)
                ASSERT_TRUE(mold_.add(messages[next]));
            gateway.send(mold_.finish());
            ++sent_;
            for (auto* const subscriber : subscribers) {
                ASSERT_TRUE(subscriber->read_until([&] { return decoded(gateway) == sent_; })) << "message " << next;
            }
        }
        // The counter is ahead of the ring, the heartbeat is not.
        const auto now = static_cast<std::uint64_t>(core::monotonic_nanos());
        const auto& pipeline = *gateway.gateway().pipelines().front();
        for (auto* const subscriber : subscribers) {
            ASSERT_TRUE(subscriber->read_until([&] { return pipeline.publisher().beaten_ns().read() > now; }));
            ASSERT_TRUE(subscriber->read_until([&] { return subscriber->has_read_all(); }));
        }
    }
    [[nodiscard]] static std::uint64_t decoded(RunningGateway& gateway) {
        std::uint64_t datagrams = 0;
        gateway.gateway().pipelines().front()->for_each_feed(
            [&](const auto& feed) { datagrams += feed.counters().datagrams.read(); });
        return datagrams;
    }
    /// Numbers messages that are not sent.
    void lose(const Messages& messages, std::size_t first, std::size_t last) {
        std::array<std::byte, 1'400> buffer;
        for (auto next = first; next < last; ++next) {
            mold_.begin(buffer);
            ASSERT_TRUE(mold_.add(messages[next]));
            static_cast<void>(mold_.finish());
        }
    }

    [[nodiscard]] static std::uint64_t counter(RunningGateway& gateway, std::string_view wanted) {
        std::uint64_t value = 0;
        gateway.gateway().pipelines().front()->for_each_feed([&](const auto& feed) {
            feed.visit_counters([&](std::string_view name, std::string_view, const core::Tally& tally) {
                if (name == wanted) value = tally.read();
            });
        });
        return value;
    }

    feed::MoldUdp64Encoder mold_{"S1"};
    std::uint64_t sent_{0};
};

constexpr std::size_t kAll = 2 * std::size_t{Flow::kStocks};

TEST_F(Depth, BooksOfReadersEqualThoseOfTheMessagesAtTheEndOfEachGroup) {
    const auto messages = messages_of(1, 3'000);
    const auto next_session = messages_of(2, 1'000);
    RunningGateway gateway{"depth", &use_books};
    Subscriber first{gateway.ring(), {&messages, &next_session}};
    const std::array readers{&first};
    send(gateway, messages, 0, 3'000, readers);
    EXPECT_EQ(first.complete_books(), kAll);
    EXPECT_GT(first.compared, 5'000U);
    std::array<std::byte, 1'400> buffer;
    mold_.begin(buffer);
    gateway.send(mold_.finish_session());
    ++sent_;
    ASSERT_TRUE(first.read_until([&] { return first.complete_books() == 0; }));
    mold_ = feed::MoldUdp64Encoder{"S2"};
    send(gateway, next_session, 0, 1'000, readers);
    EXPECT_EQ(first.complete_books(), kAll);
    EXPECT_EQ(first.lapped, 0U);
}

TEST_F(Depth, TheMemoryOfARingIsKnownBeforeTheRingExists) {
    Config config;
    RunningGateway gateway{"depth-bytes", [&](Config& changed) {
                               use_books(changed);
                               config = changed;
                           }};
    complete(config);
    const auto memory = gateway.gateway().pipelines().front()->ring().report();
    const auto bytes = ring_bytes(config.rings[0], config);
    EXPECT_EQ(memory.mapped_bytes, (bytes + memory.page_bytes - 1) / memory.page_bytes * memory.page_bytes);
    config.feeds[0].use<itch::Settings>().depth = 0;
    EXPECT_EQ(bytes - ring_bytes(config.rings[0], config),
              config.rings[0].max_instruments * market::depth_slot_bytes(kDepth));
}

TEST_F(Depth, AReaderThatJoinsLateHasTheSameLevelsAndIncompleteOrders) {
    const auto messages = messages_of(3, 2'000);
    RunningGateway gateway{"late-depth", &use_books};
    Subscriber first{gateway.ring(), {&messages}};
    send(gateway, messages, 0, 1'000, std::array{&first});
    Subscriber late{gateway.ring(), {&messages}};
    ASSERT_TRUE(late.read_until([&] { return true; }));
    send(gateway, messages, 1'000, 2'000, std::array{&first, &late});
    EXPECT_EQ(first.complete_books(), kAll);
    EXPECT_EQ(late.complete_books(), kAll / 2);
    EXPECT_GT(late.compared, 500U);
}

TEST_F(Depth, OrdersAreSentAgainForASinkThatJoinsLate) {
    const auto messages = messages_of(6, 2'000);
    Config config;
    RunningGateway gateway{"requested-depth", [&](Config& changed) {
                               use_books(changed);
                               config = changed;
                           }};
    Subscriber first{gateway.ring(), {&messages}};
    send(gateway, messages, 0, 1'000, std::array{&first});
    Subscriber late{gateway.ring(), {&messages}};
    ASSERT_TRUE(late.read_until([&] { return late.has_read_all(); }));
    EXPECT_EQ(late.complete_books(), kAll / 2);
    config.add<tcp::Settings>().listen = net::SocketAddress::parse("127.0.0.1:0");
    complete(config);
    ASSERT_THAT(gateway.gateway().reconfigure(config).refused, ::testing::IsEmpty());
    ASSERT_TRUE(late.read_until([&] { return late.complete_books() == kAll; }));
    send(gateway, messages, 1'000, 2'000, std::array{&first, &late});
    EXPECT_EQ(first.complete_books(), kAll);
    EXPECT_EQ(late.complete_books(), kAll);
}

TEST_F(Depth, BooksAreIncompleteAfterALossUntilTheRebuiltOnesAreSent) {
    const auto messages = messages_of(4, 6'000);
    std::string text;
    for (const auto& message : messages) {
        text += static_cast<char>(message.size() >> 8U);
        text += static_cast<char>(message.size() & 0xFFU);
        text.append(reinterpret_cast<const char*>(message.data()), message.size());
    }
    const millpond::test::ScratchFile file{millpond::test::scratch_name("depth.itch"), text};
    RunningGateway gateway{"rebuilt-depth", [&](Config& config) {
                               use_books(config);
                               config.feeds[0].use<itch::Settings>().rebuild_from = file.path();
                           }};
    Subscriber first{gateway.ring(), {&messages}};
    const std::array readers{&first};
    send(gateway, messages, 0, 1'000, readers);
    EXPECT_EQ(first.complete_books(), kAll);
    lose(messages, 1'000, 1'010);
    send(gateway, messages, 1'010, 1'011, readers);
    EXPECT_EQ(first.gaps, 1U);
    EXPECT_EQ(first.complete_books(), 0U);
    EXPECT_TRUE(first.read_until([&] { return counter(gateway, "books_incomplete") == Flow::kStocks; }));
    // The file may be another day's, so that it is trusted only after more messages of the feed.
    send(gateway, messages, 1'011, 1'900, readers);
    EXPECT_EQ(first.complete_books(), 0U);
    std::size_t sent = 1'900;
    while (sent < 5'000 && first.complete_books() != kAll) {
        send(gateway, messages, sent, sent + 10, readers);
        sent += 10;
        gateway.gateway().watch();
    }
    EXPECT_EQ(first.complete_books(), kAll) << "after " << sent;
    send(gateway, messages, sent, sent + 500, readers);
    EXPECT_EQ(first.complete_books(), kAll);
    EXPECT_TRUE(first.read_until([&] { return counter(gateway, "books_incomplete") == 0; }));
    EXPECT_EQ(first.gaps, 1U);
    EXPECT_EQ(first.lapped, 0U);
}

TEST_F(Depth, BooksAreSentAgainAfterASilenceWithoutALoss) {
    const auto messages = messages_of(5, 1'200);
    RunningGateway gateway{"silent-depth", [](Config& config) {
                               use_books(config);
                               config.feeds[0].stale_seconds = 1;
                           }};
    Subscriber first{gateway.ring(), {&messages}};
    const std::array readers{&first};
    send(gateway, messages, 0, 1'000, readers);
    ASSERT_TRUE(first.read_until([&] { return first.gaps == 1; }));
    EXPECT_EQ(first.complete_books(), 0U);
    send(gateway, messages, 1'000, 1'001, readers);
    ASSERT_TRUE(first.read_until([&] { return first.complete_books() == kAll; }));
    EXPECT_EQ(first.lapped, 0U);
}

}  // namespace
}  // namespace millpond::gateway::test
