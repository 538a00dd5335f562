#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/health/state.hpp"
#include "gateway/sinks/sink.hpp"

namespace millpond::gateway::health {

/// Stages of a quote's path at which a problem can be; a stage precedes those whose problems it can cause.
enum class Stage : std::uint8_t {
    receive_thread,     ///< The receive thread shows no activity.
    link,               ///< The interface is down.
    group_not_joined,   ///< The interface has not joined the feed's multicast group.
    connection,         ///< The feed is not logged in at its server.
    no_datagrams,       ///< No datagram received since startup.
    stale,              ///< No datagram received, not even a heartbeat, for longer than the feed's limit.
    latency,            ///< Receiving and publishing took longer than the ring's bound.
    kernel_drops,       ///< The socket's buffer was full.
    checksum,           ///< AF_XDP: a checksum did not match.
    line,               ///< A line of the feed is silent, or in another session than the feed.
    undecodable,        ///< Datagrams are rejected.
    other_session,      ///< Datagrams of another session are ignored.
    request_server,     ///< There is no route to the re-request server, or it does not answer tests.
    waiting,            ///< Newer messages wait for missing ones.
    gap,                ///< Sequence numbers are missing.
    joined_late,        ///< Instruments without a change since the start may be missing.
    books_incomplete,   ///< Books with a gap are being rebuilt, or could not be; or some are incomplete.
    rejected,           ///< Messages are rejected, or of an unknown type.
    table_full,         ///< Instruments or orders did not fit, and their data is missing; or it is nearly full.
    incomplete,         ///< Quotes have not been replaced since a loss.
    books_crossed,      ///< Books were crossed or locked while their instruments traded.
    delay,              ///< Exchange times are implausible: a timezone, a date or a clock is wrong.
    halted,             ///< The venue has halted the channel, or ended its session.
    capture,            ///< Raw datagrams cannot be written.
    sink_failures,      ///< Writes, syncs or sends of a sink failed.
    sink_refused,       ///< The sink's receiver refuses messages.
    sink_disconnected,  ///< A sink has no connection to its broker.
    sink_behind,        ///< A sink has stopped, or passes on old events.
    sink_lost,          ///< The ring has overwritten events before a sink read them.
    slow_client,        ///< Clients of a sink lose events, or accepted no data and were disconnected.
    checkpoint,         ///< A journal's checkpoint is overdue.
    exposed,            ///< Other machines are admitted without authentication or TLS.
};

[[nodiscard]] std::string_view to_string(Stage stage) noexcept;
[[nodiscard]] std::string_view to_string(service::Severity severity) noexcept;

struct Finding {
    Stage stage{Stage::link};
    service::Severity severity{
        service::Severity::error};  ///< error: quotes do not arrive; warning: quotes may be wrong or late.
    std::string of;                 ///< Subject: "feed 'a'", "sink 'csv'".
    std::int64_t since{0};
    std::string text;
    unsigned part{0};  ///< Distinguishes findings of one stage and subject: of two lines, or of two counters.

    friend bool operator==(const Finding&, const Finding&) noexcept = default;
};

/// Findings about one feed, ring or sink, in the order of stages.
[[nodiscard]] std::vector<Finding> findings(const FeedState& feed, std::int64_t now);
[[nodiscard]] std::vector<Finding> findings(const RingState& ring, std::int64_t now);
[[nodiscard]] std::vector<Finding> findings(const PoolState& pool);
[[nodiscard]] std::vector<Finding> findings(const SinkState& sink, std::int64_t now);

/// All findings: errors first, then warnings, then the rest; within each by stage, then by age. A quiet symbol is
/// not a finding: only the silence of a feed counts.
[[nodiscard]] std::vector<Finding> findings(const State& state, std::int64_t now);

}  // namespace millpond::gateway::health
