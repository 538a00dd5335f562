#include <millpond/core/json_string.hpp>

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace millpond::core {
namespace {

TEST(JsonString, QuotesBackslashesAndControlCharactersAreEscaped) {
    EXPECT_EQ(json_string(""), R"("")");
    EXPECT_EQ(json_string("a\"b\\c\nd\x7F/"), R"("a\"b\\c\u000ad\u007f/")");
    EXPECT_EQ(json_string(std::string_view{"\0\x1F", 2}), R"("\u0000\u001f")");
}

TEST(JsonString, Utf8PassesThrough) {
    for (const std::string_view text : {"\xC2\x80", "\xC3\xA9t\xC3\xA9", "\xE0\xA0\x80", "\xE2\x82\xAC", "\xED\x9F\xBF",
                                        "\xEE\x80\x80", "\xF0\x90\x80\x80", "\xF0\x9F\x98\x80", "\xF4\x8F\xBF\xBF"}) {
        EXPECT_EQ(json_string(text), "\"" + std::string{text} + "\"");
    }
}

/// Overlong forms, surrogates, code points beyond U+10FFFF, truncated characters, single continuation bytes, invalid
/// bytes.
TEST(JsonString, BytesThatAreNotUtf8AreReadAsLatin1) {
    EXPECT_EQ(json_string("\xC0\x80"), R"("\u00c0\u0080")");
    EXPECT_EQ(json_string("\xE0\x9F\xBF"), R"("\u00e0\u009f\u00bf")");
    EXPECT_EQ(json_string("\xED\xA0\x80"), R"("\u00ed\u00a0\u0080")");
    EXPECT_EQ(json_string("\xF0\x8F\xBF\xBF"), R"("\u00f0\u008f\u00bf\u00bf")");
    EXPECT_EQ(json_string("\xF4\x90\x80\x80"), R"("\u00f4\u0090\u0080\u0080")");
    EXPECT_EQ(json_string("\xE2\x82"), R"("\u00e2\u0082")");
    EXPECT_EQ(json_string("\xF0\x9F\x98"), R"("\u00f0\u009f\u0098")");
    EXPECT_EQ(json_string("\xA9"), R"("\u00a9")");
    EXPECT_EQ(json_string("\xE9t\xE9"), R"("\u00e9t\u00e9")");
    EXPECT_EQ(json_string("\xFF\xC3\xA9"), "\"\\u00ff\xC3\xA9\"");
    EXPECT_EQ(json_string("\xE2\x82\""), R"("\u00e2\u0082\"")");
}

}  // namespace
}  // namespace millpond::core
