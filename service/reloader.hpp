#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "service/http/page.hpp"
#include "service/log.hpp"
#include "service/token.hpp"

namespace millpond::service {

/// What a reload did.
struct Reloaded {
    std::vector<std::string> done;     ///< "sink 'tcp' runs"
    std::vector<std::string> refused;  ///< What stays as it was, and why.
};

/// Refuses a setting that cannot change while the daemon runs, unless it is the same as before.
void needs_restart(bool same, std::string_view what, std::vector<std::string>& refused);

/// {"done":["sink 'tcp' runs"],"refused":[]}
[[nodiscard]] std::string json_of(const Reloaded& result);

/// Hands reload requests to the watcher thread.
///
/// Threads: ask on any; is_wished and answer on the one that watches the daemon, or on one that it starts.
class ReloadDesk {
public:
    /// Asks, and waits for the answer at most so long; nothing when none came, or the desk is closed.
    [[nodiscard]] std::optional<Reloaded> ask(std::chrono::seconds patience);
    /// No request is answered any more; one that waits returns.
    void close();
    [[nodiscard]] bool is_closed();
    [[nodiscard]] bool is_wished();
    void answer(Reloaded what);

private:
    std::mutex mutex_;
    std::condition_variable answered_;
    bool wished_{false};
    bool closed_{false};
    std::optional<Reloaded> answer_;
};

/// Carries out reloads on a thread of its own, so that health and metrics go on whatever a reload waits for, and takes
/// requests by POST /api/reload.
///
/// Threads: begin and take_finished on one; act on any.
class Reloader {
public:
    Reloader(const TokenSource& admin_token, Log& log);
    /// Waits for a running reload.
    ~Reloader();
    Reloader(const Reloader&) = delete;
    Reloader& operator=(const Reloader&) = delete;

    [[nodiscard]] ReloadDesk& desk() noexcept { return desk_; }
    [[nodiscard]] bool is_running() const noexcept { return thread_.joinable(); }
    /// Starts `reload`, which must not throw; its result is the desk's answer. False when one is running.
    bool begin(std::function<Reloaded()> reload);
    /// True once after a reload has ended.
    bool take_finished();
    /// No request is answered any more; waits for a running reload.
    void stop();

    /// Asks for a reload and waits for its result for half a minute; nothing when none came by then, or at the end.
    [[nodiscard]] std::optional<Reloaded> ask();
    /// Whether POST requests are accepted at all.
    [[nodiscard]] bool accepts_posts() const noexcept { return admin_token_.required(); }
    [[nodiscard]] http::Page act(const http::Request& request, std::string_view authorization);

private:
    Token admin_token_;
    Log& log_;
    ReloadDesk desk_;
    std::atomic<bool> finished_{false};
    std::thread thread_;
};

}  // namespace millpond::service
