#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <millpond/core/moment.hpp>

#include "service/event_log.hpp"

namespace millpond::fixd {

/// An event of a session, for the event log.
struct SessionEvent {
    service::EventKind kind{service::EventKind::session};
    service::Severity severity{service::Severity::info};
    std::string session{};
    std::string text{};
    std::optional<std::pair<std::uint64_t, std::uint64_t>> range{};
    std::uint32_t count{1};
};

/// The source of a session's events and samples: "session 'FIX.4.4:HOUSE->DESK'".
[[nodiscard]] std::string event_source(std::string_view session);

/// Hands events of sessions from I/O threads to the thread that logs them, so that no I/O thread waits for a reader of
/// the event log. Events that do not fit are counted, and the log has their number.
///
/// Threads: any.
class SessionEvents {
public:
    static constexpr std::size_t kCapacity = 4'096;

    void add(SessionEvent event);
    /// Logs the events that were added, in their order. Actions of operators are never joined. On one thread.
    void move_to(service::EventLog& log, core::Moment now);

private:
    struct Waiting {
        SessionEvent event;
        core::Moment at;
    };

    std::mutex lock_;
    std::vector<Waiting> waiting_;
    std::uint32_t dropped_{0};
    unsigned actions_{0};  // logged
};

}  // namespace millpond::fixd
