#include <array>
#include <deque>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <millpond/fix/parser.hpp>

#include "tests/fix/messages.hpp"
#include "tests/support/free_of_cost.hpp"

namespace millpond::fix {
namespace {

const std::string kOrder = message_of(
    "FIX.4.4",
    "35=D|34=7|49=TW44|52=20240102-03:04:05.678|56=ISLD|11=A=B=C|21=1|38=002000.00|40=2|44=23.23|54=1|55=INTC|"
    "59=0|60=20240102-03:04:05.678901|10440=user|");

std::expected<Message, FrameError> parse(Parser& parser, const std::string& bytes, std::span<Field> spill = {}) {
    const auto frame = next_frame(bytes_of(bytes), bytes.size());
    if (!frame) return std::unexpected(frame.error().error);
    return parser.parse(*frame, spill);
}

/// Keeps the bytes of a message until the test program ends.
std::expected<Message, FrameError> parse(Parser& parser, std::string&& bytes) {
    static std::deque<std::string> kept;
    return parse(parser, kept.emplace_back(std::move(bytes)));
}

/// tag=value pairs by a plain loop, the reference for messages without data fields.
std::vector<std::pair<std::string, std::string>> plain_fields(const std::string& bytes) {
    std::vector<std::pair<std::string, std::string>> fields;
    std::size_t begin = 0;
    while (begin < bytes.size()) {
        const auto end = bytes.find('\x01', begin);
        const auto equals = bytes.find('=', begin);
        fields.emplace_back(bytes.substr(begin, equals - begin), bytes.substr(equals + 1, end - equals - 1));
        begin = end + 1;
    }
    return fields;
}

void expect_same_fields(const Message& message, const std::string& bytes) {
    const auto expected = plain_fields(bytes);
    ASSERT_EQ(message.fields().size(), expected.size()) << readable(bytes);
    for (std::size_t i = 0; i < expected.size(); ++i) {
        const auto& field = message.fields()[i];
        ASSERT_EQ(message.tag_text(field), expected[i].first);
        ASSERT_EQ(message.value(field), expected[i].second);
        ASSERT_EQ(std::to_string(field.tag), expected[i].first);
        // find returns the first of several.
        const auto* first = message.find(field.tag);
        ASSERT_NE(first, nullptr);
        ASSERT_LE(first, &field);
        ASSERT_EQ(first->tag, field.tag);
        for (const auto& before : message.fields()) {
            if (&before == first) break;
            ASSERT_NE(before.tag, field.tag);
        }
    }
}

TEST(Parser, EveryFieldIsFoundWithItsValueAndTyped) {
    Parser parser;
    const auto message = parse(parser, kOrder);
    ASSERT_TRUE(message);
    expect_same_fields(*message, kOrder);
    EXPECT_EQ(message->begin_string(), "FIX.4.4");
    EXPECT_EQ(message->msg_type(), "D");
    EXPECT_EQ(message->integer(tag::kMsgSeqNum), 7);
    EXPECT_EQ(message->unsigned_integer(tag::kMsgSeqNum), 7U);
    EXPECT_EQ(message->decimal(44), (Decimal{2323, 2}));
    EXPECT_EQ(message->character(54), '1');
    EXPECT_EQ(message->text(55), "INTC");
    EXPECT_EQ(message->boolean(54), std::nullopt);
    EXPECT_EQ(message->utc_timestamp_ns(60), 1'704'164'645'678'901'000);
    EXPECT_FALSE(message->has(41));
    EXPECT_EQ(message->integer(41), std::nullopt);
}

TEST(Parser, AnEqualsSignInAValueShiftsNothing) {
    Parser parser;
    const auto message = parse(parser, kOrder);
    ASSERT_TRUE(message);
    EXPECT_EQ(message->text(tag::kClOrdId), "A=B=C");
    EXPECT_EQ(message->text(21), "1");
}

TEST(Parser, TagsAbove512AreFound) {
    Parser parser;
    const auto message = parse(parser, message_of("FIX.4.4", "35=D|513=a|1137=b|10440=c|9999999=d|99999999=e|"));
    ASSERT_TRUE(message);
    EXPECT_EQ(message->text(513), "a");
    EXPECT_EQ(message->text(1137), "b");
    EXPECT_EQ(message->text(10'440), "c");
    EXPECT_EQ(message->text(9'999'999), "d");
    EXPECT_EQ(message->text(99'999'999), "e");
}

TEST(Parser, ABodyLengthThatDoesNotMatchIsAnError) {
    auto bytes = message_of("FIX.4.4", "35=0|34=2|49=A|56=B|");
    const auto at = bytes.find("9=") + 2;
    bytes = with_checksum(bytes.substr(0, at) + "19" + bytes.substr(at + 2, bytes.size() - at - 2 - 7));
    Parser parser;
    const auto message = parse(parser, bytes);
    ASSERT_FALSE(message);
    EXPECT_EQ(message.error(), FrameError::bad_body_length);
}

TEST(Parser, AnyOtherCheckSumIsRefused) {
    Parser parser;
    const auto right = kOrder.substr(kOrder.size() - 4, 3);
    for (int sum = 0; sum < 1000; ++sum) {
        char digits[16];
        std::snprintf(digits, sizeof digits, "%03d", sum);
        auto bytes = kOrder;
        bytes.replace(bytes.size() - 4, 3, digits);
        const auto message = parse(parser, bytes);
        EXPECT_EQ(message.has_value(), digits == right) << digits;
        if (!message) {
            EXPECT_EQ(message.error(), FrameError::bad_checksum);
        }
    }
}

TEST(Parser, AFieldWithoutEqualsOrWithATagThatIsNotANumberIsGarbled) {
    for (const auto* body : {"35=0|34=2|49garbled|", "35=0|34=2|4garbled9=TW|", "35=0|=x|", "35=0||34=2|",
                             "35=0|49=a|4 9=b|", "35=0|-=b|", "35=0|123456789012345678901234567890=x|"}) {
        Parser parser;
        const auto message = parse(parser, message_of("FIX.4.4", body));
        ASSERT_FALSE(message) << body;
        EXPECT_EQ(message.error(), FrameError::bad_field) << body;
    }
}

TEST(Parser, ATagThatIsANumberButNoTagIsKeptWithItsText) {
    Parser parser;
    for (const auto* text : {"-1", "0", "035", "12345678901", "-999999999"}) {
        const auto message = parse(parser, message_of("FIX.4.4", std::string{"35=0|34=2|"} + text + "=HI|"));
        ASSERT_TRUE(message) << text;
        const auto& field = message->fields()[4];
        EXPECT_EQ(field.tag, tag::kInvalid);
        EXPECT_EQ(message->tag_text(field), text);
        EXPECT_EQ(message->value(field), "HI");
    }
}

TEST(Parser, FieldsBeyond128AreNotDropped) {
    std::string body = "35=W|";
    for (int i = 0; i < 300; ++i) body += std::to_string(3000 + i) + "=" + std::to_string(i) + "|";
    const auto bytes = message_of("FIX.4.4", body);
    Parser parser;
    for (int round = 0; round < 4; ++round) {
        const auto message = parse(parser, bytes);
        ASSERT_TRUE(message);
        expect_same_fields(*message, bytes);
        EXPECT_EQ(message->text(3299), "299");
    }
}

TEST(Parser, FieldsBeyondItsOwnGoToTheCallersMemoryAndAreNeverDropped) {
    std::string body = "35=W|";
    for (int i = 0; i < 2000; ++i) body += "269=" + std::to_string(i) + "|";
    const auto bytes = message_of("FIX.4.4", body);
    Parser parser;
    const auto without = parse(parser, bytes);
    ASSERT_FALSE(without);
    EXPECT_EQ(without.error(), FrameError::too_many_fields);
    std::vector<Field> little(1500);
    EXPECT_EQ(parse(parser, bytes, little).error(), FrameError::too_many_fields);
    std::vector<Field> exactly(2004);
    const auto message = parse(parser, bytes, exactly);
    ASSERT_TRUE(message);
    expect_same_fields(*message, bytes);
    const auto small = parse(parser, kOrder, exactly);
    ASSERT_TRUE(small);
    expect_same_fields(*small, kOrder);
}

TEST(Parser, DataFieldsHaveTheLengthInTheirLengthField) {
    Parser parser;
    const auto bytes = message_of("FIX.4.4", "35=B|34=2|95=13|96=a|10=000|=x|y|58=after|354=0|355=|148=z|");
    for (int round = 0; round < 4; ++round) {  // first without, then with the remembered layout
        const auto message = parse(parser, bytes);
        ASSERT_TRUE(message) << name(message.error());
        EXPECT_EQ(message->text(96), delimited("a|10=000|=x|y"));
        EXPECT_EQ(message->text(58), "after");
        EXPECT_EQ(message->text(355), "");
        EXPECT_EQ(message->text(148), "z");
        EXPECT_EQ(message->fields().size(), 11U);
    }
}

TEST(Parser, ADataFieldThatDoesNotEndWhereItShouldIsRefused) {
    Parser parser;
    for (const auto* body : {"35=B|95=2|96=abc|58=x|", "35=B|95=4|96=abc|58=x|", "35=B|95=999|96=abc|58=x|",
                             "35=B|95=7|96=abc|58=x|", "35=B|95=9|96=abc|58=x|"}) {
        const auto message = parse(parser, message_of("FIX.4.4", body));
        ASSERT_FALSE(message) << body;
        EXPECT_EQ(message.error(), FrameError::bad_data_length) << body;
    }
}

TEST(Parser, UsersOwnDataFieldsAreHonoured) {
    Parser::Options options;
    ASSERT_TRUE(options.data_fields.add(9001, 9002));
    Parser parser{options};
    const auto message = parse(parser, message_of("FIX.4.4", "35=B|9001=3|9002=||||58=x|"));
    ASSERT_TRUE(message);
    EXPECT_EQ(message->text(9002), delimited("|||").substr(0, 3));
    EXPECT_EQ(message->text(58), "x");
}

TEST(Parser, AMessageLongerThanOneScanIsReadWhole) {
    std::mt19937 random{3};
    Parser parser;
    for (int round = 0; round < 50; ++round) {
        std::string body = "35=y|";
        while (body.size() < 4000 + 500U * static_cast<unsigned>(round)) {
            body += std::to_string(1 + random() % 20'000) + "=" + std::string(random() % 400, '=') + "|";
        }
        const auto bytes = message_of("FIX.4.4", body);
        const auto message = parse(parser, bytes);
        ASSERT_TRUE(message) << name(message.error());
        ASSERT_NO_FATAL_FAILURE(expect_same_fields(*message, bytes));
    }
}

/// A random message of a few types, whose fields are mostly in the same order: layouts hit, miss and are relearned.
std::string random_message(std::mt19937& random) {
    constexpr std::string_view kTypes[] = {"D", "8", "W", "0", "AE", "D4", "4"};
    std::string body = "35=" + std::string{kTypes[random() % std::size(kTypes)]} + "|";
    const auto mutations = random() % 4;
    for (unsigned i = 0; i < 3 + random() % 30; ++i) {
        auto number = 1 + (i * 37) % 600;
        if (mutations > 1 && random() % 6 == 0) number = static_cast<unsigned>(1 + random() % 12'000);
        if (number == 10 || Parser::Options{}.data_fields.data_of(number) != 0) continue;
        if (mutations == 3 && random() % 8 == 0) continue;
        body += std::to_string(number) + "=" + std::string(random() % 24, static_cast<char>('0' + random() % 16)) + "|";
    }
    return message_of("FIX.4.4", body);
}

TEST(Parser, AllInstructionSetsAndTheLayoutMemoryGiveTheSameFields) {
    std::mt19937 random{11};
    std::vector<Parser> parsers;
    for (const auto set : {detail::InstructionSet::scalar, detail::InstructionSet::avx2, detail::InstructionSet::avx512,
                           detail::InstructionSet::avx512_vbmi2}) {
        if (!detail::supported(set)) continue;
        Parser::Options options;
        options.instruction_set = set;
        parsers.emplace_back(options);
    }
    for (int round = 0; round < 4000; ++round) {
        const auto bytes = random_message(random);
        for (auto& parser : parsers) {
            const auto message = parse(parser, bytes);
            ASSERT_TRUE(message) << readable(bytes);
            ASSERT_NO_FATAL_FAILURE(expect_same_fields(*message, bytes));
        }
    }
}

TEST(Parser, AShorterMessageOfARememberedTypeHasOnlyItsOwnFields) {
    Parser parser;
    const auto longer = message_of("FIX.4.4", "35=0|34=2|49=A|56=B|112=X|");
    const auto shorter = message_of("FIX.4.4", "35=0|34=2|49=A|");
    for (int round = 0; round < 3; ++round) ASSERT_TRUE(parse(parser, longer));
    const auto message = parse(parser, shorter);
    ASSERT_TRUE(message);
    expect_same_fields(*message, shorter);
    EXPECT_FALSE(message->has(56));
    EXPECT_FALSE(message->has(112));
}

TEST(Parser, AGroupOfFewerInstancesThanTheRememberedOneIsReadWhole) {
    Parser parser;
    const auto of = [](int entries) {
        std::string body = "35=W|34=2|55=MSFT|268=" + std::to_string(entries) + "|";
        for (int i = 0; i < entries; ++i) body += "269=0|270=1" + std::to_string(i) + ".5|271=7|";
        return message_of("FIX.4.4", body);
    };
    for (const int entries : {3, 3, 3, 1, 2, 3, 5, 4, 5, 5, 1, 0, 9, 5}) {
        const auto bytes = of(entries);
        const auto message = parse(parser, bytes);
        ASSERT_TRUE(message);
        ASSERT_NO_FATAL_FAILURE(expect_same_fields(*message, bytes));
        EXPECT_EQ(message->has(270), entries > 0);
    }
}

/// Text of a parser's result.
std::string outcome_of(Parser& parser, const std::string& bytes) {
    const auto message = parse(parser, bytes);
    if (!message) return std::string{name(message.error())};
    std::string text;
    for (const auto& field : message->fields()) {
        text += std::to_string(field.tag) + "=" + std::string{message->value(field)} + "|";
        if (message->find(field.tag) == nullptr) text += "(not found)";
    }
    return text;
}

TEST(Parser, TagsThatAreNoneLongOrAnnounceDataAreReadAlikeByAllInstructionSets) {
    std::mt19937 random{23};
    constexpr std::string_view kAlphabet = "1234567890123456789012345x= ";
    constexpr std::array<std::string_view, 4> kPieces{"95=3|96=a|b", "354=2|355==", "0=1", "12345678=1"};
    for (int round = 0; round < 5'000; ++round) {
        std::string body = "35=D|34=2";
        for (auto fields = random() % 30; fields > 0; --fields) {
            body += '|';
            if (random() % 40 == 0) {
                body += kPieces[random() % kPieces.size()];
                continue;
            }
            const auto symbols = random() % 60 == 0 ? kAlphabet.size() : 9;
            for (auto digits = 1 + random() % 5; digits > 0; --digits) body += kAlphabet[random() % symbols];
            body += '=' + std::string(random() % 20, 'v');
        }
        const auto bytes = message_of("FIX.4.4", body + '|');
        Parser::Options options{.instruction_set = detail::InstructionSet::scalar};
        Parser scalar{options};
        const auto expected = outcome_of(scalar, bytes);
        for (const auto set :
             {detail::InstructionSet::avx2, detail::InstructionSet::avx512, detail::InstructionSet::avx512_vbmi2}) {
            if (!detail::supported(set)) continue;
            options.instruction_set = set;
            Parser parser{options};
            ASSERT_EQ(outcome_of(parser, bytes), expected) << readable(bytes);
        }
    }
}

TEST(Parser, AMessageThatDiffersInAnyByteFromTheRememberedOneIsParsedAsByAFreshParser) {
    const auto warm =
        message_of("FIX.4.4", "35=D|34=7|49=TW44|56=ISLD|11=A=B|38=2000.00|40=2|44=23.23|54=1|55=INTC|59=0|");
    for (std::size_t at = warm.find("34="); at < warm.size() - 7; ++at) {
        for (const char c : std::string_view{"\x01=0x"}) {
            auto changed = warm;
            changed[at] = c;
            unsigned sum = 0;
            for (std::size_t i = 0; i < changed.size() - 7; ++i) sum += static_cast<unsigned char>(changed[i]);
            changed.replace(changed.size() - 4, 3, std::to_string(1000 + sum % 256).substr(1));
            Parser remembers;
            for (int round = 0; round < 4; ++round) ASSERT_TRUE(parse(remembers, warm));
            Parser fresh;
            const auto expected = outcome_of(fresh, changed);
            ASSERT_EQ(outcome_of(remembers, changed), expected) << readable(changed);
            ASSERT_EQ(outcome_of(remembers, changed), expected) << readable(changed);
        }
    }
}

TEST(Parser, WidthsThatChangeAndComeBackAreReadWhole) {
    std::mt19937 random{17};
    Parser parser;
    for (int round = 0; round < 4000; ++round) {
        // Long runs of one width, then random widths; the body's length crosses 100, so that the width of BodyLength
        // changes.
        const auto wide = round / 50 % 3 == 2 ? random() % 3 : static_cast<unsigned>(round / 50 % 2);
        const auto bytes = message_of("FIX.4.4", "35=D|34=" + std::to_string(round) +
                                                     "|49=A|56=B|11=" + std::string(1 + 40 * wide, 'x') + "|44=9" +
                                                     std::string(wide, '9') + ".25|54=1|60=20240102-03:04:05|");
        const auto message = parse(parser, bytes);
        ASSERT_TRUE(message) << readable(bytes);
        ASSERT_NO_FATAL_FAILURE(expect_same_fields(*message, bytes));
    }
}

TEST(Parser, NumbersAndDecimalsOfAnyLengthAreReadAsByTheirText) {
    Parser parser;
    std::mt19937 random{13};
    constexpr std::string_view kAlphabet = "0123456789012345678901234567890123456789.-+ x";
    for (int round = 0; round < 20'000; ++round) {
        std::string value;
        for (auto i = random() % 12; i > 0; --i) value += kAlphabet[random() % kAlphabet.size()];
        const auto bytes = message_of("FIX.4.4", "35=D|44=" + value + "|58=x|");
        const auto message = parse(parser, bytes);
        ASSERT_TRUE(message) << value;
        ASSERT_EQ(message->integer(44), parse_int(value)) << value;
        ASSERT_EQ(message->unsigned_integer(44), parse_unsigned(value)) << value;
        ASSERT_EQ(message->decimal(44), parse_decimal(value)) << value;
    }
}

TEST(Parser, ParsingAndReadingNeedNoHeapNoPageFaultAndNoSystemCall) {
    Parser parser;
    std::mt19937 random{6};
    std::vector<std::string> messages{kOrder, message_of("FIX.4.4", "35=B|95=3|96=||||58=x|")};
    for (int i = 0; i < 50; ++i) messages.push_back(random_message(random));
    test::expect_free_of_cost([&] {
        std::size_t right = 0;
        for (const auto& bytes : messages) {
            const auto message = parse(parser, bytes);
            if (!message || message->text(tag::kMsgType) != message->msg_type()) continue;
            // Read as all types, whose results do not matter for the cost.
            const bool prices = message->decimal(44) || message->integer(44) || message->boolean(44);
            const bool times = message->utc_timestamp_ns(tag::kSendingTime) || message->utc_date_ns(75);
            right += (prices ? 1U : 0U) + (times ? 1U : 0U) + 1U;
        }
        return right >= messages.size();
    });
}

}  // namespace
}  // namespace millpond::fix
