#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include <millpond/core/cache_line.hpp>
#include <millpond/core/descriptor.hpp>
#include <millpond/core/idle.hpp>
#include <millpond/core/moment.hpp>
#include <millpond/engine/io_thread.hpp>

#include "src/engine/io/participant.hpp"
#include "src/engine/io/ready_set.hpp"

namespace millpond::engine {

class SocketWarmer;

/// The event loop of an I/O thread: waits for sockets, timers, signals of other threads and posted work.
///
/// Threads: the I/O thread's; signal and post on any.
/// Memory:  lists of its participants; nothing per message.
class IoLoop {
public:
    /// Throws std::system_error if a system call fails.
    explicit IoLoop(core::Poll poll);
    ~IoLoop();
    IoLoop(const IoLoop&) = delete;
    IoLoop& operator=(const IoLoop&) = delete;

    /// Does the pending work, after waiting up to `max_wait_ns` if there is none. Throws the exceptions of callbacks;
    /// the rest of the work is done by the next call.
    void round(std::int64_t max_wait_ns);
    /// Does the posted work. Returns whether there was any.
    bool run_posted();
    /// Runs `work` on the I/O thread.
    void post(std::function<void()> work);
    [[nodiscard]] const IoThread::Counters& counters() const noexcept { return counters_; }

    /// Adds a participant and returns its slot. Throws std::length_error if there are too many.
    [[nodiscard]] std::size_t join(Participant& participant);
    void leave(std::size_t slot) noexcept;
    /// Sets the monotonic time at which the participant's on_timer is called.
    void wants_timer(std::size_t slot, std::int64_t monotonic_ns) noexcept;
    /// Calls the participant's on_signal soon, and wakes the thread if it sleeps. One read-modify-write, and a system
    /// call only if the thread sleeps.
    void signal(std::size_t slot) noexcept {
        ready_.signal(slot);
        wake_if_asleep();
    }
    void begin_drain(std::int64_t deadline_ns);
    [[nodiscard]] bool drained() const noexcept;

    [[nodiscard]] core::Moment now() noexcept { return clock_.now(); }
    void watch(int descriptor, std::uint32_t events, Watcher& watcher, bool read_directly);
    void change(int descriptor, std::uint32_t events, Watcher& watcher) noexcept;
    void unwatch(int descriptor, Watcher& watcher) noexcept;
    /// Destroys the watcher once no caller on the stack uses it.
    void retire(std::unique_ptr<Watcher> watcher) { retired_.push_back(std::move(watcher)); }

    /// Minimum time between the warm-ups of two sessions: each delays the other sessions by about a microsecond.
    static constexpr std::chrono::nanoseconds kWarmUpInterval{50'000};
    /// Whether a session may be warmed up now; true at most once in kWarmUpInterval.
    [[nodiscard]] bool may_warm_up(core::Moment now) noexcept {
        if (now.monotonic_ns < warm_up_ns_) return false;
        warm_up_ns_ = now.monotonic_ns + kWarmUpInterval.count();
        return true;
    }
    /// Creates the socket that warm_up_socket uses.
    void prepare_warm_ups();
    /// Loads the kernel's send path into the caches, at most about once a millisecond.
    void warm_up_socket(core::Moment now) noexcept;

private:
    void wake_if_asleep() noexcept;
    bool run_ready(core::Moment now);
    void run_timers(core::Moment now);
    void read_directly(core::Moment now);
    bool wait_for_events(std::int64_t wait_ns);

    core::Poll poll_;
    core::Descriptor epoll_;
    core::Descriptor event_;
    std::vector<Participant*> participants_;    // null: a free slot
    std::vector<std::int64_t> deadlines_;       // indexed by slot
    std::int64_t next_deadline_{core::kNever};  // not later than the earliest deadline
    std::vector<Watcher*> direct_;              // read directly without epoll, while they are few
    std::vector<std::unique_ptr<Watcher>> retired_;
    core::MomentClock clock_;
    std::int64_t warm_up_ns_{0};            // when the next session may be warmed up
    std::unique_ptr<SocketWarmer> warmer_;  // null: no session is warmed up
    core::Idle idle_;
    IoThread::Counters counters_;

    ReadySet ready_;
    alignas(core::kFalseSharingRange) std::atomic<bool> asleep_{false};
    std::atomic<bool> has_posted_{false};
    std::mutex posted_lock_;
    std::vector<std::function<void()>> posted_;
    std::vector<std::function<void()>> running_;
    std::size_t ran_{0};  // how many of running_ have run
};

}  // namespace millpond::engine
