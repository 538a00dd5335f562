#include "bench/harness/measure.hpp"

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millpond::bench {
namespace {

using testing::HasSubstr;

Contender constant(std::string name, double value, std::uint64_t answer = 7) {
    return {std::move(name), [=] { return Finding{.value = value, .answer = answer}; }};
}

std::string refusal(const Question& question, const std::vector<Contender>& contenders) {
    try {
        (void)measure(question, contenders);
    } catch (const Refused& refused) {
        return refused.what();
    }
    return "not refused";
}

TEST(Measure, EveryRoundRunsEveryContenderOnceAndARoundBeforeWarmsUp) {
    std::vector<int> log;
    const auto logged = [&](int who) {
        return [&log, who] {
            log.push_back(who);
            return Finding{.value = 1, .answer = 7};
        };
    };
    const auto result = measure({.runs = 12}, {{"a", logged(0)}, {"b", logged(1)}, {"c", logged(2)}});
    ASSERT_EQ(log.size(), 39U);
    for (std::size_t round = 0; round < log.size(); round += 3) {
        EXPECT_THAT((std::vector{log[round], log[round + 1], log[round + 2]}), testing::UnorderedElementsAre(0, 1, 2));
    }
    for (const auto& outcome : result.outcomes) EXPECT_EQ(outcome.samples.size(), 12U);
}

Contender placed(std::string name, double at, std::uint64_t answer) {
    auto contender = constant(std::move(name), 1, answer);
    contender.point = Point{.line = "line", .at = at};
    return contender;
}

TEST(Measure, OnACurveAnswersAgreeAtEachPlaceAndMayDifferBetweenPlaces) {
    const Question question{.curve = Curve{.axis = "readers"}};
    const auto result =
        measure(question, {placed("a, 1", 1, 7), placed("a, 2", 2, 14), placed("b, 1", 1, 7), placed("b, 2", 2, 14)});
    ASSERT_EQ(result.outcomes.size(), 4U);
    ASSERT_TRUE(result.outcomes[1].point);
    EXPECT_EQ(result.outcomes[1].point->line, "line");
    EXPECT_DOUBLE_EQ(result.outcomes[1].point->at, 2);
    EXPECT_THAT(refusal(question, {placed("a, 2", 2, 14), placed("b, 2", 2, 13)}), HasSubstr("answered"));
}

TEST(Measure, ACurveWithoutPlacesAndPlacesWithoutACurveAreRefused) {
    const Question curve{.curve = Curve{.axis = "readers"}};
    EXPECT_THAT(refusal(curve, {constant("a", 1)}), HasSubstr("a lacks a place"));
    EXPECT_THAT(refusal({}, {placed("a", 1, 7)}), HasSubstr("a has a place"));
    EXPECT_THAT(refusal(curve, {placed("a", 0, 7)}), HasSubstr("a is at 0"));
}

TEST(Measure, TheOrderChangesFromRoundToRoundAndIsTheSameInEveryRun) {
    const auto order = [] {
        std::string log;
        const auto logged = [&log](char who) {
            return [&log, who] {
                log += who;
                return Finding{.value = 1, .answer = 7};
            };
        };
        (void)measure({.runs = 9}, {{"a", logged('a')}, {"b", logged('b')}});
        return log.substr(2);
    };
    const auto first = order();
    EXPECT_THAT(first, HasSubstr("abba"));
    EXPECT_EQ(first, order());
}

TEST(Measure, RatiosAreComputedRoundByRoundSoThatADriftOfTheMachineCancels) {
    double drift = 1;
    const auto a = [&] { return Finding{.value = drift, .answer = 7}; };
    const auto b = [&] { return Finding{.value = 2 * drift, .answer = 7}; };
    const auto drifting = [&](auto run) {
        return [&drift, run, calls = 0]() mutable {
            drift = 1 + ++calls;  // both contenders have the same drift in a round
            return run();
        };
    };
    const auto result = measure({.runs = 9}, {{"a", drifting(a)}, {"b", drifting(b)}});
    EXPECT_GT(result.outcomes[0].max, result.outcomes[0].min);
    ASSERT_TRUE(result.outcomes[1].ratio.has_value());
    EXPECT_EQ(result.outcomes[1].ratio->low, 2);
    EXPECT_EQ(result.outcomes[1].ratio->high, 2);
    EXPECT_FALSE(result.outcomes[0].ratio.has_value());
}

TEST(Measure, AWrongAnswerIsRefused) {
    EXPECT_EQ(refusal({.expected = 7}, {constant("right", 1, 7), constant("wrong", 1, 8)}),
              "wrong answered 8, expected 7");
}

TEST(Measure, AnAnswerThatTurnsWrongInALaterRoundIsRefused) {
    const Contender turning{"turning",
                            [calls = 0]() mutable { return Finding{.value = 1, .answer = ++calls < 5 ? 7U : 8U}; }};
    EXPECT_EQ(refusal({.expected = 7}, {turning}), "turning answered 8, expected 7");
}

TEST(Measure, ContendersThatDisagreeAreRefused) {
    EXPECT_EQ(refusal({}, {constant("a", 1, 7), constant("b", 1, 8)}), "b answered 8, expected 7");
}

TEST(Measure, AContenderWithoutAnAnswerIsRefused) {
    EXPECT_EQ(refusal({}, {constant("idle", 1, 0)}), "idle gave no answer");
}

TEST(Measure, AFigureThatIsNoneIsRefused) {
    EXPECT_THAT(refusal({}, {constant("a", 0)}), HasSubstr("a measured 0"));
    EXPECT_THAT(refusal({}, {constant("a", -1)}), HasSubstr("a measured -1"));
    EXPECT_THAT(refusal({}, {constant("a", std::numeric_limits<double>::infinity())}), HasSubstr("a measured inf"));
}

TEST(Measure, AQuestionThatIsNotWellPutIsRefused) {
    EXPECT_THAT(refusal({.runs = 8}, {constant("a", 1)}), HasSubstr("8 runs are too few"));
    EXPECT_EQ(refusal({}, {}), "no contender");
    EXPECT_EQ(refusal({}, {constant("a", 1), constant("a", 1)}), "two contenders named a");
    EXPECT_THAT(refusal({.ratio_to = "x"}, {constant("a", 1)}), HasSubstr("x, who does not run"));
    EXPECT_THAT(refusal({.goals = {{.contender = "x", .at_most = 1}}}, {constant("a", 1)}), HasSubstr("goal for x"));
    EXPECT_THAT(refusal({.goals = {{.contender = "a", .to = "x", .at_most = 1}}}, {constant("a", 1)}),
                HasSubstr("goal against x"));
    EXPECT_THAT(refusal({.goals = {{.contender = "a"}}}, {constant("a", 1)}), HasSubstr("exactly one"));
    EXPECT_THAT(refusal({.bracket = Bracket{"a", [] { return 1.0; }}}, {constant("a", 1)}),
                HasSubstr("bracket's name"));
}

TEST(Measure, GoalsAreJudgedAgainstAContenderOrAFigure) {
    const auto result = measure({.goals = {{.contender = "b", .to = "a", .at_most = 2.0},
                                           {.contender = "b", .to = "a", .at_most = 1.9},
                                           {.contender = "b", .to = "a", .at_least = 2.1},
                                           {.contender = "b", .at_most = 20}}},
                                {constant("a", 10), constant("b", 20)});
    ASSERT_EQ(result.goals.size(), 4U);
    EXPECT_EQ(result.goals[0].verdict, Verdict::met);
    EXPECT_EQ(result.goals[1].verdict, Verdict::missed);
    EXPECT_EQ(result.goals[2].verdict, Verdict::missed);
    EXPECT_EQ(result.goals[3].verdict, Verdict::met);
}

TEST(Measure, AGoalMaySpeakOfAPercentile) {
    const auto with_tail = [](float tail) {
        std::vector<float> latencies(1000, 100.0F);
        for (std::size_t i = 0; i < 20; ++i) latencies[i] = tail;
        return Finding{.answer = 7, .latencies = latencies};
    };
    const auto result = measure({.goals = {{.contender = "b", .to = "a", .of = Statistic::p50, .at_most = 1.03},
                                           {.contender = "b", .to = "a", .of = Statistic::p99, .at_most = 1.10}}},
                                {{"a", [&] { return with_tail(200); }}, {"b", [&] { return with_tail(300); }}});
    EXPECT_EQ(result.goals[0].verdict, Verdict::met);
    EXPECT_EQ(result.goals[1].verdict, Verdict::missed);
    EXPECT_EQ(result.goals[1].found->median, 1.5);
}

TEST(Measure, PartsAreAddedUpLessThePriceOfMeasuringThem) {
    const auto result = measure({.sum = Parts{.parts = {"a", "b"}, .whole = "whole", .price = "empty"}},
                                {constant("empty", 10), constant("a", 40), constant("b", 50), constant("whole", 90)});
    ASSERT_TRUE(result.sum.has_value());
    EXPECT_EQ(result.sum->median, 70.0 / 80.0);
    EXPECT_THAT(refusal({.sum = Parts{.parts = {"x"}, .whole = "a", .price = "a"}}, {constant("a", 1)}),
                HasSubstr("a sum with x"));
}

TEST(Measure, TheValueOfLatenciesIsTheirMedian) {
    const auto result = measure({}, {{"a", [] { return Finding{.answer = 7, .latencies = {1, 2, 90}}; }}});
    EXPECT_EQ(result.outcomes[0].value->median, 2);
    ASSERT_TRUE(result.outcomes[0].latency.has_value());
    EXPECT_EQ(result.outcomes[0].latency->max, 90);
    EXPECT_EQ(result.outcomes[0].quantiles.size(), plotted_probabilities().size());
}

TEST(Measure, WithABracketRatiosAreToTheLimitAroundTheSample) {
    const auto result =
        measure({.bracket = Bracket{"limit", [] { return 4.0; }}}, {constant("a", 10), constant("b", 20)});
    EXPECT_EQ(result.ratio_to, "limit");
    EXPECT_EQ(result.outcomes[0].ratio->median, 2.5);
    EXPECT_EQ(result.outcomes[1].ratio->median, 5);
}

TEST(Measure, ASampleWhoseBracketsDisagreeIsDiscardedAndRepeated) {
    // The limit is disturbed once: the samples before and after that measurement are discarded and repeated.
    const Bracket bracket{"limit", [calls = 0]() mutable { return ++calls == 5 ? 2.0 : 1.0; }};
    const auto result = measure({.bracket = bracket}, {constant("a", 3)});
    EXPECT_EQ(result.outcomes[0].discarded, 2U);
    EXPECT_EQ(result.outcomes[0].samples.size(), 9U);
    EXPECT_EQ(result.rounds, 11U);
    EXPECT_EQ(result.outcomes[0].ratio->high, 3);
}

TEST(Measure, AMachineThatNeverHoldsStillResolvesNothing) {
    const Bracket bracket{"limit", [calls = 0]() mutable { return ++calls % 2 == 0 ? 2.0 : 1.0; }};
    const auto result =
        measure({.goals = {{.contender = "a", .to = "limit", .at_most = 100}}, .bracket = bracket}, {constant("a", 3)});
    EXPECT_EQ(result.outcomes[0].discarded, 27U);
    EXPECT_TRUE(result.outcomes[0].samples.empty());
    EXPECT_EQ(result.goals[0].verdict, Verdict::not_resolved);
}

}  // namespace
}  // namespace millpond::bench
