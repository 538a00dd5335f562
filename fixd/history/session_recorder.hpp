#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <millpond/core/moment.hpp>

#include "fixd/health/health.hpp"
#include "fixd/sessions/session_records.hpp"
#include "service/event_log.hpp"
#include "service/history.hpp"

namespace millpond::fixd {

/// Writes the states of an engine's sessions into a history and an event log: a sample for each second, and an event
/// when messages were resent, sequence numbers went back, or a finding begins or ends.
///
/// Threads: one.
class SessionRecorder {
public:
    /// What a history needs for this number of sessions.
    [[nodiscard]] static std::array<service::History::Capacity, 1> capacities(std::size_t sessions);

    SessionRecorder(service::History& history, service::EventLog& events, SessionRecords& records)
        : history_(history), events_(events), records_(records) {}

    /// Call it at the beginning of each second.
    void update(const std::vector<SessionReport>& sessions, const std::vector<Finding>& findings, core::Moment now);

private:
    struct Counts {
        std::uint64_t received{0};
        std::uint64_t sent{0};
        std::uint64_t resent{0};
        std::uint64_t rejected{0};
        std::uint64_t peer_rejects{0};
    };
    struct Memory {
        std::optional<service::History::Handle> source{};
        Counts counts{};
        std::uint64_t latencies{0};  // added until the last sample
        std::uint64_t next_sender{0};
        std::uint64_t next_target{0};
        bool is_present{false};
    };
    /// A finding that the log has an event of.
    struct Open {
        Finding finding;
        bool is_found;
    };

    [[nodiscard]] Memory& memory_of(const SessionReport& session, core::Moment now);
    void remove_absent();
    void log_numbers(const engine::SessionStatus& status, Memory& memory, core::Moment now);
    void log_findings(const std::vector<Finding>& findings, core::Moment now);
    void log_finding(const Finding& finding, bool ended, core::Moment now);

    service::History& history_;
    service::EventLog& events_;
    SessionRecords& records_;
    std::map<std::string, Memory> sessions_;
    std::vector<Open> open_;
    std::int64_t updated_ns_{0};  // monotonic; 0: never
};

}  // namespace millpond::fixd
