#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <millpond/core/moment.hpp>

#include "gateway/health/findings.hpp"
#include "gateway/health/state.hpp"
#include "gateway/sinks/client_list.hpp"
#include "service/event_log.hpp"
#include "service/history.hpp"

namespace millpond::gateway::health {

/// Writes a gateway's states into a history and an event log: a sample for each second, and an event when a finding
/// begins or ends and when a connection or client comes or goes.
///
/// Threads: one.
/// Memory:  samples allocate nothing; changed sinks, findings and connections do.
class Recorder {
public:
    /// What a history needs for these feeds, rings and sinks, and some more sinks of a reload.
    [[nodiscard]] static std::array<service::History::Capacity, 4> capacities(const State& state);

    /// Adds the sources to the history.
    Recorder(service::History& history, service::EventLog& events, const State& state);

    /// Call it with each new state.
    void update(const State& state);
    /// Logs the end of the findings that are still open: the run ends.
    void finish(core::Moment now);

private:
    struct FeedCounts {
        std::uint64_t datagrams{0};
        std::uint64_t quotes{0};
        std::uint64_t missing{0};
        std::uint64_t dropped{0};
        std::uint64_t undecodable{0};
    };
    struct LineCounts {
        std::optional<service::History::Handle> source;
        std::uint64_t datagrams{0};
        std::uint64_t missing{0};
        std::uint64_t dropped{0};
    };
    struct FeedMemory {
        std::optional<service::History::Handle> source;
        FeedCounts counts;
        std::vector<LineCounts> lines;
        bool connected{false};
    };
    struct RingMemory {
        std::optional<service::History::Handle> source;
        std::uint64_t published{0};
    };
    struct SinkMemory {
        std::string name;
        std::int64_t since{0};  // SinkState::since, which distinguishes sinks of one name
        std::optional<service::History::Handle> source{};
        std::uint64_t delivered{0};
        std::uint64_t missed{0};
        bool connected{false};
        std::uint64_t accepted{0};
        std::uint64_t departed{0};
        std::shared_ptr<const ClientList::Clients> clients{};  // the newest list
    };
    /// A finding that the log has an event of.
    struct Open {
        Stage stage;
        service::Severity severity;
        std::string of;
        unsigned part;
        std::int64_t since;  // monotonic
        std::string text;
        bool is_found;
    };

    void match_sinks(const State& state);
    void log_connections(const State& state);
    void log_findings(const State& state);
    void log_finding(const Open& finding, bool ended, core::Moment now);
    void take_sample(const State& state);

    service::History& history_;
    service::EventLog& events_;
    std::vector<FeedMemory> feeds_;
    std::vector<RingMemory> rings_;
    std::vector<SinkMemory> sinks_;
    std::vector<Open> open_;
    std::int64_t updated_{0};
    std::int64_t counted_{0};
};

}  // namespace millpond::gateway::health
