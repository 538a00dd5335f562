#pragma once

#include <cstdint>
#include <limits>

#include <millpond/core/clock.hpp>

namespace millpond::gateway {

/// UTC from the processor's counter: one cheap stamp serves both latencies of an event.
///
/// Threads: one. set() now and then follows the system's clock; between two calls the counter alone tells.
class TickClock {
public:
    TickClock() noexcept { set(); }

    /// Measures the rate again and takes the system's time anew: `utc_nanos` is asked a few times, and the answer
    /// counts that came fastest, so that a thread which is preempted in the middle does not set its clock wrong.
    template <class UtcNanos = std::int64_t (*)() noexcept>
    void set(UtcNanos&& utc_nanos = core::utc_nanos) noexcept {
        constexpr int kAttempts = 4;
        rate_.recalibrate();
        auto fastest = std::numeric_limits<std::uint64_t>::max();
        for (int attempt = 0; attempt < kAttempts; ++attempt) {
            const auto before = core::ticks();
            const auto utc_ns = utc_nanos();
            const auto took = core::ticks() - before;
            if (took >= fastest) continue;
            fastest = took;
            utc_ns_ = utc_ns;
            ticks_ = before + took / 2;
        }
    }

    [[nodiscard]] std::int64_t utc_nanos(std::uint64_t ticks) const noexcept { return utc_ns_ + nanos(ticks - ticks_); }

    /// Nanoseconds that `ticks` last; a difference below zero, as two's complement, gives a negative span.
    [[nodiscard]] std::int64_t nanos(std::uint64_t ticks) const noexcept {
        return static_cast<std::int64_t>(static_cast<double>(static_cast<std::int64_t>(ticks)) *
                                         rate_.nanos_per_tick());
    }

    /// When set() was called last.
    [[nodiscard]] std::uint64_t set_at() const noexcept { return ticks_; }

private:
    core::TickRate rate_;
    std::int64_t utc_ns_{0};
    std::uint64_t ticks_{0};
};

}  // namespace millpond::gateway
