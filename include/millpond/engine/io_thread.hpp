#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <millpond/core/descriptor.hpp>
#include <millpond/core/idle.hpp>
#include <millpond/core/moment.hpp>
#include <millpond/core/tally.hpp>
#include <millpond/engine/detail/participant.hpp>
#include <millpond/engine/detail/ready_set.hpp>

namespace millpond::engine {

class SocketWarmer;

/// One thread that runs many sessions: it waits for their sockets, their timers and their producers. Acceptors and
/// initiators put their sessions on it; several of them may share one, and several threads share the sessions of one
/// acceptor. It must outlive them.
///
/// Threads: run by `start` on a separate thread, or by `poll` on the caller's; post, call, drain and the counters on
///          any thread.
/// Memory:  lists of its participants; nothing per message.
/// Source:  epoll(7), eventfd(2).
class IoThread {
public:
    struct Options {
        std::string name{"fix-io"};  ///< Of the thread; 15 characters are shown.
        /// block: it sleeps while nothing is to do. spin: it never does, and no producer makes a system call.
        core::Poll poll{core::Poll::block};
        std::optional<int> cpu{};                ///< Of the thread that `start` makes.
        std::optional<int> realtime_priority{};  ///< SCHED_FIFO, 1 to 99.
        /// Called on the thread that `start` makes with what a callback threw; the thread continues, and the session
        /// whose callback it was loses its connection. Not set: such an exception ends the process, as from any thread.
        std::function<void(std::exception_ptr)> on_exception{};
    };

    /// Throws std::system_error.
    explicit IoThread(Options options);
    IoThread();
    /// Stops without draining.
    ~IoThread();
    IoThread(const IoThread&) = delete;
    IoThread& operator=(const IoThread&) = delete;

    /// Runs it on a new thread. Throws the exceptions of pinning and real-time scheduling.
    void start();
    /// Ends that thread; sessions keep their connections until they are destroyed.
    void stop();
    /// Without `start`: does what is ready, waiting up to `patience` when nothing is. Throws what callbacks throw; what
    /// was not done yet is done by the next call.
    void poll(std::chrono::milliseconds patience);

    /// Producers are refused from now on; what they have handed over is sent, then every session logs out. Returns when
    /// all is done or `bound` is over; false then, and what was left is reported to its senders as failed. Not on the
    /// I/O thread.
    [[nodiscard]] bool drain(std::chrono::milliseconds bound);

    /// Has `work` done on the I/O thread, after the call returns or before.
    void post(std::function<void()> work);
    /// Has `work` done on the I/O thread and waits for it; at once where no thread runs or on that thread.
    void call(const std::function<void()>& work);

    struct Counters {
        core::Tally rounds;  ///< Looks at everything there is to do.
        core::Tally sleeps;  ///< Waits that could last.
        core::Tally wakes;   ///< Sleeps that another thread ended.
    };
    [[nodiscard]] const Counters& counters() const noexcept { return counters_; }
    [[nodiscard]] const Options& options() const noexcept { return options_; }

    /// For acceptors, initiators and sessions, on the I/O thread but for `signal`.
    /// Throws std::length_error when it has as many participants as it takes.
    [[nodiscard]] std::size_t join(detail::Participant& participant);
    void leave(std::size_t slot) noexcept;
    /// The monotonic time at which the participant's on_timer shall be called; not later than it said before.
    void wants_timer(std::size_t slot, std::int64_t monotonic_ns) noexcept;
    /// Time between two sessions that are warmed up: what the others wait for each of them is about a microsecond.
    static constexpr std::chrono::nanoseconds kLeastWarmUp{50'000};
    /// Whether a session may be warmed up now; true at most once in kLeastWarmUp.
    [[nodiscard]] bool may_warm_up(core::Moment now) noexcept {
        if (now.monotonic_ns < warm_up_ns_) return false;
        warm_up_ns_ = now.monotonic_ns + kLeastWarmUp.count();
        return true;
    }
    /// For sessions that are warmed up: from now on there is what warm_up_socket needs.
    void prepare_warm_ups();
    /// Brings into the caches what the kernel needs to send, at most about once a millisecond.
    void warm_up_socket(core::Moment now) noexcept;
    /// The time now.
    [[nodiscard]] core::Moment now() noexcept { return clock_.now(); }
    void watch(int descriptor, std::uint32_t events, detail::Watcher& watcher, bool read_directly);
    void change(int descriptor, std::uint32_t events, detail::Watcher& watcher) noexcept;
    void unwatch(int descriptor, detail::Watcher& watcher) noexcept;
    /// Destroys the watcher once no caller on the stack uses it.
    void retire(std::unique_ptr<detail::Watcher> watcher);
    /// Calls the participant's on_signal on the I/O thread soon, waking that if it sleeps. Any thread; one
    /// read-modify-write, and one system call only if it sleeps.
    void signal(std::size_t slot) noexcept {
        ready_.signal(slot);
        wake_if_asleep();
    }

private:
    class Runner;

    void wake_if_asleep() noexcept;
    void guarded_round();
    bool round(std::int64_t longest_wait_ns);
    [[nodiscard]] bool run_posted();
    bool run_ready(core::Moment now);
    void run_timers(core::Moment now);
    void read_directly(core::Moment now);
    bool wait_for_events(std::int64_t longest_wait_ns);
    [[nodiscard]] bool all_drained() const noexcept;

    Options options_;
    core::Descriptor epoll_;
    core::Descriptor event_;
    std::vector<detail::Participant*> participants_;  // null: a free slot
    std::vector<std::int64_t> deadlines_;             // by slot
    std::int64_t next_deadline_{detail::kNever};      // not later than the earliest of them
    std::vector<detail::Watcher*> direct_;            // read without asking epoll first, while they are few
    std::vector<std::unique_ptr<detail::Watcher>> retired_;
    core::MomentClock clock_;
    std::int64_t warm_up_ns_{0};            // when the next session may be warmed up
    std::unique_ptr<SocketWarmer> warmer_;  // null: no session is warmed up
    core::Idle idle_;
    Counters counters_;

    detail::ReadySet ready_;
    alignas(core::kFalseSharingRange) std::atomic<bool> asleep_{false};
    std::atomic<bool> has_posted_{false};
    std::mutex posted_lock_;
    std::vector<std::function<void()>> posted_;
    std::vector<std::function<void()>> running_;
    std::size_t ran_{0};  // of running_
    std::atomic<bool> stopping_{false};
    std::thread thread_;
};

}  // namespace millpond::engine
