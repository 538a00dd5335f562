#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <millpond/metrics/latency_histogram.hpp>

#include "tests/support/free_of_cost.hpp"

namespace millpond::metrics {
namespace {

/// The definition that `percentile` approximates: the smallest value that at least `percent` of the values do not
/// exceed.
std::uint64_t exact_percentile(const std::vector<std::uint64_t>& sorted, double percent) {
    const auto wanted = static_cast<std::size_t>(std::ceil(percent / 100.0 * static_cast<double>(sorted.size())));
    return sorted[std::max<std::size_t>(wanted, 1) - 1];
}

std::unique_ptr<HistogramSnapshot> snapshot_of(const LatencyHistogram& histogram) {
    auto snapshot = std::make_unique<HistogramSnapshot>();
    histogram.read(*snapshot);
    return snapshot;
}

/// Latencies of every magnitude: uniform in their logarithm.
std::vector<std::uint64_t> random_latencies(std::size_t count, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<double> exponent(0.0, 41.9);
    std::vector<std::uint64_t> values(count);
    std::ranges::generate(values, [&] { return static_cast<std::uint64_t>(std::exp2(exponent(random))); });
    return values;
}

TEST(HistogramBuckets, EveryBucketBeginsWhereTheOneBeforeItEnds) {
    EXPECT_EQ(bucket_low(0), 0U);
    for (std::size_t i = 0; i < kBuckets; ++i) {
        ASSERT_EQ(bucket_of(bucket_low(i)), i);
        ASSERT_EQ(bucket_of(bucket_high(i)), i);
        ASSERT_EQ(bucket_of(bucket_high(i) + 1), std::min(i + 1, kBuckets - 1));
    }
    EXPECT_EQ(bucket_high(kBuckets - 1), kLargestNanos);
}

TEST(HistogramBuckets, NoBucketIsWiderThanOnePercentOfItsValues) {
    for (std::size_t i = 1; i < kBuckets; ++i) {
        const auto span = static_cast<double>(bucket_high(i) - bucket_low(i));
        ASSERT_LE(span, 0.01 * static_cast<double>(bucket_low(i))) << "bucket " << i;
    }
}

TEST(LatencyHistogram, AnEmptyOneAnswersZeroToEverything) {
    const LatencyHistogram histogram;
    const auto snapshot = snapshot_of(histogram);
    EXPECT_EQ(snapshot->count(), 0U);
    EXPECT_EQ(snapshot->min(), 0U);
    EXPECT_EQ(snapshot->max(), 0U);
    EXPECT_EQ(snapshot->mean(), 0.0);
    EXPECT_EQ(snapshot->standard_deviation(), 0.0);
    EXPECT_EQ(snapshot->percentile(99.0), 0U);
}

TEST(LatencyHistogram, SmallValuesAreExact) {
    LatencyHistogram histogram;
    for (int value = 1; value <= 100; ++value) histogram.record(value);
    const auto snapshot = snapshot_of(histogram);
    EXPECT_EQ(snapshot->count(), 100U);
    EXPECT_EQ(snapshot->percentile(0), 1U);
    EXPECT_EQ(snapshot->percentile(50), 50U);
    EXPECT_EQ(snapshot->percentile(99), 99U);
    EXPECT_EQ(snapshot->percentile(100), 100U);
    EXPECT_DOUBLE_EQ(snapshot->mean(), 50.5);
    EXPECT_NEAR(snapshot->standard_deviation(), 28.866, 0.001);
    EXPECT_EQ(snapshot->count_up_to(10), 10U);
}

TEST(LatencyHistogram, EveryPercentileIsWithinOnePercentOfTheSortedValuesAndNeverBelow) {
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
        auto values = random_latencies(20'000, seed);
        LatencyHistogram histogram;
        std::uint64_t sum = 0;
        for (const auto value : values) {
            histogram.record(static_cast<std::int64_t>(value));
            sum += value;
        }
        std::ranges::sort(values);
        const auto snapshot = snapshot_of(histogram);
        ASSERT_EQ(snapshot->count(), values.size());
        ASSERT_EQ(snapshot->min(), values.front());
        ASSERT_EQ(snapshot->max(), values.back());
        ASSERT_DOUBLE_EQ(snapshot->mean(), static_cast<double>(sum) / static_cast<double>(values.size()));
        for (double percent = 0.0; percent <= 100.0; percent += 0.05) {
            const auto exact = exact_percentile(values, std::min(percent, 100.0));
            const auto told = snapshot->percentile(percent);
            ASSERT_GE(told, exact) << percent;
            ASSERT_LE(static_cast<double>(told), 1.01 * static_cast<double>(exact)) << percent;
        }
    }
}

TEST(LatencyHistogram, ANegativeSpanCountsAsZeroAndAHugeOneKeepsTheMaximumExact) {
    LatencyHistogram histogram;
    histogram.record(-5);
    constexpr auto kHuge = std::numeric_limits<std::int64_t>::max();
    histogram.record(kHuge);
    const auto snapshot = snapshot_of(histogram);
    EXPECT_EQ(snapshot->count(), 2U);
    EXPECT_EQ(snapshot->min(), 0U);
    EXPECT_EQ(snapshot->max(), static_cast<std::uint64_t>(kHuge));
    EXPECT_EQ(snapshot->percentile(100), static_cast<std::uint64_t>(kHuge));
}

TEST(HistogramSnapshot, MergedOnesAnswerAsOneThatSawEverything) {
    const auto values = random_latencies(5'000, 7);
    LatencyHistogram all;
    LatencyHistogram even;
    LatencyHistogram odd;
    for (std::size_t i = 0; i < values.size(); ++i) {
        all.record(static_cast<std::int64_t>(values[i]));
        (i % 2 == 0 ? even : odd).record(static_cast<std::int64_t>(values[i]));
    }
    const auto merged = snapshot_of(even);
    merged->merge(*snapshot_of(odd));
    const auto whole = snapshot_of(all);
    EXPECT_EQ(merged->counts, whole->counts);
    EXPECT_EQ(merged->sum, whole->sum);
    EXPECT_EQ(merged->min(), whole->min());
    EXPECT_EQ(merged->max(), whole->max());
}

TEST(HistogramSnapshot, SubtractingAnEarlierOneLeavesTheInterval) {
    LatencyHistogram histogram;
    histogram.record(5);
    histogram.record(1'000'000);
    const auto earlier = snapshot_of(histogram);
    for (int i = 0; i < 10; ++i) histogram.record(1'000);
    const auto interval = snapshot_of(histogram);
    interval->subtract(*earlier);
    EXPECT_EQ(interval->count(), 10U);
    EXPECT_DOUBLE_EQ(interval->mean(), 1'000.0);
    EXPECT_NEAR(static_cast<double>(interval->min()), 1'000.0, 10.0);
    EXPECT_NEAR(static_cast<double>(interval->max()), 1'000.0, 10.0);
    EXPECT_NEAR(static_cast<double>(interval->percentile(50)), 1'000.0, 10.0);
}

TEST(LatencyHistogram, SnapshotsTakenWhileItIsWrittenNeverGoBackAndEndExact) {
    constexpr std::uint64_t kValues = 200'000;
    LatencyHistogram histogram;
    std::atomic<bool> done{false};
    std::thread writer([&] {
        for (std::uint64_t i = 0; i < kValues; ++i) histogram.record(static_cast<std::int64_t>(i % 1'000));
        done.store(true, std::memory_order_release);
    });
    const auto snapshot = std::make_unique<HistogramSnapshot>();
    std::uint64_t last = 0;
    while (!done.load(std::memory_order_acquire)) {
        histogram.read(*snapshot);
        ASSERT_GE(snapshot->count(), last);
        ASSERT_LE(snapshot->percentile(50), 1'007U);
        last = snapshot->count();
        std::this_thread::yield();
    }
    writer.join();
    EXPECT_EQ(snapshot_of(histogram)->count(), kValues);
    EXPECT_DOUBLE_EQ(snapshot_of(histogram)->mean(), 499.5);
}

TEST(LatencyHistogram, RecordingAllocatesNothingFaultsNothingAndCallsNoKernel) {
    LatencyHistogram histogram;
    test::expect_free_of_cost_at_once([&] {
        for (std::int64_t nanos = 1; nanos < 1'000'000'000'000; nanos = nanos * 3 / 2 + 1) histogram.record(nanos);
        return true;
    });
}

}  // namespace
}  // namespace millpond::metrics
