#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <ctime>

#include <sched.h>

namespace millpond::core {

/// Tells the processor that this is a waiting loop: it gives its sister thread room and leaves the loop without a
/// penalty.
inline void cpu_relax() noexcept {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("isb" ::: "memory");  // `yield` does nothing on most AArch64 cores.
#endif
}

/// What a polling thread does while it finds nothing.
enum class Poll : std::uint8_t {
    spin,      ///< Poll again at once, for ever: needs a dedicated processor.
    block,     ///< Wait at once.
    adaptive,  ///< Spin, then offer the processor to others, then wait.
};

struct IdleLimits {
    std::uint32_t spins{2'000};  ///< adaptive: empty polls in a row before it yields.
    std::uint32_t yields{50};    ///< adaptive: empty polls in a row, after those, before it waits.
    std::chrono::nanoseconds first_wait{std::chrono::microseconds{20}};
    std::chrono::nanoseconds longest_wait{std::chrono::milliseconds{1}};  ///< Waits double up to this.
};

/// Decides how long a thread that found nothing spins, yields and waits.
///
/// Threads: one object a polling thread.
/// Memory:  itself; no allocation. Spinning makes no system call.
class Idle {
public:
    enum class Step : std::uint8_t { relax, yield, wait };

    explicit Idle(Poll poll, IdleLimits limits = {}) noexcept
        : poll_(poll), limits_(limits), wait_time_(limits.first_wait) {}

    /// There was work: the next empty poll is the first again.
    void worked() noexcept {
        fruitless_ = 0;
        wait_time_ = limits_.first_wait;
    }

    /// Counts one empty poll and returns what to do.
    [[nodiscard]] Step next() noexcept;

    /// How long the wait that `next` ordered shall last at most.
    [[nodiscard]] std::chrono::nanoseconds wait_time() const noexcept { return ordered_wait_; }

    /// Counts one empty poll; relaxes or yields as configured. True when the caller shall block on what it polls, for
    /// wait_time() or as long as it likes.
    [[nodiscard]] bool pause() noexcept;

    /// As `pause`, for a caller that has nothing to block on: sleeps for wait_time().
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
    wait_time_ = std::min(wait_time_ * 2, limits_.longest_wait);
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
