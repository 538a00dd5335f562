#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace millpond::service {

/// Result of a reload.
struct Reloaded {
    std::vector<std::string> done;     ///< Applied changes, such as "sink 'tcp' runs".
    std::vector<std::string> refused;  ///< Changes that were not applied, with the reason.
};

/// Appends an entry for a setting that cannot change while the daemon runs, unless it is the same as before.
void append_if_changed(bool same, std::string_view what, std::vector<std::string>& refused);

/// Formats a result as {"done":["sink 'tcp' runs"],"refused":[]}.
[[nodiscard]] std::string json_of(const Reloaded& result);

/// Passes reload requests to the watcher thread. A request is answered by a reload that began after it.
///
/// Threads: request and close on any; the others on the watcher thread, or on a thread that it starts.
class ReloadRequests {
public:
    /// Requests a reload and waits for its result. Returns nullopt after `timeout`, or once closed.
    [[nodiscard]] std::optional<Reloaded> request(std::chrono::seconds timeout);
    /// Ends all waiting requests and refuses new ones.
    void close();
    [[nodiscard]] bool is_closed();
    /// Whether a request has been made since the last reload began.
    [[nodiscard]] bool is_requested();
    /// Call before a reload reads the configuration.
    void begin();
    /// Answers the requests made before the reload began with its result.
    void answer(Reloaded result);

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    // Requests have numbers from 1 on.
    std::uint64_t requested_{0};
    std::uint64_t begun_{0};     // the newest request before the last reload began
    std::uint64_t answered_{0};  // the newest request with a result
    bool closed_{false};
    Reloaded result_;
};

/// Runs reloads on a separate thread, so that health and metrics continue during a reload.
///
/// Threads: begin and poll_finished on one; request on any.
class Reloader {
public:
    Reloader() = default;
    /// Waits for a running reload.
    ~Reloader();
    Reloader(const Reloader&) = delete;
    Reloader& operator=(const Reloader&) = delete;

    [[nodiscard]] ReloadRequests& requests() noexcept { return requests_; }
    [[nodiscard]] bool is_running() const noexcept { return thread_.joinable(); }
    /// Starts `reload`, which must not throw; its result answers the requests. Returns false while another one is
    /// running.
    bool begin(std::function<Reloaded()> reload);
    /// Returns true once after a reload has ended.
    bool poll_finished();
    /// Closes the requests and waits for a running reload.
    void stop();

    /// Requests a reload. Returns nullopt if there is no result after 30 s, or if the daemon is stopping.
    [[nodiscard]] std::optional<Reloaded> request();

private:
    ReloadRequests requests_;
    std::atomic<bool> finished_{false};
    std::thread thread_;
};

}  // namespace millpond::service
