#pragma once

#include <atomic>
#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include <millpond/core/idle.hpp>
#include <millpond/core/tally.hpp>

namespace millpond::engine {

class IoLoop;

/// Runs the sockets, timers and producers of any number of sessions. Acceptors and initiators put their sessions on it;
/// several of them may share one thread, and several threads may share the sessions of one acceptor. It must outlive
/// them.
///
/// Threads: run by `start` on a separate thread, or by `poll` on the caller's; post, call, drain and the counters on
///          any thread.
/// Memory:  lists of its sessions and sockets; nothing per message.
/// Source:  epoll(7), eventfd(2).
class IoThread {
public:
    struct Options {
        std::string name{"fix-io"};  ///< Name of the thread; 15 characters are shown.
        /// block: sleeps while there is nothing to do. spin: never sleeps, and no producer makes a system call.
        core::Poll poll{core::Poll::block};
        std::optional<int> cpu{};                ///< CPU of the thread that `start` creates.
        std::optional<int> realtime_priority{};  ///< SCHED_FIFO, 1 to 99.
        /// Called with exceptions of callbacks on the thread that `start` creates. The thread continues, and the
        /// session whose callback threw loses its connection. Not set: such an exception ends the process.
        std::function<void(std::exception_ptr)> on_exception{};
    };

    /// Throws std::system_error if a system call fails.
    explicit IoThread(Options options);
    IoThread();
    /// Stops the thread without draining.
    ~IoThread();
    IoThread(const IoThread&) = delete;
    IoThread& operator=(const IoThread&) = delete;

    /// Runs the loop on a new thread. Throws the exceptions of pinning and real-time scheduling.
    void start();
    /// Ends the thread; sessions keep their connections until they are destroyed.
    void stop();
    /// Runs the loop once without `start`: does the pending work, waiting up to `patience` if there is none. Throws the
    /// exceptions of callbacks; the next call does the rest of the work.
    void poll(std::chrono::milliseconds patience);

    /// Refuses further messages of producers, sends those that are queued, then logs out every session. Returns false
    /// after `bound`; messages that are still queued are then reported to their senders as failed. Not on the I/O
    /// thread.
    [[nodiscard]] bool drain(std::chrono::milliseconds bound);

    /// Runs `work` on the I/O thread, possibly before the call returns.
    void post(std::function<void()> work);
    /// Runs `work` on the I/O thread and waits for it; directly if no thread runs, or on that thread.
    void call(const std::function<void()>& work);

    struct Counters {
        core::Tally rounds;  ///< Passes over everything that may have work.
        core::Tally sleeps;  ///< Waits with a timeout.
        core::Tally wakes;   ///< Sleeps that another thread ended.
    };
    [[nodiscard]] const Counters& counters() const noexcept;
    [[nodiscard]] const Options& options() const noexcept { return options_; }

    /// For acceptors, initiators and sessions.
    [[nodiscard]] IoLoop& loop() noexcept { return *loop_; }

private:
    Options options_;
    std::unique_ptr<IoLoop> loop_;
    std::atomic<bool> stopping_{false};
    std::thread thread_;
};

}  // namespace millpond::engine
