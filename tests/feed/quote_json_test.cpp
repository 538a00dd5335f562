#include <array>
#include <limits>
#include <string>

#include <gtest/gtest.h>

#include <millpond/feed/quote_json.hpp>

namespace millpond::feed {
namespace {

Quote aapl() {
    Quote quote;
    quote.instrument = 0;
    quote.bid_price = price_from<10'000>(1'892'400);
    quote.ask_price = price_from<10'000>(1'892'600);
    quote.bid_size = 300;
    quote.ask_size = 200;
    quote.exchange_utc_ns = 1'580'398'199'999'990'000;
    quote.receive_utc_ns = 1'580'398'200'000'000'000;
    return quote;
}

TEST(QuoteJson, HasEveryFieldWithExactDecimals) {
    std::array<char, kMaxJsonBytes> buffer;
    EXPECT_EQ(
        quote_json(buffer, aapl(), JsonSymbol{Symbol{"AAPL"}}, 17),
        R"({"type":"quote","symbol":"AAPL","timestamp":1580398200000000000,)"
        R"("exchange_timestamp":1580398199999990000,"sequence":17,"bid":{"price":189.2400,"shares":300},)"
        R"("ask":{"price":189.2600,"shares":200},"spread":{"price":0.0200,"percent":0.0106},"incomplete":false})");
}

TEST(QuoteJson, TheSpreadIsNullUnlessBothSidesHaveShares) {
    std::array<char, kMaxJsonBytes> buffer;
    auto quote = aapl();
    quote.bid_size = 0;
    quote.bid_price = 0;
    quote.flags = kIncomplete;
    EXPECT_EQ(quote_json(buffer, quote, JsonSymbol{Symbol{"A"}}, 1),
              R"({"type":"quote","symbol":"A","timestamp":1580398200000000000,)"
              R"("exchange_timestamp":1580398199999990000,"sequence":1,"bid":{"price":null,"shares":0},)"
              R"("ask":{"price":189.2600,"shares":200},"spread":null,"incomplete":true})");
}

TEST(QuoteJson, PricesOfAnySizeAndSignAreExact) {
    std::array<char, kMaxJsonBytes> buffer;
    const auto tail_of = [&](Price bid, Price ask) {
        auto quote = aapl();
        quote.bid_price = bid;
        quote.ask_price = ask;
        const std::string text{quote_json(buffer, quote, JsonSymbol{Symbol{"A"}}, 1)};
        return text.substr(text.find("\"bid\""));
    };
    EXPECT_EQ(tail_of(price_from<10'000>(99'999'900), price_from<10'000>(99'999'999)),  // the last below 10,000
              R"("bid":{"price":9999.9900,"shares":300},"ask":{"price":9999.9999,"shares":200},)"
              R"("spread":{"price":0.0099,"percent":0.0001},"incomplete":false})");
    EXPECT_EQ(tail_of(price_from<10'000>(99'999'999), price_from<10'000>(100'000'000)),
              R"("bid":{"price":9999.9999,"shares":300},"ask":{"price":10000.0000,"shares":200},)"
              R"("spread":{"price":0.0001,"percent":0.0000},"incomplete":false})");
    EXPECT_EQ(tail_of(price_from<10'000>(1'010'000), price_from<10'000>(990'000)),  // crossed
              R"("bid":{"price":101.0000,"shares":300},"ask":{"price":99.0000,"shares":200},)"
              R"("spread":{"price":-2.0000,"percent":-2.0000},"incomplete":false})");
    EXPECT_EQ(tail_of(price_from<10'000>(-500), price_from<10'000>(500)),
              R"("bid":{"price":-0.0500,"shares":300},"ask":{"price":0.0500,"shares":200},)"
              R"("spread":{"price":0.1000,"percent":null},"incomplete":false})");
    EXPECT_EQ(tail_of(price_from<10'000>(0), price_from<10'000>(1)),
              R"("bid":{"price":0.0000,"shares":300},"ask":{"price":0.0001,"shares":200},)"
              R"("spread":{"price":0.0001,"percent":200.0000},"incomplete":false})");
}

TEST(QuoteJson, TheLargestPossibleQuoteFits) {
    std::array<char, kMaxJsonBytes + 64> buffer;
    buffer.fill('#');
    Quote quote;
    quote.bid_price = std::numeric_limits<Price>::max();
    quote.ask_price = std::numeric_limits<Price>::min();
    quote.bid_size = quote.ask_size = std::numeric_limits<std::uint64_t>::max();
    quote.exchange_utc_ns = quote.receive_utc_ns = std::numeric_limits<std::int64_t>::min();
    quote.flags = kQuoteFlags;
    const JsonSymbol symbol{Symbol{std::string(Symbol::capacity(), '\x01')}};
    const auto text =
        quote_json(std::span{buffer}.first<kMaxJsonBytes>(), quote, symbol, std::numeric_limits<std::uint64_t>::max());
    EXPECT_LT(text.size(), kMaxJsonBytes - 32);
    EXPECT_EQ(text.back(), '}');
    for (auto i = kMaxJsonBytes; i < buffer.size(); ++i) ASSERT_EQ(buffer[i], '#');
}

TEST(JsonSymbol, EscapesWhatJsonDoesNotAllowInAString) {
    EXPECT_EQ(JsonSymbol{Symbol{"BRK/B"}}.view(), "\"BRK/B\"");
    EXPECT_EQ(JsonSymbol{Symbol{"a\"b\\c"}}.view(), R"("a\"b\\c")");
    EXPECT_EQ(JsonSymbol{Symbol{"\n\xC3\xA9"}}.view(), R"("\u000a\u00c3\u00a9")");
    EXPECT_EQ(JsonSymbol{}.view(), "\"\"");
}

}  // namespace
}  // namespace millpond::feed
