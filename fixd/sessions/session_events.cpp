#include "fixd/sessions/session_events.hpp"

#include <fmt/format.h>

#include <utility>

#include <millpond/core/clock.hpp>

namespace millpond::fixd {

std::string event_source(std::string_view session) { return fmt::format("session '{}'", session); }

void SessionEvents::add(SessionEvent event) {
    const core::Moment now{.utc_ns = core::utc_nanos(), .monotonic_ns = core::monotonic_nanos()};
    const std::lock_guard guard{lock_};
    if (waiting_.size() == kCapacity) {
        ++dropped_;
        return;
    }
    waiting_.push_back({std::move(event), now});
}

void SessionEvents::move_to(service::EventLog& log, core::Moment now) {
    std::vector<Waiting> taken;
    std::uint32_t dropped = 0;
    {
        const std::lock_guard guard{lock_};
        taken.swap(waiting_);
        dropped = std::exchange(dropped_, 0);
    }
    for (const auto& [event, at] : taken) {
        log.add({.kind = event.kind,
                 .severity = event.severity,
                 .source = event_source(event.session),
                 .text = event.text,
                 .range = event.range,
                 .count = event.count,
                 .part = event.kind == service::EventKind::admin ? ++actions_ : 0},
                at);
    }
    if (dropped == 0) return;
    log.add({.kind = service::EventKind::session,
             .severity = service::Severity::warning,
             .source = "engine",
             .text = fmt::format("{} events of sessions came too fast and are not in this log", dropped),
             .count = dropped},
            now);
}

}  // namespace millpond::fixd
