#include "apps/millpond/traffic/clock.hpp"

#include <sys/prctl.h>
#include <time.h>

#include <algorithm>

#include <millpond/core/clock.hpp>

namespace millpond::traffic {
namespace {

/// Usual maximum delay of the kernel in waking a sleeping thread.
constexpr std::int64_t kWakeUp = 100'000;

}  // namespace

MonotonicClock::MonotonicClock(bool spin) noexcept : spin_(spin) {
    prctl(PR_SET_TIMERSLACK, 1);  // otherwise sleeps last 50 us longer than requested
}

std::int64_t MonotonicClock::now() { return core::monotonic_nanos(); }

void MonotonicClock::wait_until(std::int64_t time) {
    const auto start = now();
    const auto until = std::min(time, start + kMaxWait);
    const auto sleep_until = spin_ ? until - kWakeUp : until;
    if (sleep_until > start) {
        const timespec wake{sleep_until / 1'000'000'000, sleep_until % 1'000'000'000};
        if (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &wake, nullptr) != 0) return;
    }
    while (spin_ && now() < until) {
    }
}

}  // namespace millpond::traffic
