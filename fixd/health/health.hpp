#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <millpond/engine/replica_server.hpp>
#include <millpond/engine/session_status.hpp>

#include "fixd/drop_copy/drop_copies.hpp"
#include "fixd/sessions/session_records.hpp"
#include "service/log.hpp"

namespace millpond::fixd {

/// A session as the page shows it.
struct SessionReport {
    engine::SessionStatus status;
    SessionRecord::Error error{};
    LastLatencies::Percentiles latency{};
    std::optional<DropCopies::Report> drop_copy{};  ///< To it.
};

/// Something that an operator should know.
struct Finding {
    enum class Kind : std::uint8_t {
        not_connected,    ///< An initiator has no session though its schedule is open.
        copies_lost,      ///< Messages were not mirrored to a drop copy.
        copies_unusable,  ///< Files of copies that an earlier engine left cannot be used.
        history_lost,     ///< A counterparty requested messages that the store no longer has.
        store_failed,     ///< The next part of a session's store could not be prepared.
        raw_log_lost,     ///< Pieces of the stream are not in the raw log.
        superseded,       ///< Another machine runs the session.
        standby_stopped,  ///< A session has stopped because its standby is lost.
        standby_lost,     ///< A session goes on without its standby.
        standby_gaps,     ///< A standby's copy lacks messages that the counterparty may have.
        no_primary,       ///< A standby's copy receives nothing: its primary is not connected.
        standby_filling,  ///< A standby receives messages that it lacks.
        slow_consumer,    ///< A counterparty reads too slowly: much output is queued.
        resend,           ///< A resend is in progress.
        disabled,         ///< The session is disabled, by an operator or in the configuration.
    };
    Kind kind;
    std::string of;  ///< "session 'FIX.4.4:HOUSE->DESK'"
    std::string text;
    std::int64_t since_utc_ns{0};
};

[[nodiscard]] service::Severity severity_of(Finding::Kind kind) noexcept;

/// Sums over the raw logs.
struct RawLogLosses {
    std::uint64_t pieces{0};
    std::uint64_t bytes{0};
};

/// Finds problems and when they started.
///
/// Threads: any.
class Findings {
public:
    /// The current findings: errors first, then warnings, then the rest; oldest first within each.
    [[nodiscard]] std::vector<Finding> look(const std::vector<SessionReport>& sessions, const RawLogLosses& raw_log,
                                            std::int64_t utc_ns,
                                            const std::vector<engine::ReplicaStatus>& replicas = {});

private:
    std::mutex lock_;
    std::map<std::string, std::int64_t> since_;  // by kind and subject
};

/// The body of /health, with a line end: "good", or the first finding.
[[nodiscard]] std::string health_line(const std::vector<Finding>& findings);
/// Whether there is no error among them.
[[nodiscard]] bool is_good(const std::vector<Finding>& findings);
/// The body of /api/health.
[[nodiscard]] std::string health_json(const std::vector<SessionReport>& sessions, const std::vector<Finding>& findings,
                                      const std::vector<std::string>& listening, std::int64_t started_utc_ns,
                                      std::int64_t utc_ns, const std::vector<engine::ReplicaStatus>& replicas = {});

}  // namespace millpond::fixd
