#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/health/state.hpp"
#include "gateway/sinks/sink.hpp"

namespace millpond::gateway::health {

/// Stages of a quote's path at which a problem can be, in order.
enum class Stage : std::uint8_t {
    link,               ///< The interface is down.
    group_not_joined,   ///< The kernel does not hold the feed's group on the interface.
    no_datagrams,       ///< Nothing received since startup.
    stale,              ///< Nothing received, not even heartbeats, for longer than the feed's limit.
    kernel_drops,       ///< The socket's buffer was full.
    checksum,           ///< AF_XDP: a checksum did not match.
    line,               ///< One of a feed's two lines is silent.
    undecodable,        ///< Datagrams are rejected.
    rejected,           ///< Messages are rejected, or of a type that is not known.
    other_session,      ///< Datagrams of another session are ignored.
    request_server,     ///< No route leads to the server that is asked for missing messages.
    gap,                ///< Sequence numbers are missing.
    incomplete,         ///< Quotes have not been replaced since something was lost.
    books_incomplete,   ///< Books with a gap are being rebuilt, or could not be.
    table_full,         ///< Instruments or orders did not fit, and their data is missing.
    delay,              ///< Exchange times are implausible: a timezone, a date or a clock is wrong.
    halted,             ///< The venue has halted the channel, or ended its session.
    receive_thread,     ///< It shows no activity.
    capture,            ///< Raw datagrams cannot be written.
    sink_disconnected,  ///< A sink has no connection to its broker.
    sink_behind,        ///< A sink has stopped, or passes on old events.
    sink_lost,          ///< The ring has overwritten events before a sink read them.
};

[[nodiscard]] std::string_view to_string(Stage stage) noexcept;
[[nodiscard]] std::string_view to_string(service::Severity severity) noexcept;

struct Finding {
    Stage stage{Stage::link};
    service::Severity severity{
        service::Severity::error};  ///< error: quotes do not arrive; warning: they may be wrong or late.
    std::string of;                 ///< "feed 'a'", "sink 'csv'"
    std::int64_t since{0};
    std::string text;

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
