#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <string>

#include <gtest/gtest.h>

#include <millpond/feed/event_csv.hpp>

namespace millpond::feed {
namespace {

const CsvSymbol kApple{Symbol{"AAPL"}};

TEST(EventCsv, ColumnsAreTheFieldsOfTheSchemaBetweenTheTimeAndTheFlags) {
    EXPECT_EQ(csv_header<Trade>(),
              "timestamp,symbol,exchange_timestamp,sequence,price,shares,trade_id,channel,flags\n");
    EXPECT_EQ(csv_header<Order>(),
              "timestamp,symbol,exchange_timestamp,sequence,action,side,order_id,price,size,size_left,trade_id,channel,"
              "flags\n");
    EXPECT_EQ(csv_header<Level>(),
              "timestamp,symbol,exchange_timestamp,sequence,side,price,size,count,channel,flags\n");
}

TEST(EventCsv, EachFieldIsInItsColumnAndPricesAreExact) {
    std::array<char, kMaxEventCsvBytes> row;
    EXPECT_EQ(event_csv<Trade>(row,
                               Trade{.instrument = 1,
                                     .channel = 2,
                                     .flags = kHidden,
                                     .price = 189'250'000'001,
                                     .size = 100,
                                     .trade_id = 4711,
                                     .exchange_utc_ns = 3,
                                     .receive_utc_ns = 4,
                                     .receive_ticks = 5,
                                     .feed_sequence = 6},
                               kApple),
              "4,AAPL,3,6,189.250000001,100,4711,2,hidden\n");
    EXPECT_EQ(event_csv<Order>(row,
                               Order{.instrument = 1,
                                     .channel = 2,
                                     .flags = kLast | kPriorityLost,
                                     .action = OrderAction::execute,
                                     .side = Side::bid,
                                     .order_id = std::numeric_limits<std::uint64_t>::max(),
                                     .price = -kPriceScale / 4,
                                     .size = 60,
                                     .size_left = 40,
                                     .trade_id = 4711,
                                     .exchange_utc_ns = 3,
                                     .receive_utc_ns = 4,
                                     .receive_ticks = 5,
                                     .feed_sequence = 6},
                               kApple),
              "4,AAPL,3,6,execute,bid,18446744073709551615,-0.2500,60,40,4711,2,last+priority_lost\n");
    EXPECT_EQ(event_csv<Level>(row,
                               Level{.instrument = 1,
                                     .channel = 2,
                                     .flags = kIncomplete | kSnapshot,
                                     .side = Side::ask,
                                     .orders = 7,
                                     .price = 189 * kPriceScale,
                                     .size = 300,
                                     .exchange_utc_ns = 3,
                                     .receive_utc_ns = 4,
                                     .receive_ticks = 5,
                                     .feed_sequence = 6},
                               kApple),
              "4,AAPL,3,6,ask,189.0000,300,7,2,incomplete+snapshot\n");
}

TEST(EventCsv, AnEventOfAnotherTypeHasTheFieldsThatAreColumnsAndAWord) {
    std::array<char, kMaxEventCsvBytes> row;
    const Gap gap{.channel = 2, .first = 8, .last = 9, .receive_utc_ns = 4};
    EXPECT_EQ(event_csv<Trade>(row, gap, {}, "gap"), "4,,,,,,,2,gap\n");
    EXPECT_EQ(event_csv<Order>(row, gap, {}, "gap"), "4,,,,,,,,,,,2,gap\n");
    EXPECT_EQ(event_csv<Level>(row, gap, {}, "gap"), "4,,,,,,,,2,gap\n");
    Clear clear{.channel = 2, .receive_utc_ns = 4};
    EXPECT_EQ(event_csv<Level>(row, clear, {}, "clear"), "4,,,,,,,,2,clear\n");
    clear.instrument = 1;
    clear.flags = kIncomplete;
    EXPECT_EQ(event_csv<Level>(row, clear, kApple, "clear"), "4,AAPL,,,,,,,2,incomplete+clear\n");
    const TradeBreak broken{.instrument = 1,
                            .channel = 2,
                            .trade_id = 4711,
                            .exchange_utc_ns = 3,
                            .receive_utc_ns = 4,
                            .receive_ticks = 5,
                            .feed_sequence = 6};
    EXPECT_EQ(event_csv<Trade>(row, broken, kApple, "broken"), "4,AAPL,3,6,,,4711,2,broken\n");
}

TEST(EventCsv, TheLongestRowFitsAndHasAsManyFieldsAsTheHeader) {
    std::array<char, kMaxEventCsvBytes> row;
    constexpr auto kMost = std::numeric_limits<std::uint64_t>::max();
    const CsvSymbol symbol{Symbol{std::string(Symbol::capacity(), '"')}};
    const Order order{.instrument = 1,
                      .channel = 65'535,
                      .flags = 65'535,
                      .action = OrderAction::execute,
                      .side = Side::none,
                      .order_id = kMost,
                      .price = kMinPrice,
                      .size = kMost,
                      .size_left = kMost,
                      .trade_id = kMost,
                      .exchange_utc_ns = std::numeric_limits<std::int64_t>::min(),
                      .receive_utc_ns = std::numeric_limits<std::int64_t>::min(),
                      .receive_ticks = 0,
                      .feed_sequence = kMost};
    const auto text = event_csv<Order>(row, order, symbol, "broken");
    EXPECT_LT(text.size(), kMaxEventCsvBytes - kDecimalSlack);
    EXPECT_EQ(std::ranges::count(text, ','), std::ranges::count(csv_header<Order>(), ','));
}

}  // namespace
}  // namespace millpond::feed
