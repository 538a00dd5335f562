#pragma once

#include <linux/sockios.h>
#include <sys/ioctl.h>

#include <cstdint>

namespace millpond::gateway::json_lines {

/// Whether a peer takes what the kernel holds for it. A full socket says that it has room only after a large part of it
/// has gone out; unacknowledged data shrinks with every read of a slow reader.
///
/// Threads: one.
/// Source:  SIOCOUTQ, tcp(7).
class TakenWatch {
public:
    /// To be asked while nothing is sent: whether the peer has taken something since the last call.
    [[nodiscard]] bool moved(int socket) noexcept {
        int waiting = 0;
        if (ioctl(socket, SIOCOUTQ, &waiting) != 0) return false;
        const bool shrank = waiting < waiting_;
        waiting_ = waiting;
        return shrank;
    }
    /// Whether it is time to ask, `every` after the last time.
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
