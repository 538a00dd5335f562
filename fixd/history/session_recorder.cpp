#include "fixd/history/session_recorder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "fixd/sessions/session_events.hpp"

namespace millpond::fixd {
namespace {

using service::Combine;
using service::EventKind;
using service::History;

constexpr std::int64_t kSecondNs = 1'000'000'000;
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

constexpr service::SeriesKind kSessionSeries[] = {{"received_per_second", Combine::mean},
                                                  {"sent_per_second", Combine::mean},
                                                  {"resent", Combine::sum},
                                                  {"rejected", Combine::sum},
                                                  {"peer_rejects", Combine::sum},
                                                  {"latency_p50_ns", Combine::mean},
                                                  {"latency_p99_ns", Combine::max},
                                                  {"latency_max_ns", Combine::max},
                                                  {"pending_bytes", Combine::max}};
constexpr service::SourceKind kSession{"session", "", kSessionSeries};

/// Increase of a count since the last call; 0 if it has decreased: the session was replaced.
double growth(std::uint64_t& before, std::uint64_t now) {
    const auto last = std::exchange(before, now);
    return static_cast<double>(now >= last ? now - last : 0);
}

}  // namespace

std::array<History::Capacity, 1> SessionRecorder::capacities(std::size_t sessions) { return {{{&kSession, sessions}}}; }

SessionRecorder::Memory& SessionRecorder::memory_of(const SessionReport& session, core::Moment now) {
    const auto& name = session.status.name;
    const auto [place, is_new] = sessions_.try_emplace(name);
    auto& memory = place->second;
    memory.is_present = true;
    if (!is_new) return memory;
    const auto& status = session.status;
    memory.counts = {status.received, status.sent, status.resent, status.rejected, session.peer_rejects.count};
    memory.next_sender = status.next_sender;
    memory.next_target = status.next_target;
    memory.source = history_.add(kSession, name);
    if (!memory.source) {
        events_.add({.kind = EventKind::session,
                     .severity = service::Severity::warning,
                     .source = event_source(name),
                     .text = "has no history: there are more sessions than it has room for"},
                    now);
    }
    return memory;
}

void SessionRecorder::remove_absent() {
    std::erase_if(sessions_, [&](const auto& known) {
        if (!known.second.is_present && known.second.source) history_.remove(*known.second.source);
        return !known.second.is_present;
    });
}

void SessionRecorder::log_numbers(const engine::SessionStatus& status, Memory& memory, core::Moment now) {
    const auto sender = std::exchange(memory.next_sender, status.next_sender);
    const auto target = std::exchange(memory.next_target, status.next_target);
    if (status.next_sender >= sender && status.next_target >= target) return;
    events_.add({.kind = EventKind::reset,
                 .source = event_source(status.name),
                 .text = fmt::format("next out {}, was {}; next in {}, was {}", status.next_sender, sender,
                                     status.next_target, target)},
                now);
}

void SessionRecorder::update(const std::vector<SessionReport>& sessions, const std::vector<Finding>& findings,
                             core::Moment now) {
    for (auto& known : sessions_) known.second.is_present = false;
    log_findings(findings, now);
    const auto span = static_cast<double>(now.monotonic_ns - updated_ns_) / static_cast<double>(kSecondNs);
    std::vector<Memory*> memories;
    for (const auto& session : sessions) memories.push_back(&memory_of(session, now));
    remove_absent();
    // The first update only has the counts to begin with; each other one ends the second before it.
    std::optional<History::Sample> sample;
    if (std::exchange(updated_ns_, now.monotonic_ns) != 0) sample.emplace(history_, now.utc_ns / kSecondNs - 1);
    for (std::size_t i = 0; i < sessions.size(); ++i) {
        const auto& status = sessions[i].status;
        auto& memory = *memories[i];
        log_numbers(status, memory, now);
        const auto resent = growth(memory.counts.resent, status.resent);
        if (resent > 0) {
            events_.add({.kind = EventKind::resend,
                         .source = event_source(status.name),
                         .text = fmt::format("{:.0f} messages were resent", resent)},
                        now);
        }
        const auto latency = records_.of(status.name)->latencies().read_since(memory.latencies);
        const auto of_any = [&](std::int64_t nanos) { return latency.count == 0 ? kNone : static_cast<double>(nanos); };
        const auto received = growth(memory.counts.received, status.received);
        const auto sent = growth(memory.counts.sent, status.sent);
        const auto rejected = growth(memory.counts.rejected, status.rejected);
        const auto peer_rejects = growth(memory.counts.peer_rejects, sessions[i].peer_rejects.count);
        if (!sample || !memory.source) continue;
        sample->set(*memory.source,
                    {received / span, sent / span, resent, rejected, peer_rejects, of_any(latency.p50),
                     of_any(latency.p99), of_any(latency.max), static_cast<double>(status.pending_bytes)});
    }
}

void SessionRecorder::log_finding(const Finding& finding, bool ended, core::Moment now) {
    events_.add({.kind = EventKind::finding,
                 .severity = severity_of(finding.kind),
                 .source = finding.of,
                 .text = finding.text,
                 .stage = stage_of(finding.kind),
                 .ended = ended,
                 .since = finding.since_utc_ns},
                now);
}

void SessionRecorder::log_findings(const std::vector<Finding>& findings, core::Moment now) {
    for (auto& open : open_) open.is_found = false;
    for (const auto& finding : findings) {
        const auto open = std::ranges::find_if(open_, [&](const Open& one) {
            return !one.is_found && one.finding.kind == finding.kind && one.finding.of == finding.of;
        });
        if (open != open_.end()) {
            *open = {finding, true};
            continue;
        }
        log_finding(finding, false, now);
        open_.push_back({finding, true});
    }
    for (const auto& open : open_) {
        if (!open.is_found) log_finding(open.finding, true, now);
    }
    std::erase_if(open_, [](const Open& one) { return !one.is_found; });
}

}  // namespace millpond::fixd
