#pragma once

#include <sys/prctl.h>

#include <algorithm>
#include <chrono>
#include <cstdint>

#include <millpond/core/idle.hpp>

/// How long a sink's thread waits: for events, and at its end for its consumers.
namespace millpond::gateway {

/// After this much silence sleeps are long, so that an idle gateway costs almost nothing.
inline constexpr std::int64_t kSilenceNs = 100'000'000;
inline constexpr std::chrono::milliseconds kLongSleep{1};
/// At its end a sink passes on waiting events for at most this long, and this long without progress.
inline constexpr std::int64_t kLastPatienceNs = 2'000'000'000;
inline constexpr std::int64_t kStandstillNs = 300'000'000;

/// Nearly every empty poll yields the processor: a sink must not keep a receive thread, or a client that it just
/// woke, from running. holds: for how long the sink may hold an event on purpose; it needs no
/// shorter sleeps then, and each sleep's end interrupts a processor.
[[nodiscard]] inline core::IdleLimits idle_limits(core::Poll poll, std::chrono::nanoseconds holds = {}) {
    using std::chrono::microseconds;
    if (poll == core::Poll::block) {
        const auto first = std::clamp<std::chrono::nanoseconds>(holds, microseconds{50}, kLongSleep);
        return {.first_wait = first, .longest_wait = kLongSleep};
    }
    return {.spins = 20, .yields = 200, .first_wait = microseconds{20}, .longest_wait = microseconds{200}};
}

/// For the calling thread. The kernel's default of 50 us that it may add to a sleep would more than double the shortest
/// one. Only sleeps that are not exact ask for slack, so a refusal costs accuracy and nothing else.
inline void ask_for_short_sleeps() noexcept {
    constexpr unsigned long kTimerSlackNs = 1'000;
    static_cast<void>(prctl(PR_SET_TIMERSLACK, kTimerSlackNs));
}

}  // namespace millpond::gateway
