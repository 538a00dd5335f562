#include <array>

#include <gtest/gtest.h>

#include <millpond/feed/event_json.hpp>

namespace millpond::feed {
namespace {

TEST(EventJson, ATradeCarriesPriceSharesAndTheVenuesNumber) {
    std::array<char, kMaxJsonBytes> buffer;
    Trade trade;
    trade.instrument = 1;
    trade.price = 1'892'500;
    trade.size = 100;
    trade.trade_id = 4711;
    trade.exchange_utc_ns = 3;
    trade.receive_utc_ns = 4;
    EXPECT_EQ(trade_json(buffer, trade, JsonSymbol{Symbol{"AAPL"}}, 18),
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
    EXPECT_EQ(trade_break_json(buffer, broken, JsonSymbol{Symbol{"AAPL"}}, 19),
              R"({"type":"trade_break","symbol":"AAPL","timestamp":4,"exchange_timestamp":3,"sequence":19,)"
              R"("trade_id":4711})");
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
    EXPECT_EQ(status_json(buffer, status, JsonSymbol{}, 1),
              R"({"type":"status","symbol":null,"channel":2,"timestamp":0,"exchange_timestamp":0,"sequence":1,)"
              R"("state":"start_of_market_hours","reason":""})");
    status.instrument = 0;
    status.state = TradingState::halted;
    status.reason = core::FixedString<4>{"LUDP"};
    EXPECT_EQ(status_json(buffer, status, JsonSymbol{Symbol{"X"}}, 2),
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
    EXPECT_EQ(gap_json(buffer, gap, 20),
              R"({"type":"gap","channel":3,"timestamp":9,"sequence":20,"first":1001,"last":1007,"reason":"sequence"})");
    gap.reason = GapReason::dropped;
    gap.first = gap.last = 0;
    EXPECT_EQ(gap_json(buffer, gap, 20),
              R"({"type":"gap","channel":3,"timestamp":9,"sequence":20,"first":0,"last":0,"reason":"dropped"})");
    Clear clear;
    clear.channel = 3;
    clear.reason = ClearReason::end_of_session;
    EXPECT_EQ(clear_json(buffer, clear, JsonSymbol{}, 21),
              R"({"type":"clear","symbol":null,"channel":3,"timestamp":0,"sequence":21,"reason":"end_of_session"})");
}

}  // namespace
}  // namespace millpond::feed
