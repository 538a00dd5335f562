#pragma once

#include <array>
#include <cstdint>
#include <limits>

#include <millpond/metrics/histogram_buckets.hpp>

namespace millpond::metrics {

/// Contents of a LatencyHistogram at one moment, or the sum of several.
///
/// Threads: a value. Memory: 36 KiB in place; better on the heap than on the stack.
///
/// Each query reads all buckets: keep its result. All results are 0 if nothing was recorded.
struct HistogramSnapshot {
    std::array<std::uint64_t, kBuckets> counts{};
    std::uint64_t sum{0};  ///< Sum of the exact values, in nanoseconds.
    std::uint64_t min_value{std::numeric_limits<std::uint64_t>::max()};
    std::uint64_t max_value{0};

    [[nodiscard]] std::uint64_t count() const noexcept;
    [[nodiscard]] double mean() const noexcept;
    [[nodiscard]] double standard_deviation() const noexcept;
    [[nodiscard]] std::uint64_t min() const noexcept;
    [[nodiscard]] std::uint64_t max() const noexcept;

    /// Value in nanoseconds that `percent` of all values do not exceed. percent: 0 to 100.
    /// Never below the true value, and at most 1/128 above it; 100 returns max().
    [[nodiscard]] std::uint64_t percentile(double percent) const noexcept;

    /// Number of values up to `nanos`, accurate to the bucket of `nanos`.
    [[nodiscard]] std::uint64_t count_up_to(std::uint64_t nanos) const noexcept;

    /// Adds the counts of another histogram.
    void merge(const HistogramSnapshot& other) noexcept;

    /// Subtracts an earlier snapshot of the same histogram, which leaves the interval between them. min and max are
    /// then accurate to a bucket.
    void subtract(const HistogramSnapshot& earlier) noexcept;
};

}  // namespace millpond::metrics
