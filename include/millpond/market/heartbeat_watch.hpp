#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include <millpond/core/moment.hpp>

namespace millpond::market {

/// How old a writer's newest heartbeat is, whatever becomes of the system's clock. The heartbeat is a UTC time. A new
/// one was given after the watch last looked, so its age is at most the monotonic time since then; from there on it
/// ages by the monotonic clock. Only the first look has nothing but UTC to go by.
///
/// Threads: one.
class HeartbeatWatch {
public:
    [[nodiscard]] std::int64_t age_ns(std::int64_t heartbeat_utc_ns, core::Moment now) noexcept {
        if (!looked_ || heartbeat_utc_ns != heartbeat_utc_ns_) {
            const auto most = looked_ ? now.monotonic_ns - looked_ns_ : std::numeric_limits<std::int64_t>::max();
            given_ns_ = now.monotonic_ns - std::clamp<std::int64_t>(now.utc_ns - heartbeat_utc_ns, 0, most);
            heartbeat_utc_ns_ = heartbeat_utc_ns;
        }
        looked_ = true;
        looked_ns_ = now.monotonic_ns;
        return now.monotonic_ns - given_ns_;
    }

private:
    bool looked_{false};
    std::int64_t heartbeat_utc_ns_{0};
    std::int64_t given_ns_{0};   // monotonic, as the next
    std::int64_t looked_ns_{0};  // when the watch last looked
};

}  // namespace millpond::market
