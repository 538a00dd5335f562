#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <millpond/feed/bbo28_decoder.hpp>
#include <millpond/feed/generated_feed.hpp>
#include <millpond/feed/itch_decoder.hpp>
#include <millpond/feed/miax_tom_decoder.hpp>
#include <millpond/feed/quotes_decoder.hpp>

#include "tests/feed/recorder.hpp"

namespace millpond::feed {
namespace {

constexpr std::int64_t kStart = 1'700'000'000'000'000'000;
constexpr std::size_t kDatagrams = 3'000;

std::vector<std::vector<std::byte>> datagrams(const GeneratedFeed::Options& options) {
    GeneratedFeed feed{options};
    std::vector<std::vector<std::byte>> all;
    std::array<std::byte, GeneratedFeed::kMaxDatagramBytes> buffer;
    for (std::size_t i = 0; i < kDatagrams; ++i) {
        const auto bytes = feed.next(buffer, kStart + static_cast<std::int64_t>(i) * 1'000'000);
        all.emplace_back(bytes.begin(), bytes.end());
    }
    return all;
}

/// Checks that every quote agrees with the market itself, generated with the same seed.
template <class Decoder>
void expect_the_market(Decoder& decoder, const InstrumentTable& table, const GeneratedFeed::Options& options,
                       std::string (*name)(const GeneratedMarket&, std::uint32_t)) {
    Recorder seen;
    for (const auto& bytes : datagrams(options)) {
        ASSERT_FALSE(bytes.empty());
        const ExactCopy exact{bytes};
        ASSERT_TRUE(decoder.decode(exact.span(), {}, seen).ok());
    }
    GeneratedMarket market{options.market};
    ASSERT_GE(seen.quotes.size(), kDatagrams);
    for (const auto& quote : seen.quotes) {
        const auto& step = market.next();
        ASSERT_EQ(table.symbol(quote.instrument).view(), name(market, step.instrument));
        if ((quote.flags & kIncomplete) == 0 || step.bid_changed) {
            ASSERT_EQ(quote.bid_price, step.bid_price);
            ASSERT_EQ(quote.bid_size, step.bid_size);
        }
        if ((quote.flags & kIncomplete) == 0 || step.ask_changed) {
            ASSERT_EQ(quote.ask_price, step.ask_price);
            ASSERT_EQ(quote.ask_size, step.ask_size);
        }
    }
    EXPECT_TRUE(seen.gaps.empty());
    EXPECT_EQ(decoder.counters().crossed.read(), 0U);
}

std::string by_symbol(const GeneratedMarket& market, std::uint32_t instrument) {
    return std::string{market.symbol(instrument).view()};
}
std::string by_number(const GeneratedMarket&, std::uint32_t instrument) { return std::to_string(instrument + 1); }

TEST(GeneratedFeed, Bbo28AgreesWithTheMarket) {
    InstrumentTable table{100};
    Bbo28Decoder decoder{table, {}};
    expect_the_market(decoder, table, {.format = WireFormat::bbo28}, by_symbol);
}

TEST(GeneratedFeed, QuotesAgreeWithTheMarket) {
    InstrumentTable table{100};
    QuotesDecoder decoder{table, {}};
    expect_the_market(decoder, table, {.format = WireFormat::quotes, .steps_per_datagram = 100}, by_symbol);
}

TEST(GeneratedFeed, MiaxTomAgreesWithTheMarket) {
    InstrumentTable table{100};
    MiaxTomDecoder decoder{table, {}};
    expect_the_market(decoder, table, {.format = WireFormat::miax_tom, .steps_per_datagram = 100}, by_number);
    EXPECT_GT(decoder.counters().trades.read(), kDatagrams / 20);
}

TEST(GeneratedFeed, TheSameSeedGivesTheSameBytesAndAnotherOneOthers) {
    for (const auto format : {WireFormat::bbo28, WireFormat::quotes, WireFormat::miax_tom, WireFormat::itch}) {
        GeneratedFeed::Options options{.format = format, .steps_per_datagram = 3};
        const auto once = datagrams(options);
        EXPECT_EQ(once, datagrams(options)) << to_string(format);
        options.market.seed = 2;
        EXPECT_NE(once, datagrams(options)) << to_string(format);
    }
}

// FNV-1a hash of all bytes: the same seed must give the same bytes on every machine.
TEST(GeneratedFeed, TheBytesOfASeedNeverChange) {
    std::uint64_t hash = 0xCBF2'9CE4'8422'2325;
    for (const auto format : {WireFormat::bbo28, WireFormat::quotes, WireFormat::miax_tom, WireFormat::itch}) {
        for (const auto& bytes : datagrams({.format = format, .steps_per_datagram = 3})) {
            for (const auto byte : bytes) hash = (hash ^ static_cast<std::uint64_t>(byte)) * 0x100'0000'01B3;
        }
    }
    EXPECT_EQ(hash, 523'346'832'050'946'961U);
}

TEST(GeneratedFeed, AnItchFeedMayHaveOrdersBehindTheBestPrices) {
    constexpr std::size_t kOrders = 12;
    InstrumentTable table{4};
    ItchDecoder decoder{table, {.order_books = {.books = 4, .orders = 1'000, .level_chunks = 64}}};
    GeneratedFeed feed{{.format = WireFormat::itch, .market = {.instruments = 4}, .orders = kOrders}};
    std::array<std::byte, GeneratedFeed::kMaxDatagramBytes> buffer;
    Recorder seen;
    for (int i = 0; i < 5'000; ++i) ASSERT_TRUE(decoder.decode(feed.next(buffer, kStart + i), {}, seen).ok());
    EXPECT_EQ(decoder.live_orders().read(), 2 * 4 * kOrders);
    EXPECT_EQ(decoder.counters().rejected.read() + decoder.counters().refused.read(), 0U);
    for (std::uint16_t book = 0; book < 4; ++book) {
        const auto top = decoder.order_books().top(book);
        EXPECT_LT(top.bid_price, top.ask_price);
        for (const bool is_bid : {true, false}) EXPECT_GE(decoder.order_books().levels(book, is_bid), 4U);
    }
    EXPECT_EQ(std::ranges::count_if(seen.quotes,
                                    [](const Quote& quote) {
                                        return quote.bid_size != 0 && quote.ask_size != 0 &&
                                               quote.bid_price >= quote.ask_price;
                                    }),
              0)
        << "crossed or locked";
    EXPECT_THROW(GeneratedFeed({.orders = 0}), std::invalid_argument);
    EXPECT_THROW(GeneratedFeed({.orders = GeneratedFeed::kMaxOrders + 1}), std::invalid_argument);
}

TEST(GeneratedFeed, AHeartbeatFollowsTheLastDatagramWithoutAGap) {
    std::array<std::byte, GeneratedFeed::kMaxDatagramBytes> buffer;
    GeneratedFeed feed{{.format = WireFormat::quotes}};
    InstrumentTable table{100};
    QuotesDecoder decoder{table, {}};
    Recorder seen;
    for (int i = 0; i < 10; ++i) {
        EXPECT_TRUE(decoder.decode(feed.next(buffer, kStart), {}, seen).ok());
        EXPECT_TRUE(decoder.decode(feed.heartbeat(buffer, kStart), {}, seen).ok());
    }
    EXPECT_TRUE(seen.gaps.empty());
    EXPECT_EQ(decoder.counters().heartbeats.read(), 10U);
    GeneratedFeed plain{{.format = WireFormat::bbo28}};
    EXPECT_TRUE(plain.heartbeat(buffer, kStart).empty());
}

TEST(GeneratedFeed, FormatsAreKnownByTheirNames) {
    for (const auto format : {WireFormat::bbo28, WireFormat::quotes, WireFormat::miax_tom, WireFormat::itch}) {
        EXPECT_EQ(wire_format(to_string(format)), format);
    }
    EXPECT_FALSE(wire_format("soup"));
}

TEST(GeneratedMarket, EachStepChangesSomethingAndNeverCrosses) {
    GeneratedMarket market{{.seed = 5, .instruments = 500}};
    std::vector<std::uint64_t> steps(market.size());
    for (int i = 0; i < 300'000; ++i) {
        const auto& step = market.next();
        ASSERT_TRUE(step.bid_changed || step.ask_changed);
        ASSERT_GT(step.bid_price, 0);
        ASSERT_GT(step.ask_price, step.bid_price);
        ASSERT_LE(step.ask_price - step.bid_price, price_from<100>(9));
        ASSERT_GT(step.bid_size, 0U);
        ASSERT_GT(step.ask_size, 0U);
        ASSERT_LT(step.bid_size, 10'000U);
        ASSERT_LT(step.ask_size, 10'000U);
        if (step.traded) {
            ASSERT_NE(step.bid_changed, step.ask_changed);
            ASSERT_GT(step.trade_size, 0U);
        }
        ++steps[step.instrument];
    }
    // Zipf: the first instrument has about ten times as many steps as the tenth.
    EXPECT_GT(steps[0], steps[9] * 8);
    EXPECT_LT(steps[0], steps[9] * 12);
}

TEST(GeneratedMarket, RefusesANumberOfInstrumentsThatCannotBeAndNamesAllOfTheLargest) {
    EXPECT_THROW(GeneratedMarket({.instruments = 0}), std::invalid_argument);
    EXPECT_THROW(GeneratedMarket({.instruments = GeneratedMarket::kMaxInstruments + 1}), std::invalid_argument);
    GeneratedMarket market{{.instruments = GeneratedMarket::kMaxInstruments}};
    InstrumentTable table{GeneratedMarket::kMaxInstruments};
    for (std::uint32_t i = 0; i < market.size(); ++i) {
        EXPECT_LE(market.symbol(i).size(), 8U);
        EXPECT_EQ(table.find_or_add(Venue{}, market.symbol(i)), i);
    }
    EXPECT_THROW(GeneratedFeed({.steps_per_datagram = 0}), std::invalid_argument);
}

}  // namespace
}  // namespace millpond::feed
