#include "service/json.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace millpond::service {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string error_of(const std::string& text, int deepest = 64) {
    try {
        static_cast<void>(parse_json(text, deepest));
    } catch (const JsonError& error) {
        return error.what();
    }
    return "accepted";
}

TEST(Json, ValuesKeepTheirTypes) {
    const auto value =
        parse_json(R"({"n":18446744073709551615,"i":-3,"d":1.5,"t":"5","b":true,"none":null,"l":[1,"x"]})");
    EXPECT_EQ(member(value, "n").asUInt64(), ~0ULL);
    EXPECT_EQ(member(value, "i").asInt64(), -3);
    EXPECT_DOUBLE_EQ(member(value, "d").asDouble(), 1.5);
    EXPECT_TRUE(member(value, "t").isString());
    EXPECT_TRUE(member(value, "b").isBool());
    EXPECT_TRUE(member(value, "none").isNull());
    EXPECT_EQ(member(value, "l").size(), 2U);
}

TEST(Json, AnErrorNamesLineAndColumn) {
    EXPECT_THAT(error_of("{\"a\": 1,\n  \"b\": }"), StartsWith("line 2, column 8: "));
    for (const std::string text : {"", "{", "5", R"("text")", "{} {}", "{'a':1}", "{\"a\":1,}", "{\"a\":1,\"a\":2}",
                                   "[1,]", "{\"a\":NaN}", "/* c */ {}", "{\"a\":\"\\x\"}"}) {
        const auto error = error_of(text);
        EXPECT_THAT(error, StartsWith("line 1, column ")) << text;
        EXPECT_EQ(error.find('\n'), std::string::npos) << text;
    }
}

TEST(Json, TextThatIsNestedTooDeeplyIsRefusedBeforeItIsParsed) {
    EXPECT_EQ(error_of("[[[]]]", 3), "accepted");
    EXPECT_EQ(error_of("[[[[]]]]", 3), "it is nested more than 3 levels deep");
    EXPECT_EQ(error_of(std::string(1'000'000, '[')), "it is nested more than 64 levels deep");
}

TEST(Json, AMemberThatIsNotThereIsNamed) {
    const auto list = parse_json("[]");
    EXPECT_THROW(static_cast<void>(member(list, "a")), JsonError);
    try {
        static_cast<void>(member(parse_json("{}"), "feeds"));
        FAIL();
    } catch (const JsonError& error) {
        EXPECT_THAT(error.what(), HasSubstr("'feeds'"));
    }
}

}  // namespace
}  // namespace millpond::service
