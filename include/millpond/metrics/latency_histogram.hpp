#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

#include <millpond/core/tally.hpp>
#include <millpond/metrics/histogram_buckets.hpp>
#include <millpond/metrics/histogram_snapshot.hpp>

namespace millpond::metrics {

/// Latency histogram whose percentiles are accurate to 1 %.
///
/// Threads: record on one thread; snapshot on any, at any time.
/// Memory:  36 KiB in place, touched in the constructor; no allocation afterwards.
/// Source:  HdrHistogram; see histogram_buckets.hpp.
class LatencyHistogram {
public:
    LatencyHistogram() noexcept { min_.set(std::numeric_limits<std::uint64_t>::max()); }
    LatencyHistogram(const LatencyHistogram&) = delete;
    LatencyHistogram& operator=(const LatencyHistogram&) = delete;

    /// Four loads and two stores, rarely four. A negative duration, which two clocks can produce, counts as 0; one
    /// above kLargestNanos counts in the last bucket, and exactly in max.
    void record(std::int64_t nanos) noexcept {
        const auto value = nanos < 0 ? std::uint64_t{0} : static_cast<std::uint64_t>(nanos);
        counts_[bucket_of(value)].add();
        sum_.add(value);
        if (value < min_.read()) min_.set(value);
        if (value > max_.read()) max_.set(value);
    }

    /// Copies the counts to `snapshot`. A value recorded at the same time may be missing.
    void read(HistogramSnapshot& snapshot) const noexcept {
        for (std::size_t i = 0; i < kBuckets; ++i) snapshot.counts[i] = counts_[i].read();
        snapshot.sum = sum_.read();
        snapshot.min_value = min_.read();
        snapshot.max_value = max_.read();
    }

private:
    std::array<core::Tally, kBuckets> counts_{};
    core::Tally sum_;
    core::Tally min_;
    core::Tally max_;
};

}  // namespace millpond::metrics
