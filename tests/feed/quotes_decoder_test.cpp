#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

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
    auto quote = quote_of(1'892'400);
    ASSERT_TRUE(encoder_.add(quote, Venue{"XNAS"}, Symbol{"AAPL"}));
    const auto bytes = encoder_.finish(0x0102'0304'0506'0708);
    const auto expected = from_hex(
        "4d505154 01 00 0300 e803000000000000 0100000000000000 0807060504030201 00000000 0100 5c00"
        "04 04 0500 30e01c0000000000 94e01c0000000000 2c01000000000000 00f2052a01000000 f088aa22cab3ee15"
        "584e4153 4141504c");
    EXPECT_EQ(std::vector<std::byte>(bytes.begin(), bytes.end()), expected);
}

TEST_F(QuotesDatagrams, WhatIsEncodedIsWhatIsDecoded) {
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

TEST_F(QuotesDatagrams, AHeartbeatShowsWhatWasLostBehindTheLastDatagram) {
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
    EXPECT_EQ(kind_of(with(at::kVersionAt, 2)), DecodeErrorKind::bad_version);
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

TEST_F(QuotesDatagrams, QuotesBehindABadOneAreMissingNotForgotten) {
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

}  // namespace
}  // namespace millpond::feed
