#include "tests/support/stepped_clock.hpp"

#include <atomic>
#include <ctime>

#include <dlfcn.h>

namespace {

std::atomic<std::int64_t> step_ns{0};

using ClockGettime = int (*)(clockid_t, timespec*) noexcept;

ClockGettime real_clock() noexcept {
    static const auto found = reinterpret_cast<ClockGettime>(dlsym(RTLD_NEXT, "clock_gettime"));
    return found;
}

}  // namespace

extern "C" int clock_gettime(clockid_t clock, timespec* now) noexcept {
    const auto result = real_clock()(clock, now);
    const auto step = step_ns.load(std::memory_order_relaxed);
    if (result == 0 && step != 0 && clock == CLOCK_REALTIME) {
        const auto nanos = std::int64_t{now->tv_sec} * 1'000'000'000 + now->tv_nsec + step;
        now->tv_sec = nanos / 1'000'000'000;
        now->tv_nsec = nanos % 1'000'000'000;
    }
    return result;
}

namespace millpond::test {

ClockStep::ClockStep(std::int64_t nanos) noexcept { step_ns.store(nanos); }
ClockStep::~ClockStep() { step_ns.store(0); }

}  // namespace millpond::test
