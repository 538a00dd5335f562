#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <ctime>

#include <sched.h>

namespace millpond::core {

/// Hints to the processor that this is a spin loop: its sibling thread runs faster, and leaving the loop costs nothing.
inline void cpu_relax() noexcept {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("isb" ::: "memory");  // `yield` does nothing on most AArch64 cores.
#endif
}

/// Behaviour of a polling thread while there is no work.
enum class Poll : std::uint8_t {
    spin,      ///< Poll again immediately: needs a dedicated processor.
    block,     ///< Wait immediately.
    adaptive,  ///< Spin, then yield the processor to others, then wait.
};

struct IdleLimits {
    std::uint32_t spins{2'000};  ///< adaptive: consecutive empty polls before it yields.
    std::uint32_t yields{50};    ///< adaptive: further consecutive empty polls before it waits.
    std::chrono::nanoseconds first_wait{std::chrono::microseconds{20}};
    std::chrono::nanoseconds max_wait{std::chrono::milliseconds{1}};  ///< Waits double up to this time.
};

/// Idle strategy of a polling thread: decides when it spins, yields and waits.
///
/// Threads: one object for each polling thread.
/// Memory:  itself; no allocation. Spinning makes no system call.
class Idle {
public:
    enum class Step : std::uint8_t { relax, yield, wait };

    explicit Idle(Poll poll, IdleLimits limits = {}) noexcept
        : poll_(poll), limits_(limits), wait_time_(limits.first_wait) {}

    /// Call after work was found: the next empty poll is the first again.
    void worked() noexcept {
        fruitless_ = 0;
        wait_time_ = limits_.first_wait;
    }

    /// Counts one empty poll and returns what to do.
    [[nodiscard]] Step next() noexcept;

    /// Maximum duration of the wait that `next` returned.
    [[nodiscard]] std::chrono::nanoseconds wait_time() const noexcept { return ordered_wait_; }

    /// Counts one empty poll and spins or yields as configured. Returns true if the caller should block on what it
    /// polls, for example for wait_time().
    [[nodiscard]] bool pause() noexcept;

    /// Like `pause`, but sleeps for wait_time() instead of returning true: for callers with nothing to block on.
    void rest() noexcept;

private:
    Poll poll_;
    IdleLimits limits_;
    std::uint32_t fruitless_{0};
    std::chrono::nanoseconds wait_time_;
    std::chrono::nanoseconds ordered_wait_{0};
};

inline Idle::Step Idle::next() noexcept {
    if (poll_ == Poll::spin) return Step::relax;
    if (poll_ == Poll::adaptive && fruitless_ < limits_.spins + limits_.yields) {
        return fruitless_++ < limits_.spins ? Step::relax : Step::yield;
    }
    ordered_wait_ = wait_time_;
    wait_time_ = std::min(wait_time_ * 2, limits_.max_wait);
    return Step::wait;
}

inline bool Idle::pause() noexcept {
    switch (next()) {
        case Step::relax: cpu_relax(); return false;
        case Step::yield: sched_yield(); return false;
        case Step::wait: break;
    }
    return true;
}

inline void Idle::rest() noexcept {
    if (!pause()) return;
    const auto nanos = ordered_wait_.count();
    const timespec time{static_cast<time_t>(nanos / 1'000'000'000), static_cast<long>(nanos % 1'000'000'000)};
    nanosleep(&time, nullptr);  // A signal may end it early: the caller polls again either way.
}

}  // namespace millpond::core
