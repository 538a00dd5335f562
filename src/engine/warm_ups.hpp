#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <utility>

#include <millpond/core/moment.hpp>
#include <millpond/engine/io_thread.hpp>

namespace millpond::engine {

/// When a session's code and memory are loaded into the caches: once a period in which no message passed, since traffic
/// keeps a session warm.
///
/// Threads: the I/O thread's.
class WarmUps {
public:
    /// every: 0: never.
    explicit WarmUps(std::chrono::nanoseconds every) noexcept : every_ns_(every.count()) {}

    [[nodiscard]] bool wanted() const noexcept { return every_ns_ != 0; }
    [[nodiscard]] bool is_due(core::Moment now) const noexcept { return wanted() && next_ns_ <= now.monotonic_ns; }
    /// Monotonic; while wanted.
    [[nodiscard]] std::int64_t next_ns() const noexcept { return next_ns_; }

    /// Begins the next period. messages: all that the session has sent and received. Whether none passed in the last.
    [[nodiscard]] bool begin_period(std::uint64_t messages, core::Moment now) noexcept {
        next_ns_ = now.monotonic_ns + every_ns_;
        return std::exchange(messages_seen_, messages) == messages;
    }
    /// Another session had the turn.
    void try_again_soon(core::Moment now) noexcept {
        next_ns_ = now.monotonic_ns + std::min<std::int64_t>(every_ns_, IoThread::kLeastWarmUp.count());
    }

private:
    std::int64_t every_ns_;
    std::int64_t next_ns_{0};
    std::uint64_t messages_seen_{0};
};

}  // namespace millpond::engine
