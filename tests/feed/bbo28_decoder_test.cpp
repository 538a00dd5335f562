#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include <millpond/core/endian.hpp>
#include <millpond/feed/bbo28_decoder.hpp>

#include "tests/feed/recorder.hpp"

namespace millpond::feed {
namespace {

// Written manually from the layout: spread 0.02, ask 200 at 189.26, bid 300 at 189.24, "AAPL".
std::vector<std::byte> aapl() { return from_hex("000000c8 000000c8 001ce0f8 0000012c 001ce030 4141504c20202020"); }

TEST(Bbo28Decoder, ReadsTheLastTwentyEightBytesWhateverPrecedesThem) {
    InstrumentTable table{4};
    Bbo28Decoder decoder{table, {.venue = Venue{"XNAS"}}};
    Recorder seen;
    auto datagram = from_hex("ffffffffffff");
    const auto message = aapl();
    datagram.insert(datagram.end(), message.begin(), message.end());
    const auto result = decoder.decode(datagram, {.receive_utc_ns = 5, .receive_ticks = 6, .channel = 7}, seen);
    EXPECT_TRUE(result.ok());
    EXPECT_EQ(result.messages, 1U);
    ASSERT_EQ(seen.quotes.size(), 1U);
    const auto& quote = seen.quotes[0];
    EXPECT_EQ(table.symbol(quote.instrument).view(), "AAPL");
    EXPECT_EQ(table.venue(quote.instrument).view(), "XNAS");
    EXPECT_EQ(quote.bid_price, price_from<10'000>(1'892'400));
    EXPECT_EQ(quote.ask_price, price_from<10'000>(1'892'600));
    EXPECT_EQ(quote.bid_size, 300U);
    EXPECT_EQ(quote.ask_size, 200U);
    EXPECT_EQ(quote.receive_utc_ns, 5);
    EXPECT_EQ(quote.receive_ticks, 6U);
    EXPECT_EQ(quote.channel, 7U);
    EXPECT_EQ(quote.exchange_utc_ns, 0);
    EXPECT_EQ(quote.feed_sequence, 0U);
}

TEST(Bbo28Decoder, ASideWithoutSharesHasNoPrice) {
    InstrumentTable table{4};
    Bbo28Decoder decoder{table, {}};
    Recorder seen;
    auto datagram = aapl();
    core::store_be(datagram.data() + 12, std::uint32_t{0});
    EXPECT_TRUE(decoder.decode(datagram, {}, seen).ok());
    EXPECT_EQ(seen.quotes.at(0).bid_price, 0);
    EXPECT_EQ(seen.quotes.at(0).ask_price, price_from<10'000>(1'892'600));
}

TEST(Bbo28Decoder, PublishesACrossedBookAndCountsIt) {
    InstrumentTable table{4};
    Bbo28Decoder decoder{table, {}};
    Recorder seen;
    auto datagram = aapl();
    core::store_be(datagram.data() + 16, std::uint32_t{1'900'000});
    EXPECT_TRUE(decoder.decode(datagram, {}, seen).ok());
    EXPECT_EQ(seen.quotes.size(), 1U);
    EXPECT_EQ(decoder.counters().crossed.read(), 1U);
}

TEST(Bbo28Decoder, EveryTruncatedLengthIsAnErrorAndTheNextDatagramWorks) {
    InstrumentTable table{4};
    Bbo28Decoder decoder{table, {}};
    Recorder seen;
    const auto whole = aapl();
    for (std::size_t length = 0; length < kBbo28Bytes; ++length) {
        const ExactCopy cut{std::span{whole}.first(length)};
        const auto result = decoder.decode(cut.span(), {}, seen);
        ASSERT_FALSE(result.ok());
        EXPECT_EQ(result.error->kind, DecodeErrorKind::truncated);
        EXPECT_EQ(result.error->found, length);
        EXPECT_EQ(result.error->bound, kBbo28Bytes);
    }
    EXPECT_EQ(decoder.counters().malformed.read(), kBbo28Bytes);
    EXPECT_TRUE(seen.quotes.empty());
    EXPECT_TRUE(decoder.decode(whole, {}, seen).ok());
    EXPECT_EQ(seen.quotes.size(), 1U);
}

TEST(Bbo28Decoder, ANameThatIsNotPrintableNeverReachesTheTable) {
    InstrumentTable table{4};
    Bbo28Decoder decoder{table, {}};
    Recorder seen;
    for (const auto* symbol : {"4141504c20200020", "2020202020202020", "ff41504c20202020"}) {
        auto datagram = aapl();
        const auto bytes = from_hex(symbol);
        std::copy(bytes.begin(), bytes.end(), datagram.begin() + 20);
        const auto result = decoder.decode(datagram, {}, seen);
        ASSERT_FALSE(result.ok());
        EXPECT_EQ(result.error->kind, DecodeErrorKind::bad_symbol);
        EXPECT_EQ(result.error->offset, 20U);
    }
    EXPECT_EQ(table.size(), 0U);
    EXPECT_EQ(decoder.counters().rejected.read(), 3U);
}

TEST(Bbo28Decoder, CountsAnInstrumentThatDoesNotFitTheTableAndContinuesWithTheOthers) {
    InstrumentTable table{1};
    Bbo28Decoder decoder{table, {}};
    Recorder seen;
    auto other = aapl();
    other[20] = std::byte{'B'};
    EXPECT_TRUE(decoder.decode(aapl(), {}, seen).ok());
    EXPECT_TRUE(decoder.decode(other, {}, seen).ok());
    EXPECT_TRUE(decoder.decode(aapl(), {}, seen).ok());
    EXPECT_EQ(seen.quotes.size(), 2U);
    EXPECT_EQ(decoder.counters().refused.read(), 1U);
}

TEST(Bbo28Decoder, CountsASpreadThatIsNotAskLessBid) {
    InstrumentTable table{1};
    Bbo28Decoder decoder{table, {}};
    Recorder seen;
    auto datagram = aapl();
    datagram[3] = std::byte{1};
    decoder.decode(datagram, {}, seen);
    decoder.decode(aapl(), {}, seen);
    std::uint64_t mismatches = 0;
    decoder.visit_counters([&](std::string_view name, std::string_view, const core::Tally& tally) {
        if (name == "spread_mismatches") mismatches = tally.read();
    });
    EXPECT_EQ(mismatches, 1U);
    EXPECT_EQ(seen.quotes.size(), 2U);
}

}  // namespace
}  // namespace millpond::feed
