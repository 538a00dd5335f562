#include "service/log.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

namespace millpond::service {
namespace {

using namespace std::chrono_literals;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;

TEST(RateLimit, LetsOneASecondAndCauseThroughAndCountsTheOthers) {
    RateLimit limit;
    EXPECT_EQ(limit.admit("a", 10s), 0U);
    EXPECT_EQ(limit.admit("a", 10s + 1ms), std::nullopt);
    EXPECT_EQ(limit.admit("b", 10s + 1ms), 0U);
    EXPECT_EQ(limit.admit("a", 10s + 999ms), std::nullopt);
    EXPECT_EQ(limit.admit("a", 11s), 2U);
    EXPECT_EQ(limit.admit("a", 12s), 0U);
}

TEST(RateLimit, TellsOnceWhatWasSuppressedWhenNothingFollows) {
    RateLimit limit;
    EXPECT_EQ(limit.admit("a", 10s), 0U);
    EXPECT_EQ(limit.admit("a", 10s, Severity::info, "second"), std::nullopt);
    EXPECT_EQ(limit.admit("a", 10s, Severity::error, "third"), std::nullopt);
    EXPECT_TRUE(limit.leftovers(10s + 500ms).empty());
    const auto left = limit.leftovers(11s);
    ASSERT_EQ(left.size(), 1U);
    EXPECT_EQ(left[0].severity, Severity::error);
    EXPECT_EQ(left[0].newest, "third");
    EXPECT_EQ(left[0].suppressed, 2U);
    EXPECT_TRUE(limit.leftovers(12s).empty());
}

TEST(Log, TextLinesBearTimeAndSeverity) {
    std::vector<std::string> lines;
    Log log{Severity::info, LogFormat::text, [&](const std::string& line) { lines.push_back(line); }};
    log.warning("x", "feed '{}': {} bytes", "a", 7);
    ASSERT_EQ(lines.size(), 1U);
    EXPECT_THAT(lines[0], MatchesRegex("20..-..-..T..:..:........[0-9]Z warning feed 'a': 7 bytes\n"));
}

TEST(Log, JsonLinesAreEscaped) {
    std::vector<std::string> lines;
    Log log{Severity::info, LogFormat::json, [&](const std::string& line) { lines.push_back(line); }};
    log.info("x", "a \"quote\" and a \n break");
    ASSERT_EQ(lines.size(), 1U);
    EXPECT_THAT(lines[0], HasSubstr(R"("level":"info","message":"a \"quote\" and a \u000a break"})"));
    EXPECT_THAT(lines[0], EndsWith("}\n"));
}

TEST(Log, LessSevereMessagesAreLeftOutAndTakeNoTurn) {
    std::vector<std::string> lines;
    Log log{Severity::warning, LogFormat::text, [&](const std::string& line) { lines.push_back(line); }};
    log.info("x", "quiet");
    log.warning("x", "loud");
    log.warning("x", "suppressed");
    EXPECT_EQ(lines.size(), 1U);
    EXPECT_THAT(lines[0], HasSubstr("loud"));
}

}  // namespace
}  // namespace millpond::service
