#pragma once

#include <array>
#include <cstdint>
#include <limits>

#include <millpond/metrics/histogram_buckets.hpp>

namespace millpond::metrics {

/// What a LatencyHistogram held at one moment, or the sum of several.
///
/// Threads: a value. Memory: 36 KiB in place; a unique_ptr is a good home.
///
/// Each question reads all buckets: ask once and keep the answer. All answers are 0 while nothing was recorded.
struct HistogramSnapshot {
    std::array<std::uint64_t, kBuckets> counts{};
    std::uint64_t sum{0};  ///< Of the values themselves, in nanoseconds.
    std::uint64_t least{std::numeric_limits<std::uint64_t>::max()};
    std::uint64_t most{0};

    [[nodiscard]] std::uint64_t count() const noexcept;
    [[nodiscard]] double mean() const noexcept;
    [[nodiscard]] double standard_deviation() const noexcept;
    [[nodiscard]] std::uint64_t min() const noexcept;
    [[nodiscard]] std::uint64_t max() const noexcept;

    /// The value that `percent` of all values do not exceed, in nanoseconds. percent: 0 to 100.
    /// Never below the true one, and at most 1/128 above it; 100 returns max().
    [[nodiscard]] std::uint64_t percentile(double percent) const noexcept;

    /// How many values are at most `nanos`, give or take those in the bucket that holds `nanos`.
    [[nodiscard]] std::uint64_t count_up_to(std::uint64_t nanos) const noexcept;

    /// Adds what another histogram counted.
    void merge(const HistogramSnapshot& other) noexcept;

    /// Takes away what an earlier snapshot of the same histogram held, so that an interval remains. min and max are
    /// then exact only to a bucket.
    void subtract(const HistogramSnapshot& earlier) noexcept;
};

}  // namespace millpond::metrics
