#pragma once

#include <sys/prctl.h>

#include <algorithm>
#include <chrono>
#include <cstdint>

#include <millpond/core/idle.hpp>

/// Waiting times of a sink's thread: for events, and at its end for its receivers.
namespace millpond::gateway {

/// Silence after which sleeps are long, so that an idle gateway uses almost no processor time.
inline constexpr std::int64_t kSilenceNs = 100'000'000;
inline constexpr std::chrono::milliseconds kLongSleep{1};
/// Time limits for passing on waiting events at the end: in total, and without progress.
inline constexpr std::int64_t kLastPatienceNs = 2'000'000'000;
inline constexpr std::int64_t kStandstillNs = 300'000'000;

/// Waiting times of a sink's thread. Nearly every empty poll yields the processor, so that the sink does not delay a
/// receive thread or a client that it has just woken. holds: time for which the sink may delay an event on purpose; it
/// needs no shorter sleeps, and the end of each sleep interrupts a processor.
[[nodiscard]] inline core::IdleLimits idle_limits(core::Poll poll, std::chrono::nanoseconds holds = {}) {
    using std::chrono::microseconds;
    if (poll == core::Poll::block) {
        const auto first = std::clamp<std::chrono::nanoseconds>(holds, microseconds{50}, kLongSleep);
        return {.first_wait = first, .max_wait = kLongSleep};
    }
    return {.spins = 20, .yields = 200, .first_wait = microseconds{20}, .max_wait = microseconds{200}};
}

/// Sets the minimum timer slack for the calling thread: the kernel's default of 50 us would more than double the
/// shortest sleep. A failure only makes sleeps less exact.
inline void ask_for_short_sleeps() noexcept {
    constexpr unsigned long kTimerSlackNs = 1'000;
    static_cast<void>(prctl(PR_SET_TIMERSLACK, kTimerSlackNs));
}

}  // namespace millpond::gateway
