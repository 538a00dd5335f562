#include "gateway/sinks/udp/udp_sink.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <millpond/core/clock.hpp>
#include <millpond/feed/instrument_table.hpp>
#include <millpond/feed/quotes_decoder.hpp>
#include <millpond/net/udp_receiver.hpp>

#include "tests/gateway/sinks/events.hpp"
#include "tests/gateway/sinks/settings_with.hpp"

namespace millpond::gateway::udp {
namespace {

constexpr std::int64_t kSecondNs = 1'000'000'000;

/// Decodes the sink's datagrams like the next gateway of a chain.
class UdpSinkTest : public ::testing::Test {
public:
    void on(const feed::Quote& quote) {
        bids_.push_back(quote.bid_price);
        flags_.push_back(quote.flags);
    }
    void on(const feed::Trade&) {}
    void on(const feed::TradeBreak&) {}
    void on(const feed::Status&) {}
    void on(const feed::Gap& gap) {
        ++gaps_;
        lost_ += gap.last - gap.first + 1;
    }
    void on(const feed::Clear&) { ++clears_; }

protected:
    UdpSinkTest()
        : receiver_({.local = net::SocketAddress::parse("127.0.0.1:0")}),
          sink_(test::settings_with<Settings>([&](Settings& s) {
                    s.to = receiver_.report().local;
                    s.channel = 7;
                    s.refresh_seconds = 3'600;
                }),
                42, [](service::Severity, std::string_view, const std::string&) {}) {
        sink_.name(0, feed::Venue{"X"}, feed::Symbol{"AAPL"}, feed::kDefaultDecimals);
        sink_.name(1, feed::Venue{"X"}, feed::Symbol{"MSFT"}, feed::kDefaultDecimals);
    }

    /// Receives datagrams until there are `count` more.
    void receive(std::uint64_t count) {
        const auto deadline = core::monotonic_nanos() + 20 * kSecondNs;
        const auto goal = decoder_.counters().datagrams.read() + count;
        while (decoder_.counters().datagrams.read() < goal && core::monotonic_nanos() < deadline) {
            for (const auto& datagram : receiver_.poll()) {
                ASSERT_TRUE(decoder_.decode(datagram.bytes, {}, *this).ok());
            }
        }
        ASSERT_EQ(decoder_.counters().datagrams.read(), goal);
    }

    net::UdpReceiver receiver_;
    UdpSink sink_;
    feed::InstrumentTable instruments_{128};
    feed::QuotesDecoder decoder_{instruments_, {}};
    std::vector<feed::Price> bids_;
    std::vector<std::uint16_t> flags_;
    int gaps_{0};
    std::uint64_t lost_{0};
    int clears_{0};
};

TEST_F(UdpSinkTest, TheNextGatewayReadsEveryQuoteInOrder) {
    constexpr std::uint64_t kQuotes = 100;
    std::uint64_t sent = 0;
    while (sent < kQuotes) {
        for (auto capacity = sink_.available(); capacity != 0 && sent < kQuotes; --capacity) {
            ++sent;
            EXPECT_EQ(
                sink_.on(quote_of(static_cast<feed::InstrumentId>(sent % 2), static_cast<feed::Price>(sent)), sent),
                Admission::kept);
        }
    }
    sink_.step(kSecondNs);
    EXPECT_EQ(sink_.held(), 0U);
    receive(sink_.sender().counters().datagrams.read());
    ASSERT_EQ(bids_.size(), kQuotes);
    for (std::uint64_t i = 0; i < kQuotes; ++i) EXPECT_EQ(bids_[i], static_cast<feed::Price>(i + 1));
    EXPECT_EQ(gaps_, 0);
    EXPECT_EQ(instruments_.symbol(1).view(), "AAPL");
}

TEST_F(UdpSinkTest, TheNextGatewayGetsTheDecimalsOfAnInstrument) {
    sink_.name(2, feed::Venue{"X"}, feed::Symbol{"6E"}, 6);
    sink_.on(quote_of(2, 5), 1);
    sink_.step(kSecondNs);
    receive(1);
    EXPECT_EQ(instruments_.symbol(0).view(), "6E");
    EXPECT_EQ(instruments_.decimals(0), 6U);
}

TEST_F(UdpSinkTest, AQuoteWaitsForNoOther) {
    sink_.on(quote_of(0, 5), 1);
    EXPECT_EQ(sink_.held(), 1U);
    sink_.step(kSecondNs);
    EXPECT_EQ(sink_.held(), 0U);
    receive(1);
    EXPECT_EQ(bids_.size(), 1U);
}

TEST_F(UdpSinkTest, AClearReachesReceiversBeforeTheNextQuote) {
    sink_.on(quote_of(0, 5), 1);
    sink_.step(kSecondNs);
    EXPECT_EQ(sink_.on(feed::Clear{}, 2), Admission::kept);
    sink_.step(kSecondNs + 1);
    receive(sink_.sender().counters().datagrams.read());
    EXPECT_EQ(clears_, 1);
}

TEST_F(UdpSinkTest, WhatTheSinkMissedIsAGapDownstreamEvenWhenNothingFollows) {
    sink_.on(quote_of(0, 5), 1);
    sink_.missed(2, 11);
    sink_.on(quote_of(0, 6), 12);
    sink_.step(kSecondNs);
    receive(sink_.sender().counters().datagrams.read());
    EXPECT_EQ(bids_, (std::vector<feed::Price>{5, 6}));
    EXPECT_EQ(gaps_, 1);
    EXPECT_EQ(lost_, 10U);
    const auto before = sink_.sender().counters().datagrams.read();
    sink_.missed(13, 15);
    sink_.step(kSecondNs + 1);
    receive(sink_.sender().counters().datagrams.read() - before);
    EXPECT_EQ(gaps_, 2);
    EXPECT_EQ(lost_, 13U);
}

TEST_F(UdpSinkTest, AGapSendsTheQuotesOfItsChannelOnceMoreAsIncompleteOnes) {
    auto other = quote_of(1, 6);
    other.channel = 1;
    sink_.on(quote_of(0, 5), 1);
    sink_.on(other, 2);
    sink_.step(kSecondNs);
    EXPECT_EQ(sink_.on(feed::Gap{.channel = 0}, 3), Admission::kept);
    EXPECT_EQ(sink_.held(), 1U);
    sink_.step(2 * kSecondNs);
    EXPECT_EQ(sink_.held(), 0U);
    receive(sink_.sender().counters().datagrams.read());
    EXPECT_EQ(bids_, (std::vector<feed::Price>{5, 6, 5}));
    EXPECT_EQ(flags_, (std::vector<std::uint16_t>{0, 0, feed::kIncomplete}));
    EXPECT_EQ(gaps_, 0) << "nothing of its own is missing";
}

TEST_F(UdpSinkTest, WhatIsSentOnceMoreIsPacedAndAQuoteThatIsNewerGoesAlone) {
    constexpr feed::InstrumentId kQuotes = 100;
    for (feed::InstrumentId id = 2; id < kQuotes; ++id)
        sink_.name(id, feed::Venue{"X"}, feed::Symbol{"S" + std::to_string(id)}, feed::kDefaultDecimals);
    for (feed::InstrumentId id = 0; id < kQuotes; ++id) {
        sink_.on(quote_of(id, 100 + id), id + 1U);
        sink_.step(kSecondNs);
    }
    receive(sink_.sender().counters().datagrams.read());
    bids_.clear();
    flags_.clear();
    sink_.on(feed::Gap{.channel = 0}, 101);
    sink_.on(quote_of(99, 7), 102);
    auto now = 2 * kSecondNs;
    auto before = sink_.sender().counters().datagrams.read();
    sink_.step(now);
    sink_.step(now + 1);
    EXPECT_EQ(sink_.held(), 1U);
    receive(sink_.sender().counters().datagrams.read() - before);
    EXPECT_EQ(bids_.size(), 17U) << "the newer one, and a portion";
    before = sink_.sender().counters().datagrams.read();
    while (sink_.held() != 0) sink_.step(now += 100'000);
    receive(sink_.sender().counters().datagrams.read() - before);
    ASSERT_EQ(bids_.size(), 100U);
    EXPECT_EQ(bids_[0], 7);
    EXPECT_EQ(flags_[0], 0);
    EXPECT_EQ(std::count(flags_.begin(), flags_.end(), feed::kIncomplete), 99);
    EXPECT_EQ(std::count(bids_.begin(), bids_.end(), 199), 0);
}

TEST_F(UdpSinkTest, AClearDropsWhatWasToBeSentOnceMore) {
    sink_.on(quote_of(0, 5), 1);
    sink_.step(kSecondNs);
    sink_.on(feed::Gap{.channel = 0}, 2);
    sink_.on(feed::Clear{}, 3);
    sink_.step(2 * kSecondNs);
    EXPECT_EQ(sink_.held(), 0U);
    sink_.on(feed::Gap{.channel = 0}, 4);
    sink_.step(3 * kSecondNs);
    receive(sink_.sender().counters().datagrams.read());
    EXPECT_EQ(bids_.size(), 1U);
    EXPECT_EQ(clears_, 1);
}

TEST_F(UdpSinkTest, AClearOfOneFeedSendsTheQuotesOfTheOthersOnceMore) {
    auto other = quote_of(1, 6);
    other.channel = 1;
    sink_.on(quote_of(0, 5), 1);
    sink_.on(other, 2);
    sink_.step(kSecondNs);
    EXPECT_EQ(sink_.on(feed::Clear{.channel = 0}, 3), Admission::kept);
    EXPECT_EQ(sink_.held(), 1U);
    sink_.step(2 * kSecondNs);
    EXPECT_EQ(sink_.held(), 0U);
    receive(sink_.sender().counters().datagrams.read());
    EXPECT_EQ(clears_, 1);
    EXPECT_EQ(bids_, (std::vector<feed::Price>{5, 6, 6})) << "the receiver has forgotten it with the others";
    EXPECT_EQ(flags_.back(), 0);
}

TEST_F(UdpSinkTest, ASecondClearWhileQuotesStillWaitSendsAllOfThemOnceMore) {
    constexpr feed::InstrumentId kQuotes = 100;  // several portions
    for (feed::InstrumentId id = 2; id < kQuotes; ++id)
        sink_.name(id, feed::Venue{"X"}, feed::Symbol{"S" + std::to_string(id)}, feed::kDefaultDecimals);
    auto now = kSecondNs;
    for (feed::InstrumentId id = 0; id < kQuotes; ++id) {
        auto quote = quote_of(id, 100 + id);
        quote.channel = static_cast<std::uint16_t>(id % 4);
        sink_.on(quote, id + 1U);
        sink_.step(now += 100'000);
    }
    EXPECT_EQ(sink_.on(feed::Clear{.channel = 3}, 101), Admission::kept);
    sink_.step(now += 100'000);  // one portion
    EXPECT_EQ(sink_.held(), 1U);
    EXPECT_EQ(sink_.on(feed::Clear{.channel = 2}, 102), Admission::kept);
    EXPECT_EQ(sink_.held(), 2U);
    receive(sink_.sender().counters().datagrams.read());
    bids_.clear();
    const auto before = sink_.sender().counters().datagrams.read();
    while (sink_.held() != 0) sink_.step(now += 100'000);
    receive(sink_.sender().counters().datagrams.read() - before);
    EXPECT_EQ(clears_, 2);
    std::sort(bids_.begin(), bids_.end());
    std::vector<feed::Price> wanted;
    for (feed::InstrumentId id = 0; id < kQuotes; ++id) {
        if (id % 4 < 2) wanted.push_back(100 + id);
    }
    EXPECT_EQ(bids_, wanted);
}

TEST_F(UdpSinkTest, WhatAClearSendsOnceMoreIsIncompleteIfTheSinkMissedEventsMeanwhile) {
    auto other = quote_of(1, 6);
    other.channel = 1;
    sink_.on(other, 1);
    sink_.step(kSecondNs);
    sink_.missed(2, 4);
    sink_.on(feed::Clear{.channel = 0}, 5);
    sink_.step(2 * kSecondNs);
    sink_.on(other, 6);
    sink_.on(feed::Clear{.channel = 0}, 7);
    sink_.missed(8, 9);
    sink_.step(3 * kSecondNs);
    receive(sink_.sender().counters().datagrams.read());
    EXPECT_EQ(flags_, (std::vector<std::uint16_t>{0, feed::kIncomplete, 0, feed::kIncomplete}));
}

TEST_F(UdpSinkTest, TradesAndStatesAreFiltered) {
    EXPECT_EQ(sink_.on(trade_of(0, 1), 1), Admission::filtered);
    EXPECT_EQ(sink_.on(feed::Status{.instrument = 0}, 2), Admission::filtered);
    EXPECT_EQ(sink_.held(), 0U);
}

TEST_F(UdpSinkTest, SilenceBringsHeartbeats) {
    const auto now = core::monotonic_nanos();
    sink_.step(now);
    sink_.step(now + 1);
    EXPECT_EQ(sink_.sender().counters().datagrams.read(), 1U);
    sink_.step(now + 2 * kSecondNs);
    EXPECT_EQ(sink_.sender().counters().datagrams.read(), 2U);
    receive(2);
    EXPECT_EQ(decoder_.counters().heartbeats.read(), 2U);
}

}  // namespace
}  // namespace millpond::gateway::udp
