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

TEST(RateLimit, AdmitsOnePerSecondAndCauseAndCountsTheOthers) {
    RateLimit limit;
    EXPECT_EQ(limit.admit("a", 10s), 0U);
    EXPECT_EQ(limit.admit("a", 10s + 1ms), std::nullopt);
    EXPECT_EQ(limit.admit("b", 10s + 1ms), 0U);
    EXPECT_EQ(limit.admit("a", 10s + 999ms), std::nullopt);
    EXPECT_EQ(limit.admit("a", 11s), 2U);
    EXPECT_EQ(limit.admit("a", 12s), 0U);
}

TEST(RateLimit, ReportsSuppressedLinesOnceWhenNoneFollow) {
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

TEST(RateLimit, AnErrorThatRepeatsIsAdmittedOnceAMinuteAndReportedWhenItEnds) {
    RateLimit limit;
    const auto fails = [&](auto now, std::string_view text) { return limit.admit("disk", now, Severity::error, text); };
    const std::chrono::milliseconds begin{10s};
    EXPECT_EQ(fails(begin, "no space"), 0U);
    std::uint64_t lines = 0;
    for (auto now = begin + 100ms; now <= begin + 60s; now += 100ms) {
        if (const auto suppressed = fails(now, "no space")) {
            ++lines;
            EXPECT_EQ(*suppressed, 599U);
            EXPECT_EQ(now, begin + 60s);
        }
        EXPECT_TRUE(limit.leftovers(now).empty());
    }
    EXPECT_EQ(lines, 1U);
    EXPECT_EQ(fails(begin + 60s + 100ms, "no space"), std::nullopt);
    EXPECT_EQ(limit.leftovers(begin + 62s).size(), 0U);
    const auto left = limit.leftovers(begin + 62s + 100ms);  // silent for two seconds
    ASSERT_EQ(left.size(), 1U);
    EXPECT_EQ(left[0].suppressed, 1U);
    EXPECT_EQ(fails(begin + 63s, "no space"), 0U) << "it fails again";
}

TEST(RateLimit, AnErrorOfARetryEachSecondRepeats) {
    RateLimit limit;
    const std::chrono::milliseconds begin{10s};
    EXPECT_EQ(limit.admit("sync", begin, Severity::error, "cannot sync"), 0U);
    for (auto now = begin + 1'010ms; now < begin + 60s; now += 1'010ms) {
        EXPECT_TRUE(limit.leftovers(now).empty());
        EXPECT_EQ(limit.admit("sync", now, Severity::error, "cannot sync"), std::nullopt);
    }
}

TEST(RateLimit, AnotherErrorOfTheCauseIsAdmittedAfterASecond) {
    RateLimit limit;
    EXPECT_EQ(limit.admit("disk", 10s, Severity::error, "no space"), 0U);
    EXPECT_EQ(limit.admit("disk", 10s + 900ms, Severity::error, "no space"), std::nullopt);
    EXPECT_EQ(limit.admit("disk", 11s + 100ms, Severity::error, "no space"), std::nullopt);
    EXPECT_EQ(limit.admit("disk", 11s + 200ms, Severity::error, "input/output error"), 2U);
    EXPECT_EQ(limit.admit("gap", 10s, Severity::warning, "a gap"), 0U);
    EXPECT_EQ(limit.admit("gap", 10s + 900ms, Severity::warning, "a gap"), std::nullopt);
    EXPECT_EQ(limit.admit("gap", 11s, Severity::warning, "a gap"), 1U);
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

TEST(Log, LessSevereMessagesAreOmittedAndDoNotCountForTheRateLimit) {
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
