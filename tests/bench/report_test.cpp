#include "bench/harness/report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millpond::bench {
namespace {

using testing::HasSubstr;

Result asked() {
    return measure({.question = "What does a hop cost?",
                    .unit = "ns/message",
                    .goals = {{.contender = "slow", .to = "fast", .of = Statistic::p99, .at_most = 1.1}},
                    .measured = "from push to pop"},
                   {{"fast", [] { return Finding{.answer = 1, .latencies = {10, 11, 12}}; }},
                    {"slow", [] { return Finding{.answer = 1, .latencies = {20, 22, 24}}; }}},
                   0.1);
}

TEST(Report, TheTableShowsContendersRatiosAndVerdicts) {
    const auto text = text_table(asked(), Machine{.cpu = "a processor", .commit = "abc"});
    EXPECT_THAT(text, HasSubstr("What does a hop cost?"));
    EXPECT_THAT(text, HasSubstr("a processor"));
    EXPECT_THAT(text, HasSubstr("commit abc"));
    EXPECT_THAT(text, HasSubstr("ratio to fast"));
    EXPECT_THAT(text, HasSubstr("2.000 [2.000..2.000]"));
    EXPECT_THAT(text, HasSubstr("goal p99 of slow <= 1.100 x fast: 2.000 [2.000..2.000], missed"));
}

TEST(Report, TheTableShowsDiscardedSamples) {
    const Bracket bracket{"limit", [calls = 0]() mutable { return ++calls == 5 ? 2.0 : 1.0; }};
    const auto result = measure({.bracket = bracket}, {{"a", [] { return Finding{.value = 3, .answer = 1}; }}});
    EXPECT_THAT(text_table(result, {}), HasSubstr("2 discarded, brackets disagreed"));
}

TEST(Report, TheTableShowsWhetherPartsAddUp) {
    const auto contender = [](const char* name, double value) {
        return Contender{name, [=] { return Finding{.value = value, .answer = 1}; }};
    };
    const auto result = measure({.sum = Parts{.parts = {"a", "b"}, .whole = "whole", .price = "empty"}},
                                {contender("empty", 1), contender("a", 3), contender("b", 4), contender("whole", 6)});
    EXPECT_THAT(text_table(result, {}), HasSubstr("a + b, each less empty, to whole less empty: 1.000 [1.000..1.000]"));
    EXPECT_THAT(json(result, {}),
                HasSubstr(R"("sum":{"text":"a + b, each less empty, to whole less empty","found":{)"));
}

TEST(Report, JsonHoldsEverySampleAndTheDistribution) {
    const auto text = json(asked(), Machine{});
    EXPECT_THAT(text, HasSubstr(R"("samples":[22,22,22,22,22,22,22,22,22])"));
    EXPECT_THAT(text, HasSubstr(R"("latency":{"min":20,"mean":22,"p50":22,"p95":24,)"));
    EXPECT_THAT(text, HasSubstr(R"("verdict":"missed")"));
    EXPECT_THAT(text, HasSubstr(R"("measured":"from push to pop")"));
}

TEST(Report, QuantilesOfFewStepsOfTheClockAreNotResolved) {
    const auto run = [](std::size_t block) {
        return [block] {
            Finding found{.answer = 1, .block = block};
            found.latencies.assign(99, 20.0F);
            found.latencies.push_back(500);
            return found;
        };
    };
    const auto result = measure({.unit = "ns/call",
                                 .goals = {{.contender = "one", .of = Statistic::p50, .at_most = 30},
                                           {.contender = "five", .of = Statistic::p50, .at_most = 30},
                                           {.contender = "five", .to = "one", .of = Statistic::p50, .at_most = 1},
                                           {.contender = "one", .of = Statistic::max, .at_most = 1000},
                                           {.contender = "one", .of = Statistic::mean, .at_most = 30}}},
                                {{"one", run(1)}, {"five", run(5)}}, 10);
    const auto text = text_table(result, {});
    EXPECT_THAT(text, HasSubstr("the clock's step is 10.00 ns; a quantile below 10 of them is not resolved"));
    EXPECT_THAT(text, HasSubstr("means of 5"));
    EXPECT_THAT(text, HasSubstr("goal p50 of one <= 30.00 ns/call: 20.000 [20.000..20.000], not resolved"));
    EXPECT_THAT(text, HasSubstr("goal p50 of five <= 30.00 ns/call: 20.000 [20.000..20.000], met"));
    EXPECT_THAT(text, HasSubstr("goal p50 of five <= 1.000 x one: 1.000 [1.000..1.000], not resolved"));
    EXPECT_THAT(text, HasSubstr("goal max of one <= 1000 ns/call: 500.000 [500.000..500.000], met"));
    EXPECT_THAT(text, HasSubstr("goal mean of one <= 30.00 ns/call: 24.800 [24.800..24.800], met"));
    EXPECT_THAT(json(result, {}), HasSubstr(R"("clock_step":10,)"));
    EXPECT_THAT(json(result, {}), HasSubstr(R"("block":5)"));
}

TEST(Report, FiguresKeepFourSignificantPlaces) {
    EXPECT_EQ(to_text(0.0), "0.000");
    EXPECT_EQ(to_text(0.0012345), "0.001234");
    EXPECT_EQ(to_text(2.5), "2.500");
    EXPECT_EQ(to_text(123.456), "123.5");
    EXPECT_EQ(to_text(123456.7), "123457");
}

}  // namespace
}  // namespace millpond::bench
