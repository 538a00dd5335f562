#pragma once

#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include <sys/types.h>

#include <millpond/core/descriptor.hpp>
#include <millpond/core/moment.hpp>

#include "service/event_log.hpp"
#include "service/history.hpp"
#include "service/log_function.hpp"

namespace millpond::service {

/// Keeps a history and an event log in two files, NAME.samples and NAME.events, so that they survive a restart. A
/// separate thread writes events within five seconds and samples once a minute, so a slow disk delays nothing else. A
/// file that cannot be read is logged, ignored, and replaced later.
///
/// Processes: one at a time, by a lock of NAME.lock; a second one logs a warning and keeps nothing.
///
/// Threads: load and start on one, the others on any.
class HistoryFiles {
public:
    struct Options {
        std::filesystem::path folder;  ///< Created if missing. Empty: no files.
        std::string name;
        mode_t mode{};  ///< Permissions of the files, whatever the umask.
    };

    HistoryFiles(Options options, History& history, EventLog& events, LogFunction log);
    /// Calls stop().
    ~HistoryFiles();
    HistoryFiles(const HistoryFiles&) = delete;
    HistoryFiles& operator=(const HistoryFiles&) = delete;

    /// Locks the files, and restores history and log.
    void load();
    /// Logs the start of the daemon, after load(). It is a warning if the run before was killed. source: the daemon.
    void log_start(std::string_view source, std::string_view text, core::Moment now);
    /// Starts the thread that writes the files; does nothing without the lock.
    void start();
    /// Writes what is new, and ends the thread. Does nothing if it was not started.
    void stop();

private:
    /// Creates the folder and locks the files. Throws std::runtime_error.
    void lock();
    /// Removes incomplete files of killed processes.
    void remove_incomplete() const;
    void run();
    void save_samples();
    void save_events();
    /// Calls work(), and logs the error if that fails otherwise than the call before.
    template <class Work>
    bool attempt(std::string_view what, Work&& work);
    [[nodiscard]] std::filesystem::path path(std::string_view kind) const;

    Options options_;
    History& history_;
    EventLog& events_;
    LogFunction log_;
    core::Descriptor lock_;  // empty: no files
    std::uint64_t saved_event_{0};
    std::string failure_;  // of the last attempt; empty if it succeeded
    std::mutex mutex_;
    std::condition_variable stopping_;
    bool stop_{false};
    std::thread thread_;
};

}  // namespace millpond::service
