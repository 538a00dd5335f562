#include <cstdint>
#include <limits>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include <millpond/feed/decimal.hpp>

namespace millpond::feed {
namespace {

std::string unsigned_text(std::uint64_t value) {
    char buffer[kMaxIntegerChars + kDecimalSlack];
    return {buffer, write_unsigned(buffer, value)};
}
std::string price_text(Price price) {
    char buffer[kMaxPriceChars + kDecimalSlack];
    return {buffer, write_price(buffer, price)};
}
std::string spread_text(Price bid, Price ask) {
    char buffer[kMaxSpreadChars + kDecimalSlack];
    return {buffer, write_spread(buffer, bid, ask)};
}
// The same by the standard library, digit by digit.
std::string expected_price(Price price) {
    auto digits = std::to_string(magnitude(price));
    if (digits.size() < 5) digits.insert(0, 5 - digits.size(), '0');
    return (price < 0 ? "-" : "") + digits.substr(0, digits.size() - 4) + "." + digits.substr(digits.size() - 4);
}

TEST(Decimal, ASpreadIsExactAlsoWhereItNeedsMoreThan64Bits) {
    constexpr auto kLeast = std::numeric_limits<Price>::min();
    constexpr auto kMost = std::numeric_limits<Price>::max();
    EXPECT_EQ(spread_text(1'892'400, 1'892'600), "0.0200");
    EXPECT_EQ(spread_text(1'892'600, 1'892'400), "-0.0200");
    EXPECT_EQ(spread_text(kLeast, kMost), "1844674407370955.1615");
    EXPECT_EQ(spread_text(kMost, kLeast), "-1844674407370955.1615");
    EXPECT_EQ(spread_text(kLeast, kLeast), "0.0000");
}

TEST(Decimal, WritesEveryIntegerAsTheStandardLibraryDoes) {
    for (std::uint64_t value = 0; value < 200'000; ++value) ASSERT_EQ(unsigned_text(value), std::to_string(value));
    for (std::uint64_t power = 1; power <= 10'000'000'000'000'000'000ULL / 10; power *= 10) {
        for (const auto value : {power - 1, power, power + 1, power * 9}) {
            ASSERT_EQ(unsigned_text(value), std::to_string(value));
        }
    }
    for (std::uint64_t four = 0; four < 10'000; ++four) {  // each run of four digits in each place
        const auto eight = four * 10'000 + (9'999 - four);
        ASSERT_EQ(unsigned_text(eight), std::to_string(eight));
        const auto nineteen = (eight + 1) * 10'000'000'000 + eight;
        ASSERT_EQ(unsigned_text(nineteen), std::to_string(nineteen));
    }
    std::mt19937_64 random{1};
    for (int i = 0; i < 200'000; ++i) {
        const auto value = random() >> (random() % 64);
        ASSERT_EQ(unsigned_text(value), std::to_string(value));
    }
    EXPECT_EQ(unsigned_text(std::numeric_limits<std::uint64_t>::max()), "18446744073709551615");
}

TEST(Decimal, WritesSignedIntegersToTheirBounds) {
    char buffer[kMaxIntegerChars + kDecimalSlack];
    EXPECT_EQ(std::string(buffer, write_signed(buffer, std::numeric_limits<std::int64_t>::min())),
              "-9223372036854775808");
    EXPECT_EQ(std::string(buffer, write_signed(buffer, -1)), "-1");
    EXPECT_EQ(std::string(buffer, write_signed(buffer, 0)), "0");
}

TEST(Decimal, WritesPricesExactlyWithFourDecimals) {
    EXPECT_EQ(price_text(1'892'500), "189.2500");
    EXPECT_EQ(price_text(1), "0.0001");
    EXPECT_EQ(price_text(-1), "-0.0001");
    EXPECT_EQ(price_text(0), "0.0000");
    EXPECT_EQ(price_text(100'000'000), "10000.0000");  // above 10,000: published systems lose it
    EXPECT_EQ(price_text(std::numeric_limits<Price>::min()), "-922337203685477.5808");
    std::mt19937_64 random{2};
    for (int i = 0; i < 200'000; ++i) {
        const auto price = static_cast<Price>(random()) >> (random() % 64);
        ASSERT_EQ(price_text(price), expected_price(price));
    }
}

TEST(Decimal, ThePercentIsTheNearestOneByExactArithmetic) {
    std::mt19937_64 random{3};
    for (int i = 0; i < 200'000; ++i) {
        const auto bid = static_cast<Price>(random() >> (24 + random() % 40));
        const auto ask = static_cast<Price>(random() >> (24 + random() % 40));
        const auto percent = spread_percent(bid, ask);
        if (bid + ask == 0) {
            ASSERT_FALSE(percent);
            continue;
        }
        ASSERT_TRUE(percent);
        // |2000000 * spread - percent * middle| <= middle / 2, in long double's 64 bits of mantissa: exact here.
        const auto error = static_cast<long double>(ask - bid) * 2'000'000.0L -
                           static_cast<long double>(*percent) * static_cast<long double>(bid + ask);
        ASSERT_LE(error < 0 ? -error : error, static_cast<long double>(bid + ask) / 2) << bid << ' ' << ask;
    }
}

TEST(Decimal, ThePercentRoundsHalfAwayFromZeroAndIsNothingWithoutAMiddle) {
    EXPECT_EQ(spread_percent(9'900, 10'100), 20'000);   // 0.02 of 1.00
    EXPECT_EQ(spread_percent(10'100, 9'900), -20'000);  // crossed
    EXPECT_EQ(spread_percent(1'999'999, 2'000'001), 1);
    EXPECT_EQ(spread_percent(0, 10'000), 2'000'000);
    EXPECT_FALSE(spread_percent(0, 0));
    EXPECT_FALSE(spread_percent(-5, 5));
    EXPECT_FALSE(spread_percent(1, Price{1} << 40));
}

}  // namespace
}  // namespace millpond::feed
