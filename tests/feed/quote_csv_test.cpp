#include <algorithm>
#include <array>
#include <limits>
#include <string>

#include <gtest/gtest.h>

#include <millpond/feed/quote_csv.hpp>

namespace millpond::feed {
namespace {

TEST(QuoteCsv, WritesTheFieldsInTheOrderOfTheHeader) {
    std::array<char, kMaxCsvBytes> buffer;
    Quote quote;
    quote.receive_utc_ns = 1'580'398'200'000'000'000;
    quote.bid_price = price_from<10'000>(1'892'400);
    quote.ask_price = price_from<10'000>(1'892'600);
    quote.bid_size = 300;
    quote.ask_size = 200;
    EXPECT_EQ(quote_csv(buffer, quote, CsvSymbol{Symbol{"AAPL"}}),
              "1580398200000000000,AAPL,189.2400,300,189.2600,200,0.0200,0,\n");
    quote.channel = 65'535;
    quote.flags = kIncomplete;
    EXPECT_EQ(quote_csv(buffer, quote, CsvSymbol{Symbol{"AAPL"}}),
              "1580398200000000000,AAPL,189.2400,300,189.2600,200,0.0200,65535,incomplete\n");
    quote.flags = kIncomplete | kHalted;
    EXPECT_EQ(quote_csv(buffer, quote, CsvSymbol{Symbol{"AAPL"}}),
              "1580398200000000000,AAPL,189.2400,300,189.2600,200,0.0200,65535,incomplete+halted\n");
    quote.channel = quote.flags = 0;
    quote.ask_price = 0;
    quote.ask_size = 0;
    EXPECT_EQ(quote_csv(buffer, quote, CsvSymbol{Symbol{"AAPL"}}), "1580398200000000000,AAPL,189.2400,300,,0,,0,\n");
}

TEST(QuoteCsv, AMissedRangeIsALineWithTheSameNumberOfFields) {
    std::array<char, kMaxCsvBytes> buffer;
    Gap gap;
    gap.channel = 3;
    gap.receive_utc_ns = 1'580'398'200'000'000'000;
    EXPECT_EQ(gap_csv(buffer, gap), "1580398200000000000,,,,,,,3,gap\n");
    EXPECT_EQ(missed_csv(buffer, 7), "7,,,,,,,,missed\n");
    EXPECT_EQ(std::count(kCsvHeader.begin(), kCsvHeader.end(), ','), 8);
}

TEST(QuoteCsv, TheLargestPossibleQuoteFits) {
    std::array<char, kMaxCsvBytes> buffer;
    Quote quote;
    quote.bid_price = std::numeric_limits<Price>::max();
    quote.ask_price = std::numeric_limits<Price>::min();
    quote.bid_size = quote.ask_size = std::numeric_limits<std::uint64_t>::max();
    quote.receive_utc_ns = std::numeric_limits<std::int64_t>::min();
    quote.channel = quote.flags = 0xFFFF;
    const CsvSymbol symbol{Symbol{std::string(Symbol::capacity(), '"')}};
    EXPECT_LT(quote_csv(buffer, quote, symbol).size(), kMaxCsvBytes - kDecimalSlack);
}

TEST(CsvSymbol, IsQuotedOnlyWhereItMustBe) {
    EXPECT_EQ(CsvSymbol{Symbol{"BRK/B"}}.view(), "BRK/B");
    EXPECT_EQ(CsvSymbol{Symbol{"a,b"}}.view(), "\"a,b\"");
    EXPECT_EQ(CsvSymbol{Symbol{"a\"b"}}.view(), "\"a\"\"b\"");
}

}  // namespace
}  // namespace millpond::feed
