#include "gateway/health/findings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace millpond::gateway::health {
namespace {

std::string seconds(std::int64_t nanos) { return fmt::format("{:.1f} s", static_cast<double>(nanos) / 1e9); }

std::string latency_text(std::uint64_t nanos) {
    constexpr std::uint64_t kMicro = 1'000;
    constexpr std::uint64_t kMilli = 1'000'000;
    constexpr std::uint64_t kSecond = 1'000'000'000;
    const auto value = static_cast<double>(nanos);
    if (nanos < kMicro) return fmt::format("{} ns", nanos);
    if (nanos < kMilli) return fmt::format("{:.4g} us", value / static_cast<double>(kMicro));
    if (nanos < kSecond) return fmt::format("{:.4g} ms", value / static_cast<double>(kMilli));
    return seconds(static_cast<std::int64_t>(nanos));
}

/// Grace period at a change of the session, when one line may be behind the other.
constexpr std::int64_t kApartNs = 2'000'000'000;

/// A longer wait for missing messages is a finding; a server answers sooner.
constexpr std::int64_t kWaitNs = 1'000'000'000;

std::string on_interface(const FeedState& feed) {
    return feed.interface.empty() ? std::string{} : fmt::format(" on {}", feed.interface);
}

void add(std::vector<Finding>& to, std::vector<Finding> more) {
    to.insert(to.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

/// Sort key: errors first.
int rank(const Finding& finding) { return -static_cast<int>(finding.severity); }

}  // namespace

std::string_view to_string(Stage stage) noexcept {
    switch (stage) {
        case Stage::receive_thread: return "receive thread";
        case Stage::link: return "link";
        case Stage::group_not_joined: return "group not joined";
        case Stage::connection: return "connection";
        case Stage::no_datagrams: return "no datagrams";
        case Stage::stale: return "stale";
        case Stage::latency: return "latency";
        case Stage::kernel_drops: return "kernel drops";
        case Stage::checksum: return "checksum errors";
        case Stage::line: return "line";
        case Stage::undecodable: return "undecodable";
        case Stage::other_session: return "other session";
        case Stage::request_server: return "request server";
        case Stage::waiting: return "waiting for messages";
        case Stage::gap: return "gap";
        case Stage::joined_late: return "joined late";
        case Stage::books_incomplete: return "books incomplete";
        case Stage::rejected: return "rejected messages";
        case Stage::table_full: return "table full";
        case Stage::incomplete: return "quotes incomplete";
        case Stage::books_crossed: return "crossed books";
        case Stage::delay: return "implausible delay";
        case Stage::halted: return "halted";
        case Stage::capture: return "capture";
        case Stage::sink_failures: return "sink failures";
        case Stage::sink_refused: return "sink refused";
        case Stage::sink_disconnected: return "sink disconnected";
        case Stage::sink_behind: return "sink behind";
        case Stage::sink_lost: return "sink lost events";
        case Stage::slow_client: return "slow client";
        case Stage::checkpoint: return "checkpoint overdue";
        case Stage::exposed: return "exposed";
    }
    return "unknown";
}

std::string_view to_string(service::Severity severity) noexcept {
    switch (severity) {
        case service::Severity::debug: return "debug";
        case service::Severity::info: return "info";
        case service::Severity::warning: return "warning";
        case service::Severity::error: return "error";
    }
    return "unknown";
}

std::vector<Finding> findings(const FeedState& feed, std::int64_t now) {
    std::vector<Finding> found;
    const auto add_finding = [&](Stage stage, service::Severity severity, std::int64_t since, std::string text,
                                 unsigned part = 0) {
        found.push_back({stage, severity, fmt::format("feed '{}'", feed.name), since, std::move(text), part});
    };
    // Parts of the findings of a line.
    const auto silent_part = [&](const LineState& line) { return static_cast<unsigned>(&line - feed.lines.data()); };
    const auto apart_part = [&](const LineState& line) {
        return static_cast<unsigned>(feed.lines.size()) + silent_part(line);
    };
    if (feed.link_down.holds) {
        add_finding(Stage::link, service::Severity::error, feed.link_down.since,
                    fmt::format("interface {} is down", feed.interface));
    }
    if (feed.not_joined.holds) {
        add_finding(Stage::group_not_joined, service::Severity::error, feed.not_joined.since,
                    fmt::format("the group of {} is not joined{}", feed.listen, on_interface(feed)));
    }
    const bool is_offline = feed.disconnected.holds && !feed.session_over;
    if (is_offline) {
        add_finding(Stage::connection, service::Severity::error, feed.disconnected.since,
                    feed.connection_failure.empty()
                        ? fmt::format("waiting for the login at {}", feed.listen)
                        : fmt::format("not logged in at {}: {}; retrying", feed.listen, feed.connection_failure));
    }
    const bool watched = feed.patience_ns != 0 && !feed.session_over;
    if (watched && feed.last_datagram == 0 && now - feed.started > feed.patience_ns) {
        add_finding(Stage::no_datagrams, service::Severity::error, feed.started,
                    fmt::format("nothing received at {}{} since startup", feed.listen, on_interface(feed)));
    } else if (feed.last_datagram == 0 && !is_offline) {
        add_finding(Stage::no_datagrams, service::Severity::warning, feed.started,
                    fmt::format("waiting for the first datagram at {}{}", feed.listen, on_interface(feed)));
    }
    // A feed without any decoded datagram has another finding.
    const auto heard = feed.last_heard != 0 ? feed.last_heard : feed.last_datagram;
    if (watched && heard != 0 && now - heard > feed.patience_ns) {
        const bool others = now - feed.last_datagram <= feed.patience_ns;
        add_finding(Stage::stale, service::Severity::error, heard,
                    fmt::format("nothing{} received for {}", others ? " of the feed, only other datagrams," : "",
                                seconds(now - heard)));
    }
    if (feed.dropped.is_active(now)) {
        add_finding(Stage::kernel_drops, service::Severity::warning, feed.dropped.since,
                    fmt::format("the kernel dropped {} datagrams because the socket buffer was full",
                                feed.dropped.count - feed.dropped.before));
    }
    if (feed.corrupt.is_active(now)) {
        add_finding(Stage::checksum, service::Severity::warning, feed.corrupt.since,
                    fmt::format("{} datagrams had a wrong checksum and were dropped",
                                feed.corrupt.count - feed.corrupt.before));
    }
    // If both lines are silent, the feed has the finding.
    for (const auto& line : feed.lines) {
        const auto since = std::max(line.last_datagram, feed.started);
        if (!watched || now - since <= feed.patience_ns || now - feed.last_datagram > feed.patience_ns) continue;
        add_finding(Stage::line, service::Severity::warning, since,
                    fmt::format("line {} ({}) is silent: losses of the other line are final", line.name, line.listen),
                    silent_part(line));
    }
    for (const auto& line : feed.lines) {
        if (!line.apart.holds || now - line.apart.since < kApartNs) continue;
        add_finding(
            Stage::line, line.data_apart ? service::Severity::error : service::Severity::warning, line.apart.since,
            fmt::format("line {} ({}) brings {}session '{}' and is ignored: the feed is in session '{}'", line.name,
                        line.listen, line.data_apart ? "messages of " : "", line.session, line.feed_session),
            apart_part(line));
    }
    if (feed.undecodable.is_active(now)) {
        add_finding(Stage::undecodable, service::Severity::error, feed.undecodable.since,
                    fmt::format("{} datagrams were not decoded", feed.undecodable.count - feed.undecodable.before));
    }
    if (feed.strays.is_active(now)) {
        add_finding(
            Stage::other_session, service::Severity::warning, feed.strays.since,
            fmt::format("{} datagrams of another session were ignored", feed.strays.count - feed.strays.before));
    }
    if (feed.no_request_server.holds) {
        add_finding(Stage::request_server, service::Severity::warning, feed.no_request_server.since,
                    feed.request_server_silent
                        ? fmt::format("the re-request server {} does not answer tests; retrying", feed.request_server)
                        : fmt::format("no route to the re-request server {}; retrying", feed.request_server));
    }
    if (feed.waits_ns >= kWaitNs) {
        add_finding(Stage::waiting, service::Severity::warning, now - feed.waits_ns,
                    fmt::format("newer messages have been waiting for missing ones for {}{}", seconds(feed.waits_ns),
                                feed.request_server.empty() ? std::string{}
                                                            : fmt::format(", requested from {}", feed.request_server)));
    }
    if (feed.missing.is_active(now)) {
        add_finding(Stage::gap, service::Severity::warning, feed.missing.since,
                    fmt::format("{} sequence numbers are missing{}", feed.missing.count - feed.missing.before,
                                feed.dropped.count == 0 ? std::string{}
                                                        : fmt::format("; the kernel dropped {} datagrams since startup",
                                                                      feed.dropped.count)));
    }
    if (feed.joined_at != 0) {
        add_finding(
            Stage::joined_late, service::Severity::warning, feed.joined_since,
            fmt::format("the session was joined at message {}: what was sent before it is missing", feed.joined_at));
    }
    if (feed.incomplete.holds) {
        add_finding(Stage::books_incomplete, service::Severity::warning, feed.incomplete.since,
                    feed.rebuild_failure.empty()
                        ? std::string{"the books have a gap and are being rebuilt"}
                        : fmt::format("the books have a gap and could not be rebuilt: {}", feed.rebuild_failure));
    }
    if (feed.some_books_incomplete.holds && !feed.incomplete.holds) {
        add_finding(Stage::books_incomplete, service::Severity::warning, feed.some_books_incomplete.since,
                    fmt::format("incomplete books: {}, the first for {}", feed.books_incomplete,
                                seconds(now - feed.some_books_incomplete.since)));
    }
    if (feed.rejected.is_active(now)) {
        add_finding(Stage::rejected, service::Severity::warning, feed.rejected.since,
                    fmt::format("{} messages could not be read or contradict the books",
                                feed.rejected.count - feed.rejected.before));
    }
    if (feed.ignored.is_active(now)) {
        add_finding(Stage::rejected, service::Severity::warning, feed.ignored.since,
                    fmt::format("{} packets of {} were ignored: repeated messages or unknown types",
                                feed.ignored.count - feed.ignored.before, feed.listen),
                    1);
    }
    if (feed.refused_prices.is_active(now)) {
        add_finding(Stage::rejected, service::Severity::warning, feed.refused_prices.since,
                    fmt::format("{} orders or levels have prices above 429,496.7295, which books cannot hold; their "
                                "instruments are incomplete",
                                feed.refused_prices.count - feed.refused_prices.before),
                    2);
    }
    if (feed.quotes_incomplete.holds) {
        add_finding(Stage::incomplete, service::Severity::warning, feed.quotes_incomplete.since,
                    fmt::format("incomplete quotes: {}, the first for {}", feed.instruments_incomplete,
                                seconds(now - feed.quotes_incomplete.since)));
    }
    if (feed.crossed.is_active(now)) {
        add_finding(Stage::books_crossed, service::Severity::warning, feed.crossed.since,
                    fmt::format("{} groups left a book crossed or locked while its instrument traded",
                                feed.crossed.count - feed.crossed.before));
    }
    if (feed.implausible_delay.holds && feed.delay_ns) {
        const auto ahead = *feed.delay_ns < 0;
        add_finding(
            Stage::delay, service::Severity::warning, feed.implausible_delay.since,
            fmt::format("exchange times are {} {} receive times: check timezone and date of the feed, and the clocks",
                        seconds(ahead ? -*feed.delay_ns : *feed.delay_ns), ahead ? "ahead of" : "behind"));
    }
    if (feed.halted.holds) {
        add_finding(Stage::halted, service::Severity::info, feed.halted.since,
                    fmt::format("the venue says: {}", feed.channel_state));
    } else if (feed.some_halted.holds) {
        add_finding(Stage::halted, service::Severity::info, feed.some_halted.since,
                    fmt::format("instruments not trading: {}", feed.instruments_halted));
    }
    return found;
}

std::vector<Finding> findings(const RingState& ring, std::int64_t now) {
    std::vector<Finding> found;
    const auto of = fmt::format("ring '{}'", ring.name);
    if (ring.silent.holds) {
        found.push_back({Stage::receive_thread, service::Severity::error, of, ring.silent.since,
                         fmt::format("the receive thread of ring '{}' does not respond", ring.name)});
    }
    if (ring.slow.holds) {
        found.push_back({Stage::latency, service::Severity::warning, of, ring.slow.since,
                         fmt::format("p99 from receive timestamp to shared memory is {} in the last 10 s, above {}; "
                                     "p50 is {}, the maximum {}",
                                     latency_text(ring.wire.recent.p99),
                                     latency_text(static_cast<std::uint64_t>(ring.latency_warn_ns)),
                                     latency_text(ring.wire.recent.p50), latency_text(ring.wire.recent.max))});
    }
    const auto& errors = ring.capture_errors;
    const auto& lost = ring.capture_lost;
    if (errors.is_active(now) || lost.is_active(now)) {
        found.push_back({Stage::capture, service::Severity::warning, of,
                         errors.is_active(now) ? errors.since : lost.since,
                         fmt::format("{} writes of the capture failed; {} datagrams are missing from it",
                                     errors.count - errors.before, lost.count - lost.before)});
    }
    return found;
}

std::vector<Finding> findings(const PoolState& pool) {
    if (pool.missing == 0 && pool.nearly_full.holds) {
        return {{Stage::table_full, service::Severity::warning, pool.of, pool.nearly_full.since,
                 fmt::format("the table of {} {} is {} % full: raise {} before it is full", pool.capacity, pool.name,
                             pool.used * 100 / pool.capacity, pool.bound)}};
    }
    if (pool.missing == 0) return {};
    return {{Stage::table_full, service::Severity::error, pool.of, pool.full_since,
             fmt::format("the table of {} {} is full: {} messages did not fit; raise {}", pool.capacity, pool.name,
                         pool.missing, pool.bound)}};
}

/// The connected client that has lost the most events; empty if none has.
std::string worst_client(const SinkState& sink) {
    if (sink.client_list == nullptr) return {};
    const auto clients = sink.client_list->clients();
    const auto worst =
        std::ranges::max_element(*clients, {}, [](const ClientState& client) { return client.account.missed; });
    if (worst == clients->end() || worst->account.missed == 0) return {};
    return fmt::format("; of those connected {} the most: {}", client_name(worst->peer, worst->name),
                       worst->account.missed);
}

std::vector<Finding> findings(const SinkState& sink, std::int64_t now) {
    std::vector<Finding> found;
    const auto add_finding = [&](service::Severity severity, std::int64_t since, std::string text,
                                 Stage stage = Stage::sink_behind, unsigned part = 0) {
        found.push_back({stage, severity, fmt::format("sink '{}'", sink.name), since, std::move(text), part});
    };
    const auto cause = sink.last_error.empty() ? std::string{}
                                               : fmt::format("; its last error, {} ago: {}",
                                                             seconds(now - sink.last_error_at), sink.last_error);
    if (sink.failed.is_active(now)) {
        add_finding(service::Severity::warning, sink.failed.since,
                    fmt::format("{} writes, syncs or sends failed, the last {} ago{}",
                                sink.failed.count - sink.failed.before, seconds(now - sink.failed.last), cause),
                    Stage::sink_failures);
    }
    if (sink.refused.is_active(now)) {
        add_finding(service::Severity::error, sink.refused.since,
                    fmt::format("its receiver refused {} messages, the last {} ago{}",
                                sink.refused.count - sink.refused.before, seconds(now - sink.refused.last), cause),
                    Stage::sink_refused);
    }
    if (sink.ended) {
        add_finding(service::Severity::error, sink.behind.since, fmt::format("it has stopped{}", cause));
    } else if (sink.disconnected.holds && now - sink.disconnected.since > sink.patience_ns) {
        add_finding(service::Severity::error, sink.disconnected.since,
                    fmt::format("it is not connected{}{}",
                                sink.behind.holds ? fmt::format("; {} events queued", sink.account.queued) : "", cause),
                    Stage::sink_disconnected);
    } else if (sink.behind.holds) {
        add_finding(
            service::Severity::error, sink.behind.since,
            fmt::format("{} events queued, the oldest for {}{}", sink.account.queued, seconds(sink.lag_ns), cause));
    }
    if (sink.stalled.is_active(now)) {
        add_finding(service::Severity::warning, sink.stalled.since,
                    fmt::format("clients that accepted no data and were disconnected: {}{}",
                                sink.stalled.count - sink.stalled.before, cause),
                    Stage::slow_client, 1);
    }
    if (sink.clients_missed.is_active(now)) {
        add_finding(service::Severity::warning, sink.clients_missed.since,
                    fmt::format("clients lost {} events{}", sink.clients_missed.count - sink.clients_missed.before,
                                worst_client(sink)),
                    Stage::slow_client);
    }
    if (sink.lost.is_active(now)) {
        add_finding(service::Severity::warning, sink.lost.since,
                    fmt::format("the ring overwrote {} events before the sink read them, the last {} ago",
                                sink.lost.count - sink.lost.before, seconds(now - sink.lost.last)),
                    Stage::sink_lost);
    }
    if (sink.checkpoint_overdue.holds) {
        add_finding(service::Severity::warning, sink.checkpoint_overdue.since,
                    fmt::format("the newest checkpoint of the books is {} s old, although there are events for the "
                                "next one{}",
                                sink.checkpoint_age_seconds, cause),
                    Stage::checkpoint);
    }
    if (!sink.exposed.empty()) add_finding(service::Severity::warning, sink.since, sink.exposed, Stage::exposed);
    return found;
}

std::vector<Finding> findings(const State& state, std::int64_t now) {
    std::vector<Finding> found;
    for (const auto& feed : state.feeds) add(found, findings(feed, now));
    for (const auto& ring : state.rings) add(found, findings(ring, now));
    for (const auto& pool : state.pools) add(found, findings(pool));
    for (const auto& sink : state.sinks) add(found, findings(sink, now));
    if (!state.metrics_exposed.empty()) {
        found.push_back({Stage::exposed, service::Severity::warning, "metrics", state.started, state.metrics_exposed});
    }
    std::stable_sort(found.begin(), found.end(), [](const Finding& left, const Finding& right) {
        return std::tuple{rank(left), left.stage, left.since} < std::tuple{rank(right), right.stage, right.since};
    });
    return found;
}

}  // namespace millpond::gateway::health
