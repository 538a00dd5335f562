#pragma once

#include <linux/sockios.h>
#include <sys/ioctl.h>

#include <cstdint>

namespace millpond::gateway::json_lines {

/// Detects whether a slow peer still reads. A full socket becomes writable only after a large part of its data was
/// sent; the unacknowledged data shrinks with every read of the peer.
///
/// Threads: one.
/// Source:  SIOCOUTQ, tcp(7).
class SendProgress {
public:
    /// Whether the peer has read data since the last call. Valid only if nothing was sent in the meantime.
    [[nodiscard]] bool moved(int socket) noexcept {
        int waiting = 0;
        if (ioctl(socket, SIOCOUTQ, &waiting) != 0) return false;
        const bool shrank = waiting < waiting_;
        waiting_ = waiting;
        return shrank;
    }
    /// Whether `every_ns` has passed since the last check; starts the next interval.
    [[nodiscard]] bool is_due(std::int64_t now_ns, std::int64_t every_ns) noexcept {
        if (now_ns - asked_ns_ < every_ns) return false;
        asked_ns_ = now_ns;
        return true;
    }

private:
    int waiting_{0};
    std::int64_t asked_ns_{0};
};

}  // namespace millpond::gateway::json_lines
