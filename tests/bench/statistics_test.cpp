#include "bench/harness/statistics.hpp"

#include <algorithm>
#include <random>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace millpond::bench {
namespace {

TEST(Statistics, TheMedianOfAnEvenCountIsTheMeanOfTheMiddleTwo) {
    EXPECT_EQ(median({4, 1, 3, 2}), 2.5);
    EXPECT_EQ(median({5, 1, 3}), 3);
}

TEST(Statistics, FiveValuesHaveNoIntervalOf95Percent) {
    EXPECT_FALSE(estimate({1, 2, 3, 4, 5}).has_value());
    EXPECT_TRUE(estimate({1, 2, 3, 4, 5, 6}).has_value());
}

// The ranks are from published tables of the sign test: n = 9 -> 2nd and 8th, n = 15 -> 4th and 12th, n = 20 -> 6th and
// 15th, n = 25 -> 8th and 18th.
TEST(Statistics, TheIntervalEndsAtThePublishedRanks) {
    const auto ranks = [](std::size_t n) {
        std::vector<double> values;
        for (std::size_t i = n; i > 0; --i) values.push_back(static_cast<double>(i));
        const auto found = estimate(values);
        return std::pair{found->low, found->high};
    };
    EXPECT_EQ(ranks(6), (std::pair{1.0, 6.0}));
    EXPECT_EQ(ranks(9), (std::pair{2.0, 8.0}));
    EXPECT_EQ(ranks(15), (std::pair{4.0, 12.0}));
    EXPECT_EQ(ranks(20), (std::pair{6.0, 15.0}));
    EXPECT_EQ(ranks(25), (std::pair{8.0, 18.0}));
}

TEST(Statistics, TheIntervalHoldsTheTrueMedianAtLeast95TimesIn100) {
    std::mt19937_64 random(7);
    std::lognormal_distribution<double> skewed(0.0, 1.0);  // its median is 1
    constexpr int kTrials = 20'000;
    int held = 0;
    for (int trial = 0; trial < kTrials; ++trial) {
        std::vector<double> values(9);
        for (auto& value : values) value = skewed(random);
        const auto found = estimate(values);
        if (found->low <= 1.0 && 1.0 <= found->high) ++held;
    }
    EXPECT_GE(held, kTrials * 95 / 100);
}

TEST(Statistics, AGoalIsMetOnlyWhenTheWholeIntervalIsWithinIt) {
    const Estimate found{.median = 1.0, .low = 0.9, .high = 1.1, .count = 9};
    EXPECT_EQ(judge_at_most(found, 1.1), Verdict::met);
    EXPECT_EQ(judge_at_most(found, 1.05), Verdict::not_resolved);
    EXPECT_EQ(judge_at_most(found, 0.9), Verdict::not_resolved);
    EXPECT_EQ(judge_at_most(found, 0.89), Verdict::missed);
    EXPECT_EQ(judge_at_least(found, 0.9), Verdict::met);
    EXPECT_EQ(judge_at_least(found, 1.0), Verdict::not_resolved);
    EXPECT_EQ(judge_at_least(found, 1.11), Verdict::missed);
}

TEST(Statistics, AGoalWithoutAnIntervalIsNotResolved) {
    EXPECT_EQ(judge_at_most(std::nullopt, 1e9), Verdict::not_resolved);
    EXPECT_EQ(judge_at_least(std::nullopt, 0), Verdict::not_resolved);
}

TEST(Statistics, AQuantileIsTheSmallestSampleThatSoManyDoNotExceed) {
    const std::vector<float> sorted{1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
    EXPECT_EQ(quantile(sorted, 0.0), 1);
    EXPECT_EQ(quantile(sorted, 0.5), 5);
    EXPECT_EQ(quantile(sorted, 0.51), 6);
    EXPECT_EQ(quantile(sorted, 0.99), 10);
    EXPECT_EQ(quantile(sorted, 1.0), 10);
}

TEST(Statistics, ASummaryHoldsTheRanksOfAThousandSamples) {
    std::vector<float> samples;
    for (int i = 1000; i > 0; --i) samples.push_back(static_cast<float>(i));
    const auto found = summarise(samples);
    EXPECT_EQ(found.p50, 500);
    EXPECT_EQ(found.p95, 950);
    EXPECT_EQ(found.p99, 990);
    EXPECT_EQ(found.p999, 999);
    EXPECT_EQ(found.max, 1000);
    EXPECT_EQ(found.mean, 500.5);
    EXPECT_EQ(found.count, 1000U);
}

TEST(Statistics, PlottedQuantilesRiseFromTheSmallestToTheGreatestSample) {
    std::vector<float> sorted;
    for (int i = 0; i < 5000; ++i) sorted.push_back(static_cast<float>(i));
    const auto values = plotted_quantiles(sorted);
    ASSERT_EQ(values.size(), plotted_probabilities().size());
    EXPECT_EQ(values.front(), 0);
    EXPECT_EQ(values.back(), 4999);
    EXPECT_TRUE(std::ranges::is_sorted(values));
}

}  // namespace
}  // namespace millpond::bench
