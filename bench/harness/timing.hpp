#pragma once

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <initializer_list>
#include <stdexcept>
#include <utility>
#include <vector>

#include <sched.h>
#include <sys/types.h>
#include <unistd.h>

#include <millpond/core/clock.hpp>
#include <millpond/core/idle.hpp>
#include <millpond/core/pinning.hpp>

#include "bench/harness/statistics.hpp"

namespace millpond::bench {

/// Nanoseconds per operation of `work`, which does `count` operations in one call.
template <class Work>
[[nodiscard]] double nanos_each(std::size_t count, Work&& work) {
    const auto start = core::monotonic_nanos();
    std::forward<Work>(work)();
    return static_cast<double>(core::monotonic_nanos() - start) / static_cast<double>(count);
}

/// Processor time of the calling thread so far.
[[nodiscard]] inline std::int64_t own_nanos() {
    timespec time{};
    if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time) != 0) throw std::runtime_error("no clock of the thread's time");
    return time.tv_sec * std::int64_t{1'000'000'000} + time.tv_nsec;
}

/// Like nanos_each, in processor time of the calling thread, so that other load of the machine does not count.
template <class Work>
[[nodiscard]] double own_nanos_each(std::size_t count, Work&& work) {
    const auto start = own_nanos();
    std::forward<Work>(work)();
    return static_cast<double>(own_nanos() - start) / static_cast<double>(count);
}

/// The median of nanos_each over `passes` calls of `work`, which is robust against passes in which the thread was
/// preempted.
template <class Work>
[[nodiscard]] double typical_nanos_each(std::size_t passes, std::size_t count, Work&& work) {
    std::vector<double> nanos(passes);
    for (auto& pass : nanos) pass = nanos_each(count, work);
    return median(std::move(nanos));
}

/// Like the function above, with own_nanos_each. Reading that clock is a system call: a pass should take at least 20
/// microseconds.
template <class Work>
[[nodiscard]] double typical_own_nanos_each(std::size_t passes, std::size_t count, Work&& work) {
    std::vector<double> nanos(passes);
    for (auto& pass : nanos) pass = own_nanos_each(count, work);
    return median(std::move(nanos));
}

/// Calls work(i) for i below count, and adds the mean nanoseconds of each `block` calls in a row to `latencies`. The
/// last ones, fewer than a block, are not timed.
template <class Work>
void time_blocks(std::vector<float>& latencies, std::size_t block, std::size_t count, Work&& work) {
    static const core::TickRate kRate;
    std::size_t i = 0;
    while (count - i >= block) {
        const auto end = i + block;
        const auto start = core::ticks();
        while (i < end) work(i++);
        const auto ticks = static_cast<double>(core::ticks() - start);
        latencies.push_back(static_cast<float>(ticks * kRate.nanos_per_tick() / static_cast<double>(block)));
    }
    while (i < count) work(i++);
}

/// Two processors for a bench whose two sides run at the same time.
struct TwoCores {
    int first;
    int second;
};

/// Throws std::runtime_error if the program may run on only one processor.
[[nodiscard]] inline TwoCores two_cores() {
    static const auto kAllowed = core::allowed_cpus();  // before any thread was pinned
    if (kAllowed.size() < 2) throw std::runtime_error("this bench needs two processors");
    return {kAllowed[0], kAllowed[1]};
}

/// Binds a thread, 0 for the calling one, to processors, whatever its former binding.
inline void run_on(std::initializer_list<int> cores, pid_t thread = 0) {
    cpu_set_t set;
    CPU_ZERO(&set);
    for (const auto core : cores) CPU_SET(static_cast<std::size_t>(core), &set);
    if (sched_setaffinity(thread, sizeof set, &set) != 0) throw std::runtime_error("cannot bind a thread");
}
inline void run_on(int core) { run_on({core}); }

inline constexpr std::int64_t kPatienceNanos = 10'000'000'000;

/// Spins until `ready()` returns true, and yields its processor regularly, so that a partner on the same one can run.
/// Throws std::runtime_error after ten seconds: the awaited message was lost.
template <class Ready>
void spin_until(Ready&& ready) {
    constexpr std::uint32_t kSpins = 20'000;
    std::int64_t start = 0;
    for (std::uint32_t spins = 0; !ready();) {
        core::cpu_relax();
        if (++spins % kSpins != 0) continue;
        sched_yield();
        const auto now = core::monotonic_nanos();
        if (start == 0) start = now;
        if (now - start > kPatienceNanos) throw std::runtime_error("waited ten seconds for something that was lost");
    }
}

/// Calls `ready()` every ten milliseconds until it returns true, for effects of other processes. Throws
/// std::runtime_error after ten seconds and a last call.
template <class Ready>
void wait_until(Ready&& ready) {
    for (const auto end = core::monotonic_nanos() + kPatienceNanos; !ready(); ::usleep(10'000)) {
        if (core::monotonic_nanos() > end) throw std::runtime_error("waited ten seconds for another process");
    }
}

}  // namespace millpond::bench
