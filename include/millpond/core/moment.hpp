#pragma once

#include <cstdint>
#include <limits>

#include <millpond/core/clock.hpp>

namespace millpond::core {

/// Means that an event is not scheduled, as a monotonic time.
inline constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

/// A moment on both clocks.
struct Moment {
    std::int64_t utc_ns{0};        ///< For timestamps and schedules. Jumps when the system clock is set.
    std::int64_t monotonic_ns{0};  ///< For timeouts. Never jumps; only differences are meaningful.

    /// The moment `nanos` later, if the system clock is not set in between.
    [[nodiscard]] constexpr Moment after(std::int64_t nanos) const noexcept {
        return {utc_ns + nanos, monotonic_ns + nanos};
    }
};

/// Reads both clocks for the cost of one. Their difference changes only when the system clock is set, so it is measured
/// once per millisecond, not with every reading.
///
/// Threads: one.
class MomentClock {
public:
    [[nodiscard]] Moment now() noexcept {
        const auto monotonic_ns = monotonic_nanos();
        if (monotonic_ns >= measure_at_ns_) measure(monotonic_ns);
        return {monotonic_ns + utc_offset_ns_, monotonic_ns};
    }

private:
    static constexpr std::int64_t kIntervalNanos = 1'000'000;

    void measure(std::int64_t monotonic_ns) noexcept;

    std::int64_t utc_offset_ns_{0};
    std::int64_t measure_at_ns_{0};
};

inline void MomentClock::measure(std::int64_t monotonic_ns) noexcept {
    constexpr int kAttempts = 4;
    constexpr std::int64_t kPreciseNanos = 1'000;
    // A preemption can separate the readings, so use the closest pair.
    auto fastest = std::numeric_limits<std::int64_t>::max();
    std::int64_t offset = 0;
    for (int attempt = 0; attempt < kAttempts && fastest > kPreciseNanos; ++attempt) {
        const auto before = monotonic_nanos();
        const auto utc = utc_nanos();
        const auto duration = monotonic_nanos() - before;
        if (duration >= fastest) continue;
        fastest = duration;
        offset = utc - before - duration / 2;
    }
    // A difference within the measurement's error is not a step; applying it would move UTC back by nanoseconds.
    const auto change = offset > utc_offset_ns_ ? offset - utc_offset_ns_ : utc_offset_ns_ - offset;
    if (change > fastest + kPreciseNanos) utc_offset_ns_ = offset;
    measure_at_ns_ = monotonic_ns + kIntervalNanos;
}

}  // namespace millpond::core
