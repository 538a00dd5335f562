#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <millpond/core/endian.hpp>
#include <millpond/feed/quotes_decoder.hpp>
#include <millpond/feed/quotes_encoder.hpp>

#include "tests/feed/recorder.hpp"

namespace millpond::feed {
namespace {

namespace at = quotes_layout;

Quote quote_of(Price bid) {
    Quote quote;
    quote.flags = kIncomplete | kNotFirm;
    quote.bid_price = bid;
    quote.ask_price = bid + 100;
    quote.bid_size = 300;
    quote.ask_size = 5'000'000'000;
    quote.exchange_utc_ns = 1'580'398'199'999'990'000;
    return quote;
}

class QuotesDatagrams : public testing::Test {
protected:
    std::vector<std::byte> datagram(std::size_t count, Price bid = 1'000'000) {
        std::array<std::byte, at::kMaxDatagramBytes> buffer;
        encoder_.begin(buffer);
        for (std::size_t i = 0; i < count; ++i) {
            EXPECT_TRUE(encoder_.add(quote_of(bid), Venue{"XNAS"}, Symbol{"S" + std::to_string(i)}));
        }
        const auto bytes = encoder_.finish(99);
        return {bytes.begin(), bytes.end()};
    }
    DecodeResult feed(std::span<const std::byte> bytes) {
        const ExactCopy exact{bytes};
        return decoder_.decode(exact.span(), {.receive_utc_ns = 5, .receive_ticks = 6, .channel = 7}, seen_);
    }
    DecodeErrorKind kind_of(std::span<const std::byte> bytes) {
        const auto result = feed(bytes);
        EXPECT_FALSE(result.ok());
        return result.error->kind;
    }

    InstrumentTable table_{64};
    QuotesEncoder encoder_{{.channel = 3, .session = 1000}};
    QuotesDecoder decoder_{table_, {}};
    Recorder seen_;
};

// The expected bytes were written by Python's struct module from the table in quotes_layout.hpp.
TEST_F(QuotesDatagrams, GoldenBytesByteByByteAsTheLayoutSaysThem) {
    std::array<std::byte, at::kMaxDatagramBytes> buffer;
    encoder_.begin(buffer);
    auto quote = quote_of(189'240'000'000);
    ASSERT_TRUE(encoder_.add(quote, Venue{"XNAS"}, Symbol{"AAPL"}, 2));
    const auto bytes = encoder_.finish(0x0102'0304'0506'0708);
    const auto expected = from_hex(
        "4d505154 02 00 0300 e803000000000000 0100000000000000 0807060504030201 00000000 0100 6000"
        "04 04 0500 02 000000 003e950f2c000000 643e950f2c000000 2c01000000000000 00f2052a01000000 f088aa22cab3ee15"
        "584e4153 4141504c");
    EXPECT_EQ(std::vector<std::byte>(bytes.begin(), bytes.end()), expected);
}

TEST_F(QuotesDatagrams, EncodedQuotesAreDecodedUnchanged) {
    ASSERT_TRUE(feed(datagram(20)).ok());
    ASSERT_EQ(seen_.quotes.size(), 20U);
    for (std::size_t i = 0; i < 20; ++i) {
        const auto& quote = seen_.quotes[i];
        EXPECT_EQ(table_.symbol(quote.instrument).view(), "S" + std::to_string(i));
        EXPECT_EQ(table_.venue(quote.instrument).view(), "XNAS");
        EXPECT_EQ(quote.bid_price, 1'000'000);
        EXPECT_EQ(quote.ask_price, 1'000'100);
        EXPECT_EQ(quote.bid_size, 300U);
        EXPECT_EQ(quote.ask_size, 5'000'000'000U);
        EXPECT_EQ(quote.flags, kIncomplete | kNotFirm);
        EXPECT_EQ(quote.exchange_utc_ns, 1'580'398'199'999'990'000);
        EXPECT_EQ(quote.feed_sequence, i + 1);
        EXPECT_EQ(quote.channel, 7U);
        EXPECT_EQ(quote.receive_utc_ns, 5);
    }
    EXPECT_TRUE(seen_.gaps.empty());
}

TEST_F(QuotesDatagrams, TheEncoderRefusesWhatDoesNotFitAndNeverExceedsADatagram) {
    std::array<std::byte, at::kMaxDatagramBytes> buffer;
    const Symbol longest{std::string(Symbol::capacity(), 'X')};
    encoder_.begin(buffer);
    std::size_t added = 0;
    while (encoder_.add(quote_of(1), Venue{"LONGNAME"}, longest)) ++added;
    EXPECT_EQ(added, (at::kMaxDatagramBytes - at::kHeaderBytes) / (at::kNamesAt + 40));
    const auto bytes = encoder_.finish(0);
    EXPECT_LE(bytes.size(), at::kMaxDatagramBytes);
    ASSERT_TRUE(feed(bytes).ok());
    EXPECT_EQ(seen_.quotes.size(), added);
    EXPECT_EQ(encoder_.next_sequence(), added + 1);
}

TEST_F(QuotesDatagrams, JoinedAtIsTheFirstNumberSinceTheSendersLastStart) {
    for (int i = 0; i < 100; ++i) (void)datagram(1);  // before the receiver listens
    feed(datagram(1));
    EXPECT_EQ(decoder_.joined_at().read(), 101U);
    decoder_.restart_at(1, {}, seen_);
    EXPECT_EQ(decoder_.joined_at().read(), 0U);
    feed(datagram(1));  // 102: a gap
    encoder_ = QuotesEncoder{{.channel = 3, .session = 1000}};
    for (std::uint32_t i = 0; i <= SequenceTracker::kRestartAfter; ++i) feed(datagram(1));
    EXPECT_EQ(decoder_.sequence().counters().restarts.read(), 2U);
    EXPECT_EQ(decoder_.joined_at().read(), SequenceTracker::kRestartAfter + 1U);
}

TEST_F(QuotesDatagrams, AHeartbeatShowsLossesAfterTheLastDatagram) {
    feed(datagram(2));
    EXPECT_TRUE(feed(datagram(0)).ok());
    EXPECT_EQ(decoder_.counters().agreed.read(), 1U);
    (void)datagram(3);  // lost
    EXPECT_TRUE(feed(datagram(0)).ok());
    ASSERT_EQ(seen_.gaps.size(), 1U);
    EXPECT_EQ(seen_.gaps[0].first, 3U);
    EXPECT_EQ(seen_.gaps[0].last, 5U);
    EXPECT_EQ(seen_.gaps[0].channel, 7U);
    EXPECT_EQ(decoder_.counters().heartbeats.read(), 2U);
    feed(datagram(1));
    EXPECT_EQ(seen_.gaps.size(), 1U);
}

TEST_F(QuotesDatagrams, LateAndDuplicatedQuotesAreCountedAndNotApplied) {
    const auto first = datagram(2);
    const auto second = datagram(2);
    const auto third = datagram(2);
    for (const auto* bytes : {&first, &third, &second, &third}) feed(*bytes);
    EXPECT_EQ(seen_.quotes.size(), 4U);
    EXPECT_EQ(decoder_.sequence().counters().late.read(), 2U);
    EXPECT_EQ(decoder_.sequence().counters().duplicates.read(), 2U);
    EXPECT_EQ(decoder_.counters().stale.read(), 4U);
}

TEST_F(QuotesDatagrams, ANewSessionClearsAndStartsAtOne) {
    feed(datagram(5));
    encoder_ = QuotesEncoder{{.channel = 3, .session = 2000}};
    (void)datagram(1);  // lost
    feed(datagram(1));
    EXPECT_TRUE(seen_.clears.empty()) << "not confirmed";
    feed(datagram(0));
    ASSERT_EQ(seen_.clears.size(), 1U);
    EXPECT_EQ(seen_.clears[0].reason, ClearReason::new_session);
    EXPECT_EQ(seen_.clears[0].instrument, kNoInstrument);
    ASSERT_EQ(seen_.gaps.size(), 1U);
    EXPECT_EQ(seen_.gaps[0].first, 1U);
    EXPECT_EQ(seen_.quotes.size(), 6U);
    EXPECT_EQ(seen_.quotes.back().feed_sequence, 2U);
}

TEST_F(QuotesDatagrams, AClearArrivesEvenWhenTheDatagramThatBroughtItWasLost) {
    feed(datagram(1));
    encoder_.clear();
    (void)datagram(1);  // lost
    feed(datagram(1));
    ASSERT_EQ(seen_.clears.size(), 1U);
    EXPECT_EQ(seen_.clears[0].reason, ClearReason::sender_request);
    EXPECT_EQ(seen_.order, (std::vector{EventKind::quote, EventKind::gap, EventKind::clear, EventKind::quote}));
    feed(datagram(1));
    EXPECT_EQ(seen_.clears.size(), 1U);
}

TEST_F(QuotesDatagrams, AnotherChannelOfTheSameGroupIsLeftAlone) {
    feed(datagram(1));
    encoder_ = QuotesEncoder{{.channel = 4, .session = 5000}};
    feed(datagram(3));
    EXPECT_EQ(seen_.quotes.size(), 1U);
    EXPECT_TRUE(seen_.clears.empty());
    EXPECT_EQ(decoder_.counters().ignored.read(), 3U);
}

TEST_F(QuotesDatagrams, BadHeadersGetPreciseErrorsAndTheNextDatagramWorks) {
    const auto good = datagram(3);
    const auto with = [&](std::size_t offset, int value) {
        auto bytes = good;
        bytes[offset] = static_cast<std::byte>(value);
        return bytes;
    };
    EXPECT_EQ(kind_of(with(at::kMagicAt, 'X')), DecodeErrorKind::bad_magic);
    EXPECT_EQ(kind_of(with(at::kVersionAt, 1)), DecodeErrorKind::bad_version);
    EXPECT_EQ(kind_of(with(at::kCountAt, 33)), DecodeErrorKind::bad_count);
    EXPECT_EQ(kind_of(with(at::kSequenceAt, 0)), DecodeErrorKind::bad_sequence);
    EXPECT_EQ(kind_of(with(at::kLengthAt, 1)), DecodeErrorKind::oversized);
    auto longer = good;
    longer.resize(at::kMaxDatagramBytes + 1);
    EXPECT_EQ(kind_of(longer), DecodeErrorKind::oversized);
    for (std::size_t length = 0; length < good.size(); ++length) {
        ASSERT_EQ(kind_of(std::span{good}.first(length)), DecodeErrorKind::truncated);
    }
    EXPECT_TRUE(seen_.quotes.empty());
    EXPECT_TRUE(feed(good).ok());
    EXPECT_EQ(seen_.quotes.size(), 3U);
    EXPECT_TRUE(seen_.gaps.empty());
}

TEST_F(QuotesDatagrams, QuotesAfterABadOneCountAsMissing) {
    feed(datagram(1));
    auto bytes = datagram(3);
    const auto second = at::kHeaderBytes + at::kNamesAt + 6;
    bytes[second + at::kSymbolLengthAt] = std::byte{200};
    const auto result = feed(bytes);
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error->kind, DecodeErrorKind::bad_length);
    EXPECT_EQ(result.error->offset, second);
    EXPECT_EQ(result.error->found, 200U);
    EXPECT_EQ(result.messages, 1U);
    EXPECT_EQ(seen_.quotes.size(), 2U);
    feed(datagram(1));
    ASSERT_EQ(seen_.gaps.size(), 1U);
    EXPECT_EQ(seen_.gaps[0].first, 3U);
    EXPECT_EQ(seen_.gaps[0].last, 4U);
}

TEST_F(QuotesDatagrams, ANameThatIsNotPrintableIsRejectedAloneAndAFullTableCounted) {
    auto bytes = datagram(3);
    bytes[at::kHeaderBytes + at::kNamesAt + 4] = std::byte{7};
    feed(bytes);
    EXPECT_EQ(seen_.quotes.size(), 2U);
    EXPECT_EQ(decoder_.counters().rejected.read(), 1U);
    ASSERT_EQ(seen_.gaps.size(), 1U);
    EXPECT_EQ(seen_.gaps[0].reason, GapReason::rejected);
    EXPECT_EQ(seen_.gaps[0].first, 1U);

    InstrumentTable small{1};
    QuotesDecoder decoder{small, {}};
    Recorder seen;
    decoder.decode(datagram(3), {}, seen);
    EXPECT_EQ(seen.quotes.size(), 1U);
    EXPECT_EQ(decoder.counters().refused.read(), 2U);
}

TEST_F(QuotesDatagrams, ADatagramOfTheFormerVersionIsRefusedWithBothVersions) {
    auto bytes = datagram(1);
    bytes[at::kVersionAt] = std::byte{1};
    const auto result = feed(bytes);
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error->kind, DecodeErrorKind::bad_version);
    EXPECT_EQ(result.error->found, 1U);
    EXPECT_EQ(result.error->bound, 2U);
    EXPECT_TRUE(seen_.quotes.empty());
}

TEST_F(QuotesDatagrams, AnInstrumentKeepsTheDecimalsOfItsFirstQuote) {
    std::array<std::byte, at::kMaxDatagramBytes> buffer;
    encoder_.begin(buffer);
    ASSERT_TRUE(encoder_.add(quote_of(1), Venue{"XCME"}, Symbol{"6E"}, 5));
    ASSERT_TRUE(encoder_.add(quote_of(2), Venue{"XCME"}, Symbol{"6E"}, 7));
    ASSERT_TRUE(encoder_.add(quote_of(3), Venue{"XCME"}, Symbol{"ES"}));
    ASSERT_TRUE(feed(encoder_.finish(0)).ok());
    ASSERT_EQ(seen_.quotes.size(), 3U);
    EXPECT_EQ(table_.decimals(seen_.quotes[0].instrument), 5U);
    EXPECT_EQ(table_.decimals(seen_.quotes[2].instrument), kDefaultDecimals);
}

TEST_F(QuotesDatagrams, APriceOrDecimalsBeyondTheRangeRejectTheirQuoteAlone) {
    const auto bid_at = at::kHeaderBytes + at::kBidPriceAt;
    for (const auto price : {kNoPrice, std::numeric_limits<Price>::min(), kMinPrice - 1}) {
        auto bytes = datagram(3);
        core::store_le(bytes.data() + bid_at, price);
        const auto quotes = seen_.quotes.size();
        feed(bytes);
        EXPECT_EQ(seen_.quotes.size(), quotes + 2);
        EXPECT_EQ(seen_.gaps.back().reason, GapReason::rejected);
    }
    auto bytes = datagram(3);
    bytes[at::kHeaderBytes + at::kDecimalsAt] = std::byte{10};
    feed(bytes);
    EXPECT_EQ(decoder_.counters().rejected.read(), 4U);
    // Without a size, whatever the price's bytes hold is no price.
    bytes = datagram(1);
    core::store_le(bytes.data() + bid_at, kNoPrice);
    core::store_le(bytes.data() + at::kHeaderBytes + at::kBidSizeAt, std::uint64_t{0});
    feed(bytes);
    EXPECT_EQ(decoder_.counters().rejected.read(), 4U);
    EXPECT_EQ(seen_.quotes.back().bid_price, 0);
}

using Levels = std::vector<QuotesEncoder::Level>;

/// Datagrams with levels, and the books that a reader makes of them.
class QuotesLevels : public testing::Test {
public:
    template <class Event>
    void on(const Event& event) {
        seen_.on(event);
        if constexpr (requires { event.flags; }) last_flags_.push_back(event.flags);
    }
    void on(const Level& level) {
        levels_.push_back(level);
        last_flags_.push_back(level.flags);
    }

protected:
    using Entry = QuotesEncoder::Entry;

    std::vector<std::byte> datagram(const std::vector<Entry>& entries, std::string_view symbol = "AAPL") {
        std::array<std::byte, at::kMaxDatagramBytes> buffer;
        encoder_.begin(buffer);
        for (const auto& entry : entries) EXPECT_TRUE(encoder_.add_entry(entry, Venue{"XNAS"}, Symbol{symbol}));
        const auto bytes = encoder_.finish(99);
        return {bytes.begin(), bytes.end()};
    }
    DecodeResult feed(std::span<const std::byte> bytes) {
        const ExactCopy exact{bytes};
        return decoder_.decode(exact.span(), {.receive_utc_ns = 5, .receive_ticks = 6, .channel = 7}, *this);
    }
    Levels side_of(Side side) const {
        Levels levels;
        for (const auto& level : levels_) {
            if (level.side == side) levels.push_back({level.price, level.size, level.orders});
        }
        return levels;
    }
    void forget() {
        levels_.clear();
        last_flags_.clear();
        seen_ = {};
    }

    InstrumentTable table_{64};
    QuotesEncoder encoder_{{.channel = 3, .session = 1000, .depth = 3}};
    QuotesDecoder decoder_{table_, {.depth = 3}};
    Recorder seen_;
    std::vector<Level> levels_;
    std::vector<std::uint16_t> last_flags_;
    Levels bids_{{100, 5, 1}, {99, 7, 2}, {-3, 9, 0}};
    Levels asks_{{101, 4, 4'000'000'000}};
    Entry ladder_{.bids = bids_, .asks = asks_, .exchange_utc_ns = 77, .all_levels = true};
};

TEST_F(QuotesLevels, GoldenBytesByteByByteAsTheLayoutSaysThem) {
    const Levels bids{{100, 5, 1}};
    const Levels asks{{-1, 0, 0}};
    const auto bytes = datagram({{.bids = bids, .asks = asks, .exchange_utc_ns = 77, .levels_incomplete = true}});
    const auto expected = from_hex(
        "4d505154 02 03 0300 e803000000000000 0100000000000000 6300000000000000 00000000 0100 8800"
        "04 04 1800 04 01 01 00 0000000000000000 0000000000000000 0000000000000000 0000000000000000 4d00000000000000"
        "584e4153 4141504c 6400000000000000 0500000000000000 01000000 ffffffffffffffff 0000000000000000 00000000");
    EXPECT_EQ(bytes, expected);
}

TEST_F(QuotesLevels, AnEntryIsAGroupWhoseLastEventSaysSo) {
    const auto quote = quote_of(100);
    const Levels changed{{99, 0, 0}};
    ASSERT_TRUE(
        feed(datagram({ladder_, {.quote = &quote, .bids = changed, .exchange_utc_ns = 78}, {.quote = &quote}})).ok());
    EXPECT_EQ(last_flags_,
              (std::vector<std::uint16_t>{kSnapshot, kSnapshot, kSnapshot, kSnapshot, kSnapshot | kLast, 0,
                                          kIncomplete | kNotFirm | kLast, kIncomplete | kNotFirm | kLast}));
    ASSERT_EQ(levels_.size(), 6U);
    EXPECT_EQ(levels_[0].side, Side::none);
    EXPECT_EQ(levels_[0].size, 0U);
    EXPECT_EQ(side_of(Side::bid), (Levels{{100, 5, 1}, {99, 7, 2}, {-3, 9, 0}, {99, 0, 0}}));
    EXPECT_EQ(side_of(Side::ask), asks_);
    EXPECT_EQ(levels_[1].channel, 7U);
    EXPECT_EQ(levels_[1].exchange_utc_ns, 77);
    EXPECT_EQ(levels_[1].receive_utc_ns, 5);
    EXPECT_EQ(levels_[1].receive_ticks, 6U);
    EXPECT_EQ(levels_[1].feed_sequence, 1U);
    EXPECT_EQ(levels_.back().feed_sequence, 2U);
    EXPECT_EQ(seen_.quotes.size(), 2U);
    EXPECT_EQ(decoder_.counters().levels.read(), 6U);
}

TEST_F(QuotesLevels, AnEmptyBookIsASnapshotOfOneEvent) {
    ASSERT_TRUE(feed(datagram({{.all_levels = true, .levels_incomplete = true}})).ok());
    EXPECT_EQ(last_flags_, (std::vector<std::uint16_t>{kSnapshot | kIncomplete | kLast}));
}

TEST_F(QuotesLevels, ARepeatedEntryIsAppliedOnceAfterEachLossAndNeverOtherwise) {
    const auto quote = quote_of(100);
    auto repeated = ladder_;
    repeated.quote = &quote;
    repeated.repeated = true;
    (void)datagram({ladder_});  // before the receiver listens
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(feed(datagram({repeated})).ok());
    EXPECT_EQ(levels_.size(), 5U);
    EXPECT_EQ(seen_.quotes.size(), 1U);
    EXPECT_EQ(decoder_.counters().ignored.read(), 2U);

    forget();
    (void)datagram({ladder_});  // lost
    feed(datagram({{.quote = &quote}}));
    EXPECT_TRUE(levels_.empty());
    for (int i = 0; i < 2; ++i) feed(datagram({repeated}));
    EXPECT_EQ(levels_.size(), 5U);
    EXPECT_EQ(seen_.quotes.size(), 2U);

    forget();
    encoder_.clear();
    for (int i = 0; i < 2; ++i) feed(datagram({repeated}));
    EXPECT_EQ(levels_.size(), 5U);

    forget();
    decoder_.expect_repeats();
    for (int i = 0; i < 2; ++i) feed(datagram({repeated}));
    EXPECT_EQ(levels_.size(), 5U);
    feed(datagram({ladder_}));
    EXPECT_EQ(levels_.size(), 10U) << "not a repetition";
}

TEST_F(QuotesLevels, AReceiverThatJoinedLateHasAllAfterACycleWithoutALoss) {
    auto first = ladder_;
    first.repeated = first.begins_cycle = true;
    (void)datagram({ladder_});
    feed(datagram({first}));
    (void)datagram({ladder_});  // lost
    feed(datagram({first}));
    EXPECT_EQ(decoder_.joined_at().read(), 2U);
    feed(datagram({first}));
    EXPECT_EQ(decoder_.joined_at().read(), 0U);
}

TEST_F(QuotesLevels, AReceiverFromTheFirstEntryOnNeedsNoRepetition) {
    auto repeated = ladder_;
    repeated.repeated = true;
    feed(datagram({ladder_}));
    feed(datagram({repeated}));
    EXPECT_EQ(levels_.size(), 5U);
}

TEST_F(QuotesLevels, ARepeatedQuoteIsAppliedOnceWithoutDepthToo) {
    QuotesDecoder decoder{table_, {}};
    Recorder seen;
    const auto quote = quote_of(100);
    (void)datagram({ladder_});
    for (int i = 0; i < 3; ++i) decoder.decode(datagram({{.quote = &quote, .repeated = true}}), {}, seen);
    ASSERT_EQ(seen.quotes.size(), 1U);
    EXPECT_EQ(seen.quotes[0].flags & kLast, 0);
}

TEST_F(QuotesLevels, BooksOfAClearedChannelAreIncompleteUntilTheyHaveAllLevels) {
    feed(datagram({ladder_}));
    encoder_.clear();
    feed(datagram({}));
    ASSERT_EQ(seen_.clears.size(), 1U);
    EXPECT_EQ(seen_.clears[0].flags, kIncomplete);
    decoder_.restart_at(1, {}, *this);
    EXPECT_EQ(seen_.clears.back().flags, kIncomplete);
}

TEST_F(QuotesLevels, WithoutDepthLevelsAreSkippedAndQuotesUnchanged) {
    const auto quote = quote_of(100);
    auto both = ladder_;
    both.quote = &quote;
    const auto bytes = datagram({both, ladder_});
    for (const bool takes_levels : {false, true}) {
        QuotesDecoder decoder{table_, {.depth = takes_levels ? 0U : 3U}};
        const auto levels = levels_.size();
        Recorder seen;
        if (takes_levels) {
            ASSERT_TRUE(decoder.decode(bytes, {}, *this).ok());
        } else {
            ASSERT_TRUE(decoder.decode(bytes, {}, seen).ok());
            ASSERT_EQ(seen.quotes.size(), 1U);
            EXPECT_EQ(seen.quotes[0].flags, quote.flags);
        }
        EXPECT_EQ(levels_.size(), levels);
        EXPECT_EQ(decoder.counters().ignored.read(), 1U);
        EXPECT_EQ(decoder.counters().applied.read(), 1U);
    }
    EXPECT_TRUE(seen_.clears.empty());
}

TEST_F(QuotesLevels, AnotherDepthIsRefusedWithBothAndLosesNothingSilently) {
    feed(datagram({ladder_}));
    auto bytes = datagram({ladder_});
    bytes[at::kDepthAt] = std::byte{5};
    const auto result = feed(bytes);
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error->kind, DecodeErrorKind::bad_depth);
    EXPECT_EQ(result.error->offset, at::kDepthAt);
    EXPECT_EQ(result.error->found, 5U);
    EXPECT_EQ(result.error->bound, 3U);
    EXPECT_EQ(levels_.size(), 5U);
    feed(datagram({ladder_}));
    ASSERT_EQ(seen_.gaps.size(), 1U);
    bytes[at::kDepthAt] = std::byte{34};
    QuotesDecoder decoder{table_, {}};
    const auto beyond = decoder.decode(bytes, {}, seen_);
    ASSERT_FALSE(beyond.ok());
    EXPECT_EQ(beyond.error->bound, 33U);
}

TEST_F(QuotesLevels, AnotherChannelOfTheGroupMayHaveAnotherDepth) {
    feed(datagram({ladder_}));
    encoder_ = QuotesEncoder{{.channel = 4, .session = 1000, .depth = 5}};
    EXPECT_TRUE(feed(datagram({ladder_})).ok());
    EXPECT_EQ(levels_.size(), 5U);
    EXPECT_EQ(decoder_.counters().ignored.read(), 1U);
}

TEST_F(QuotesLevels, ABadLevelRejectsItsEntryAlone) {
    const auto first_level = at::kHeaderBytes + at::kNamesAt + 8;
    const auto expect_rejected = [&](auto&& change) {
        forget();
        auto bytes = datagram({ladder_, ladder_});
        change(bytes);
        EXPECT_TRUE(feed(bytes).ok());
        EXPECT_EQ(levels_.size(), 5U);
        ASSERT_EQ(seen_.gaps.size(), 1U);
        EXPECT_EQ(seen_.gaps[0].reason, GapReason::rejected);
    };
    for (const auto price : {kNoPrice, kMinPrice - 1}) {
        expect_rejected([&](auto& bytes) { core::store_le(bytes.data() + first_level, price); });
        expect_rejected([&](auto& bytes) { core::store_le(bytes.data() + first_level + 3 * at::kLevelBytes, price); });
    }
    expect_rejected(
        [&](auto& bytes) { core::store_le(bytes.data() + first_level + at::kLevelSizeAt, std::uint64_t{0}); });
    expect_rejected([&](auto& bytes) {  // orders of a level that is gone
        core::store_le(bytes.data() + at::kHeaderBytes + at::kFlagsAt, at::kNoQuote);
        core::store_le(bytes.data() + first_level + at::kLevelSizeAt, std::uint64_t{0});
    });
    expect_rejected([&](auto& bytes) {  // a repeated entry with some of its levels
        core::store_le(bytes.data() + at::kHeaderBytes + at::kFlagsAt,
                       static_cast<std::uint16_t>(at::kNoQuote | at::kRepeated));
    });
    EXPECT_EQ(decoder_.counters().rejected.read(), 7U);
    forget();
    auto empty = datagram({{.quote = nullptr, .all_levels = true}});
    core::store_le(empty.data() + at::kHeaderBytes + at::kFlagsAt, at::kNoQuote);
    feed(empty);
    EXPECT_EQ(decoder_.counters().rejected.read(), 8U) << "neither a quote nor a level";
}

TEST_F(QuotesLevels, LevelsThatAreCutOffAreTruncatedAtEveryLength) {
    const auto good = datagram({ladder_});
    for (std::size_t length = at::kHeaderBytes; length < good.size(); ++length) {
        auto cut = std::vector<std::byte>(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(length));
        core::store_le(cut.data() + at::kLengthAt, static_cast<std::uint16_t>(length));
        const auto result = feed(cut);
        ASSERT_FALSE(result.ok());
        ASSERT_EQ(result.error->kind, DecodeErrorKind::truncated);
        ASSERT_EQ(result.error->offset, at::kHeaderBytes);
    }
    EXPECT_TRUE(levels_.empty());
}

TEST_F(QuotesLevels, TheGreatestDepthFitsADatagramWithTheLongestNames) {
    const Levels side(at::kMaxDepth, {1, 1, 1});
    const Symbol longest{std::string(Symbol::capacity(), 'X')};
    std::array<std::byte, at::kMaxDatagramBytes> buffer;
    encoder_ = QuotesEncoder{{.channel = 3, .session = 1000, .depth = at::kMaxDepth}};
    encoder_.begin(buffer);
    ASSERT_TRUE(encoder_.add_entry({.bids = side, .asks = side, .all_levels = true}, Venue{"LONGNAME"}, longest));
    EXPECT_FALSE(encoder_.add_entry({.bids = side}, Venue{"LONGNAME"}, longest));
    const auto bytes = encoder_.finish(0);
    EXPECT_EQ(bytes.size(), 40U + 48U + 40U + 66U * 20U);
    QuotesDecoder decoder{table_, {.depth = at::kMaxDepth}};
    ASSERT_TRUE(decoder.decode(bytes, {}, *this).ok());
    EXPECT_EQ(levels_.size(), 67U);
}

}  // namespace
}  // namespace millpond::feed
