#pragma once

#include <sys/epoll.h>

#include <chrono>
#include <cstdint>

#include "src/engine/io/io_loop.hpp"

namespace millpond::engine {

/// Pauses accepting after a failed accept. Most likely there are no descriptors, and the listening socket stays
/// readable: not watching it for a while keeps the I/O thread from spinning.
///
/// Threads: the I/O thread's.
class AcceptPause {
public:
    void begin(IoLoop& loop, int socket, Watcher& watcher, core::Moment now) noexcept {
        loop.change(socket, 0, watcher);
        until_ns_ = now.monotonic_ns + std::chrono::nanoseconds{kLength}.count();
    }
    /// Resumes watching the socket when the pause is over.
    void run(IoLoop& loop, int socket, Watcher& watcher, core::Moment now) noexcept {
        if (now.monotonic_ns < until_ns_) return;
        until_ns_ = core::kNever;
        loop.change(socket, EPOLLIN, watcher);
    }
    [[nodiscard]] std::int64_t next_deadline_ns() const noexcept { return until_ns_; }

private:
    static constexpr std::chrono::milliseconds kLength{100};

    std::int64_t until_ns_{core::kNever};
};

}  // namespace millpond::engine
