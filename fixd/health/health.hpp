#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <millpond/engine/replica_server.hpp>
#include <millpond/engine/session_status.hpp>

#include "fixd/drop_copy/drop_copies.hpp"
#include "fixd/sessions/session_records.hpp"
#include "service/log.hpp"

namespace millpond::fixd {

/// The state of a session, for /api/health and findings.
struct SessionReport {
    engine::SessionStatus status;
    SessionRecord::Error error{};
    LastLatencies::Percentiles latency{};
    std::vector<SessionRecord::Rejection> rejections{};  ///< Rejections of the last minutes.
    SessionRecord::Occurrences peer_rejects{};
    SessionRecord::Occurrences gaps{};
    std::optional<DropCopies::Report> drop_copy{};  ///< The drop copy that this session receives.
};

/// A problem, or a state that an operator should know of.
struct Finding {
    enum class Kind : std::uint8_t {
        not_connected,    ///< An initiator has no session though its schedule is open.
        copies_lost,      ///< Messages were not mirrored to a drop copy.
        copies_unusable,  ///< Files of copies that an earlier engine left cannot be used.
        history_lost,     ///< A counterparty requested messages that the store no longer has.
        store_damaged,    ///< Messages in a session's store are damaged.
        store_failed,     ///< The next part of a session's store could not be prepared.
        clock_set_back,   ///< The clock was set back over the start of a session's schedule.
        raw_log_lost,     ///< Pieces of the stream are not in the raw log.
        superseded,       ///< Another machine runs the session.
        standby_stopped,  ///< A session has stopped because its standby is lost.
        standby_lost,     ///< A session goes on without its standby.
        standby_gaps,     ///< A standby's copy lacks messages that the counterparty may have.
        no_primary,       ///< A standby's copy receives nothing: its primary is not connected.
        standby_filling,  ///< A standby receives messages that it lacks.
        rejected,         ///< Messages of a counterparty were rejected, or are too long to be read.
        slow_consumer,    ///< A counterparty reads too slowly: much output is queued.
        resend,           ///< A resend is in progress.
        disabled,         ///< The session is disabled, by an operator or in the configuration.
        exposed,          ///< Other machines are admitted without authentication or TLS.
    };
    Kind kind;
    std::string of;  ///< "session 'FIX.4.4:HOUSE->DESK'"
    std::string text;
    std::int64_t since_utc_ns{0};
};

[[nodiscard]] service::Severity severity_of(Finding::Kind kind) noexcept;
/// "not_connected"
[[nodiscard]] std::string_view stage_of(Finding::Kind kind) noexcept;

/// Losses of all raw logs together.
struct RawLogLosses {
    std::uint64_t pieces{0};
    std::uint64_t bytes{0};
};

/// Derives findings from reports, and keeps when each started.
///
/// Threads: any.
class Findings {
public:
    /// lasting: findings that hold as long as the engine runs.
    explicit Findings(std::vector<Finding> lasting = {}) : lasting_(std::move(lasting)) {}

    /// The current findings: errors first, then warnings, then the rest; oldest first within each.
    [[nodiscard]] std::vector<Finding> update(const std::vector<SessionReport>& sessions, const RawLogLosses& raw_log,
                                              std::int64_t utc_ns,
                                              const std::vector<engine::ReplicaStatus>& replicas = {});

private:
    std::vector<Finding> lasting_;
    std::mutex lock_;
    std::map<std::string, std::int64_t> since_;  // by kind and subject
};

/// millpond_fix_finding, for /metrics: 1 for each stage and subject.
[[nodiscard]] std::string findings_metric(const std::vector<Finding>& findings);
/// The body of /health, with a line end: "good", or the first finding.
[[nodiscard]] std::string health_line(const std::vector<Finding>& findings);
/// Whether there is no error among them.
[[nodiscard]] bool is_good(const std::vector<Finding>& findings);
/// A session, as /api/health has it.
[[nodiscard]] std::string session_json(const SessionReport& session);
/// The body of /api/health. has_admin: whether clients with the admin token may act.
[[nodiscard]] std::string health_json(const std::vector<SessionReport>& sessions, const std::vector<Finding>& findings,
                                      const std::vector<std::string>& listening, std::int64_t started_utc_ns,
                                      std::int64_t utc_ns, const std::vector<engine::ReplicaStatus>& replicas = {},
                                      bool has_admin = false);

}  // namespace millpond::fixd
