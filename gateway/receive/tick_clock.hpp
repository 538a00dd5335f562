#pragma once

#include <cstdint>

#include <millpond/core/clock.hpp>

namespace millpond::gateway {

/// Converts ticks of the processor's counter to UTC: one cheap reading serves both latencies of an event.
///
/// Threads: one. set() follows the system's clock; between two calls only the counter is read.
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

    /// Converts a number of ticks to nanoseconds; a negative difference, in two's complement, gives a negative span.
    [[nodiscard]] std::int64_t nanos(std::uint64_t ticks) const noexcept {
        return static_cast<std::int64_t>(static_cast<double>(static_cast<std::int64_t>(ticks)) *
                                         rate_.nanos_per_tick());
    }

    /// Ticks at the last call of set().
    [[nodiscard]] std::uint64_t set_at() const noexcept { return set_.ticks; }

private:
    core::TickRate rate_;
    core::ClockReading set_;
};

}  // namespace millpond::gateway
