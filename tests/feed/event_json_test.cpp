#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include <millpond/feed/event_json.hpp>
#include <millpond/feed/venues_json.hpp>

namespace millpond::feed {
namespace {

TEST(EventJson, ATradeCarriesPriceSharesAndTheVenuesNumber) {
    std::array<char, kMaxJsonBytes> buffer;
    Trade trade;
    trade.instrument = 1;
    trade.price = price_from<10'000>(1'892'500);
    trade.size = 100;
    trade.trade_id = 4711;
    trade.exchange_utc_ns = 3;
    trade.receive_utc_ns = 4;
    EXPECT_EQ(event_json(buffer, trade, JsonSymbol{Symbol{"AAPL"}}, 18),
              R"({"type":"trade","symbol":"AAPL","timestamp":4,"exchange_timestamp":3,"sequence":18,)"
              R"("price":189.2500,"shares":100,"trade_id":4711})");
}

TEST(EventJson, ATradeBreakNamesTheTradeThatIsVoid) {
    std::array<char, kMaxJsonBytes> buffer;
    TradeBreak broken;
    broken.instrument = 1;
    broken.trade_id = 4711;
    broken.exchange_utc_ns = 3;
    broken.receive_utc_ns = 4;
    EXPECT_EQ(event_json(buffer, broken, JsonSymbol{Symbol{"AAPL"}}, 19),
              R"({"type":"trade_break","symbol":"AAPL","timestamp":4,"exchange_timestamp":3,"sequence":19,)"
              R"("trade_id":4711})");
}

TEST(EventJson, AnOrderAndALevelHaveTheirFlagsOnlyIfThereAreSome) {
    std::array<char, kMaxJsonBytes> buffer;
    Order order;
    order.instrument = 1;
    order.channel = 3;
    order.action = OrderAction::execute;
    order.side = Side::bid;
    order.order_id = 4712;
    order.price = 189 * kPriceScale + kPriceScale / 4;
    order.size = 60;
    order.size_left = 40;
    order.trade_id = 4711;
    order.exchange_utc_ns = 3;
    order.receive_utc_ns = 4;
    EXPECT_EQ(
        event_json(buffer, order, JsonSymbol{Symbol{"AAPL"}}, 18),
        R"({"type":"order","symbol":"AAPL","channel":3,"timestamp":4,"exchange_timestamp":3,"sequence":18,)"
        R"("action":"execute","side":"bid","order_id":4712,"price":189.2500,"size":60,"size_left":40,"trade_id":4711})");
    Level level;
    level.instrument = 1;
    level.side = Side::ask;
    level.price = order.price;
    level.size = 300;
    level.orders = 2;
    level.flags = kLast;
    EXPECT_EQ(event_json(buffer, level, JsonSymbol{Symbol{"AAPL"}}, 19),
              R"({"type":"level","symbol":"AAPL","channel":0,"timestamp":0,"exchange_timestamp":0,"sequence":19,)"
              R"("side":"ask","price":189.2500,"size":300,"count":2,"flags":128})");
}

TEST(EventJson, EveryTradingStateHasAName) {
    EXPECT_EQ(to_string(TradingState::unknown), "unknown");
    EXPECT_EQ(to_string(TradingState::operational_halt), "operational_halt");
    EXPECT_EQ(to_string(TradingState::circuit_breaker), "circuit_breaker");
}

TEST(EventJson, AStatusOfTheWholeChannelHasNoSymbol) {
    std::array<char, kMaxJsonBytes> buffer;
    Status status;
    status.channel = 2;
    status.state = TradingState::start_of_market_hours;
    EXPECT_EQ(event_json(buffer, status, JsonSymbol{}, 1),
              R"({"type":"status","symbol":null,"channel":2,"timestamp":0,"exchange_timestamp":0,"sequence":1,)"
              R"("state":"start_of_market_hours","reason":""})");
    status.instrument = 0;
    status.state = TradingState::halted;
    status.reason = core::FixedString<4>{"LUDP"};
    EXPECT_EQ(event_json(buffer, status, JsonSymbol{Symbol{"X"}}, 2),
              R"({"type":"status","symbol":"X","channel":2,"timestamp":0,"exchange_timestamp":0,"sequence":2,)"
              R"("state":"halted","reason":"LUDP"})");
}

TEST(EventJson, GapsAndClearsReachEverySubscriber) {
    std::array<char, kMaxJsonBytes> buffer;
    Gap gap;
    gap.channel = 3;
    gap.first = 1001;
    gap.last = 1007;
    gap.receive_utc_ns = 9;
    EXPECT_EQ(event_json(buffer, gap, JsonSymbol{}, 20),
              R"({"type":"gap","channel":3,"timestamp":9,"sequence":20,"first":1001,"last":1007,"reason":"sequence"})");
    gap.reason = GapReason::dropped;
    gap.first = gap.last = 0;
    EXPECT_EQ(event_json(buffer, gap, JsonSymbol{}, 20),
              R"({"type":"gap","channel":3,"timestamp":9,"sequence":20,"first":0,"last":0,"reason":"dropped"})");
    Clear clear;
    clear.channel = 3;
    clear.reason = ClearReason::end_of_session;
    EXPECT_EQ(event_json(buffer, clear, JsonSymbol{}, 21),
              R"({"type":"clear","symbol":null,"channel":3,"timestamp":0,"sequence":21,"reason":"end_of_session"})");
}

TEST(EventJson, AnAnnouncementWithoutAPriceHasNull) {
    std::array<char, kMaxJsonBytes> buffer;
    Imbalance imbalance;
    imbalance.instrument = 1;
    imbalance.side = Side::ask;
    imbalance.auction = AuctionKind::closing;
    imbalance.paired_size = 51'200;
    imbalance.imbalance_size = 700;
    imbalance.near_price = 189 * kPriceScale;
    EXPECT_EQ(event_json(buffer, imbalance, JsonSymbol{Symbol{"AAPL"}}, 7),
              R"({"type":"imbalance","symbol":"AAPL","timestamp":0,"exchange_timestamp":0,"sequence":7,)"
              R"("auction":"closing","state":"indicative","side":"ask","paired_size":51200,"imbalance_size":700,)"
              R"("reference_price":null,"near_price":189.0000,"far_price":null})");
    Band band;
    band.instrument = 1;
    band.upper_price = 190 * kPriceScale;
    band.extension = 1;
    EXPECT_EQ(event_json(buffer, band, JsonSymbol{Symbol{"AAPL"}}, 8),
              R"({"type":"band","symbol":"AAPL","timestamp":0,"exchange_timestamp":0,"sequence":8,"band":"collar",)"
              R"("short_sale":"allowed","extension":1,"lower_price":null,"upper_price":190.0000,)"
              R"("reference_price":null})");
    Definition definition;
    definition.instrument = 1;
    definition.instrument_class = InstrumentClass::fund;
    definition.currency = core::FixedString<4>{"USD"};
    definition.lot = 100;
    EXPECT_EQ(event_json(buffer, definition, JsonSymbol{Symbol{"AAPL"}}, 9),
              R"({"type":"instrument","symbol":"AAPL","timestamp":0,"exchange_timestamp":0,"sequence":9,)"
              R"("class":"fund","decimals":4,"currency":"USD","tick":null,"lot":100})");
}

TEST(EventJson, VenuesOfACompositeAreSetsOfChannelsAndWithNamesAlsoNames) {
    std::array<char, kMaxJsonBytes> buffer;
    BestVenues venues;
    venues.instrument = 1;
    venues.channel = 9;
    venues.bid_channels = 0b101;
    venues.ask_channels = 0b001;
    venues.incomplete_channels = 0b10;
    venues.halted_channels = 0b1'1000;
    const std::string sets =
        R"({"type":"best_venues","symbol":"AAPL","channel":9,"timestamp":0,"exchange_timestamp":0,)"
        R"("sequence":7,"bid_channels":5,"ask_channels":1,"incomplete_channels":2,)"
        R"("silent_channels":0,"halted_channels":24,"not_firm_channels":0)";
    const auto json = event_json(buffer, venues, JsonSymbol{Symbol{"AAPL"}}, 7);
    EXPECT_EQ(json, sets + "}");
    ChannelVenues names{};
    names[0] = Venue{"XNAS"};
    names[1] = Venue{"A\"B"};
    names[2] = Venue{"IEXG"};
    names[3] = Venue{"MEMX"};
    EXPECT_EQ(add_venues_json<BestVenues>(buffer, json, venues, names),
              sets + R"(,"bid_venues":["XNAS","IEXG"],"ask_venues":["XNAS"],)"
                     R"("left_out":{"A\"B":"incomplete","MEMX":"halted","4":"halted"}})");
}

TEST(EventJson, AQuoteOfACompositeNamesItsVenuesOrTheirChannelsIfTheyDoNotFit) {
    std::array<char, kMaxJsonBytes> buffer;
    Quote quote;
    quote.instrument = 1;
    quote.flags = kIncomplete | kCrossed;
    const JsonSymbol symbol{Symbol{"AAPL"}};
    const std::string begin{quote_json(buffer, quote, symbol, 7)};
    EXPECT_TRUE(begin.ends_with(R"("incomplete":true,"crossed":true})")) << begin;
    BestVenues venues;
    venues.silent_channels = 2;
    ChannelVenues names{};
    names.fill(Venue{"12345678"});
    auto json = add_venue_json(buffer, quote_json(buffer, quote, symbol, 7), Venue{"BEST"});
    json = add_venues_json<Quote>(buffer, json, venues, names);
    const auto whole = begin.substr(0, begin.size() - 1);
    EXPECT_EQ(json, whole + R"(,"venue":"BEST","bid_venues":[],"ask_venues":[],"left_out":{"12345678":"silent"}})");
    venues = {.bid_channels = ~std::uint64_t{2}, .ask_channels = ~std::uint64_t{2}, .silent_channels = 2};
    json = add_venues_json<Quote>(buffer, quote_json(buffer, quote, symbol, 7), venues, names);
    EXPECT_EQ(json, whole + R"(,"bid_channels":18446744073709551613,"ask_channels":18446744073709551613,)"
                            R"("left_out_channels":2})");
    const auto line = event_json(buffer, venues, symbol, 7);
    const std::string sets{line};
    EXPECT_EQ(add_venues_json<BestVenues>(buffer, line, venues, names), sets);  // it has the sets already
}

TEST(EventJson, VenuesThatDoNotFitBehindALongQuoteAreLeftOutAsAWhole) {
    constexpr std::size_t kGuard = 64;
    std::array<char, kMaxJsonBytes + kGuard> memory;
    memory.fill('#');
    const auto buffer = std::span{memory}.first<kMaxJsonBytes>();
    constexpr auto kMost = std::numeric_limits<std::uint64_t>::max();
    constexpr auto kLeast = std::numeric_limits<std::int64_t>::min();
    Quote quote;
    quote.flags = kQuoteFlags;
    quote.bid_price = quote.exchange_utc_ns = quote.receive_utc_ns = kLeast;
    quote.ask_price = std::numeric_limits<std::int64_t>::max();
    quote.bid_size = quote.ask_size = kMost;
    const std::string escapes(Symbol::capacity(), '\x01');
    const Venue venue{std::string_view{escapes}.substr(0, Venue::capacity())};
    ChannelVenues names{};
    names.fill(venue);
    const BestVenues venues{.bid_channels = kMost, .ask_channels = kMost, .silent_channels = 1};
    for (std::size_t length = 1; length <= escapes.size(); ++length) {
        const JsonSymbol symbol{Symbol{std::string_view{escapes}.substr(0, length)}, kPriceDecimals};
        const std::string quote_alone{quote_json(buffer, quote, symbol, kMost)};
        auto json = add_venue_json(buffer, quote_json(buffer, quote, symbol, kMost), venue);
        json = add_venues_json<Quote>(buffer, json, venues, names);
        EXPECT_LT(json.size(), kMaxJsonBytes);
        EXPECT_TRUE(json.starts_with(quote_alone.substr(0, quote_alone.size() - 1)));
        EXPECT_TRUE(json.ends_with('}')) << json;
        EXPECT_EQ(std::ranges::count(json, '{'), std::ranges::count(json, '}')) << json;
    }
    EXPECT_TRUE(std::all_of(memory.begin() + kMaxJsonBytes, memory.end(), [](char c) { return c == '#'; }));
}

}  // namespace
}  // namespace millpond::feed
