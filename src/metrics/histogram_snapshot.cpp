#include <millpond/metrics/histogram_snapshot.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

namespace millpond::metrics {
namespace {

/// Index of the first bucket at which the cumulated count reaches `wanted`; kBuckets if there are fewer values.
std::size_t bucket_at(const HistogramSnapshot& snapshot, std::uint64_t wanted) noexcept {
    std::uint64_t seen = 0;
    for (std::size_t i = 0; i < kBuckets; ++i) {
        seen += snapshot.counts[i];
        if (seen >= wanted) return i;
    }
    return kBuckets;
}

double middle_of(std::size_t bucket) noexcept {
    return (static_cast<double>(bucket_low(bucket)) + static_cast<double>(bucket_high(bucket))) / 2.0;
}

}  // namespace

std::uint64_t HistogramSnapshot::count() const noexcept {
    return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

double HistogramSnapshot::mean() const noexcept {
    const auto total = count();
    return total == 0 ? 0.0 : static_cast<double>(sum) / static_cast<double>(total);
}

double HistogramSnapshot::standard_deviation() const noexcept {
    const auto total = count();
    if (total == 0) return 0.0;
    const double centre = mean();
    double squares = 0.0;
    for (std::size_t i = 0; i < kBuckets; ++i) {
        if (counts[i] == 0) continue;
        const double distance = middle_of(i) - centre;
        squares += distance * distance * static_cast<double>(counts[i]);
    }
    return std::sqrt(squares / static_cast<double>(total));
}

// A snapshot made while a value was recorded may have its count without its minimum or maximum, and an interval has the
// minimum and maximum of the time before it too: the outermost buckets bound both.
std::uint64_t HistogramSnapshot::min() const noexcept {
    const auto first = bucket_at(*this, 1);
    return first == kBuckets ? 0 : std::clamp(min_value, bucket_low(first), bucket_high(first));
}

std::uint64_t HistogramSnapshot::max() const noexcept {
    const auto last = bucket_at(*this, std::max(count(), std::uint64_t{1}));
    if (last == kBuckets) return 0;
    const auto low = bucket_low(last);
    // The last bucket also counts larger values.
    return last + 1 == kBuckets ? std::max(max_value, low) : std::clamp(max_value, low, bucket_high(last));
}

std::uint64_t HistogramSnapshot::percentile(double percent) const noexcept {
    const auto total = count();
    if (total == 0) return 0;
    const double share = std::clamp(percent, 0.0, 100.0) / 100.0;
    const auto wanted = static_cast<std::uint64_t>(std::ceil(share * static_cast<double>(total)));
    const auto bucket = bucket_at(*this, std::clamp(wanted, std::uint64_t{1}, total));
    const auto largest = max();
    return bucket + 1 == kBuckets ? largest : std::min(bucket_high(bucket), largest);
}

std::uint64_t HistogramSnapshot::count_up_to(std::uint64_t nanos) const noexcept {
    const auto last = static_cast<std::ptrdiff_t>(bucket_of(nanos)) + 1;
    return std::accumulate(counts.begin(), counts.begin() + last, std::uint64_t{0});
}

void HistogramSnapshot::merge(const HistogramSnapshot& other) noexcept {
    for (std::size_t i = 0; i < kBuckets; ++i) counts[i] += other.counts[i];
    sum += other.sum;
    min_value = std::min(min_value, other.min_value);
    max_value = std::max(max_value, other.max_value);
}

void HistogramSnapshot::subtract(const HistogramSnapshot& earlier) noexcept {
    for (std::size_t i = 0; i < kBuckets; ++i) counts[i] -= earlier.counts[i];
    sum -= earlier.sum;
}

}  // namespace millpond::metrics
