#include <array>
#include <cstdint>
#include <limits>
#include <string>

#include <gtest/gtest.h>

#include <millpond/fix/message_template.hpp>
#include <millpond/fix/parser.hpp>
#include <millpond/fix/writer.hpp>

#include "tests/fix/messages.hpp"
#include "tests/support/free_of_cost.hpp"

namespace millpond::fix {
namespace {

constexpr std::int64_t kTime = 1'704'164'645'678'901'234;

TEST(Writer, WritesTheMessageThatTheStandardDefines) {
    std::array<char, 512> memory;
    Writer writer{memory, "FIX.4.2"};
    writer.add<tag::kMsgType>("D").add(34, 7U).add(tag::kSenderCompId, "ME");
    writer.add_timestamp(tag::kSendingTime, kTime, TimePrecision::millis);
    writer.add<tag::kClOrdId>(std::string_view{"A1"}).add<54>('1').add<44>(Decimal{2323, 2}).add<43>(true).add<38>(-5);
    const auto message = writer.finish();
    ASSERT_TRUE(message);
    EXPECT_EQ(
        readable(*message),
        readable(message_of("FIX.4.2", "35=D|34=7|49=ME|52=20240102-03:04:05.678|11=A1|54=1|44=23.23|43=Y|38=-5|")));
}

TEST(Writer, BodyLengthHasNoLeadingZerosAtAnyLength) {
    std::array<char, 2000> memory;
    for (const std::size_t size : {1U, 4U, 5U, 91U, 92U, 93U, 990U, 991U, 992U, 1500U}) {
        Writer writer{memory, "FIXT.1.1"};
        writer.add<tag::kMsgType>('0').add<tag::kText>(std::string(size, 'x').c_str());
        const auto message = writer.finish();
        ASSERT_TRUE(message);
        EXPECT_EQ(*message, message_of("FIXT.1.1", "35=0|58=" + std::string(size, 'x') + "|"));
        EXPECT_GE(message->data(), memory.data());
        EXPECT_LE(message->data() + message->size(), memory.data() + memory.size());
    }
}

TEST(Writer, DecimalsAreExact) {
    struct Case {
        Decimal value;
        std::string_view text;
    };
    constexpr Case kCases[] = {
        {{0, 0}, "0"},
        {{0, 2}, "0.00"},
        {{5, 4}, "0.0005"},
        {{-5, 4}, "-0.0005"},
        {{1050, 2}, "10.50"},
        {{123'456'789'012, 4}, "12345678.9012"},
        {{std::numeric_limits<std::int64_t>::max(), 18}, "9.223372036854775807"},
        {{std::numeric_limits<std::int64_t>::min(), 0}, "-9223372036854775808"},
        {{std::numeric_limits<std::int64_t>::min(), 18}, "-9.223372036854775808"},
    };
    for (const auto& [value, text] : kCases) {
        std::array<char, 128> memory;
        Writer writer{memory, "FIX.4.4"};
        writer.add(35, "D").add(44, value);
        const auto message = writer.finish();
        ASSERT_TRUE(message);
        EXPECT_EQ(*message, message_of("FIX.4.4", "35=D|44=" + std::string{text} + "|"));
        EXPECT_EQ(parse_decimal(text), value);
    }
}

TEST(Writer, TimestampsComeInFourPrecisions) {
    constexpr std::pair<TimePrecision, std::string_view> kCases[] = {
        {TimePrecision::seconds, "20240102-03:04:05"},
        {TimePrecision::millis, "20240102-03:04:05.678"},
        {TimePrecision::micros, "20240102-03:04:05.678901"},
        {TimePrecision::nanos, "20240102-03:04:05.678901234"},
    };
    for (const auto& [precision, text] : kCases) {
        std::array<char, 128> memory;
        Writer writer{memory, "FIX.4.4"};
        writer.add(35, '0').add_timestamp(60, kTime, precision);
        EXPECT_EQ(writer.finish(), message_of("FIX.4.4", "35=0|60=" + std::string{text} + "|"));
    }
}

TEST(Writer, DataMayHoldDelimitersAndTextMayNot) {
    std::array<char, 256> memory;
    Writer data{memory, "FIX.4.4"};
    data.add(35, 'B').add_data(95, 96, delimited("a|10=000|"));
    EXPECT_EQ(data.finish(), message_of("FIX.4.4", "35=B|95=9|96=a|10=000||"));
    Writer text{memory, "FIX.4.4"};
    text.add(35, 'B').add(58, delimited("innocent|10=000|").c_str());
    EXPECT_EQ(text.finish(), std::nullopt);
}

TEST(Writer, FieldsWithoutAByteAddNothing) {
    std::array<char, 256> memory;
    Writer writer{memory, "FIX.4.4"};
    writer.add(35, 'B').add_fields({}).add_data(95, 96, {});
    EXPECT_EQ(writer.finish(), message_of("FIX.4.4", "35=B|95=0|96=|"));
}

TEST(Writer, AMessageThatDoesNotFitFailsAndStaysWithinTheMemory) {
    const auto whole = message_of("FIX.4.4", "35=0|112=" + std::string(60, 'y') + "|");
    bool fitted = false;
    for (std::size_t size = 0; size < whole.size() + 40; ++size) {
        std::string memory(size + 32, '#');
        Writer writer{std::span{memory.data(), size}, "FIX.4.4"};
        writer.add(35, '0').add(112, std::string(60, 'y').c_str());
        const auto message = writer.finish();
        EXPECT_TRUE(!message || *message == whole);
        EXPECT_TRUE(!fitted || message);
        fitted = message.has_value();
        EXPECT_EQ(memory.substr(size), std::string(32, '#'));
    }
    EXPECT_TRUE(fitted);
}

TEST(Writer, WrittenMessagesParseToTheSameValues) {
    Parser parser;
    std::array<char, 9000> memory;
    for (std::size_t fields = 1; fields < 400; fields += 13) {
        Writer writer{memory, "FIX.5.0"};
        writer.add(35, "AE");
        for (std::size_t i = 0; i < fields; ++i) writer.add(static_cast<Tag>(2000 + i * 7), i * i);
        const auto bytes = writer.finish();
        ASSERT_TRUE(bytes);
        const auto frame = next_frame(bytes_of(*bytes));
        ASSERT_TRUE(frame);
        const auto message = parser.parse(*frame);
        ASSERT_TRUE(message);
        for (std::size_t i = 0; i < fields; ++i) {
            ASSERT_EQ(message->unsigned_integer(static_cast<Tag>(2000 + i * 7)), i * i);
        }
    }
}

TEST(Writer, WritingNeedsNoHeapNoPageFaultAndNoSystemCall) {
    std::array<char, 512> memory;
    test::expect_free_of_cost([&] {
        std::size_t total = 0;
        for (int i = 0; i < 10; ++i) {
            Writer writer{memory, "FIX.4.4"};
            writer.add<35>("D").add<34>(i).add_timestamp(52, kTime, TimePrecision::nanos).add<44>(Decimal{i, 2});
            total += writer.finish().value_or("").size();
        }
        return total != 0;
    });
}

class Template : public testing::Test {
protected:
    static std::string order(std::string_view number, std::string_view time, std::string_view price) {
        return message_of("FIX.4.4", "35=D|34=" + std::string{number} + "|49=A|56=B|52=" + std::string{time} +
                                         "|11=ID1|44=" + std::string{price} + "|");
    }
    MessageTemplate template_{order("000000", "20000101-00:00:00.000", "000.00")};
};

TEST_F(Template, PatchedFieldsKeepLengthAndGiveARightCheckSum) {
    const auto number = template_.slot(tag::kMsgSeqNum).value();
    const auto time = template_.slot(tag::kSendingTime).value();
    const auto price = template_.slot(44).value();
    for (std::uint64_t i = 1; i < 1000; i += 7) {
        ASSERT_TRUE(template_.patch_number(number, i));
        ASSERT_TRUE(template_.patch_timestamp(time, kTime, TimePrecision::millis));
        ASSERT_TRUE(template_.patch(price, i % 2 == 0 ? "123.45" : "999.99"));
        auto digits = std::to_string(i);
        digits.insert(0, 6 - digits.size(), '0');
        EXPECT_EQ(template_.bytes(), order(digits, "20240102-03:04:05.678", i % 2 == 0 ? "123.45" : "999.99"));
    }
}

TEST_F(Template, AValueOfAnotherWidthIsRefusedAndChangesNothing) {
    const std::string before{template_.bytes()};
    const auto number = template_.slot(tag::kMsgSeqNum).value();
    EXPECT_FALSE(template_.patch_number(number, 1'000'000));
    EXPECT_FALSE(template_.patch(number, "12"));
    EXPECT_FALSE(template_.patch(number, delimited("12345|")));
    EXPECT_FALSE(template_.patch_timestamp(template_.slot(52).value(), kTime, TimePrecision::nanos));
    EXPECT_EQ(template_.bytes(), before);
}

TEST_F(Template, FramingFieldsAndAbsentOnesAreNotSlots) {
    for (const Tag number : {8U, 9U, 10U, 55U}) EXPECT_FALSE(template_.slot(number)) << number;
}

TEST_F(Template, TextThatIsNotAMessageIsRefusedByName) {
    EXPECT_THROW(MessageTemplate{"8=FIX.4.4"}, std::invalid_argument);
    EXPECT_THROW(MessageTemplate{order("1", "x", "2") + "8"}, std::invalid_argument);
}

}  // namespace
}  // namespace millpond::fix
