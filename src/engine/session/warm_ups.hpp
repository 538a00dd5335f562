#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <utility>

#include <millpond/core/moment.hpp>

#include "src/engine/io/io_loop.hpp"

namespace millpond::engine {

/// Schedules the warm-ups of a session, which load its code and memory into the caches: once per period without
/// traffic.
///
/// Threads: the I/O thread's.
class WarmUps {
public:
    /// every: 0: never.
    explicit WarmUps(std::chrono::nanoseconds every) noexcept : every_ns_(every.count()) {}

    [[nodiscard]] bool wanted() const noexcept { return every_ns_ != 0; }
    [[nodiscard]] bool is_due(core::Moment now) const noexcept { return wanted() && next_ns_ <= now.monotonic_ns; }
    /// Monotonic time of the next warm-up; valid if wanted().
    [[nodiscard]] std::int64_t next_ns() const noexcept { return next_ns_; }

    /// Begins the next period. messages: number of messages sent and received. Returns true if there were none in the
    /// last period.
    [[nodiscard]] bool begin_period(std::uint64_t messages, core::Moment now) noexcept {
        next_ns_ = now.monotonic_ns + every_ns_;
        return std::exchange(messages_seen_, messages) == messages;
    }
    /// Postpones the warm-up because another session was warmed up.
    void try_again_soon(core::Moment now) noexcept {
        next_ns_ = now.monotonic_ns + std::min<std::int64_t>(every_ns_, IoLoop::kWarmUpInterval.count());
    }

private:
    std::int64_t every_ns_;
    std::int64_t next_ns_{0};
    std::uint64_t messages_seen_{0};
};

}  // namespace millpond::engine
