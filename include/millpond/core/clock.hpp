#pragma once

#include <cstdint>
#include <ctime>
#include <limits>

namespace millpond::core {

/// Nanoseconds since 1970-01-01T00:00:00 UTC, from the system clock. Makes no system call if the kernel maps its clock
/// page.
[[nodiscard]] inline std::int64_t utc_nanos() noexcept {
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

/// Nanoseconds of the monotonic clock. Only differences are meaningful.
[[nodiscard]] inline std::int64_t monotonic_nanos() noexcept {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

/// Reads the processor's counter: TSC on x86-64, the virtual timer on AArch64. The cheapest timestamp; TickRate
/// converts it to nanoseconds. Not ordered with the surrounding instructions.
[[nodiscard]] inline std::uint64_t ticks() noexcept {
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();  // <x86intrin.h> would cost each file half a second of compile time
#elif defined(__aarch64__)
    std::uint64_t value;
    asm volatile("mrs %0, cntvct_el0" : "=r"(value));
    return value;
#else
    return static_cast<std::uint64_t>(monotonic_nanos());
#endif
}

/// A clock and the processor's counter, read at the same moment.
struct ClockReading {
    std::uint64_t ticks{0};
    std::int64_t nanos{0};
};

/// Reads `clock` and the counter a few times and returns the fastest pair, so that a preemption between the two
/// readings does not separate them.
template <class Clock>
[[nodiscard]] ClockReading read_with_ticks(Clock&& clock) noexcept {
    constexpr int kAttempts = 4;
    ClockReading best;
    auto fastest = std::numeric_limits<std::uint64_t>::max();
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
        const auto before = ticks();
        const auto nanos = clock();
        const auto duration = ticks() - before;
        if (duration >= fastest) continue;
        fastest = duration;
        best = {before + duration / 2, nanos};
    }
    return best;
}

/// Duration of a tick in nanoseconds, measured against the monotonic clock.
///
/// Threads: a value; each thread has its own, and calls recalibrate as often as it needs.
class TickRate {
public:
    /// Measures for about two milliseconds.
    TickRate() noexcept;

    /// Measures again, over the time since construction: the longer it is, the more precise the rate. Cheap; one call
    /// per second follows the drift of a virtual machine's counter.
    void recalibrate() noexcept;

    [[nodiscard]] double nanos_per_tick() const noexcept { return nanos_per_tick_; }

    /// Converts ticks to nanoseconds.
    [[nodiscard]] std::int64_t nanos(std::uint64_t tick_count) const noexcept {
        return static_cast<std::int64_t>(static_cast<double>(tick_count) * nanos_per_tick_);
    }

private:
    ClockReading start_;
    double nanos_per_tick_{1.0};
};

inline TickRate::TickRate() noexcept : start_(read_with_ticks(monotonic_nanos)) {
    constexpr std::int64_t kSpanNanos = 2'000'000;
    while (monotonic_nanos() - start_.nanos < kSpanNanos) {
    }
    recalibrate();
}

inline void TickRate::recalibrate() noexcept {
    const auto now = read_with_ticks(monotonic_nanos);
    const auto counted = now.ticks - start_.ticks;
    if (counted != 0) nanos_per_tick_ = static_cast<double>(now.nanos - start_.nanos) / static_cast<double>(counted);
}

}  // namespace millpond::core
