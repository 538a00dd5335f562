#include "gateway/json_lines/request.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace millpond::gateway::json_lines {
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
        EXPECT_THAT(refusal(R"({"subscribe":)" + list + "}"), HasSubstr("quoted symbols")) << list;
        EXPECT_THAT(refusal(R"({"unsubscribe":)" + list + "}"), HasSubstr("quoted symbols")) << list;
    }
    EXPECT_EQ(refusal(R"({"subscribe":["a]b,1"]})"), "accepted") << "inside quotes a bracket is a character";
}

TEST(Request, AValueOfAnotherTypeIsRefusedByKey) {
    for (const std::string request :
         {R"({"echo":"5"})", R"({"echo":-1})", R"({"echo":1.5})", R"({"echo":true})", R"({"echo":9007199254740992})",
          R"({"interval_ms":60001})", R"({"interval_ms":[]})", R"({"account":"true"})", R"({"account":1})",
          R"({"token":5})", R"({"name":5})", R"({"name":"a\u0007b"})", R"({"mode":1})", R"({"mode":"all"})",
          R"({"subscribe":"AAPL"})", R"({"subscribe":{"a":"b"}})", R"({"subscribe":null})"}) {
        const auto key = request.substr(2, request.find(':') - 3);
        EXPECT_THAT(refusal(request), HasSubstr("'" + key + "' must be ")) << request;
    }
    EXPECT_EQ(parse_request(R"({"echo":9007199254740991})").echo, 9'007'199'254'740'991U);
    EXPECT_TRUE(parse_request(R"({"account":true})").account);
    EXPECT_FALSE(parse_request(R"({"account":false})").account);
}

TEST(Request, DepthIsANumberOfLevelsOrFull) {
    const auto request = parse_request(R"({"subscribe":["AAPL"],"depth":10,"orders":true})");
    EXPECT_EQ(request.depth, (Depth{.levels = 10, .orders = true}));
    EXPECT_EQ(parse_request(R"({"subscribe":["AAPL"],"depth":"full"})").depth.levels, feed::kFullDepth);
    EXPECT_EQ(parse_request(R"({"subscribe":["AAPL"],"orders":false})").depth, Depth{});
    for (const std::string depth : {"0", "-1", "1.5", "4294967295", "\"all\"", "true", "[10]"}) {
        EXPECT_THAT(refusal(R"({"subscribe":["AAPL"],"depth":)" + depth + "}"), HasSubstr("'depth' must be")) << depth;
    }
    EXPECT_THAT(refusal(R"({"depth":10})"), HasSubstr("belong to 'subscribe'"));
    EXPECT_THAT(refusal(R"({"unsubscribe":["AAPL"],"orders":true})"), HasSubstr("belong to 'subscribe'"));
}

TEST(Request, AReplayStartsAtATimeOrARecord) {
    const auto start = [](const std::string& from) {
        return parse_request(R"({"subscribe":["AAPL"],"from":)" + from + "}").from;
    };
    EXPECT_EQ(start(R"("2026-11-28T14:30:00Z")").value().utc_ns, 1'795'876'200'000'000'000);
    EXPECT_EQ(json_of(start(R"("2026-11-28T14:30:00.5Z")").value()), R"("2026-11-28T14:30:00.500000000Z")");
    EXPECT_EQ(start(R"({"record":17})").value().record, 17U);
    EXPECT_EQ(json_of(start(R"({"record":17})").value()), R"({"record":17})");
    EXPECT_FALSE(start(R"("board")"));
    for (const std::string from : {R"("noon")", R"("2026-11-28 14:30")", R"("2026-13-01")", R"("")"}) {
        EXPECT_THAT(refusal(R"({"subscribe":["A"],"from":)" + from + "}"), HasSubstr("is not a time")) << from;
    }
    for (const std::string from : {"1", "null", "[]", "true"}) {
        EXPECT_THAT(refusal(R"({"subscribe":["A"],"from":)" + from + "}"), HasSubstr("'from' must be a time")) << from;
    }
    for (const std::string record : {"0", "-1", "1.5", "\"1\"", "9007199254740992"}) {
        EXPECT_THAT(refusal(R"({"subscribe":["A"],"from":{"record":)" + record + "}}"),
                    HasSubstr("'record' must be an integer from 1 to 9007199254740991"))
            << record;
    }
    EXPECT_THAT(refusal(R"({"subscribe":["A"],"from":{"time":1}})"), HasSubstr("one key, 'record'"));
    EXPECT_THAT(refusal(R"({"subscribe":["A"],"from":{"record":1,"a":2}})"), HasSubstr("one key, 'record'"));
    EXPECT_THAT(refusal(R"({"from":"board"})"), HasSubstr("belongs to 'subscribe'"));
}

TEST(Request, ANameHasAtMost64BytesAndNoControlCharacters) {
    EXPECT_EQ(parse_request(R"({"name":"pricer 7"})").name, "pricer 7");
    EXPECT_EQ(parse_request("{\"name\":\"\xc3\xa4\xc2\xa0\"}").name, "\xc3\xa4\xc2\xa0");
    EXPECT_EQ(parse_request(R"({"name":")" + std::string(64, 'x') + "\"}").name, std::string(64, 'x'));
    EXPECT_THAT(refusal(R"({"name":")" + std::string(65, 'x') + "\"}"), HasSubstr("at most 64 bytes"));
    EXPECT_THAT(refusal("{\"name\":\"\xc2\x9b"
                        "31m\"}"),
                HasSubstr("control characters"));
}

TEST(Request, AKeyThatIsThereTwiceIsRefused) {
    EXPECT_THAT(refusal(R"({"subscribe":["A"],"subscribe":["B"]})"), HasSubstr("Duplicate key"));
}

TEST(Request, WhatIsDeeperThanAListIsRefused) {
    EXPECT_THAT(refusal(R"({"subscribe":[{}]})"), HasSubstr("quoted symbols"));
    EXPECT_THAT(refusal(R"({"subscribe":[["A"]]})"), HasSubstr("levels deep"));
}

TEST(Request, ASymbolHoldsNoControlCharacters) {
    for (const std::string symbol : {"\\u0000", "A\\u0000", "\\n", "A\\u001f", "\\u007f"}) {
        EXPECT_THAT(refusal(R"({"subscribe":[")" + symbol + R"("]})"), HasSubstr("must not contain control characters"))
            << symbol;
    }
}

}  // namespace
}  // namespace millpond::gateway::json_lines
