#pragma once

#include <cstdint>
#include <limits>

#include <millpond/core/moment.hpp>

namespace millpond::engine::detail {

inline constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

/// An object that lives on an I/O thread: it is called for due deadlines and for work from other threads.
///
/// Threads: the I/O thread's.
class Participant {
public:
    /// Another thread has signalled it. Nothing to do, unless it has other work than its timer's.
    virtual void on_signal(core::Moment now) { static_cast<void>(now); }
    /// Does what is due and returns the monotonic time at which it wants to be called next; kNever: not before it says
    /// so.
    virtual std::int64_t on_timer(core::Moment now) = 0;
    /// Takes no new work from now on and ends what it has, by the monotonic time `deadline_ns` at the latest.
    virtual void on_drain(core::Moment now, std::int64_t deadline_ns) {
        static_cast<void>(now), static_cast<void>(deadline_ns);
    }
    /// Whether all that it had is done.
    [[nodiscard]] virtual bool drained() const noexcept { return true; }

protected:
    ~Participant() = default;
};

/// An object that is called when a file descriptor is ready.
class Watcher {
public:
    /// events: as epoll tells them.
    virtual void on_ready(std::uint32_t events, core::Moment now) = 0;
    virtual ~Watcher() = default;
};

}  // namespace millpond::engine::detail
