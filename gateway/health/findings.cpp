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

/// At a change of the session, one line may be behind the other for an instant.
constexpr std::int64_t kApartNs = 2'000'000'000;

std::string on_interface(const FeedState& feed) {
    return feed.interface.empty() ? std::string{} : fmt::format(" on {}", feed.interface);
}

void add(std::vector<Finding>& to, std::vector<Finding> more) {
    to.insert(to.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

/// Errors first.
int rank(const Finding& finding) { return -static_cast<int>(finding.severity); }

}  // namespace

std::string_view to_string(Stage stage) noexcept {
    switch (stage) {
        case Stage::link: return "link";
        case Stage::group_not_joined: return "group not joined";
        case Stage::no_datagrams: return "no datagrams";
        case Stage::stale: return "stale";
        case Stage::kernel_drops: return "kernel drops";
        case Stage::checksum: return "checksum errors";
        case Stage::line: return "line";
        case Stage::undecodable: return "undecodable";
        case Stage::rejected: return "rejected messages";
        case Stage::other_session: return "other session";
        case Stage::request_server: return "request server";
        case Stage::gap: return "gap";
        case Stage::incomplete: return "quotes incomplete";
        case Stage::books_incomplete: return "books incomplete";
        case Stage::table_full: return "table full";
        case Stage::delay: return "implausible delay";
        case Stage::halted: return "halted";
        case Stage::receive_thread: return "receive thread";
        case Stage::capture: return "capture";
        case Stage::sink_disconnected: return "sink disconnected";
        case Stage::sink_behind: return "sink behind";
        case Stage::sink_lost: return "sink lost events";
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
    const auto tell = [&](Stage stage, service::Severity severity, std::int64_t since, std::string text) {
        found.push_back({stage, severity, fmt::format("feed '{}'", feed.name), since, std::move(text)});
    };
    if (feed.link_down.holds) {
        tell(Stage::link, service::Severity::error, feed.link_down.since,
             fmt::format("interface {} is down", feed.interface));
    }
    if (feed.not_joined.holds) {
        tell(Stage::group_not_joined, service::Severity::error, feed.not_joined.since,
             fmt::format("the group of {} is not joined{}", feed.listen, on_interface(feed)));
    }
    const bool watched = feed.patience_ns != 0 && !feed.session_over;
    if (watched && feed.last_datagram == 0 && now - feed.started > feed.patience_ns) {
        tell(Stage::no_datagrams, service::Severity::error, feed.started,
             fmt::format("nothing received at {}{} since startup", feed.listen, on_interface(feed)));
    }
    // A feed of which nothing was ever decoded has another finding.
    const auto heard = feed.last_heard != 0 ? feed.last_heard : feed.last_datagram;
    if (watched && heard != 0 && now - heard > feed.patience_ns) {
        const bool others = now - feed.last_datagram <= feed.patience_ns;
        tell(Stage::stale, service::Severity::error, heard,
             fmt::format("nothing{} received for {}", others ? " of the feed, only other datagrams," : "",
                         seconds(now - heard)));
    }
    if (feed.dropped.goes_on(now)) {
        tell(Stage::kernel_drops, service::Severity::warning, feed.dropped.since,
             fmt::format("the kernel dropped {} datagrams because the socket buffer was full",
                         feed.dropped.count - feed.dropped.before));
    }
    if (feed.corrupt.goes_on(now)) {
        tell(Stage::checksum, service::Severity::warning, feed.corrupt.since,
             fmt::format("{} datagrams had a wrong checksum and were dropped",
                         feed.corrupt.count - feed.corrupt.before));
    }
    // If both are silent, the feed is.
    for (const auto& line : feed.lines) {
        const auto since = std::max(line.last_datagram, feed.started);
        if (!watched || now - since <= feed.patience_ns || now - feed.last_datagram > feed.patience_ns) continue;
        tell(Stage::line, service::Severity::warning, since,
             fmt::format("line {} ({}) is silent: losses of the other line are final", line.name, line.listen));
    }
    for (const auto& line : feed.lines) {
        if (!line.apart.holds || now - line.apart.since < kApartNs) continue;
        tell(Stage::line, service::Severity::warning, line.apart.since,
             fmt::format("line {} ({}) brings session '{}' and is ignored: the feed is in session '{}'", line.name,
                         line.listen, line.session, line.feed_session));
    }
    if (feed.undecodable.goes_on(now)) {
        tell(Stage::undecodable, service::Severity::error, feed.undecodable.since,
             fmt::format("{} datagrams were not decoded", feed.undecodable.count - feed.undecodable.before));
    }
    if (feed.rejected.goes_on(now)) {
        tell(Stage::rejected, service::Severity::warning, feed.rejected.since,
             fmt::format("{} messages could not be read or contradict the books",
                         feed.rejected.count - feed.rejected.before));
    }
    if (feed.strays.goes_on(now)) {
        tell(Stage::other_session, service::Severity::warning, feed.strays.since,
             fmt::format("{} datagrams of another session were ignored", feed.strays.count - feed.strays.before));
    }
    if (feed.no_request_server.holds) {
        tell(Stage::request_server, service::Severity::warning, feed.no_request_server.since,
             fmt::format("no route to the re-request server {}; retrying", feed.request_server));
    }
    if (feed.missing.goes_on(now)) {
        tell(Stage::gap, service::Severity::warning, feed.missing.since,
             fmt::format("{} sequence numbers are missing{}", feed.missing.count - feed.missing.before,
                         feed.dropped.count == 0
                             ? std::string{}
                             : fmt::format("; the kernel dropped {} datagrams since startup", feed.dropped.count)));
    }
    if (feed.quotes_incomplete.holds) {
        tell(Stage::incomplete, service::Severity::warning, feed.quotes_incomplete.since,
             fmt::format("incomplete quotes: {}, the first for {}", feed.instruments_incomplete,
                         seconds(now - feed.quotes_incomplete.since)));
    }
    if (feed.incomplete.holds) {
        tell(Stage::books_incomplete, service::Severity::warning, feed.incomplete.since,
             feed.rebuild_failure.empty()
                 ? std::string{"the books have a gap and are being rebuilt"}
                 : fmt::format("the books have a gap and could not be rebuilt: {}", feed.rebuild_failure));
    }
    if (feed.implausible_delay.holds && feed.delay_ns) {
        const auto ahead = *feed.delay_ns < 0;
        tell(Stage::delay, service::Severity::warning, feed.implausible_delay.since,
             fmt::format("exchange times are {} {} receive times: check timezone and date of the feed, and the clocks",
                         seconds(ahead ? -*feed.delay_ns : *feed.delay_ns), ahead ? "ahead of" : "behind"));
    }
    if (feed.halted.holds) {
        tell(Stage::halted, service::Severity::info, feed.halted.since,
             fmt::format("the venue says: {}", feed.channel_state));
    } else if (feed.some_halted.holds) {
        tell(Stage::halted, service::Severity::info, feed.some_halted.since,
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
    const auto& errors = ring.capture_errors;
    const auto& lost = ring.capture_lost;
    if (errors.goes_on(now) || lost.goes_on(now)) {
        found.push_back({Stage::capture, service::Severity::warning, of,
                         errors.goes_on(now) ? errors.since : lost.since,
                         fmt::format("{} writes of the capture failed; {} datagrams are missing from it",
                                     errors.count - errors.before, lost.count - lost.before)});
    }
    return found;
}

std::vector<Finding> findings(const PoolState& pool) {
    if (pool.missing == 0) return {};
    return {{Stage::table_full, service::Severity::error, pool.of, pool.full_since,
             fmt::format("the table of {} {} is full: {} messages did not fit; raise {}", pool.capacity, pool.name,
                         pool.missing, pool.bound)}};
}

std::vector<Finding> findings(const SinkState& sink, std::int64_t now) {
    std::vector<Finding> found;
    const auto tell = [&](service::Severity severity, std::int64_t since, std::string text,
                          Stage stage = Stage::sink_behind) {
        found.push_back({stage, severity, fmt::format("sink '{}'", sink.name), since, std::move(text)});
    };
    const auto cause = sink.last_error.empty() ? std::string{}
                                               : fmt::format("; its last error, {} ago: {}",
                                                             seconds(now - sink.last_error_at), sink.last_error);
    if (sink.ended) {
        tell(service::Severity::error, sink.behind.since, fmt::format("it has stopped{}", cause));
    } else if (sink.disconnected.holds && now - sink.disconnected.since > sink.patience_ns) {
        tell(service::Severity::error, sink.disconnected.since,
             fmt::format("it is not connected{}{}",
                         sink.behind.holds ? fmt::format("; {} events queued", sink.account.queued) : "", cause),
             Stage::sink_disconnected);
    } else if (sink.behind.holds) {
        tell(service::Severity::error, sink.behind.since,
             fmt::format("{} events queued, the oldest for {}{}", sink.account.queued, seconds(sink.lag_ns), cause));
    } else if (sink.stalled.goes_on(now)) {
        tell(service::Severity::warning, sink.stalled.since,
             fmt::format("clients that accepted no data and were disconnected: {}",
                         sink.stalled.count - sink.stalled.before));
    }
    if (sink.lost.goes_on(now)) {
        tell(service::Severity::warning, sink.lost.since,
             fmt::format("the ring overwrote {} events before the sink read them, the last {} ago",
                         sink.lost.count - sink.lost.before, seconds(now - sink.lost.last)),
             Stage::sink_lost);
    }
    return found;
}

std::vector<Finding> findings(const State& state, std::int64_t now) {
    std::vector<Finding> found;
    for (const auto& feed : state.feeds) add(found, findings(feed, now));
    for (const auto& ring : state.rings) add(found, findings(ring, now));
    for (const auto& pool : state.pools) add(found, findings(pool));
    for (const auto& sink : state.sinks) add(found, findings(sink, now));
    std::stable_sort(found.begin(), found.end(), [](const Finding& left, const Finding& right) {
        return std::tuple{rank(left), left.stage, left.since} < std::tuple{rank(right), right.stage, right.since};
    });
    return found;
}

}  // namespace millpond::gateway::health
