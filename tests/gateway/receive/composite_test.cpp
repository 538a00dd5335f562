#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <unistd.h>

#include <millpond/core/clock.hpp>
#include <millpond/feed/bbo28_layout.hpp>
#include <millpond/market/ring_reader.hpp>
#include <millpond/net/socket_address.hpp>
#include <millpond/net/udp_sender.hpp>

#include "gateway/feeds/bbo28/settings.hpp"
#include "gateway/receive/pipeline.hpp"
#include "gateway/settings/config.hpp"
#include "tests/gateway/sinks/ring_fixture.hpp"

namespace millpond::gateway {
namespace {

/// A pipeline with bbo28 feeds of the venues A, B and C, whose channels are 0, 1 and 2, and a composite of channel 3.
class Venues {
public:
    explicit Venues(const std::string& name, const std::function<void(Config&)>& change = {})
        : config_(config_of(name, change)), pipeline_(config_.rings.front(), config_) {
        pipeline_.for_each_feed([&](const Feed& feed) {
            senders_.push_back(
                std::make_unique<net::UdpSender>(net::UdpSender::Options{.to = feed.receiver().report().local}));
        });
        pipeline_.start();
    }
    void send(std::size_t venue, std::string_view symbol, std::uint32_t bid, std::uint32_t bid_size, std::uint32_t ask,
              std::uint32_t ask_size) {
        std::array<std::byte, feed::kBbo28Bytes> bytes;
        feed::write_bbo28(bytes.data(), {.spread = ask - bid,
                                         .ask_size = ask_size,
                                         .ask_price = ask,
                                         .bid_size = bid_size,
                                         .bid_price = bid,
                                         .symbol = symbol});
        while (!senders_[venue]->send(bytes)) std::this_thread::yield();
    }
    [[nodiscard]] const std::string& ring() const { return config_.rings.front().name; }
    [[nodiscard]] Pipeline& pipeline() noexcept { return pipeline_; }

private:
    static Config config_of(const std::string& name, const std::function<void(Config&)>& change) {
        Config config;
        config.metrics = {};
        auto& ring = config.rings.emplace_back();
        ring.name = ring_name(name);
        ring.huge_pages = Wanted::none;
        ring.max_instruments = 64;
        for (const auto* venue : {"A", "B", "C"}) {
            auto& feed = config.feeds.emplace_back();
            feed.use<bbo28::Settings>();
            feed.name = std::string{"feed "} + venue;
            feed.venue = venue;
            feed.listen = net::SocketAddress::parse("127.0.0.1:0");
            feed.stale_seconds = 0;  // pauses of a slow machine are not losses
        }
        config.composites.emplace_back();
        if (change) change(config);
        complete(config);
        return config;
    }

    Config config_;
    Pipeline pipeline_;
    std::vector<std::unique_ptr<net::UdpSender>> senders_;
};

/// Keeps the composite's quotes of a ring as a reader has them.
class Best {
public:
    explicit Best(const std::string& ring) : reader_({.name = ring}) { reader_.join(*this); }

    struct Seen {
        feed::Quote quote{};
        feed::BestVenues venues{};
        std::uint64_t number{0};
    };
    void on(const feed::Quote& quote) {
        const auto* const instrument = reader_.instrument(quote.instrument);
        numbers_.insert_or_assign(reader_.current(), quote);
        if (instrument == nullptr || instrument->venue.view() != "BEST") return;
        auto& one = seen_[std::string{instrument->symbol.view()}];
        one = {quote, venues_[quote.instrument], reader_.current()};
    }
    void on(const feed::BestVenues& venues) { venues_[venues.instrument] = venues; }
    void on(const feed::Gap& gap) {
        for (auto& [symbol, one] : seen_) {
            if (one.quote.channel == gap.channel) one.quote.flags |= feed::kIncomplete;
        }
    }
    void on(const feed::Clear& clear) {
        std::erase_if(seen_, [&](const auto& one) { return one.second.quote.channel == clear.channel; });
    }
    void on(const feed::Trade&) {}
    void on(const feed::TradeBreak&) {}
    void on(const feed::Status&) {}
    void on(const queue::MissedRange&) { ADD_FAILURE(); }

    /// Polls until the symbol's quote is as wanted; false after a timeout.
    bool wait_for(const std::string& symbol, const std::function<bool(const Seen&)>& wanted) {
        constexpr std::int64_t kPatienceNs = 40'000'000'000;
        const auto deadline = core::monotonic_nanos() + kPatienceNs;
        while (core::monotonic_nanos() < deadline) {
            if (reader_.poll(*this, 1) == 0) std::this_thread::yield();  // none is skipped
            const auto found = seen_.find(symbol);
            if (found != seen_.end() && wanted(found->second)) return true;
        }
        return false;
    }
    [[nodiscard]] const Seen& seen(const std::string& symbol) { return seen_[symbol]; }
    [[nodiscard]] const feed::Quote& numbered(std::uint64_t number) { return numbers_[number]; }
    [[nodiscard]] market::RingReader& reader() noexcept { return reader_; }

private:
    market::RingReader reader_;
    std::map<std::string, Seen> seen_;
    std::map<feed::InstrumentId, feed::BestVenues> venues_;
    std::map<std::uint64_t, feed::Quote> numbers_;
};

feed::Price price(std::uint32_t ten_thousandths) { return feed::price_from<10'000>(ten_thousandths); }

TEST(CompositeFeeds, TheBestOfSeveralSocketsIsOnTheRingWithItsVenuesAndItsCause) {
    Venues venues{"composite"};
    Best best{venues.ring()};
    venues.send(2, "AAPL", 90, 1, 110, 1);
    ASSERT_TRUE(best.wait_for("AAPL", [](const auto& seen) { return seen.quote.bid_size == 1; }));
    EXPECT_EQ(best.seen("AAPL").quote.flags, feed::kIncomplete);  // A and B may have better prices
    EXPECT_EQ(best.seen("AAPL").venues.incomplete_channels, 0b11U);
    venues.send(0, "AAPL", 100, 5, 104, 6);
    ASSERT_TRUE(best.wait_for("AAPL", [](const auto& seen) { return seen.quote.bid_size == 5; }));
    venues.send(1, "AAPL", 100, 7, 103, 8);
    ASSERT_TRUE(best.wait_for("AAPL", [](const auto& seen) { return seen.quote.bid_size == 12; }));
    const auto& seen = best.seen("AAPL");
    EXPECT_EQ(seen.quote.bid_price, price(100));
    EXPECT_EQ(seen.quote.ask_price, price(103));
    EXPECT_EQ(seen.quote.ask_size, 8U);
    EXPECT_EQ(seen.quote.channel, 3);
    EXPECT_EQ(seen.quote.flags, 0);
    EXPECT_EQ(seen.venues.bid_channels, 0b11U);
    EXPECT_EQ(seen.venues.ask_channels, 0b10U);
    const auto& cause = best.numbered(seen.quote.feed_sequence);
    EXPECT_EQ(cause.channel, 1);
    EXPECT_EQ(cause.receive_utc_ns, seen.quote.receive_utc_ns);
    EXPECT_EQ(cause.receive_ticks, seen.quote.receive_ticks);
    EXPECT_EQ(best.reader().board().venue(0), feed::Venue{"A"});
    EXPECT_EQ(best.reader().board().venue(1), feed::Venue{"B"});

    Best late{venues.ring()};  // has both from the board
    EXPECT_EQ(late.seen("AAPL").quote.bid_size, 12U);
    EXPECT_EQ(late.seen("AAPL").venues.bid_channels, 0b11U);

    venues.send(2, "AAPL", 103, 1, 105, 1);
    ASSERT_TRUE(best.wait_for("AAPL", [](const auto& one) { return one.quote.bid_price == price(103); }));
    EXPECT_EQ(best.seen("AAPL").quote.flags, feed::kLocked);
    ASSERT_TRUE(late.wait_for("AAPL", [](const auto& one) { return one.quote.bid_price == price(103); }));
    EXPECT_EQ(late.seen("AAPL").venues.bid_channels, 0b100U);
    venues.send(2, "AAPL", 104, 1, 105, 1);
    ASSERT_TRUE(best.wait_for("AAPL", [](const auto& one) { return one.quote.flags == feed::kCrossed; }));
}

TEST(CompositeFeeds, AFileOfNamesMakesInstrumentsOfSeveralVenuesOneSymbol) {
    const auto file = std::filesystem::temp_directory_path() / ("millpond-symbols-" + std::to_string(getpid()));
    std::ofstream{file} << "venue,symbol,name\nB,BRKB,BRK.B\nC,BRK/B,BRK.B\n";
    Venues venues{"names", [&](Config& config) { config.symbols.file = file.string(); }};
    std::filesystem::remove(file);
    Best best{venues.ring()};
    venues.send(0, "BRK.B", 100, 5, 104, 6);
    ASSERT_TRUE(best.wait_for("BRK.B", [](const auto& seen) { return seen.quote.bid_size == 5; }));
    EXPECT_EQ(best.seen("BRK.B").quote.flags, feed::kIncomplete);
    EXPECT_EQ(best.seen("BRK.B").venues.incomplete_channels, 0b110U);
    venues.send(1, "BRKB", 100, 1, 104, 1);
    venues.send(2, "BRK/B", 100, 2, 104, 2);
    ASSERT_TRUE(best.wait_for("BRK.B", [](const auto& seen) { return seen.quote.bid_size == 8; }));
    EXPECT_EQ(best.seen("BRK.B").quote.flags, 0);
    venues.send(1, "BRK.B", 200, 1, 204, 1);  // its name is that of BRKB there
    venues.send(1, "BRKB", 99, 1, 105, 1);
    ASSERT_TRUE(best.wait_for("BRK.B", [](const auto& seen) { return seen.quote.bid_size == 7; }));
    EXPECT_EQ(best.seen("BRK.B").quote.bid_price, price(100));
}

TEST(CompositeFeeds, ASilentVenueIsLeftOutUntilItQuotesAgain) {
    Venues venues{"silent", [](Config& config) { config.feeds[1].stale_seconds = 1; }};
    Best best{venues.ring()};
    venues.send(2, "AAPL", 90, 5, 110, 6);
    venues.send(0, "AAPL", 100, 5, 104, 6);
    venues.send(1, "AAPL", 101, 5, 103, 6);
    ASSERT_TRUE(best.wait_for("AAPL", [](const auto& seen) { return seen.quote.bid_price == price(101); }));
    ASSERT_TRUE(best.wait_for("AAPL", [](const auto& seen) { return seen.venues.silent_channels == 0b10U; }));
    EXPECT_EQ(best.seen("AAPL").quote.bid_price, price(100));
    EXPECT_EQ(best.seen("AAPL").quote.flags, feed::kIncomplete);
    Best late{venues.ring()};
    EXPECT_EQ(late.seen("AAPL").quote.bid_price, price(100));
    EXPECT_EQ(late.seen("AAPL").quote.flags, feed::kIncomplete);
    EXPECT_EQ(late.seen("AAPL").venues.silent_channels, 0b10U);
    venues.send(1, "AAPL", 102, 5, 103, 6);
    ASSERT_TRUE(best.wait_for("AAPL", [](const auto& seen) { return seen.quote.bid_price == price(102); }));
    EXPECT_EQ(best.seen("AAPL").quote.flags, 0);
}

}  // namespace
}  // namespace millpond::gateway
