#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include <millpond/core/moment.hpp>

namespace millpond::market {

/// Computes the age of a writer's newest heartbeat, whatever becomes of the system's clock. A heartbeat is a UTC time.
/// A new one was written after the previous check, so its age is at most the monotonic time since then; from there on
/// it ages by the monotonic clock. Only the first check depends on UTC alone.
///
/// Threads: one.
class HeartbeatWatch {
public:
    [[nodiscard]] std::int64_t age_ns(std::int64_t heartbeat_utc_ns, core::Moment now) noexcept {
        if (!checked_ || heartbeat_utc_ns != heartbeat_utc_ns_) {
            const auto max_age = checked_ ? now.monotonic_ns - checked_ns_ : std::numeric_limits<std::int64_t>::max();
            given_ns_ = now.monotonic_ns - std::clamp<std::int64_t>(now.utc_ns - heartbeat_utc_ns, 0, max_age);
            heartbeat_utc_ns_ = heartbeat_utc_ns;
        }
        checked_ = true;
        checked_ns_ = now.monotonic_ns;
        return now.monotonic_ns - given_ns_;
    }

private:
    bool checked_{false};
    std::int64_t heartbeat_utc_ns_{0};
    std::int64_t given_ns_{0};    // monotonic time of the newest heartbeat
    std::int64_t checked_ns_{0};  // monotonic time of the previous check
};

}  // namespace millpond::market
