#include "gateway/json_lines/request.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace millpond::gateway::lines {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string refusal(const std::string& line) {
    try {
        static_cast<void>(parse_request(line));
    } catch (const RequestError& error) {
        return error.what();
    }
    return "accepted";
}

TEST(Request, AListHoldsSymbolsInQuotesOnly) {
    EXPECT_THAT(parse_request(R"({"subscribe":["AAPL", "1", "*"]})").subscribe, ElementsAre("AAPL", "1", "*"));
    for (const std::string list : {"[1]", "[null]", "[true]", R"(["AAPL",2])", "[-1.5]"}) {
        EXPECT_THAT(refusal(R"({"subscribe":)" + list + "}"), HasSubstr("symbols in quotes")) << list;
        EXPECT_THAT(refusal(R"({"unsubscribe":)" + list + "}"), HasSubstr("symbols in quotes")) << list;
    }
    EXPECT_EQ(refusal(R"({"subscribe":["a]b,1"]})"), "accepted") << "inside quotes a bracket is a character";
}

TEST(Request, ASymbolHoldsNoControlCharacters) {
    for (const std::string symbol : {"\\u0000", "A\\u0000", "\\n", "A\\u001f", "\\u007f"}) {
        EXPECT_THAT(refusal(R"({"subscribe":[")" + symbol + R"("]})"), HasSubstr("no control characters")) << symbol;
    }
}

}  // namespace
}  // namespace millpond::gateway::lines
