#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <millpond/engine/io_thread.hpp>
#include <millpond/engine/raw_log.hpp>
#include <millpond/engine/replica_server.hpp>
#include <millpond/engine/session_status.hpp>
#include <millpond/metrics/registry.hpp>

#include "fixd/accept/authenticator.hpp"
#include "fixd/admin/admin_server.hpp"
#include "fixd/health/health.hpp"
#include "fixd/history/engine_history.hpp"
#include "fixd/sessions/session_records.hpp"
#include "fixd/sessions/session_set.hpp"
#include "fixd/sessions/status_log.hpp"
#include "fixd/settings/engine_config.hpp"
#include "service/http/reload_page.hpp"
#include "service/http/server.hpp"
#include "service/log.hpp"
#include "service/reloader.hpp"

namespace millpond::fixd {

/// The FIX engine as a configuration describes it: I/O threads, acceptors, sessions, raw logs, metrics, administration.
///
/// Threads: used on one, reconfigure on one other; applications are called on the I/O threads.
class FixEngine {
public:
    /// config: completed. applications: called once for each session, again when a reload changes it. log: outlives
    /// this. Throws if an address, a file or a certificate cannot be used.
    FixEngine(const EngineConfig& config, const Applications& applications, service::Log& log);
    ~FixEngine();
    FixEngine(const FixEngine&) = delete;
    FixEngine& operator=(const FixEngine&) = delete;

    /// Starts the I/O threads, so that sessions connect, and answers `millpond fix sessions`.
    void start();
    /// Logs new losses, adds metrics of new sessions and updates findings. Call it a few times a second.
    void watch();
    /// Replaces the sessions like SessionSet::replace. Changes that need a restart are refused. next: completed.
    service::Reloaded reconfigure(EngineConfig next);
    /// Logs a reload that changed nothing, as an event.
    void note_failed_reload(std::string_view text);
    [[nodiscard]] service::Reloader& reloader() noexcept { return reloader_; }
    /// Logs all sessions out. Returns false if that took longer than `bound`.
    bool drain(std::chrono::milliseconds bound);

    [[nodiscard]] SessionList sessions() const { return sessions_->sessions(); }
    [[nodiscard]] std::vector<DropCopies::Report> drop_copies() const { return sessions_->drop_copies().reports(); }
    /// ADDRESS:PORT of each acceptor.
    [[nodiscard]] std::vector<std::string> listening() const { return sessions_->listening(); }
    /// ADDRESS:PORT for primaries; empty if the engine is no standby.
    [[nodiscard]] std::string standby_address() const;
    /// Calls SessionSet::promote and logs its error.
    [[nodiscard]] std::string promote(std::string_view session, bool force);
    /// ADDRESS:PORT of /metrics; empty if metrics are off.
    [[nodiscard]] std::string metrics_address() const;
    /// URL of each page.
    [[nodiscard]] std::vector<std::string> page_addresses() const;
    [[nodiscard]] const service::EventLog& events() const noexcept { return history_.events(); }
    /// Serves /metrics, /health, /api/health, /api/session, /api/history and /api/events, on
    /// any thread.
    [[nodiscard]] http::Page page(const http::Request& request);

private:
    struct Listed {
        std::shared_ptr<engine::SessionHandle> session;  // its metrics refer to it
        std::vector<metrics::Registration> registrations;
        StatusLog log;
    };

    void stand_by();
    void log_unknown_users(const EngineConfig& config);
    void open_standby(const StandbyConfig& standby);
    [[nodiscard]] std::vector<engine::ReplicaStatus> replicas() const;
    void add_threads(const EngineConfig& config, service::Log& log);
    [[nodiscard]] http::Page act(const http::Request& request, std::string_view authorization);
    [[nodiscard]] http::Page session(const http::Request& request);
    [[nodiscard]] http::Page messages(const http::Request& request, bool may_read);
    void serve_metrics();
    void serve_page(const WebConfig& web);
    /// Secrets and certificates outside of sessions that a reload reads again because their contents have changed.
    class Renewals;
    [[nodiscard]] std::vector<SessionReport> reports();
    [[nodiscard]] RawLogLosses raw_log_losses() const;
    [[nodiscard]] std::string answer(std::string_view request);
    void add_metrics_of_new_sessions();
    void forget(const engine::SessionHandle& session);

    service::Log* log_;
    EngineConfig config_;
    metrics::Registry registry_;
    std::int64_t started_utc_ns_;
    SessionRecords records_;
    Findings findings_;
    EngineHistory history_;
    std::int64_t checked_utc_ns_{0};
    std::vector<std::unique_ptr<engine::RawLog>> raw_logs_;  // one an I/O thread, or none
    std::vector<std::unique_ptr<engine::IoThread>> io_;
    std::vector<metrics::Registration> registrations_;
    std::mutex metrics_lock_;
    std::map<std::string, Listed> session_metrics_;  // by session
    Authenticator authenticator_;
    DisabledSessions disabled_;
    std::unique_ptr<engine::IoThread> standby_io_;  // null: this is no standby
    std::unique_ptr<engine::ReplicaServer> replicas_;
    std::mutex change_lock_;  // of changes to the sessions
    std::unique_ptr<SessionSet> sessions_;
    service::Reloader reloader_;
    http::ReloadPage reload_page_;
    std::unique_ptr<http::Server> http_;
    std::vector<std::unique_ptr<http::Server>> pages_;
    std::vector<std::string> page_files_;  // FileHashes::of, page by page
    std::string standby_files_;
    std::unique_ptr<AdminServer> admin_;
    std::atomic<bool> stopping_{false};
    std::thread admin_thread_;
};

}  // namespace millpond::fixd
