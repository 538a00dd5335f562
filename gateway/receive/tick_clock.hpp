#pragma once

#include <cstdint>

#include <millpond/core/clock.hpp>

namespace millpond::gateway {

/// UTC from the processor's counter: one cheap stamp serves both latencies of an event.
///
/// Threads: one. set() now and then follows the system's clock; between two calls only the counter is used.
class TickClock {
public:
    TickClock() noexcept { set(); }

    /// Measures the rate again and reads the system's time again.
    template <class UtcNanos = std::int64_t (*)() noexcept>
    void set(UtcNanos&& utc_nanos = core::utc_nanos) noexcept {
        rate_.recalibrate();
        set_ = core::read_with_ticks(utc_nanos);
    }

    [[nodiscard]] std::int64_t utc_nanos(std::uint64_t ticks) const noexcept {
        return set_.nanos + nanos(ticks - set_.ticks);
    }

    /// Nanoseconds that `ticks` last; a difference below zero, as two's complement, gives a negative span.
    [[nodiscard]] std::int64_t nanos(std::uint64_t ticks) const noexcept {
        return static_cast<std::int64_t>(static_cast<double>(static_cast<std::int64_t>(ticks)) *
                                         rate_.nanos_per_tick());
    }

    /// When set() was called last.
    [[nodiscard]] std::uint64_t set_at() const noexcept { return set_.ticks; }

private:
    core::TickRate rate_;
    core::ClockReading set_;
};

}  // namespace millpond::gateway
