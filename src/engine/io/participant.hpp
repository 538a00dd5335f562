#pragma once

#include <cstdint>

#include <millpond/core/moment.hpp>

namespace millpond::engine {

/// An object on an I/O thread, which calls it for due deadlines and for work from other threads.
///
/// Threads: the I/O thread's.
class Participant {
public:
    /// Called after another thread has signalled the participant. Override it if there is work besides the timer's.
    virtual void on_signal(core::Moment now) { static_cast<void>(now); }
    /// Does the work that is due. Returns the monotonic time of the next call; core::kNever: no call until wants_timer
    /// requests one.
    virtual std::int64_t on_timer(core::Moment now) = 0;
    /// Refuses new work from now on and completes pending work, until the monotonic time `deadline_ns`.
    virtual void on_drain(core::Moment now, std::int64_t deadline_ns) {
        static_cast<void>(now), static_cast<void>(deadline_ns);
    }
    /// Whether all pending work is done.
    [[nodiscard]] virtual bool drained() const noexcept { return true; }

protected:
    ~Participant() = default;
};

/// An object that is called when a file descriptor is ready.
class Watcher {
public:
    /// events: as reported by epoll.
    virtual void on_ready(std::uint32_t events, core::Moment now) = 0;
    virtual ~Watcher() = default;
};

}  // namespace millpond::engine
