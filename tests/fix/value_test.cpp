#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include <millpond/fix/detail/words.hpp>
#include <millpond/fix/utc_time.hpp>
#include <millpond/fix/value.hpp>

namespace millpond::fix {
namespace {

TEST(Value, IntegersAreReadOverTheirWholeRangeAndNotBeyond) {
    EXPECT_EQ(parse_int("9223372036854775807"), std::numeric_limits<std::int64_t>::max());
    EXPECT_EQ(parse_int("-9223372036854775808"), std::numeric_limits<std::int64_t>::min());
    EXPECT_EQ(parse_int("9223372036854775808"), std::nullopt);
    EXPECT_EQ(parse_int("00023"), 23);
    EXPECT_EQ(parse_unsigned("18446744073709551615"), std::numeric_limits<std::uint64_t>::max());
    EXPECT_EQ(parse_unsigned("18446744073709551616"), std::nullopt);
}

TEST(Value, TextThatIsNotAnIntegerHasNoValue) {
    for (const auto* text : {"", "-", "+1", "1.0", "1 ", " 1", "0x1", "--1"}) {
        EXPECT_EQ(parse_int(text), std::nullopt) << text;
        EXPECT_EQ(parse_unsigned(text), std::nullopt) << text;
    }
    EXPECT_EQ(parse_unsigned("-1"), std::nullopt);
}

TEST(Value, DecimalsKeepTheirDigitsAndTheirExponent) {
    EXPECT_EQ(parse_decimal("23.23"), (Decimal{2323, 2}));
    EXPECT_EQ(parse_decimal("-0.0005"), (Decimal{-5, 4}));
    EXPECT_EQ(parse_decimal("002000.00"), (Decimal{200'000, 2}));
    EXPECT_EQ(parse_decimal("7"), (Decimal{7, 0}));
    EXPECT_EQ(parse_decimal("7."), (Decimal{7, 0}));
    EXPECT_EQ(parse_decimal(".5"), (Decimal{5, 1}));
    EXPECT_EQ(parse_decimal("-9223372036854775808"), (Decimal{std::numeric_limits<std::int64_t>::min(), 0}));
}

TEST(Value, PricesDoNotGoThroughDouble) {
    // 8 significant digits, as `%.8g` prints, would make these 12345679 and 0.1.
    EXPECT_EQ(parse_decimal("12345678.9012"), (Decimal{123'456'789'012, 4}));
    EXPECT_EQ(parse_decimal("0.100000000000000001"), (Decimal{100'000'000'000'000'001, 18}));
    EXPECT_EQ(parse_decimal("9007199254740993"), (Decimal{9'007'199'254'740'993, 0}));  // 2^53 + 1
}

TEST(Value, TextThatIsNotADecimalHasNoValue) {
    for (const auto* text : {"", "-", ".", "+200.00", "1e5", "1.2.3", "1,5", "99999999999999999999", "-."}) {
        EXPECT_EQ(parse_decimal(text), std::nullopt) << text;
    }
}

TEST(Value, TheFormOfADecimalHasNoBounds) {
    for (const auto* text :
         {"12.000000000000000000", "0.00000000000000000000", "12345.123456789012345678", "100000000000000000000", "-.5",
          "7.", "0.0000000000000000000000001", "-99999999999999999999"}) {
        EXPECT_TRUE(is_decimal(text)) << text;
    }
    for (const auto* text : {"", "-", ".", "-.", "+1", "1e5", "1.2.3", "1,5", "--1", "1-", " 1", "0x1"}) {
        EXPECT_FALSE(is_decimal(text)) << text;
    }
    EXPECT_TRUE(is_integer("-123456789012345678901234567890"));
    for (const auto* text : {"", "-", "+1", "1.0", "1 ", "--1"}) EXPECT_FALSE(is_integer(text)) << text;
}

TEST(Value, ScalingIsExactOrRefused) {
    EXPECT_EQ(scaled({2323, 2}, 4), 232'300);
    EXPECT_EQ(scaled({232'300, 4}, 2), 2323);
    EXPECT_EQ(scaled({12'345, 4}, 2), std::nullopt);
    EXPECT_EQ(scaled({std::numeric_limits<std::int64_t>::max(), 0}, 1), std::nullopt);
}

TEST(Value, CharactersAndBooleansAreOneLetter) {
    EXPECT_EQ(parse_char("1"), '1');
    EXPECT_EQ(parse_char("12"), std::nullopt);
    EXPECT_EQ(parse_char(""), std::nullopt);
    EXPECT_EQ(parse_bool("Y"), true);
    EXPECT_EQ(parse_bool("N"), false);
    EXPECT_EQ(parse_bool("y"), std::nullopt);
    EXPECT_EQ(parse_bool(""), std::nullopt);
}

TEST(Value, EightDigitsAtATimeAreWhatTheyAre) {
    for (std::uint32_t number = 0; number < 100'000'000; number += number < 20'000 ? 1 : 7919) {
        const auto digits = detail::digits_of(number);
        auto rest = number;
        for (unsigned at = 8; at-- > 0; rest /= 10) ASSERT_EQ((digits >> (8 * at)) & 0xFFU, rest % 10) << number;
        ASSERT_EQ(detail::number_of(digits), number);
    }
}

TEST(UtcTime, TimestampsAreReadToTheNanosecond) {
    constexpr std::int64_t kSecond = 1'704'164'645'000'000'000;  // date -u -d '2024-01-02 03:04:05' +%s
    EXPECT_EQ(parse_utc_timestamp("20240102-03:04:05"), kSecond);
    EXPECT_EQ(parse_utc_timestamp("20240102-03:04:05.678"), kSecond + 678'000'000);
    EXPECT_EQ(parse_utc_timestamp("20240102-03:04:05.678901"), kSecond + 678'901'000);
    EXPECT_EQ(parse_utc_timestamp("20240102-03:04:05.678901234"), kSecond + 678'901'234);
    EXPECT_EQ(parse_utc_timestamp("20240102-03:04:05.678901234567"), kSecond + 678'901'234);
    EXPECT_EQ(parse_utc_timestamp("19700101-00:00:00"), 0);
    EXPECT_EQ(parse_utc_timestamp("20161231-23:59:60"), parse_utc_timestamp("20170101-00:00:00"));
}

TEST(UtcTime, TextThatIsNotATimestampHasNoValue) {
    for (const auto* text :
         {"", "20240102", "20240102-03:04", "20240102 03:04:05", "20240102-24:00:00", "20240102-03:60:00",
          "20240102-03:04:61", "20240102-03:04:05.", "20240102-03:04:05.1234567890123", "20240102-03:04:05,678",
          "20240230-03:04:05", "20241302-03:04:05", "20240100-03:04:05", "2024a102-03:04:05", "00000000-00:00:00"}) {
        EXPECT_EQ(parse_utc_timestamp(text), std::nullopt) << text;
    }
}

TEST(UtcTime, TheFormOfADateHasNoBounds) {
    for (const auto* text : {"99991231", "00010101", "20240229"}) {
        EXPECT_TRUE(is_utc_date(text)) << text;
        EXPECT_TRUE(is_utc_timestamp(std::string{text} + "-23:59:59.999")) << text;
    }
    for (const auto* text : {"", "2024010", "202401011", "20240230", "00000000", "2024a101"}) {
        EXPECT_FALSE(is_utc_date(text)) << text;
        EXPECT_FALSE(is_utc_timestamp(std::string{text} + "-23:59:59")) << text;
    }
    for (const auto* text : {"", "99991231", "99991231-24:00:00", "99991231 23:59:59", "99991231-23:59:59."}) {
        EXPECT_FALSE(is_utc_timestamp(text)) << text;
    }
}

TEST(UtcTime, AnyOtherCharacterMakesATimestampNothing) {
    const std::string sound = "20240102-03:04:05.678";
    for (std::size_t at = 0; at < sound.size(); ++at) {
        for (int each = 0; each < 256; ++each) {
            auto text = sound;
            text[at] = static_cast<char>(each);
            const bool digit = sound[at] >= '0' && sound[at] <= '9' && each >= '0' && each <= '9';
            if (text[at] == sound[at] || digit) continue;
            EXPECT_EQ(parse_utc_timestamp(text), std::nullopt) << text;
        }
    }
}

TEST(UtcTime, WritingIsTheInverseOfReadingInEveryPrecision) {
    for (const std::int64_t base : {std::int64_t{0}, std::int64_t{1'704'164'645'678'901'234}, std::int64_t{-1},
                                    std::int64_t{951'782'399'999'999'999}, std::int64_t{951'782'400'000'000'000},
                                    std::int64_t{4'102'444'799'999'999'999}}) {
        for (const auto precision :
             {TimePrecision::seconds, TimePrecision::millis, TimePrecision::micros, TimePrecision::nanos}) {
            char text[kMaxTimestampChars];
            const auto length = write_utc_timestamp(text, base, precision);
            ASSERT_EQ(length, timestamp_chars(precision));
            std::int64_t unit = 1;
            for (auto i = static_cast<int>(precision); i < 9; ++i) unit *= 10;
            const auto cut = base - ((base % unit) + unit) % unit;
            EXPECT_EQ(parse_utc_timestamp({text, length}), cut) << std::string(text, length);
        }
    }
    char text[kMaxTimestampChars];
    EXPECT_EQ(std::string(text, write_utc_timestamp(text, 951'868'799'123'456'789, TimePrecision::nanos)),
              "20000229-23:59:59.123456789");
}

}  // namespace
}  // namespace millpond::fix
