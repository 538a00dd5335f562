#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

/// Maps nanoseconds to bucket indices: exact up to 255, then 128 buckets for each doubling, so that a bucket's width is
/// at most 1/128 of its values.
///
///   value   0..255   256..511   512..1023  ...  2^41..2^42-1
///   width   1        2          4               2^34
///   index   0..255   256..383   384..511        4480..4607
///
/// Source: Gil Tene's HdrHistogram, the same log-linear division.
namespace millpond::metrics {

/// Largest value that has a bucket, about 73 minutes. Larger values count in the last bucket.
inline constexpr std::uint64_t kLargestNanos = (std::uint64_t{1} << 42) - 1;

inline constexpr unsigned kBucketBits = 7;
inline constexpr std::size_t kBuckets = 4608;

[[nodiscard]] constexpr std::size_t bucket_of(std::uint64_t nanos) noexcept {
    const auto value = std::min(nanos, kLargestNanos);
    const auto width = static_cast<unsigned>(std::bit_width(value | 1));
    const auto shift = width > kBucketBits + 1 ? width - (kBucketBits + 1) : 0U;
    return (std::size_t{shift} << kBucketBits) + static_cast<std::size_t>(value >> shift);
}

/// The smallest value of a bucket.
[[nodiscard]] constexpr std::uint64_t bucket_low(std::size_t index) noexcept {
    constexpr std::size_t kPerDoubling = std::size_t{1} << kBucketBits;
    if (index < 2 * kPerDoubling) return index;
    const auto shift = index / kPerDoubling - 1;
    return std::uint64_t{index - shift * kPerDoubling} << shift;
}

/// The largest value of a bucket.
[[nodiscard]] constexpr std::uint64_t bucket_high(std::size_t index) noexcept {
    return index + 1 < kBuckets ? bucket_low(index + 1) - 1 : kLargestNanos;
}

}  // namespace millpond::metrics
