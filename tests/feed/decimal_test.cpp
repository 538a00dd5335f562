#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include <millpond/feed/decimal.hpp>

namespace millpond::feed {
namespace {

std::string unsigned_text(std::uint64_t value) {
    char buffer[kMaxIntegerChars + kDecimalSlack];
    return {buffer, write_unsigned(buffer, value)};
}
std::string price_text(Price price, unsigned decimals = kDefaultDecimals) {
    char buffer[kMaxPriceChars + kDecimalSlack];
    return {buffer, write_price(buffer, price, decimals)};
}
std::string spread_text(Price bid, Price ask) {
    char buffer[kMaxSpreadChars + kDecimalSlack];
    return {buffer, write_spread(buffer, bid, ask)};
}
// The standard library's digits as the expected result.
std::string expected_price(Price price, unsigned decimals) {
    auto digits = std::to_string(magnitude(price));
    if (digits.size() < 10) digits.insert(0, 10 - digits.size(), '0');
    auto text = (price < 0 ? "-" : "") + digits.substr(0, digits.size() - 9) + "." + digits.substr(digits.size() - 9);
    for (auto places = 9U; places > decimals && text.back() == '0'; --places) text.pop_back();
    if (text.back() == '.') text.pop_back();
    return text;
}

constexpr auto kLeast = std::numeric_limits<Price>::min();
constexpr auto kMost = std::numeric_limits<Price>::max();

TEST(Decimal, ASpreadIsExactAlsoWhereItNeedsMoreThan64Bits) {
    EXPECT_EQ(spread_text(189'240'000'000, 189'260'000'000), "0.0200");
    EXPECT_EQ(spread_text(189'260'000'000, 189'240'000'000), "-0.0200");
    EXPECT_EQ(spread_text(1, 3), "0.000000002");
    EXPECT_EQ(spread_text(kLeast, kMost), "18446744073.709551615");
    EXPECT_EQ(spread_text(kMost, kLeast), "-18446744073.709551615");
    EXPECT_EQ(spread_text(kLeast, kLeast), "0.0000");
}

TEST(Decimal, WritesEveryIntegerAsTheStandardLibraryDoes) {
    for (std::uint64_t value = 0; value < 200'000; ++value) ASSERT_EQ(unsigned_text(value), std::to_string(value));
    for (std::uint64_t power = 1; power <= 10'000'000'000'000'000'000ULL / 10; power *= 10) {
        for (const auto value : {power - 1, power, power + 1, power * 9}) {
            ASSERT_EQ(unsigned_text(value), std::to_string(value));
        }
    }
    for (std::uint64_t four = 0; four < 10'000; ++four) {  // each group of four digits at each position
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

TEST(Decimal, WritesPricesExactlyWithFourDecimalsOrMore) {
    EXPECT_EQ(price_text(189'250'000'000), "189.2500");
    EXPECT_EQ(price_text(100'000), "0.0001");
    EXPECT_EQ(price_text(-100'000), "-0.0001");
    EXPECT_EQ(price_text(0), "0.0000");
    EXPECT_EQ(price_text(10'000 * kPriceScale), "10000.0000");
    EXPECT_EQ(price_text(1), "0.000000001");
    EXPECT_EQ(price_text(1'234'567'890), "1.23456789");
    EXPECT_EQ(price_text(9'999'999'900'000), "9999.9999");
    EXPECT_EQ(price_text(9'999'999'999'999), "9999.999999999");
    EXPECT_EQ(price_text(kMaxPrice), "9223372036.854775806");
    EXPECT_EQ(price_text(kMinPrice), "-9223372036.854775806");
    EXPECT_EQ(price_text(kLeast), "-9223372036.854775808");
}

TEST(Decimal, ZerosBeyondTheDecimalsAreCut) {
    EXPECT_EQ(price_text(189'250'000'000, 0), "189.25");
    EXPECT_EQ(price_text(189'000'000'000, 0), "189");
    EXPECT_EQ(price_text(-189'000'000'000, 0), "-189");
    EXPECT_EQ(price_text(0, 0), "0");
    EXPECT_EQ(price_text(100'000'000, 0), "0.1");
    EXPECT_EQ(price_text(189'250'000'000, 2), "189.25");
    EXPECT_EQ(price_text(189'255'000'000, 2), "189.255");
    EXPECT_EQ(price_text(189'250'000'000, 9), "189.250000000");
    EXPECT_EQ(price_text(189'250'000'000, 1'000), "189.250000000");  // hostile memory may say so
    EXPECT_EQ(price_text(kMaxPrice, 0), "9223372036.854775806");
}

TEST(Decimal, PricesAreWrittenAsTheStandardLibraryWritesTheirDigits) {
    std::mt19937_64 random{2};
    for (int i = 0; i < 300'000; ++i) {
        auto price = static_cast<Price>(random()) >> (random() % 64);
        for (Price step = 1; random() % 3 != 0 && step < kPriceScale; step *= 10) price -= price % (step * 10);
        if (i % 3 == 0) price = price / 100'000 * 100'000;
        const auto decimals = static_cast<unsigned>(random() % 10);
        ASSERT_EQ(price_text(price, decimals), expected_price(price, decimals)) << price << ' ' << decimals;
        ASSERT_EQ(price_text(price), expected_price(price, kDefaultDecimals)) << price;
        if (is_price(price)) {
            ASSERT_EQ(parse_price(price_text(price, decimals)), price);
        }
    }
}

TEST(Decimal, AWriterScribblesNoFurtherThanItsSlack) {
    for (const auto price : {Price{0}, Price{7'000'000'000}, Price{1}, kMaxPrice, kLeast}) {
        for (unsigned decimals = 0; decimals <= kPriceDecimals; ++decimals) {
            std::array<char, 64> buffer;
            buffer.fill('#');
            const auto* const end = write_price(buffer.data(), price, decimals);
            for (const auto* at = end + kDecimalSlack; at < buffer.data() + buffer.size(); ++at) ASSERT_EQ(*at, '#');
        }
    }
}

TEST(Decimal, ReadsPricesExactly) {
    EXPECT_EQ(parse_price("189.25"), 189'250'000'000);
    EXPECT_EQ(parse_price("-0.000000001"), -1);
    EXPECT_EQ(parse_price("0"), 0);
    EXPECT_EQ(parse_price("-0.0"), 0);
    EXPECT_EQ(parse_price("007.5000000000000"), 7'500'000'000);  // zeros change nothing
    EXPECT_EQ(parse_price("9223372036.854775806"), kMaxPrice);
    EXPECT_EQ(parse_price("-9223372036.854775806"), kMinPrice);
}

TEST(Decimal, ATextThatIsNoPriceIsRefusedForItsReason) {
    using enum PriceTextError;
    const auto error_of = [](std::string_view text) {
        const auto price = parse_price(text);
        return price ? std::optional<PriceTextError>{} : price.error();
    };
    for (const std::string_view text :
         {"", "-", ".", "1.", ".5", "+1", "1e5", " 1", "1 ", "1.2.3", "--1", "0x1", "1,5", "nan", "1.-5", "\x31\xC3"}) {
        EXPECT_EQ(error_of(text), malformed) << text;
    }
    EXPECT_EQ(error_of("0.0000000001"), too_fine);
    EXPECT_EQ(error_of("1.0000000000000000000001"), too_fine);
    for (const std::string_view text : {"9223372036.854775807", "-9223372036.854775807", "-9223372036.854775808",
                                        "9223372037", "99999999999999999999999999", "18446744073.709551617"}) {
        EXPECT_EQ(error_of(text), out_of_range) << text;
    }
}

TEST(Decimal, ThePercentIsTheNearestOneByExactArithmetic) {
    std::mt19937_64 random{3};
    for (int i = 0; i < 300'000; ++i) {
        const auto bid = static_cast<Price>(random() >> (3 + random() % 61));
        const auto ask = i % 2 == 0 ? bid + static_cast<Price>(random() % 1'000)
                                    : static_cast<Price>(random() >> (3 + random() % 61));
        const auto percent = spread_percent(bid, ask);
        if (bid + ask == 0) {
            ASSERT_FALSE(percent);
            continue;
        }
        if (ask >> 61 != 0) continue;
        ASSERT_TRUE(percent);
        // |2000000 * spread - percent * middle| <= middle / 2
        __extension__ using Wide = __int128;
        const auto error = Wide{ask - bid} * 2'000'000 - Wide{*percent} * (bid + ask);
        ASSERT_TRUE((error < 0 ? -error : error) <= (bid + ask) / 2) << bid << ' ' << ask;
    }
}

TEST(Decimal, ThePercentRoundsHalfAwayFromZeroAndIsNothingWithoutAMiddle) {
    EXPECT_EQ(spread_percent(9'900, 10'100), 20'000);   // 0.02 of 1.00
    EXPECT_EQ(spread_percent(10'100, 9'900), -20'000);  // crossed
    EXPECT_EQ(spread_percent(1'999'999, 2'000'001), 1);
    EXPECT_EQ(spread_percent(199'999'900'000, 200'000'100'000), 1);  // the same in a finer scale
    EXPECT_EQ(spread_percent(0, 10'000), 2'000'000);
    EXPECT_EQ(spread_percent((Price{1} << 61) - 1, 0), -2'000'000);
    EXPECT_FALSE(spread_percent(0, 0));
    EXPECT_FALSE(spread_percent(-5, 5));
    EXPECT_FALSE(spread_percent(1, Price{1} << 61));
}

}  // namespace
}  // namespace millpond::feed
