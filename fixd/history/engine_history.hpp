#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include <millpond/core/moment.hpp>

#include "fixd/health/health.hpp"
#include "fixd/history/session_recorder.hpp"
#include "fixd/sessions/session_events.hpp"
#include "fixd/sessions/session_records.hpp"
#include "fixd/settings/engine_config.hpp"
#include "service/event_log.hpp"
#include "service/history.hpp"
#include "service/history_files.hpp"
#include "service/http/page.hpp"
#include "service/log.hpp"
#include "service/reloader.hpp"

namespace millpond::fixd {

/// The history and the event log of a FIX engine, and their files.
///
/// Threads: start and update on one, the others on any.
class EngineHistory {
public:
    /// Sessions with samples: those of the configuration and of its templates, and some of reloads, up to this number.
    static constexpr std::size_t kMaxSessions = 256;

    /// Restores an earlier run's, and logs the start. records: outlives this, as `log`.
    EngineHistory(const EngineConfig& config, SessionRecords& records, service::Log& log);
    /// Logs the events that wait, and the stop.
    ~EngineHistory();
    EngineHistory(const EngineHistory&) = delete;
    EngineHistory& operator=(const EngineHistory&) = delete;

    void start() { files_.start(); }
    /// For the callbacks of sessions.
    [[nodiscard]] SessionEvents& session_events() noexcept { return session_events_; }
    /// Logs the events of sessions. Call it a few times a second.
    void move_events(core::Moment now) { session_events_.move_to(events_, now); }
    /// Records samples and findings. Call it at the beginning of each second.
    void update(const std::vector<SessionReport>& sessions, const std::vector<Finding>& findings, core::Moment now);
    /// Logs an event of the engine.
    void add(service::EventKind kind, service::Severity severity, std::string_view text);
    void add(const service::Reloaded& result);

    /// GET /api/history, /api/events and /api/events.csv; an empty page for another path. Throws http::BadRequest.
    [[nodiscard]] http::Page page(const http::Request& request) const;
    [[nodiscard]] const service::EventLog& events() const noexcept { return events_; }

private:
    service::EventLog events_;
    SessionEvents session_events_;
    service::History history_;
    SessionRecorder recorder_;
    service::HistoryFiles files_;
};

}  // namespace millpond::fixd
