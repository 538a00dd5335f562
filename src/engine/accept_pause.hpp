#pragma once

#include <sys/epoll.h>

#include <chrono>
#include <cstdint>

#include <millpond/engine/io_thread.hpp>

namespace millpond::engine {

/// After a failed accept, most likely for lack of descriptors, the listening socket stays readable. Stops watching it
/// for a while, so that the I/O thread does not spin.
///
/// Threads: the I/O thread's.
class AcceptPause {
public:
    void begin(IoThread& io, int socket, detail::Watcher& watcher, core::Moment now) noexcept {
        io.change(socket, 0, watcher);
        until_ns_ = now.monotonic_ns + std::chrono::nanoseconds{kLength}.count();
    }
    /// Watches the socket again when the pause is over.
    void run(IoThread& io, int socket, detail::Watcher& watcher, core::Moment now) noexcept {
        if (now.monotonic_ns < until_ns_) return;
        until_ns_ = detail::kNever;
        io.change(socket, EPOLLIN, watcher);
    }
    [[nodiscard]] std::int64_t next_deadline_ns() const noexcept { return until_ns_; }

private:
    static constexpr std::chrono::milliseconds kLength{100};

    std::int64_t until_ns_{detail::kNever};
};

}  // namespace millpond::engine
