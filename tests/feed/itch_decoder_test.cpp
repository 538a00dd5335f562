#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include <millpond/core/endian.hpp>
#include <millpond/feed/generated_feed.hpp>
#include <millpond/feed/itch_decoder.hpp>
#include <millpond/feed/itch_encoder.hpp>
#include <millpond/feed/moldudp64_encoder.hpp>

#include "tests/feed/recorder.hpp"

namespace millpond::feed {
namespace {

constexpr std::int64_t kMidnight = 1'580'360'400'000'000'000;
constexpr ItchDecoder::Options kSmall{.order_books = {.books = 16, .orders = 1'000, .level_chunks = 64}};

class Itch : public testing::Test {
protected:
    Itch() {
        decoder_.set_midnight(kMidnight);
        itch_.set_head(13, 1'000);
    }
    /// A datagram with the given messages, each a call of the encoder.
    template <class... Write>
    std::vector<std::byte> datagram(Write... write) {
        std::array<std::byte, 1472> buffer;
        mold_.begin(buffer);
        (add_to(write(itch_)), ...);
        const auto bytes = mold_.finish();
        return {bytes.begin(), bytes.end()};
    }
    DecodeResult feed(std::span<const std::byte> bytes) {
        const ExactCopy exact{bytes};
        return decoder_.decode(exact.span(), {.receive_utc_ns = 5, .receive_ticks = 6, .channel = 7}, seen_);
    }
    template <class... Write>
    void say(Write... write) {
        ASSERT_TRUE(feed(datagram(write...)).ok());
    }
    static auto bid(std::uint64_t order, std::uint32_t shares, std::uint32_t price) {
        return [=](ItchEncoder& to) { return to.order_added(order, 'B', shares, "AAPL", price); };
    }
    static auto ask(std::uint64_t order, std::uint32_t shares, std::uint32_t price) {
        return [=](ItchEncoder& to) { return to.order_added(order, 'S', shares, "AAPL", price, true); };
    }
    static auto gone(std::uint64_t order) {
        return [=](ItchEncoder& to) { return to.order_deleted(order); };
    }
    [[nodiscard]] const Quote& last() const { return seen_.quotes.back(); }
    [[nodiscard]] bool last_is_incomplete() const { return (last().flags & kIncomplete) != 0; }
    [[nodiscard]] std::uint64_t counter(std::string_view wanted) const {
        std::uint64_t value = 0;
        decoder_.visit_counters([&](std::string_view name, std::string_view, const core::Tally& tally) {
            if (name == wanted) value = tally.read();
        });
        return value;
    }

    InstrumentTable table_{16};
    MoldUdp64Encoder mold_{"S1"};
    ItchEncoder itch_;
    ItchDecoder decoder_{table_, kSmall};
    Recorder seen_;

private:
    void add_to(ItchEncoder::Message message) { ASSERT_TRUE(mold_.add(message)); }
};

TEST_F(Itch, OrdersMakeTheBestBidAndOfferWithAggregateSizes) {
    say(bid(1, 100, 1'000'000), bid(2, 50, 1'000'000), ask(3, 70, 1'000'100));
    ASSERT_EQ(seen_.quotes.size(), 3U);
    EXPECT_EQ(last().bid_price, price_from<10'000>(1'000'000));
    EXPECT_EQ(last().bid_size, 150U);
    EXPECT_EQ(last().ask_price, price_from<10'000>(1'000'100));
    EXPECT_EQ(last().ask_size, 70U);
    EXPECT_EQ(last().exchange_utc_ns, kMidnight + 1'000);
    EXPECT_EQ(last().receive_utc_ns, 5);
    EXPECT_EQ(last().channel, 7U);
    EXPECT_EQ(last().feed_sequence, 3U);
    EXPECT_EQ(table_.symbol(last().instrument).view(), "AAPL");
    EXPECT_EQ(table_.venue(last().instrument).view(), "XNAS");
    EXPECT_FALSE(last_is_incomplete());
}

TEST_F(Itch, AChangeBehindTheBestPriceMakesNoQuote) {
    say(bid(1, 100, 1'000'000), bid(2, 50, 999'900), gone(2));
    EXPECT_EQ(seen_.quotes.size(), 1U);
    say(gone(1));
    EXPECT_EQ(seen_.quotes.size(), 2U);
    EXPECT_EQ(last().bid_price, 0);
    EXPECT_EQ(last().bid_size, 0U);
}

TEST_F(Itch, AReplacementIsOneChange) {
    say(bid(1, 100, 1'000'000), bid(2, 10, 999'000));
    say([](ItchEncoder& to) { return to.order_replaced(1, 9, 80, 1'000'100); });
    ASSERT_EQ(seen_.quotes.size(), 2U);
    EXPECT_EQ(last().bid_price, price_from<10'000>(1'000'100));
    EXPECT_EQ(last().bid_size, 80U);
    say(gone(9));
    EXPECT_EQ(last().bid_price, price_from<10'000>(999'000));
}

TEST_F(Itch, ExecutionsReduceTheBookAndAreTradesWhereTheyArePrintable) {
    say(bid(1, 100, 1'000'000));
    say([](ItchEncoder& to) { return to.order_executed(1, 30, 77); },
        [](ItchEncoder& to) { return to.order_executed_at(1, 20, 78, true, 999'950); },
        [](ItchEncoder& to) { return to.order_executed_at(1, 10, 79, false, 999'950); },
        [](ItchEncoder& to) { return to.order_reduced(1, 5); });
    EXPECT_EQ(last().bid_size, 35U);
    ASSERT_EQ(seen_.trades.size(), 2U);
    EXPECT_EQ(seen_.trades[0].price, price_from<10'000>(1'000'000));
    EXPECT_EQ(seen_.trades[0].size, 30U);
    EXPECT_EQ(seen_.trades[0].trade_id, 77U);
    EXPECT_EQ(seen_.trades[1].price, price_from<10'000>(999'950));
    EXPECT_EQ(seen_.trades[1].size, 20U);
}

TEST_F(Itch, HiddenTradesAndCrossesAreTradesThatDoNotTouchTheBook) {
    say(bid(1, 100, 1'000'000));
    say([](ItchEncoder& to) { return to.hidden_trade(40, "AAPL", 1'000'050, 80); },
        [](ItchEncoder& to) { return to.cross(5'000'000'000, "AAPL", 1'000'060, 81); },
        [](ItchEncoder& to) { return to.cross(0, "AAPL", 1'000'060, 82); });
    EXPECT_EQ(seen_.quotes.size(), 1U);
    ASSERT_EQ(seen_.trades.size(), 2U);
    EXPECT_EQ(seen_.trades[0].size, 40U);
    EXPECT_EQ(seen_.trades[1].size, 5'000'000'000U);
    EXPECT_EQ(seen_.trades[1].trade_id, 81U);
    EXPECT_EQ(decoder_.counters().ignored.read(), 1U);
}

TEST_F(Itch, HaltsAndSystemEventsBecomeStatuses) {
    say([](ItchEncoder& to) { return to.system_event('O'); }, [](ItchEncoder& to) { return to.directory("AAPL"); },
        [](ItchEncoder& to) { return to.trading_action("AAPL", 'H', "T1"); }, bid(1, 100, 1'000'000),
        [](ItchEncoder& to) { return to.trading_action("AAPL", 'T', ""); }, bid(2, 100, 1'000'100));
    ASSERT_EQ(seen_.statuses.size(), 3U);
    EXPECT_EQ(seen_.statuses[0].state, TradingState::start_of_messages);
    EXPECT_EQ(seen_.statuses[0].instrument, kNoInstrument);
    EXPECT_EQ(seen_.statuses[1].state, TradingState::halted);
    EXPECT_EQ(seen_.statuses[1].reason.view(), "T1");
    EXPECT_EQ(seen_.statuses[2].state, TradingState::trading);
    ASSERT_EQ(seen_.quotes.size(), 3U);
    EXPECT_EQ(seen_.quotes[0].flags, kHalted);
    EXPECT_EQ(seen_.quotes[1].flags, 0) << "the standing quote, published again when trading resumed";
    EXPECT_EQ(seen_.quotes[1].bid_price, price_from<10'000>(1'000'000));
    EXPECT_EQ(seen_.quotes[1].feed_sequence, 5U);
    EXPECT_EQ(seen_.quotes[2].flags, 0);
}

TEST_F(Itch, TheCurrentQuoteIsPublishedAgainWhenItsInstrumentIsHaltedAndWhenItResumes) {
    const auto action = [](char state) {
        return [=](ItchEncoder& to) { return to.trading_action("AAPL", state, "T1"); };
    };
    say(action('T'));
    EXPECT_TRUE(seen_.quotes.empty()) << "there is no quote yet";
    say(bid(1, 100, 1'000'000), ask(2, 50, 1'000'100));
    for (const char state : {'H', 'P', 'Q'}) {
        say(action(state));
        EXPECT_EQ(last().flags, kHalted) << state;
    }
    ASSERT_EQ(seen_.quotes.size(), 3U) << "one halt, whatever it is called meanwhile";
    EXPECT_EQ(seen_.order.back(), EventKind::status);
    EXPECT_EQ(last().bid_size, 100U);
    EXPECT_EQ(last().ask_price, price_from<10'000>(1'000'100));
    say(bid(3, 1, 1'000'050));
    EXPECT_EQ(last().flags, kHalted);
    say(action('T'));
    ASSERT_EQ(seen_.quotes.size(), 5U);
    EXPECT_EQ(last().flags, 0);
    EXPECT_EQ(last().bid_price, price_from<10'000>(1'000'050));
    EXPECT_EQ(seen_.statuses.back().state, TradingState::trading);
    say(gone(1), gone(2), gone(3), action('H'));
    EXPECT_EQ(last().flags, kHalted) << "an empty quote of a halted instrument says so too";
    EXPECT_EQ(last().bid_size + last().ask_size, 0U);
}

TEST_F(Itch, AHaltOfThisMarketLastsBesideAHaltOfAllMarkets) {
    const auto here = [](char action, char market = 'Q') {
        return [=](ItchEncoder& to) { return to.operational_halt("AAPL", market, action); };
    };
    const auto everywhere = [](char state) {
        return [=](ItchEncoder& to) { return to.trading_action("AAPL", state, "T1"); };
    };
    const auto state = [&] { return seen_.statuses.back().state; };
    say(bid(1, 100, 1'000'000), here('H', 'B'), here('H', 'X'));
    EXPECT_TRUE(seen_.statuses.empty()) << "halts of BX and PSX";
    EXPECT_EQ(decoder_.counters().ignored.read(), 2U);
    say(here('H'));
    EXPECT_EQ(state(), TradingState::operational_halt);
    EXPECT_EQ(last().flags, kHalted);
    say(everywhere('H'));
    EXPECT_EQ(state(), TradingState::halted);
    say(everywhere('T'));
    EXPECT_EQ(state(), TradingState::operational_halt) << "it still does not trade here";
    EXPECT_EQ(last().flags, kHalted);
    say(everywhere('H'), here('T'));
    EXPECT_EQ(state(), TradingState::halted);
    EXPECT_EQ(seen_.statuses.back().reason.view(), "T1");
    EXPECT_EQ(last().flags, kHalted);
    say(here('T', 'B'), everywhere('T'));
    EXPECT_EQ(state(), TradingState::trading);
    EXPECT_EQ(last().flags, 0);
    EXPECT_EQ(seen_.quotes.size(), 3U) << "each change of the flags, once";
}

TEST_F(Itch, TheVenueNamesTheMarketWhoseOperationalHaltsCount) {
    for (const auto& [venue, market] : {std::pair{"XNAS", 'Q'}, {"XBOS", 'B'}, {"XPSX", 'X'}, {"MINE", 'Q'}}) {
        InstrumentTable table{4};
        Recorder seen;
        auto options = kSmall;
        options.venue = Venue{venue};
        ItchDecoder decoder{table, options};
        for (const char halted : {'Q', 'B', 'X'}) {
            decoder.books().apply(itch_.operational_halt("AAPL", halted, 'H'), 1, {}, seen);
            EXPECT_EQ(seen.statuses.size(), halted == market ? 1U : 0U) << venue << halted;
            seen.statuses.clear();
        }
    }
}

TEST_F(Itch, ABrokenTradeBecomesATradeBreakOfItsInstrument) {
    const auto broken = [](ItchEncoder& to) { return to.broken_trade(77); };
    say(broken);
    EXPECT_TRUE(seen_.trade_breaks.empty());
    EXPECT_EQ(decoder_.counters().refused.read(), 1U) << "no instrument has this locate";
    say(bid(1, 100, 1'000'000), [](ItchEncoder& to) { return to.order_executed(1, 30, 77); }, broken);
    ASSERT_EQ(seen_.trade_breaks.size(), 1U);
    const auto& event = seen_.trade_breaks[0];
    EXPECT_EQ(event.trade_id, seen_.trades.at(0).trade_id);
    EXPECT_EQ(event.instrument, seen_.trades.at(0).instrument);
    EXPECT_EQ(event.channel, 7U);
    EXPECT_EQ(event.exchange_utc_ns, kMidnight + 1'000);
    EXPECT_EQ(event.receive_utc_ns, 5);
    EXPECT_EQ(event.receive_ticks, 6U);
    EXPECT_EQ(event.feed_sequence, 4U);
    EXPECT_EQ(last().bid_size, 70U) << "the book is as it was";
    EXPECT_EQ(decoder_.counters().trade_breaks.read(), 1U);
}

TEST_F(Itch, ACircuitBreakerIsAStatusOfTheChannelWithItsLevel) {
    const auto breaker = [](char level) { return [=](ItchEncoder& to) { return to.circuit_breaker(level); }; };
    say(breaker('2'), breaker('0'), breaker('4'));
    ASSERT_EQ(seen_.statuses.size(), 1U);
    EXPECT_EQ(seen_.statuses[0].state, TradingState::circuit_breaker);
    EXPECT_EQ(seen_.statuses[0].reason.view(), "2");
    EXPECT_EQ(seen_.statuses[0].instrument, kNoInstrument);
    EXPECT_EQ(decoder_.counters().rejected.read(), 2U);
}

TEST_F(Itch, ANewSessionLeavesNoHaltAndNoCircuitBreakerOfTheOldOne) {
    say(
        bid(1, 100, 1'000'000), [](ItchEncoder& to) { return to.trading_action("AAPL", 'H', "T1"); },
        [](ItchEncoder& to) { return to.circuit_breaker('1'); });
    mold_ = MoldUdp64Encoder{"S2"};
    for (int i = 0; i < 2; ++i) say([](ItchEncoder& to) { return to.other('Y'); });
    ASSERT_EQ(seen_.clears.size(), 1U);
    ASSERT_EQ(seen_.statuses.size(), 4U);
    EXPECT_EQ(seen_.statuses[2].state, TradingState::unknown);
    EXPECT_EQ(seen_.statuses[2].instrument, kNoInstrument);
    EXPECT_EQ(seen_.statuses[3].state, TradingState::unknown);
    EXPECT_EQ(seen_.statuses[3].instrument, last().instrument);
    EXPECT_EQ(seen_.statuses[3].receive_utc_ns, 5);
    say(bid(1, 100, 1'000'000));
    EXPECT_EQ(last().flags, 0);
}

TEST_F(Itch, TheEndOfASessionLeavesNoHaltButTheChannelsOwnState) {
    say(
        bid(1, 100, 1'000'000), [](ItchEncoder& to) { return to.operational_halt("AAPL", 'Q', 'H'); },
        [](ItchEncoder& to) { return to.system_event('C'); });
    std::array<std::byte, 64> buffer;
    mold_.begin(buffer);
    EXPECT_TRUE(feed(mold_.finish_session()).ok());
    ASSERT_EQ(seen_.statuses.size(), 3U);
    EXPECT_EQ(seen_.statuses[2].state, TradingState::unknown);
    EXPECT_EQ(seen_.statuses[2].instrument, last().instrument);
    mold_ = MoldUdp64Encoder{"S2"};
    say();
    say();
    ASSERT_EQ(seen_.statuses.size(), 4U);
    EXPECT_EQ(seen_.statuses[3].instrument, kNoInstrument) << "the channel is no longer at its end";
    EXPECT_EQ(seen_.statuses[3].state, TradingState::unknown);
}

TEST_F(Itch, ABookThatBeganLateIsIncomplete) {
    mold_ = MoldUdp64Encoder{"S1", 1'000};
    say(bid(1, 100, 1'000'000));
    EXPECT_TRUE(last_is_incomplete());
    EXPECT_TRUE(seen_.gaps.empty());
    EXPECT_EQ(decoder_.joined_at().read(), 1'000U);
    mold_ = MoldUdp64Encoder{"S2"};
    say(bid(1, 10, 500'000));
    say();  // a heartbeat confirms the session
    EXPECT_EQ(decoder_.joined_at().read(), 0U);
}

TEST_F(Itch, ASessionThatIsOverIsNotJoinedLate) {
    std::array<std::byte, 64> buffer;
    mold_ = MoldUdp64Encoder{"S1", 1'000};
    say(bid(1, 100, 1'000'000));
    ASSERT_EQ(decoder_.joined_at().read(), 1'000U);
    mold_.begin(buffer);
    ASSERT_TRUE(feed(mold_.finish_session()).ok());
    EXPECT_EQ(decoder_.joined_at().read(), 0U);
    for (const std::uint64_t next : {1U, 1'000U}) {
        ItchDecoder late{table_, kSmall};
        MoldUdp64Encoder mold{"S2", next};
        mold.begin(buffer);
        ASSERT_TRUE(late.decode(mold.finish_session(), {}, seen_).ok());
        EXPECT_EQ(late.joined_at().read(), 0U);
    }
}

TEST_F(Itch, ASessionWhoseStartOfMessagesHasAnyNumberIsNotJoinedLate) {
    mold_ = MoldUdp64Encoder{"S1", 1'000};
    say([](ItchEncoder& to) { return to.system_event('O'); }, bid(1, 100, 1'000'000));
    EXPECT_FALSE(last_is_incomplete());
    EXPECT_EQ(decoder_.joined_at().read(), 0U);
}

TEST_F(Itch, AGapMakesEveryBookIncompleteUntilTheNextSession) {
    say(bid(1, 100, 1'000'000));
    (void)datagram(bid(2, 100, 1'000'100));  // lost
    say(bid(3, 100, 999'000));               // behind the best price, but the quote has gaps now
    ASSERT_EQ(seen_.gaps.size(), 1U);
    EXPECT_EQ(seen_.gaps[0].first, 2U);
    EXPECT_EQ(seen_.gaps[0].last, 2U);
    ASSERT_EQ(seen_.quotes.size(), 2U);
    EXPECT_TRUE(last_is_incomplete());
    mold_ = MoldUdp64Encoder{"S2"};
    say(bid(1, 10, 500'000));
    say();  // a heartbeat confirms the session
    EXPECT_EQ(seen_.clears.size(), 1U);
    EXPECT_EQ(last().bid_price, price_from<10'000>(500'000));
    EXPECT_EQ(last().bid_size, 10U);
    EXPECT_FALSE(last_is_incomplete());
}

TEST_F(Itch, AStartOfMessagesBehindARestartOfTheSenderDoesNotMakeTheBooksComplete) {
    for (std::uint64_t order = 1; order <= 60; ++order) say(bid(order, 100, 1'000'000));
    mold_ = MoldUdp64Encoder{"S1"};
    say(bid(99, 100, 1'000'500));  // one of the messages before the restart is accepted
    for (int i = 0; i < 40; ++i) say([](ItchEncoder& to) { return to.directory("AAPL"); });
    ASSERT_EQ(counter("sequence_restarts"), 1U);
    say([](ItchEncoder& to) { return to.system_event('O'); }, bid(100, 100, 1'000'000));
    EXPECT_TRUE(last_is_incomplete());
}

TEST_F(Itch, AHeartbeatShowsATailLossAndTheEndOfASessionEmptiesTheBooksOnce) {
    say(bid(1, 100, 1'000'000));
    say();
    EXPECT_EQ(decoder_.counters().agreed.read(), 1U);
    mold_ = MoldUdp64Encoder{"S1"};
    say();  // the sender restarted
    EXPECT_EQ(decoder_.counters().agreed.read(), 1U);
    mold_ = MoldUdp64Encoder{"S1", 2};
    (void)datagram(bid(2, 100, 1'000'100));  // lost
    say();
    EXPECT_EQ(seen_.gaps.size(), 1U);
    EXPECT_EQ(decoder_.counters().heartbeats.read(), 3U);
    std::array<std::byte, 64> buffer;
    for (int i = 0; i < 3; ++i) {
        mold_.begin(buffer);
        EXPECT_TRUE(feed(mold_.finish_session()).ok());
    }
    ASSERT_EQ(seen_.clears.size(), 1U);
    EXPECT_EQ(seen_.clears[0].reason, ClearReason::end_of_session);
    EXPECT_EQ(decoder_.order_books().live_orders(), 0U);
}

TEST_F(Itch, AStrayHeartbeatFarAheadLeavesTheBooksCompleteAndASecondOneDoesNot) {
    say(bid(1, 100, 1'000'000));
    MoldUdp64Encoder stray{"S1", 1'000'000};
    std::array<std::byte, 64> buffer;
    const auto heartbeat = [&] {
        stray.begin(buffer);
        return stray.finish();
    };
    EXPECT_TRUE(feed(heartbeat()).ok());
    EXPECT_TRUE(seen_.gaps.empty());
    say(bid(2, 100, 1'000'100));
    EXPECT_EQ(last().bid_price, price_from<10'000>(1'000'100));
    EXPECT_FALSE(last_is_incomplete());
    EXPECT_TRUE(feed(heartbeat()).ok());
    EXPECT_TRUE(feed(heartbeat()).ok());
    ASSERT_EQ(seen_.gaps.size(), 1U);
    EXPECT_FALSE(decoder_.books().is_complete());
}

TEST_F(Itch, OrdersUnknownToTheBookAreCountedAndMakeItIncomplete) {
    say(bid(1, 100, 1'000'000), gone(99));
    EXPECT_EQ(counter("orders_unknown"), 1U);
    ASSERT_EQ(seen_.quotes.size(), 2U);
    EXPECT_TRUE(last_is_incomplete());
    EXPECT_EQ(last().bid_size, 100U);
}

TEST_F(Itch, OrdersAddedTwiceOrOverdrawnAreCountedAndMakeTheBookIncomplete) {
    say(bid(1, 100, 1'000'000), bid(1, 100, 1'000'100));
    EXPECT_EQ(counter("orders_inconsistent"), 1U);
    EXPECT_EQ(last().bid_price, price_from<10'000>(1'000'000));
    EXPECT_TRUE(last_is_incomplete());
    say([](ItchEncoder& to) { return to.order_executed(1, 101, 5); });
    EXPECT_EQ(counter("orders_inconsistent"), 2U);
    EXPECT_EQ(last().bid_size, 0U);
}

TEST_F(Itch, AFullStoreRefusesOrdersCountsThemAndMarksTheBookAsIncomplete) {
    for (std::uint64_t order = 1; order <= 1'001; ++order) say(bid(order, 1, 1'000'000));
    EXPECT_EQ(counter("orders_refused"), 1U);
    EXPECT_EQ(last().bid_size, 1'000U);
    EXPECT_TRUE(last_is_incomplete());
    EXPECT_EQ(counter("orders_live"), 1'000U);
}

TEST_F(Itch, ACrossedBookIsPublishedAndCounted) {
    say(bid(1, 100, 1'000'100), ask(2, 100, 1'000'000));
    EXPECT_EQ(seen_.quotes.size(), 2U);
    EXPECT_EQ(decoder_.counters().crossed.read(), 1U);
}

TEST_F(Itch, AFullInstrumentTableRefusesNewStocksAndServesTheOthers) {
    InstrumentTable table{1};
    ItchDecoder decoder{table, kSmall};
    const auto first = datagram(bid(1, 100, 1'000'000));
    itch_.set_head(14, 0);
    const auto second = datagram([](ItchEncoder& to) { return to.order_added(2, 'B', 1, "MSFT", 1); }, gone(2));
    itch_.set_head(13, 0);
    const auto third = datagram(gone(1));
    for (const auto* bytes : {&first, &second, &third}) EXPECT_TRUE(decoder.decode(*bytes, {}, seen_).ok());
    EXPECT_EQ(seen_.quotes.size(), 2U);
    EXPECT_EQ(decoder.counters().refused.read(), 2U);
    EXPECT_FALSE((last().flags & kIncomplete) != 0);
}

TEST_F(Itch, AFullTableCountsItsRefusalsThoughTheBooksAreFullToo) {
    InstrumentTable table{1};
    auto options = kSmall;
    options.order_books.books = 1;
    ItchDecoder decoder{table, options};
    const auto first = datagram(bid(1, 100, 1'000'000));
    itch_.set_head(14, 0);
    const auto second = datagram([](ItchEncoder& to) { return to.order_added(2, 'B', 1, "MSFT", 1); });
    for (const auto* bytes : {&first, &second}) EXPECT_TRUE(decoder.decode(*bytes, {}, seen_).ok());
    EXPECT_EQ(table.refused().read(), 1U);
}

TEST_F(Itch, EveryTypeIsParsedAndAWrongLengthRejected) {
    constexpr std::string_view kTypes = "SRHYLVWKJhAFECXDUPQBINO";
    EXPECT_EQ(kTypes.size(), 23U);
    for (const char type : kTypes) {
        const auto whole = itch_.other(type);
        decoder_.books().apply(whole, 1, {}, seen_);
        const ExactCopy cut{whole.first(whole.size() - 1)};
        decoder_.books().apply(cut.span(), 1, {}, seen_);
    }
    EXPECT_EQ(decoder_.counters().unknown.read(), 0U);
    EXPECT_EQ(decoder_.counters().ignored.read(), 5U);  // L V K N O
    const std::array<std::byte, 3> strange{std::byte{'?'}};
    decoder_.books().apply(strange, 1, {}, seen_);
    decoder_.books().apply({}, 1, {}, seen_);
    EXPECT_EQ(decoder_.counters().unknown.read(), 2U);
    EXPECT_EQ(decoder_.counters().messages.read(), 48U);
}

TEST_F(Itch, AMessageThatCannotBeReadIsAGapThatMakesAllBooksIncomplete) {
    for (const std::string_view message :
         {std::string_view{"?23"}, std::string_view{"D23456789"}, std::string_view{}}) {
        InstrumentTable table{4};
        ItchDecoder decoder{table, kSmall};
        Recorder seen;
        const Arrival arrival{.receive_utc_ns = 5, .receive_ticks = 6, .channel = 7};
        const auto first = datagram(bid(1, 100, 1'000'000));
        std::array<std::byte, 20> head{};
        std::copy_n(first.begin(), head.size(), head.begin());
        core::store_be(head.data() + moldudp64_layout::kSequenceAt, std::uint64_t{1});
        auto bytes = first;
        std::copy(head.begin(), head.end(), bytes.begin());
        ASSERT_TRUE(decoder.decode(bytes, arrival, seen).ok());
        ASSERT_EQ(seen.quotes.at(0).flags, 0);
        decoder.books().apply(std::as_bytes(std::span{message}), 2, arrival, seen);
        ASSERT_EQ(seen.gaps.size(), 1U);
        EXPECT_EQ(seen.gaps[0].reason, GapReason::rejected);
        EXPECT_EQ(seen.gaps[0].channel, 7U);
        EXPECT_EQ(seen.gaps[0].first, 2U);
        EXPECT_EQ(seen.gaps[0].last, 2U);
        EXPECT_EQ(seen.gaps[0].receive_utc_ns, 5);
        EXPECT_FALSE(decoder.books().is_complete());
        decoder.books().apply(std::as_bytes(std::span{message}), 3, arrival, seen);
        EXPECT_EQ(seen.gaps.size(), 1U) << "what is published by now is marked already";
    }
}

TEST_F(Itch, AnOrderWithImpossibleContentsMakesItsOwnBookIncomplete) {
    say(bid(1, 100, 1'000'000), bid(2, 100, 900'000));
    itch_.set_head(14, 0);
    say([](ItchEncoder& to) { return to.order_added(3, 'B', 1, "MSFT", 1); });
    itch_.set_head(13, 0);
    EXPECT_FALSE(last_is_incomplete());
    say([](ItchEncoder& to) { return to.order_added(4, 'B', 0, "AAPL", 1'000'100); });
    EXPECT_TRUE(last_is_incomplete());
    EXPECT_EQ(table_.symbol(last().instrument).view(), "AAPL");
    EXPECT_EQ(last().bid_price, price_from<10'000>(1'000'000));
    itch_.set_head(14, 0);
    say([](ItchEncoder& to) { return to.order_added(5, 'B', 1, "MSFT", 2); });
    EXPECT_FALSE(last_is_incomplete());
    say([](ItchEncoder& to) { return to.order_replaced(5, 6, 0, 3); });
    EXPECT_TRUE(last_is_incomplete());
    EXPECT_EQ(table_.symbol(last().instrument).view(), "MSFT");
    EXPECT_TRUE(seen_.gaps.empty());
}

TEST_F(Itch, AStateWithImpossibleContentsMakesItsOwnBookIncomplete) {
    using Write = ItchEncoder::Message (*)(ItchEncoder&);
    for (const Write write : {Write{[](ItchEncoder& to) { return to.trading_action("AAPL", 'Z', "T1"); }},
                              Write{[](ItchEncoder& to) { return to.operational_halt("AAPL", 'Q', 'Z'); }},
                              Write{[](ItchEncoder& to) { return to.operational_halt("AAPL", 'Z', 'H'); }}}) {
        InstrumentTable table{4};
        ItchDecoder decoder{table, kSmall};
        Recorder seen;
        decoder.books().mark_complete();
        itch_.set_head(13, 0);
        decoder.books().apply(itch_.order_added(1, 'B', 100, "AAPL", 1'000'000), 1, {}, seen);
        itch_.set_head(14, 0);
        decoder.books().apply(itch_.order_added(2, 'B', 100, "MSFT", 2'000'000), 2, {}, seen);
        itch_.set_head(13, 0);
        decoder.books().apply(write(itch_), 3, {}, seen);
        ASSERT_EQ(seen.quotes.size(), 3U);
        EXPECT_EQ(table.symbol(seen.quotes[2].instrument).view(), "AAPL");
        EXPECT_EQ(seen.quotes[2].flags, kIncomplete);
        EXPECT_EQ(seen.quotes[2].bid_price, price_from<10'000>(1'000'000));
        EXPECT_TRUE(seen.statuses.empty());
        EXPECT_TRUE(seen.gaps.empty());
        EXPECT_TRUE(decoder.books().is_complete()) << "the other books";
        EXPECT_EQ(decoder.counters().rejected.read(), 1U);
    }
}

TEST_F(Itch, AChannelsStateWithImpossibleContentsIsAGap) {
    using Write = ItchEncoder::Message (*)(ItchEncoder&);
    for (const Write write : {Write{[](ItchEncoder& to) { return to.circuit_breaker('9'); }},
                              Write{[](ItchEncoder& to) { return to.system_event('?'); }}}) {
        InstrumentTable table{4};
        ItchDecoder decoder{table, kSmall};
        Recorder seen;
        decoder.books().mark_complete();
        decoder.books().apply(write(itch_), 3, {.receive_utc_ns = 5, .receive_ticks = 6, .channel = 7}, seen);
        ASSERT_EQ(seen.gaps.size(), 1U);
        EXPECT_EQ(seen.gaps[0].reason, GapReason::rejected);
        EXPECT_EQ(seen.gaps[0].first, 3U);
        EXPECT_EQ(seen.gaps[0].channel, 7U);
        EXPECT_FALSE(decoder.books().is_complete());
        EXPECT_TRUE(seen.statuses.empty());
        EXPECT_EQ(decoder.counters().rejected.read(), 1U);
    }
}

/// Also keeps messages that could not be applied.
struct FaultRecorder : Recorder {
    void on_fault(std::span<const std::byte> message, std::uint64_t sequence, ItchFault fault) {
        faults.push_back({static_cast<char>(message[0]), sequence, fault, order.size()});
    }
    struct Seen {
        char type;
        std::uint64_t sequence;
        ItchFault fault;
        std::size_t events;
        bool operator==(const Seen&) const = default;
    };
    std::vector<Seen> faults;
};

TEST_F(Itch, AHandlerMayGetEachMessageThatWasNotAppliedCompletely) {
    using enum ItchFault;
    constexpr std::string_view kUnknown = "?23";
    FaultRecorder seen;
    std::uint64_t sequence = 0;
    const auto say = [&](std::span<const std::byte> message) { decoder_.books().apply(message, ++sequence, {}, seen); };
    decoder_.books().mark_complete();
    say(itch_.order_added(1, 'B', 100, "AAPL", 1'000'000));
    say(itch_.order_added(1, 'B', 100, "AAPL", 1'000'000));
    say(itch_.order_added(2, 'B', 0, "AAPL", 1'000'000));
    say(itch_.order_deleted(99));
    itch_.set_head(14, 0);
    say(itch_.order_added(3, 'B', 100, "caf\xE9", 1'000'000));
    say(itch_.order_deleted(3));
    say(itch_.broken_trade(5));
    itch_.set_head(13, 0);
    say(itch_.order_executed(1, 101, 7));
    say(std::as_bytes(std::span{kUnknown}));
    say(itch_.other('Y').first(5));
    say(itch_.system_event('S'));
    const std::vector<FaultRecorder::Seen> expected{
        {'A', 2, inconsistent, 2}, {'A', 3, invalid, 2},       {'D', 4, unknown_order, 2},
        {'A', 5, invalid, 3},      {'D', 6, unknown_order, 3}, {'B', 7, refused, 3},
        {'E', 8, inconsistent, 5}, {'?', 9, invalid, 5},       {'Y', 10, invalid, 5}};
    EXPECT_EQ(seen.faults, expected);
}

TEST_F(Itch, AMessageWhoseStockIsNotThatOfItsLocateIsNotAppliedAndItsBookIsIncomplete) {
    using Write = ItchEncoder::Message (*)(ItchEncoder&);
    constexpr Write kWrites[] = {[](ItchEncoder& to) { return to.order_added(2, 'B', 100, "MSFT", 2'000'000); },
                                 [](ItchEncoder& to) { return to.order_added(2, 'B', 100, "MSFT", 2'000'000, true); },
                                 [](ItchEncoder& to) { return to.order_added(2, 'B', 100, "caf\xE9", 2'000'000); },
                                 [](ItchEncoder& to) { return to.directory("MSFT"); },
                                 [](ItchEncoder& to) { return to.hidden_trade(40, "MSFT", 1'000'050, 80); },
                                 [](ItchEncoder& to) { return to.cross(40, "MSFT", 1'000'050, 80); },
                                 [](ItchEncoder& to) { return to.trading_action("MSFT", 'H', "T1"); },
                                 [](ItchEncoder& to) { return to.operational_halt("MSFT", 'Q', 'H'); }};
    for (const auto write : kWrites) {
        InstrumentTable table{4};
        ItchDecoder decoder{table, kSmall};
        FaultRecorder seen;
        decoder.books().mark_complete();
        decoder.books().apply(itch_.order_added(1, 'B', 100, "AAPL", 1'000'000), 1, {}, seen);
        const auto message = write(itch_);
        decoder.books().apply(message, 2, {}, seen);
        ASSERT_EQ(seen.faults.size(), 1U);
        EXPECT_EQ(seen.faults[0].fault, ItchFault::other_stock) << static_cast<char>(message[0]);
        ASSERT_EQ(seen.quotes.size(), 2U);
        EXPECT_EQ(seen.quotes[1].flags, kIncomplete);
        EXPECT_EQ(seen.quotes[1].bid_price, price_from<10'000>(1'000'000));
        EXPECT_TRUE(seen.trades.empty());
        EXPECT_TRUE(seen.statuses.empty());
        EXPECT_TRUE(seen.gaps.empty());
        EXPECT_TRUE(decoder.books().is_complete()) << "the other books";
        EXPECT_EQ(decoder.counters().rejected.read(), 1U);
        EXPECT_EQ(table.size(), 1U);
        EXPECT_EQ(decoder.books().stock_of(13).view(), "AAPL");
        EXPECT_TRUE(decoder.books().stock_of(14).empty());
    }
}

TEST_F(Itch, ANewOrderOfAnotherStockOrItsNumberMakesBothBooksIncomplete) {
    using Write = ItchEncoder::Message (*)(ItchEncoder&);
    constexpr Write kWrites[] = {[](ItchEncoder& to) { return to.order_added(1, 'B', 100, "MSFT", 2'000'000); },
                                 [](ItchEncoder& to) { return to.order_added(3, 'B', 100, "AAPL", 2'000'000); },
                                 [](ItchEncoder& to) { return to.order_replaced(2, 1, 100, 2'000'000); }};
    for (const auto write : kWrites) {
        InstrumentTable table{4};
        ItchDecoder decoder{table, kSmall};
        Recorder seen;
        decoder.books().mark_complete();
        decoder.books().apply(itch_.order_added(1, 'B', 100, "AAPL", 1'000'000), 1, {}, seen);
        itch_.set_locate(14);
        decoder.books().apply(itch_.order_added(2, 'B', 100, "MSFT", 2'000'000), 2, {}, seen);
        const auto message = write(itch_);
        decoder.books().apply(message, 3, {}, seen);
        itch_.set_locate(13);
        ASSERT_EQ(seen.quotes.size(), 4U) << static_cast<char>(message[0]);
        for (const auto id : {2U, 3U}) EXPECT_EQ(seen.quotes[id].flags, kIncomplete);
        EXPECT_NE(seen.quotes[2].instrument, seen.quotes[3].instrument);
        EXPECT_EQ(decoder.books().order_books().live_orders(), 2U);
        EXPECT_TRUE(seen.trades.empty());
        EXPECT_TRUE(decoder.books().is_complete()) << "the other books";
        EXPECT_EQ(decoder.counters().rejected.read(), 1U);
    }
}

TEST_F(Itch, AChangeWithTheLocateOfAnotherStockIsNotAppliedAndBothBooksAreIncomplete) {
    using Write = ItchEncoder::Message (*)(ItchEncoder&);
    constexpr Write kWrites[] = {[](ItchEncoder& to) { return to.order_deleted(1); },
                                 [](ItchEncoder& to) { return to.order_reduced(1, 10); },
                                 [](ItchEncoder& to) { return to.order_executed(1, 10, 40); },
                                 [](ItchEncoder& to) { return to.order_replaced(1, 3, 100, 2'000'000); }};
    for (const auto write : kWrites) {
        InstrumentTable table{4};
        ItchDecoder decoder{table, kSmall};
        FaultRecorder seen;
        decoder.books().mark_complete();
        decoder.books().apply(itch_.order_added(1, 'B', 100, "AAPL", 1'000'000), 1, {}, seen);
        itch_.set_locate(14);
        decoder.books().apply(itch_.order_added(2, 'B', 100, "MSFT", 2'000'000), 2, {}, seen);
        const auto message = write(itch_);
        decoder.books().apply(message, 3, {}, seen);
        itch_.set_locate(13);
        ASSERT_EQ(seen.faults.size(), 1U);
        EXPECT_EQ(seen.faults[0].fault, ItchFault::other_stock) << static_cast<char>(message[0]);
        ASSERT_EQ(seen.quotes.size(), 4U);
        for (const auto id : {2U, 3U}) EXPECT_EQ(seen.quotes[id].flags, kIncomplete);
        EXPECT_NE(seen.quotes[2].instrument, seen.quotes[3].instrument);
        EXPECT_EQ(decoder.books().order_books().live_orders(), 2U);
        EXPECT_TRUE(seen.trades.empty());
        EXPECT_EQ(decoder.counters().rejected.read(), 1U);
    }
}

TEST_F(Itch, AStockThatIsNotPrintableIsAGapSinceItsLocateMayGetANameLater) {
    say(bid(1, 100, 1'000'000));
    itch_.set_head(14, 1'000);
    say([](ItchEncoder& to) { return to.order_added(2, 'B', 100, "caf\xE9", 1'000'000); });
    ASSERT_EQ(seen_.gaps.size(), 1U);
    EXPECT_EQ(seen_.gaps[0].reason, GapReason::rejected);
    EXPECT_EQ(seen_.gaps[0].first, 2U);
    EXPECT_EQ(decoder_.counters().rejected.read(), 1U);
    say([](ItchEncoder& to) { return to.order_added(3, 'B', 100, "MSFT", 2'000'000); });
    EXPECT_TRUE(last_is_incomplete());
}

TEST_F(Itch, AMessageWithATimeOfTwentyFourHoursOrMoreIsNotAppliedAndItsBookIsIncomplete) {
    itch_.set_head(13, itch_layout::kDayNs - 1);
    say(bid(1, 100, 1'000'000));
    EXPECT_EQ(last().exchange_utc_ns, kMidnight + itch_layout::kDayNs - 1);
    for (const auto time : {itch_layout::kDayNs, (std::int64_t{1} << 48) - 1}) {
        itch_.set_head(13, time);
        say(bid(2, 100, 2'000'000));
        EXPECT_EQ(last().bid_price, price_from<10'000>(1'000'000));
        EXPECT_TRUE(last_is_incomplete());
        EXPECT_EQ(last().exchange_utc_ns, 0);
    }
    EXPECT_EQ(seen_.quotes.size(), 2U);
    EXPECT_TRUE(seen_.gaps.empty());
    EXPECT_EQ(counter("times_invalid"), 2U);
    EXPECT_EQ(decoder_.counters().rejected.read(), 2U);
    itch_.set_head(14, itch_layout::kDayNs);
    say([](ItchEncoder& to) { return to.directory("MSFT"); });
    EXPECT_EQ(seen_.gaps.size(), 1U) << "whose book it was about is not known";
    EXPECT_EQ(table_.size(), 1U);
}

TEST_F(Itch, ATruncatedDatagramGivesItsWholeMessagesAndTheRestIsMissing) {
    const auto bytes = datagram(bid(1, 100, 1'000'000), bid(2, 100, 1'000'100));
    for (std::size_t length = 0; length < bytes.size(); ++length) {
        InstrumentTable table{4};
        ItchDecoder decoder{table, {.order_books = {.books = 1, .orders = 8, .level_chunks = 2}}};
        const ExactCopy cut{std::span{bytes}.first(length)};
        const auto result = decoder.decode(cut.span(), {}, seen_);
        ASSERT_FALSE(result.ok());
        EXPECT_EQ(result.error->kind, DecodeErrorKind::truncated);
        EXPECT_EQ(result.messages, length >= 20 + 38 ? 1U : 0U);
    }
    ASSERT_TRUE(feed(bytes).ok());
    const auto next = datagram(bid(3, 100, 1'000'200), bid(4, 100, 1'000'300));
    ASSERT_FALSE(feed(std::span{next}.first(next.size() - 1)).ok());
    EXPECT_EQ(last().bid_price, price_from<10'000>(1'000'200));
    say(bid(5, 100, 1'000'400));
    ASSERT_EQ(seen_.gaps.size(), 1U);
    EXPECT_EQ(seen_.gaps[0].first, 4U);
    EXPECT_TRUE(last_is_incomplete());
    auto longer = bytes;
    longer.push_back(std::byte{0});
    EXPECT_EQ(feed(longer).error->kind, DecodeErrorKind::oversized);
    auto no_sequence = bytes;
    core::store_be(no_sequence.data() + moldudp64_layout::kSequenceAt, std::uint64_t{0});
    EXPECT_EQ(feed(no_sequence).error->kind, DecodeErrorKind::bad_sequence);
}

TEST_F(Itch, ADatagramThatIsNotWholeNeverBeginsASession) {
    say(bid(1, 100, 1'000'000));
    MoldUdp64Encoder other{"S2"};
    std::array<std::byte, 128> buffer;
    other.begin(buffer);
    ASSERT_TRUE(other.add(itch_.order_added(9, 'B', 1, "AAPL", 1)));
    const auto bytes = other.finish();
    EXPECT_FALSE(feed(bytes.first(bytes.size() - 1)).ok());
    EXPECT_TRUE(seen_.clears.empty());
    say(bid(2, 100, 1'000'100));
    EXPECT_EQ(last().bid_price, price_from<10'000>(1'000'100));
    EXPECT_FALSE(last_is_incomplete());
}

TEST_F(Itch, LateAndDuplicatedDatagramsAreCountedAndNotApplied) {
    const auto first = datagram(bid(1, 100, 1'000'000));
    const auto second = datagram(bid(2, 100, 1'000'100));
    const auto third = datagram(bid(3, 100, 1'000'200));
    for (const auto* bytes : {&first, &third, &second, &third}) EXPECT_TRUE(feed(*bytes).ok());
    EXPECT_EQ(decoder_.sequence().counters().late.read(), 1U);
    EXPECT_EQ(decoder_.sequence().counters().duplicates.read(), 1U);
    EXPECT_EQ(decoder_.counters().stale.read(), 2U);
    EXPECT_EQ(decoder_.order_books().live_orders(), 2U);
}

TEST_F(Itch, AGeneratedFeedGivesTheMarketsOwnQuotes) {
    GeneratedFeed::Options options{.format = WireFormat::itch, .steps_per_datagram = 5};
    GeneratedFeed generated{options};
    GeneratedMarket market{options.market};
    InstrumentTable table{100};
    ItchDecoder decoder{table, {.order_books = {.books = 100, .orders = 1'000, .level_chunks = 256}}};
    std::array<std::byte, GeneratedFeed::kMaxDatagramBytes> buffer;
    std::map<std::string, GeneratedMarket::Step> expected;
    for (int i = 0; i < 3'000; ++i) {
        const auto before = generated.steps();
        ASSERT_TRUE(decoder.decode(generated.next(buffer, kMidnight + i), {}, seen_).ok());
        for (auto step = before; step < generated.steps(); ++step) {
            const auto& next = market.next();
            expected[std::string{market.symbol(next.instrument).view()}] = next;
        }
    }
    std::map<std::string, const Quote*> newest;
    for (const auto& quote : seen_.quotes) newest[std::string{table.symbol(quote.instrument).view()}] = &quote;
    ASSERT_EQ(newest.size(), expected.size());
    for (const auto& [symbol, step] : expected) {
        EXPECT_EQ(newest[symbol]->bid_price, step.bid_price) << symbol;
        EXPECT_EQ(newest[symbol]->ask_price, step.ask_price) << symbol;
        EXPECT_EQ(newest[symbol]->bid_size, step.bid_size) << symbol;
        EXPECT_EQ(newest[symbol]->ask_size, step.ask_size) << symbol;
        EXPECT_EQ(newest[symbol]->flags, 0) << symbol;
    }
    EXPECT_GT(seen_.trades.size(), 500U);
    EXPECT_EQ(decoder.counters().rejected.read(), 0U);
    EXPECT_TRUE(seen_.gaps.empty());
}

// Source: the first block of the second datagram of Multiple.Packets.pcap (Open Markets Initiative): an order of NASDAQ
// TotalView-ITCH 5.0 of 2023-08-22, decoded manually with that specification.
TEST_F(Itch, GoldenBytesOfAnAddedOrder) {
    const auto golden = from_hex("41 1972 0000 1f23e0981ae1 0000000000792f9f 42 00000001 4d45544120202020 000c4950");
    decoder_.books().apply(golden, 9, {}, seen_);
    ASSERT_EQ(seen_.quotes.size(), 1U);
    EXPECT_EQ(table_.symbol(last().instrument).view(), "META");
    EXPECT_EQ(last().bid_price, price_from<10'000>(805'200));
    EXPECT_EQ(last().bid_size, 1U);
    EXPECT_EQ(last().exchange_utc_ns, kMidnight + 0x1F23'E098'1AE1);
}

}  // namespace
}  // namespace millpond::feed
