#include "gateway/health/recorder.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace millpond::gateway::health {
namespace {

using service::Combine;
using service::EventKind;
using service::History;

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
/// Sinks that reloads may add; beyond them the samples of removed ones are forgotten.
constexpr std::size_t kMoreSinks = 8;

constexpr service::SeriesKind kFeedSeries[] = {
    {"packets_per_second", Combine::mean}, {"quotes_per_second", Combine::mean}, {"missing", Combine::sum},
    {"kernel_drops", Combine::sum},        {"undecodable", Combine::sum},        {"delay_ns", Combine::max}};
constexpr service::SeriesKind kLineSeries[] = {
    {"packets_per_second", Combine::mean}, {"missing", Combine::sum}, {"kernel_drops", Combine::sum}};
constexpr service::SeriesKind kRingSeries[] = {{"published_per_second", Combine::mean},
                                               {"wire_p50_ns", Combine::mean},
                                               {"wire_p99_ns", Combine::max},
                                               {"wire_max_ns", Combine::max},
                                               {"in_process_p99_ns", Combine::max}};
constexpr service::SeriesKind kSinkSeries[] = {{"delivered_per_second", Combine::mean},
                                               {"missed", Combine::sum},
                                               {"queued", Combine::max},
                                               {"lag_ns", Combine::max},
                                               {"clients", Combine::max}};
constexpr service::SourceKind kFeed{"feed", "", kFeedSeries};
constexpr service::SourceKind kLine{"line", "feed", kLineSeries};
constexpr service::SourceKind kRing{"ring", "", kRingSeries};
constexpr service::SourceKind kSink{"sink", "", kSinkSeries};

/// Increase of a count since the last call; 0 if it has decreased.
double growth(std::uint64_t& before, std::uint64_t now) {
    const auto last = std::exchange(before, now);
    return static_cast<double>(now >= last ? now - last : 0);
}

double value_or_none(bool is_known, std::uint64_t value) { return is_known ? static_cast<double>(value) : kNone; }

core::Moment moment_of(const State& state) {
    return {.utc_ns = state.now + state.utc_offset_ns, .monotonic_ns = state.now};
}

/// Names of the clients that `others` lacks, of which the first three are named.
std::string names_of(const ClientList::Clients& clients, const std::shared_ptr<const ClientList::Clients>& others) {
    constexpr std::size_t kNamed = 3;
    std::vector<std::string> names;
    for (const auto& client : clients) {
        if (others == nullptr || !std::ranges::binary_search(*others, client.id, {}, &ClientState::id))
            names.push_back(client_name(client.peer, client.name));
    }
    if (names.empty()) return {};
    const auto more = names.size() - std::min(names.size(), kNamed);
    names.resize(names.size() - more);
    return fmt::format(": {}{}", fmt::join(names, ", "), more == 0 ? "" : fmt::format(" and {} more", more));
}

}  // namespace

std::array<History::Capacity, 4> Recorder::capacities(const State& state) {
    std::size_t lines = 0;
    for (const auto& feed : state.feeds) lines += feed.lines.size();
    return {{{&kFeed, state.feeds.size()},
             {&kLine, lines},
             {&kRing, state.rings.size()},
             {&kSink, state.sinks.size() + kMoreSinks}}};
}

Recorder::Recorder(History& history, service::EventLog& events, const State& state)
    : history_(history), events_(events) {
    for (const auto& feed : state.feeds) {
        auto& memory = feeds_.emplace_back();
        memory.source = history_.add(kFeed, feed.name);
        for (const auto& line : feed.lines) {
            memory.lines.emplace_back().source = history_.add(kLine, line.name, feed.name);
        }
    }
    for (const auto& ring : state.rings) rings_.emplace_back().source = history_.add(kRing, ring.name);
    match_sinks(state);
}

void Recorder::match_sinks(const State& state) {
    const auto is_same = [](const SinkMemory& memory, const SinkState& sink) {
        return memory.name == sink.name && memory.since == sink.since;
    };
    if (std::ranges::equal(sinks_, state.sinks, is_same)) return;
    std::vector<SinkMemory> next;
    for (const auto& sink : state.sinks) {
        const auto known = std::ranges::find_if(sinks_, [&](const auto& memory) { return is_same(memory, sink); });
        if (known != sinks_.end()) {
            next.push_back(std::move(*known));
            known->source.reset();
        } else {
            next.push_back({.name = sink.name, .since = sink.since});
        }
    }
    for (const auto& gone : sinks_) {
        if (gone.source) history_.remove(*gone.source);
    }
    for (auto& memory : next) {
        if (memory.source) continue;
        memory.source = history_.add(kSink, memory.name);
        if (memory.source) continue;
        events_.add({.kind = EventKind::reload,
                     .severity = service::Severity::warning,
                     .source = fmt::format("sink '{}'", memory.name),
                     .text = fmt::format("has no history: reloads added more than {} sinks", kMoreSinks)},
                    moment_of(state));
    }
    sinks_ = std::move(next);
}

void Recorder::update(const State& state) {
    if (state.now == updated_) return;
    updated_ = state.now;
    match_sinks(state);
    log_connections(state);
    if (state.counted != counted_) {
        log_findings(state);
        take_sample(state);
        counted_ = state.counted;
    }
    events_.flush(moment_of(state));
}

void Recorder::log_connections(const State& state) {
    const auto now = moment_of(state);
    const auto log = [&](bool connected, service::Severity severity, const std::string& source, const std::string& text,
                         std::uint64_t count = 1) {
        events_.add({.kind = connected ? EventKind::connect : EventKind::disconnect,
                     .severity = severity,
                     .source = source,
                     .text = text,
                     .count = static_cast<std::uint32_t>(count)},
                    now);
    };
    for (std::size_t i = 0; i < feeds_.size(); ++i) {
        const auto& feed = state.feeds[i];
        const bool connects = feed.disconnected.since != 0;
        const bool connected = connects && !feed.disconnected.holds;
        if (std::exchange(feeds_[i].connected, connected) == connected) continue;
        log(connected, connected ? service::Severity::info : service::Severity::warning,
            fmt::format("feed '{}'", feed.name),
            connected ? fmt::format("logged in at {}", feed.listen)
                      : fmt::format("not logged in at {}: {}", feed.listen, feed.connection_failure));
    }
    for (std::size_t i = 0; i < sinks_.size(); ++i) {
        const auto& sink = state.sinks[i];
        auto& memory = sinks_[i];
        const bool connected = sink.connected.value_or(false);
        if (std::exchange(memory.connected, connected) != connected) {
            log(connected, connected ? service::Severity::info : service::Severity::warning,
                fmt::format("sink '{}'", sink.name),
                connected                 ? std::string{"connected"}
                : sink.last_error.empty() ? std::string{"disconnected"}
                                          : fmt::format("disconnected: {}", sink.last_error));
        }
        if (!sink.clients || sink.client_list == nullptr) continue;
        const auto before = memory.clients;
        memory.clients = sink.client_list->clients();
        if (memory.clients == before) continue;  // who came and left is not known yet
        const auto came = growth(memory.accepted, sink.clients_accepted);
        const auto left = growth(memory.departed, sink.clients_departed);
        // Other than the number of clients, which the sink sets only when it has served them all.
        const auto present = sink.clients_accepted - std::min(sink.clients_accepted, sink.clients_departed);
        const auto log_clients = [&](bool are_new, double growth) {
            const auto count = static_cast<std::uint64_t>(growth);
            if (count == 0) return;
            const auto names = are_new  ? names_of(*memory.clients, before)
                               : before ? names_of(*before, memory.clients)
                                        : "";
            log(are_new, service::Severity::info, fmt::format("sink '{}'", sink.name),
                fmt::format("{} {} {}{}; {} connected now", count, count == 1 ? "client" : "clients",
                            are_new ? "connected" : "disconnected", names, present),
                count);
        };
        log_clients(true, came);
        log_clients(false, left);
    }
}

void Recorder::log_finding(const Open& finding, bool ended, core::Moment now) {
    events_.add({.kind = finding.stage == Stage::latency ? EventKind::latency : EventKind::finding,
                 .severity = finding.severity,
                 .source = finding.of,
                 .text = finding.text,
                 .stage = to_string(finding.stage),
                 .ended = ended,
                 .since = finding.since + now.utc_ns - now.monotonic_ns,
                 .part = finding.part},
                now);
}

void Recorder::finish(core::Moment now) {
    for (auto& open : open_) {
        open.text = fmt::format("the gateway stops; {}", open.text);
        log_finding(open, true, now);
    }
    open_.clear();
}

void Recorder::log_findings(const State& state) {
    const auto now = moment_of(state);
    for (auto& open : open_) open.is_found = false;
    for (auto& finding : findings(state, state.now)) {
        const auto open = std::ranges::find_if(open_, [&](const Open& one) {
            return !one.is_found && one.stage == finding.stage && one.of == finding.of && one.part == finding.part;
        });
        if (open == open_.end()) {
            open_.push_back({finding.stage, finding.severity, std::move(finding.of), finding.part, finding.since,
                             std::move(finding.text), true});
            log_finding(open_.back(), false, now);
            continue;
        }
        open->is_found = true;
        open->text = std::move(finding.text);
        if (std::exchange(open->severity, finding.severity) != open->severity) log_finding(*open, false, now);
    }
    for (const auto& open : open_) {
        if (!open.is_found) log_finding(open, true, now);
    }
    std::erase_if(open_, [](const Open& one) { return !one.is_found; });
}

void Recorder::take_sample(const State& state) {
    constexpr std::int64_t kSecondNs = 1'000'000'000;
    const bool is_first = counted_ == 0;
    const auto span = static_cast<double>(state.counted - counted_) / static_cast<double>(kSecondNs);
    // The first update in a second ends the second before it; the first one of all only has the counts to begin with.
    const auto second = (state.counted + state.utc_offset_ns) / kSecondNs - 1;
    std::optional<History::Sample> sample;
    if (!is_first) sample.emplace(history_, second);
    const auto set = [&](std::optional<History::Handle> source, std::initializer_list<double> values) {
        if (sample && source) sample->set(*source, values);
    };
    for (std::size_t i = 0; i < feeds_.size(); ++i) {
        const auto& feed = state.feeds[i];
        auto& memory = feeds_[i];
        auto& counts = memory.counts;
        const auto quotes = growth(counts.quotes, feed.quotes);
        set(memory.source,
            {growth(counts.datagrams, feed.datagrams) / span, quotes / span, growth(counts.missing, feed.missing.count),
             growth(counts.dropped, feed.dropped.count), growth(counts.undecodable, feed.undecodable.count),
             feed.delay_ns && quotes > 0 ? static_cast<double>(*feed.delay_ns) : kNone});
        for (std::size_t n = 0; n < memory.lines.size(); ++n) {
            const auto& line = feed.lines[n];
            auto& before = memory.lines[n];
            set(before.source, {growth(before.datagrams, line.datagrams) / span, growth(before.missing, line.missing),
                                growth(before.dropped, line.kernel_drops)});
        }
    }
    for (std::size_t i = 0; i < rings_.size(); ++i) {
        const auto& ring = state.rings[i];
        auto& memory = rings_[i];
        const auto& wire = ring.wire.newest;
        const auto& inside = ring.in_process.newest;
        set(memory.source, {growth(memory.published, ring.published) / span, value_or_none(wire.count != 0, wire.p50),
                            value_or_none(wire.count != 0, wire.p99), value_or_none(wire.count != 0, wire.max),
                            value_or_none(inside.count != 0, inside.p99)});
    }
    for (std::size_t i = 0; i < sinks_.size(); ++i) {
        const auto& sink = state.sinks[i];
        auto& memory = sinks_[i];
        set(memory.source, {growth(memory.delivered, sink.account.delivered) / span,
                            growth(memory.missed, sink.account.missed + sink.clients_missed.count),
                            static_cast<double>(sink.account.queued), static_cast<double>(sink.lag_ns),
                            value_or_none(sink.clients.has_value(), sink.clients.value_or(0))});
    }
}

}  // namespace millpond::gateway::health
