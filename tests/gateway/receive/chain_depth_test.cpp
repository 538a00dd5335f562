// Books that readers of two chained gateways make: an ITCH feed with depth, a udp sink, a `quotes` feed.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include <millpond/core/clock.hpp>
#include <millpond/core/endian.hpp>
#include <millpond/feed/event.hpp>
#include <millpond/feed/moldudp64_encoder.hpp>
#include <millpond/feed/quotes_layout.hpp>
#include <millpond/market/books.hpp>
#include <millpond/market/ring_reader.hpp>
#include <millpond/net/udp_receiver.hpp>

#include "gateway/feeds/itch/settings.hpp"
#include "gateway/feeds/quotes/settings.hpp"
#include "gateway/sinks/udp/settings.hpp"
#include "tests/gateway/running_gateway.hpp"
#include "tests/market/itch_flow.hpp"

namespace millpond::gateway::test {
namespace {

using feed::Side;
using market::Flow;
using market::ladder_of;

constexpr std::uint32_t kChainDepth = 10;

/// Both sides of a book.
using Sides = std::pair<market::Ladder, market::Ladder>;

/// A reader of a gateway's ring.
class BookReader {
public:
    /// A symbol and the exchange's time of a group.
    using Group = std::pair<std::string, std::int64_t>;

    explicit BookReader(RunningGateway& gateway) : reader_{{.name = gateway.ring()}} { reader_.join(*this); }

    template <class Event>
    void on(const Event& event) {
        const bool ends = books_.on(event);
        if constexpr (std::is_same_v<Event, feed::Gap>) {
            ++gaps;
            complete_at_gap = complete_books();
        }
        if constexpr (std::is_same_v<Event, feed::Level>)
            is_snapshot_ = is_snapshot_ || (event.flags & feed::kSnapshot) != 0;
        if constexpr (requires { event.exchange_utc_ns; }) {
            if (!ends) return;
            const bool was_snapshot = std::exchange(is_snapshot_, false);
            const auto* const book = books_.find(event.instrument);
            if (book->complete() && !was_snapshot)
                groups[{symbol(event.instrument), event.exchange_utc_ns}] = sides_of(*book);
        }
    }
    void read() {
        while (reader_.poll(*this, 1'024) != 0) {
        }
    }
    /// The complete books.
    [[nodiscard]] std::map<std::string, Sides> books() {
        std::map<std::string, Sides> all;
        for (feed::InstrumentId id = 0; id < Flow::kStocks; ++id) {
            const auto* const book = books_.find(id);
            if (book != nullptr && book->complete()) all[symbol(id)] = sides_of(*book);
        }
        return all;
    }
    [[nodiscard]] std::size_t complete_books() { return books().size(); }

    std::map<Group, Sides> groups;  ///< Complete books after each group that is not a snapshot.
    std::size_t gaps{0};
    std::size_t complete_at_gap{0};

private:
    [[nodiscard]] std::string symbol(feed::InstrumentId id) {
        return std::string{reader_.instrument(id)->symbol.view()};
    }
    static Sides sides_of(const market::Book& book) { return {ladder_of(book, Side::bid), ladder_of(book, Side::ask)}; }

    market::RingReader reader_;
    market::Books books_{{.max_instruments = 16}, [this](std::uint16_t channel) { return reader_.depth(channel); }};
    bool is_snapshot_{false};
};

class ChainDepth : public ::testing::Test {
protected:
    static void use_quotes(Config& config) {
        config.feeds[0].use<quotes::Settings>().depth = kChainDepth;
        config.rings[0].max_instruments = 16;
    }
    void use_itch(Config& config) const {
        config.feeds[0].use<itch::Settings>().depth = kChainDepth;
        config.rings[0].max_instruments = 16;
        auto& settings = config.add<udp::Settings>();
        settings.to = relay_.report().local;
        settings.depth = kChainDepth;
        settings.refresh_seconds = 1;
    }
    /// Sends messages to the first gateway.
    void send(std::size_t count) {
        std::array<std::byte, 1'400> buffer;
        for (std::size_t i = 0; i < count; i += 3) {
            mold_.begin(buffer);
            for (int each = 0; each < 3; ++each) ASSERT_TRUE(mold_.add(flow_.next()));
            first_.send(mold_.finish());
            pass_on();
        }
    }
    /// Passes datagrams of the first gateway on to the others, and reads all rings.
    void pass_on() {
        for (const auto& datagram : relay_.poll()) {
            const auto entries = core::load_le<std::uint16_t>(datagram.bytes.data() + feed::quotes_layout::kCountAt);
            if (entries != 0 && drops_ != 0) {
                --drops_;
                continue;
            }
            for (auto* const gateway : receivers_) gateway->send(datagram.bytes);
        }
        for (auto* const reader : readers_) reader->read();
    }
    template <class Done>
    [[nodiscard]] bool wait_until(Done&& done) {
        constexpr std::int64_t kTimeoutNs = 40'000'000'000;
        const auto deadline = core::monotonic_nanos() + kTimeoutNs;
        while (!done()) {
            if (core::monotonic_nanos() > deadline) return false;
            pass_on();
            std::this_thread::yield();
        }
        return true;
    }
    [[nodiscard]] bool become_equal(BookReader& reader) {
        return wait_until(
            [&] { return source_.complete_books() == Flow::kStocks && reader.books() == source_.books(); });
    }

    net::UdpReceiver relay_{{.local = net::SocketAddress::parse("127.0.0.1:0")}};
    RunningGateway second_{"chain-depth-2", &use_quotes};
    RunningGateway first_{"chain-depth-1", [this](Config& config) { use_itch(config); }};
    BookReader source_{first_};
    BookReader reader_{second_};
    std::vector<RunningGateway*> receivers_{&second_};
    std::vector<BookReader*> readers_{&source_, &reader_};
    std::size_t drops_{0};
    feed::MoldUdp64Encoder mold_{"S1"};
    Flow flow_{38};
};

TEST_F(ChainDepth, TheSecondGatewayHasTheBooksOfTheFirstAfterEachGroup) {
    send(1'500);
    ASSERT_TRUE(become_equal(reader_));
    EXPECT_EQ(reader_.gaps, 0U);
    std::size_t compared = 0;
    for (const auto& [group, sides] : reader_.groups) {
        const auto found = source_.groups.find(group);
        ASSERT_NE(found, source_.groups.end()) << group.first << ' ' << group.second;
        ASSERT_EQ(sides, found->second) << group.first << ' ' << group.second;
        ++compared;
    }
    EXPECT_GT(compared, 500U);
}

TEST_F(ChainDepth, ADroppedDatagramLeavesItsBooksIncompleteUntilTheyAreRepeated) {
    send(300);
    ASSERT_TRUE(become_equal(reader_));
    drops_ = 1;
    send(30);
    ASSERT_TRUE(wait_until([&] { return reader_.gaps == 1; }));
    EXPECT_EQ(reader_.complete_at_gap, 0U);
    ASSERT_TRUE(become_equal(reader_));
    EXPECT_EQ(reader_.gaps, 1U);
}

TEST_F(ChainDepth, AGatewayThatJoinsLateHasAllBooksAfterACycle) {
    send(300);
    ASSERT_TRUE(become_equal(reader_));
    RunningGateway third{"chain-depth-3", &use_quotes};
    BookReader late{third};
    receivers_.push_back(&third);
    readers_.push_back(&late);
    send(30);
    ASSERT_TRUE(become_equal(late));
    ASSERT_TRUE(become_equal(reader_));
}

}  // namespace
}  // namespace millpond::gateway::test
