#include <millpond/market/composite.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <stdexcept>
#include <vector>

#include "tests/market/composite_fixture.hpp"
#include "tests/support/allocation_counter.hpp"

namespace millpond::market {
namespace {

using feed::Clear;
using feed::ClearReason;
using feed::Gap;
using feed::GapReason;
using feed::InstrumentId;
using feed::kNoInstrument;
using feed::Quote;
using test::CompositeRing;
using test::kCompositeChannel;
using test::kVenueStep;

class CompositeTest : public testing::Test {
protected:
    static constexpr std::int64_t kNow = 5'000;

    /// Adds a symbol with these venues, whose channel is their number; the others are known not to have it.
    void add(std::initializer_list<std::uint16_t> venues, InstrumentId symbol = 0) {
        for (std::uint16_t venue = 1; venue <= 4; ++venue) {
            if (std::ranges::find(venues, venue) == venues.end()) {
                composite.set_known(venue, false, kNow);
            } else {
                ASSERT_TRUE(composite.add(symbol, venue * kVenueStep + symbol, venue - 1U, kNow));
            }
        }
    }
    static Quote quote_of(std::uint16_t venue, feed::Price bid, std::uint64_t bid_size, feed::Price ask,
                          std::uint64_t ask_size, std::uint16_t flags = 0, InstrumentId symbol = 0) {
        Quote quote;
        quote.instrument = venue * kVenueStep + symbol;
        quote.channel = venue;
        quote.flags = flags;
        quote.bid_price = bid;
        quote.bid_size = bid_size;
        quote.ask_price = ask;
        quote.ask_size = ask_size;
        return quote;
    }
    template <class Event>
    std::uint64_t apply(const Event& event) {
        const auto number = ++ring.newest;
        composite.on(event, number, ring);
        return number;
    }
    void renew() {
        while (composite.renew(3, ring) != 0) continue;
    }
    void expect(feed::Price bid, std::uint64_t bid_size, feed::Price ask, std::uint64_t ask_size, unsigned flags) {
        const auto quote = ring.quote(0);
        EXPECT_EQ(quote.bid_price, bid);
        EXPECT_EQ(quote.bid_size, bid_size);
        EXPECT_EQ(quote.ask_price, ask);
        EXPECT_EQ(quote.ask_size, ask_size);
        EXPECT_EQ(quote.flags, flags);
    }

    CompositeRing ring;
    Composite composite{
        {.channel = kCompositeChannel, .venues = {0b10, 0b100, 0b1000, 0b1'0000}, .max_instruments = 100}};
};

TEST_F(CompositeTest, SumsTheSizesOfTheBestPricesAndNamesTheirVenues) {
    add({1, 2, 3});
    apply(quote_of(1, 100, 5, 103, 7));
    apply(quote_of(2, 99, 50, 102, 3));
    apply(quote_of(3, 100, 6, 102, 4));
    expect(100, 11, 102, 7, 0);
    EXPECT_EQ(ring.seen[0].venues.bid_channels, 0b1010U);
    EXPECT_EQ(ring.seen[0].venues.ask_channels, 0b1100U);
    EXPECT_EQ(ring.seen[0].venues.left_out(), 0U);
    apply(quote_of(3, 0, 0, 0, 0));
    expect(100, 5, 102, 3, 0);
}

TEST_F(CompositeTest, HasTheTimesAndTheNumberOfTheQuoteThatCausedIt) {
    add({1, 2});
    apply(quote_of(1, 100, 5, 103, 7));
    auto quote = quote_of(2, 101, 5, 103, 7);
    quote.exchange_utc_ns = 11;
    quote.receive_utc_ns = 12;
    quote.receive_ticks = 13;
    quote.feed_sequence = 14;
    const auto number = apply(quote);
    const auto& seen = ring.seen[0];
    EXPECT_EQ(seen.quote.channel, kCompositeChannel);
    EXPECT_EQ(seen.quote.exchange_utc_ns, 11);
    EXPECT_EQ(seen.quote.receive_utc_ns, 12);
    EXPECT_EQ(seen.quote.receive_ticks, 13U);
    EXPECT_EQ(seen.quote.feed_sequence, number);
    EXPECT_EQ(seen.venues.receive_utc_ns, 12);
    EXPECT_EQ(seen.venues.feed_sequence, number);
    EXPECT_GT(seen.number, number);
}

TEST_F(CompositeTest, PublishesNothingIfTheBestDoesNotChange) {
    add({1, 2});
    apply(quote_of(1, 100, 5, 103, 7));
    apply(quote_of(2, 99, 5, 104, 7));
    const auto published = ring.published;
    apply(quote_of(2, 98, 5, 105, 8));
    apply(quote_of(1, 100, 5, 103, 7));
    EXPECT_EQ(ring.published, published);
    apply(quote_of(1, 100, 6, 103, 7));  // the same venues: only a quote
    EXPECT_EQ(ring.published, published + 1);
}

TEST_F(CompositeTest, LeavesOutWhatCannotBeTradedAndSaysWhy) {
    add({1, 2, 3, 4});
    apply(quote_of(1, 100, 5, 103, 7));
    apply(quote_of(2, 101, 5, 102, 7, feed::kHalted));
    apply(quote_of(3, 101, 5, 102, 7, feed::kNotFirm));
    apply(quote_of(4, 101, 5, 102, 7, feed::kIncomplete));
    expect(100, 5, 103, 7, feed::kIncomplete);
    const auto& venues = ring.seen[0].venues;
    EXPECT_EQ(venues.bid_channels, 0b10U);
    EXPECT_EQ(venues.halted_channels, 0b100U);
    EXPECT_EQ(venues.not_firm_channels, 0b1000U);
    EXPECT_EQ(venues.incomplete_channels, 0b1'0000U);
    EXPECT_EQ(composite.left_out(4, Composite::LeftOut::incomplete).read(), 1U);
    apply(quote_of(4, 99, 5, 104, 7));
    expect(100, 5, 103, 7, 0);  // a halted venue has no better price
    EXPECT_EQ(composite.left_out(4, Composite::LeftOut::incomplete).read(), 0U);
    apply(quote_of(2, 101, 5, 102, 7));
    expect(101, 5, 102, 7, 0);
}

TEST_F(CompositeTest, IsHaltedIfAllVenuesAre) {
    add({1, 2});
    apply(quote_of(1, 100, 5, 103, 7));
    apply(quote_of(2, 100, 5, 103, 7, feed::kHalted));
    expect(100, 5, 103, 7, 0);
    apply(quote_of(1, 100, 5, 103, 7, feed::kHalted));
    expect(0, 0, 0, 0, feed::kHalted);
}

TEST_F(CompositeTest, FlagsLockedAndCrossedPrices) {
    add({1, 2});
    apply(quote_of(1, 100, 5, 103, 7));
    apply(quote_of(2, 99, 5, 100, 7));
    expect(100, 5, 100, 7, feed::kLocked);
    EXPECT_EQ(composite.locked().read(), 1U);
    apply(quote_of(2, -2, 5, -1, 7));
    expect(100, 5, -1, 7, feed::kCrossed);
    EXPECT_EQ(composite.locked().read(), 0U);
    EXPECT_EQ(composite.crossed().read(), 1U);
    apply(quote_of(1, -2, 5, 3, 7));
    expect(-2, 10, -1, 7, 0);
    EXPECT_EQ(composite.crossed().read(), 0U);
}

TEST_F(CompositeTest, AGapMakesAllQuotesIncompleteAtOnceAndLeavesTheVenueOutUntilItQuotesAgain) {
    add({1, 2});
    add({1, 2}, 1);
    for (const InstrumentId symbol : {0U, 1U}) {
        apply(quote_of(1, 100, 5, 103, 7, 0, symbol));
        apply(quote_of(2, 101, 5, 104, 7, 0, symbol));
    }
    apply(Gap{.channel = 2, .reason = GapReason::silence, .receive_utc_ns = 77});
    expect(101, 5, 103, 7, feed::kIncomplete);
    EXPECT_NE(ring.quote(1).flags & feed::kIncomplete, 0);
    renew();
    expect(100, 5, 103, 7, feed::kIncomplete);
    EXPECT_EQ(ring.seen[0].venues.silent_channels, 0b100U);
    EXPECT_EQ(ring.seen[0].quote.receive_utc_ns, 77);
    apply(quote_of(2, 101, 5, 104, 7));
    expect(101, 5, 103, 7, 0);
    EXPECT_EQ(ring.quote(1).bid_price, 100);  // not of this symbol
    EXPECT_NE(ring.quote(1).flags & feed::kIncomplete, 0);
}

TEST_F(CompositeTest, QuotesOfAnEndedSessionAreGoneAndThoseOfANewOneAreUnknown) {
    add({1, 2});
    apply(quote_of(1, 100, 5, 103, 7));
    apply(quote_of(2, 101, 5, 102, 7));
    apply(Clear{.channel = 2, .reason = ClearReason::end_of_session});
    EXPECT_NE(ring.quote(0).flags & feed::kIncomplete, 0);  // until it is renewed
    renew();
    expect(100, 5, 103, 7, 0);
    EXPECT_EQ(ring.seen[0].venues.left_out(), 0U);
    apply(Clear{.channel = 2, .reason = ClearReason::new_session});
    renew();
    expect(100, 5, 103, 7, feed::kIncomplete);
    EXPECT_EQ(ring.seen[0].venues.incomplete_channels, 0b100U);
    composite.set_known(2, false, kNow);
    renew();
    expect(100, 5, 103, 7, 0);
}

TEST_F(CompositeTest, AVenueThatWasNeverHeardIsLeftOutOfEverySymbolUntilItIsKnown) {
    ASSERT_TRUE(composite.add(0, 10, 0, kNow));
    apply(quote_of(1, 100, 5, 103, 7));
    expect(100, 5, 103, 7, feed::kIncomplete);
    EXPECT_EQ(ring.seen[0].venues.incomplete_channels, 0b1'1100U);
    composite.set_known(2, false, kNow);
    composite.set_known(3, false, kNow);
    renew();
    expect(100, 5, 103, 7, feed::kIncomplete);
    EXPECT_EQ(ring.seen[0].venues.incomplete_channels, 0b1'0000U);
    EXPECT_EQ(composite.left_out(4, Composite::LeftOut::incomplete).read(), 1U);
    composite.set_known(4, false, kNow);
    renew();
    expect(100, 5, 103, 7, 0);
    EXPECT_EQ(ring.seen[0].quote.receive_utc_ns, kNow);
    ASSERT_TRUE(composite.add(0, 40, 3, kNow));  // of which a directory tells
    renew();
    expect(100, 5, 103, 7, 0);
}

TEST_F(CompositeTest, ASilentVenueWithoutAQuoteIsLeftOutOfEverySymbol) {
    add({1, 2});
    apply(quote_of(1, 100, 5, 103, 7));
    apply(quote_of(2, 99, 5, 104, 7));
    apply(Gap{.channel = 3, .reason = GapReason::silence});
    renew();
    expect(100, 5, 103, 7, feed::kIncomplete);
    EXPECT_EQ(ring.seen[0].venues.silent_channels, 0b1000U);
    composite.set_known(3, false, kNow);  // it continued, and nothing was lost
    renew();
    expect(100, 5, 103, 7, 0);
}

TEST_F(CompositeTest, ALossIsNotForgottenWithASilenceButRepaired) {
    add({1, 2});
    apply(quote_of(1, 100, 5, 103, 7));
    apply(quote_of(2, 99, 5, 104, 7));
    apply(Gap{.channel = 3, .reason = GapReason::sequence});
    apply(Gap{.channel = 3, .reason = GapReason::silence});
    composite.set_known(3, false, kNow);
    renew();
    expect(100, 5, 103, 7, feed::kIncomplete);
    composite.set_known(3, true, kNow);
    renew();
    expect(100, 5, 103, 7, 0);
}

TEST_F(CompositeTest, AStatusThatEndsTheSessionEndsTheVenuesQuotesUntilItBeginsAgain) {
    using enum feed::TradingState;
    const auto status = [](feed::TradingState state) { return feed::Status{.channel = 2, .state = state}; };
    add({1, 2});
    apply(quote_of(1, 100, 5, 103, 7));
    apply(quote_of(2, 101, 5, 102, 7));
    apply(status(end_of_market_hours));
    expect(101, 5, 102, 7, 0);
    apply(status(end_of_system_hours));
    EXPECT_NE(ring.quote(0).flags & feed::kIncomplete, 0);  // until it is renewed
    renew();
    expect(100, 5, 103, 7, 0);
    apply(status(end_of_messages));
    apply(quote_of(2, 101, 5, 102, 7));  // too late
    expect(100, 5, 103, 7, 0);
    apply(status(start_of_messages));
    renew();
    expect(100, 5, 103, 7, feed::kIncomplete);
    apply(quote_of(2, 101, 5, 102, 7));
    expect(101, 5, 102, 7, 0);
    auto halt = status(halted);
    halt.instrument = 20;
    apply(halt);  // its quote comes again with the flag
    expect(101, 5, 102, 7, 0);
}

TEST_F(CompositeTest, AVenueOfTwoChannelsIsKnownIfBothAre) {
    Composite two{{.channel = 9, .venues = {0b1, 0b110}, .max_instruments = 100}};
    CompositeRing of;
    ASSERT_TRUE(two.add(0, 10, 0, kNow));
    ASSERT_TRUE(two.add(0, 20, 1, kNow));
    Quote quote = quote_of(1, 100, 5, 103, 7);
    quote.channel = 0;
    two.on(quote, ++of.newest, of);
    EXPECT_EQ(of.seen[0].venues.incomplete_channels, 0b10U);
    const auto renew_all = [&] {
        while (two.renew(3, of) != 0) continue;
    };
    two.set_known(1, false, kNow);
    renew_all();
    EXPECT_EQ(of.seen[0].venues.incomplete_channels, 0b100U);
    two.set_known(2, false, kNow);
    renew_all();
    EXPECT_EQ(of.quote(0).flags, 0);
    quote = quote_of(2, 101, 5, 104, 7);
    two.on(quote, ++of.newest, of);
    EXPECT_EQ(of.quote(0).bid_price, 101);
    two.on(Gap{.channel = 1}, ++of.newest, of);  // its quote is of the other one
    renew_all();
    EXPECT_EQ(of.quote(0).flags, 0);
    two.on(Clear{.channel = 2}, ++of.newest, of);
    renew_all();
    EXPECT_EQ(of.quote(0).bid_price, 100);
    EXPECT_EQ(of.seen[0].venues.incomplete_channels, 0b10U);
}

TEST_F(CompositeTest, SumsOfHugeSizesSaturate) {
    constexpr auto kMost = std::numeric_limits<std::uint64_t>::max();
    add({1, 2});
    apply(quote_of(1, 100, kMost - 1, 103, 7));
    apply(quote_of(2, 100, 5, 103, kMost));
    expect(100, kMost, 103, kMost, 0);
}

TEST_F(CompositeTest, AllocatesNothingAfterItsConstruction) {
    const millpond::test::AllocationCounter counter;
    add({1, 2});
    apply(quote_of(1, 100, 5, 103, 7));
    const auto before = counter.allocations();
    static_cast<void>(composite.add(1, 11, 0, kNow));
    const auto ignore = [](const auto&) -> std::uint64_t { return 1'000; };
    composite.on(quote_of(1, 101, 5, 103, 7), 1'001, ignore);
    composite.on(Gap{.channel = 2}, 1'002, ignore);
    composite.on(Clear{.channel = 1}, 1'003, ignore);
    while (composite.renew(3, ignore) != 0) continue;
    EXPECT_EQ(counter.allocations(), before);
}

TEST_F(CompositeTest, AnInstrumentThatWasClearedHasNoQuote) {
    add({1, 2});
    apply(quote_of(1, 100, 5, 103, 7));
    apply(quote_of(2, 101, 5, 102, 7));
    apply(Clear{.instrument = 20, .channel = 2, .reason = ClearReason::sender_request});
    expect(100, 5, 103, 7, 0);
    apply(Clear{.instrument = 10, .channel = 1, .flags = feed::kIncomplete, .reason = ClearReason::sender_request});
    expect(0, 0, 0, 0, feed::kIncomplete);
}

TEST_F(CompositeTest, RefusesASecondInstrumentOfAVenueAndAnInstrumentOfTwoSymbols) {
    add({1, 2});
    EXPECT_FALSE(composite.add(0, 55, 0, kNow));   // another symbol of venue 1
    EXPECT_FALSE(composite.add(1, 10, 0, kNow));   // a member of symbol 0
    EXPECT_FALSE(composite.add(10, 56, 0, kNow));  // a member is not a symbol
    EXPECT_FALSE(composite.add(0, 56, 4, kNow));   // no such venue
    EXPECT_FALSE(composite.add(0, 100, 2, kNow));  // beyond the table
    EXPECT_EQ(composite.refused().read(), 5U);
    const auto refuses = [](const std::vector<std::uint64_t>& venues) {
        EXPECT_THROW(Composite({.channel = 3, .venues = venues}), std::invalid_argument);
    };
    refuses({});
    refuses({1, 0});
    refuses({1, 3});
    refuses({1, 8});
    refuses(std::vector<std::uint64_t>(65, 1));
}

TEST_F(CompositeTest, IgnoresQuotesOfOtherChannelsAndInstruments) {
    add({1, 2});
    const auto published = ring.published;
    auto quote = quote_of(1, 100, 5, 103, 7);
    quote.channel = 70;
    apply(quote);
    quote.channel = 8;
    apply(quote);
    quote.channel = 1;
    quote.instrument = 77;
    apply(quote);
    quote.instrument = kNoInstrument;
    apply(quote);
    quote = quote_of(1, 100, 5, 103, 7);
    quote.channel = 2;  // of another venue
    apply(quote);
    apply(Gap{.channel = 8});
    EXPECT_EQ(ring.published, published);
}

}  // namespace
}  // namespace millpond::market
