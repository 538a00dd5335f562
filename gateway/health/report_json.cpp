#include "gateway/health/report_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <string>
#include <string_view>
#include <vector>

#include <millpond/core/json_string.hpp>

#include "gateway/health/advice.hpp"
#include "gateway/health/findings.hpp"

namespace millpond::gateway::health {
namespace {

using core::json_string;

/// Converts times of a State to UTC.
struct Utc {
    std::int64_t offset_ns;
    [[nodiscard]] std::int64_t operator()(std::int64_t time_ns) const noexcept { return time_ns + offset_ns; }
    [[nodiscard]] std::string or_null(std::int64_t time_ns) const {
        return time_ns == 0 ? "null" : fmt::format("{}", (*this)(time_ns));
    }
};

std::string json_of(const Finding& finding, Utc utc) {
    const auto [meaning, action] = advice(finding.stage);
    return fmt::format(R"({{"stage":"{}","severity":"{}","of":{},"since":{},"text":{},"meaning":{},"advice":{}}})",
                       to_string(finding.stage), to_string(finding.severity), json_string(finding.of),
                       utc(finding.since), json_string(finding.text), json_string(meaning), json_string(action));
}

std::string json_of(const LineState& line, Utc utc) {
    return fmt::format(
        R"({{"name":"{}","listen":{},"packets":{},"used":{},"missing":{},"kernel_drops":{},"last_packet":{}}})",
        line.name, json_string(line.listen), line.datagrams, line.used, line.missing, line.kernel_drops,
        utc.or_null(line.last_datagram));
}

template <class Part, class... More>
std::string list_of(const std::vector<Part>& parts, More... more);

std::string json_of(const FeedState& feed, Utc utc) {
    return fmt::format(
        R"({{"name":{},"ring":{},"channel":{},"format":"{}","listen":{},"interface":{},"packets":{},"bytes":{},)"
        R"("quotes":{},"packets_per_second":{:.1f},"quotes_per_second":{:.1f},"last_packet":{},"delay_ns":{},)"
        R"("missing":{},"undecodable":{},"kernel_drops":{},"channel_state":{},"session_over":{},)"
        R"("instruments_halted":{},"instruments_incomplete":{},"lines":{}}})",
        json_string(feed.name), json_string(feed.ring), feed.channel, feed.format, json_string(feed.listen),
        json_string(feed.interface), feed.datagrams, feed.bytes, feed.quotes, feed.datagrams_per_second,
        feed.quotes_per_second, utc.or_null(feed.last_datagram),
        feed.delay_ns ? fmt::format("{}", *feed.delay_ns) : "null", feed.missing.count, feed.undecodable.count,
        feed.dropped.count, json_string(feed.channel_state), feed.session_over, feed.instruments_halted,
        feed.instruments_incomplete, list_of(feed.lines, utc));
}

std::string json_of(const LatencyState::Percentiles& values) {
    return fmt::format(R"({{"count":{},"mean":{},"p50":{},"p90":{},"p95":{},"p99":{},"p999":{},"max":{}}})",
                       values.count, values.mean, values.p50, values.p90, values.p95, values.p99, values.p999,
                       values.max);
}

std::string json_of(const LatencyState& latency) {
    std::string bars;
    for (const auto& [up_to, count] : latency.bars) {
        bars += fmt::format("{}[{},{}]", bars.empty() ? "" : ",", up_to, count);
    }
    return fmt::format(R"({{"recent":{},"all":{},"bars":[{}]}})", json_of(latency.recent), json_of(latency.all), bars);
}

std::string json_of(const ReaderState& reader) {
    return fmt::format(R"({{"name":{},"pid":{},"uid":{},"behind":{},"missed":{},"alive":{}}})",
                       json_string(reader.name), reader.pid, reader.uid, reader.behind, reader.missed, reader.alive);
}

std::string json_of(const PoolState& pool) {
    return fmt::format(R"({{"name":"{}","of":{},"used":{},"capacity":{},"refused":{},"missing":{},"bound":"{}"}})",
                       pool.name, json_string(pool.of), pool.used, pool.capacity, pool.refused, pool.missing,
                       pool.bound);
}

std::string json_of(const CompositeState::LeftOut& left_out) {
    return fmt::format(R"({{"feed":{},"incomplete":{},"silent":{},"halted":{},"not_firm":{}}})",
                       json_string(left_out.feed), left_out.incomplete, left_out.silent, left_out.halted,
                       left_out.not_firm);
}

std::string json_of(const ProgramState& program) {
    const auto config =
        program.config_file.empty()
            ? std::string{"null"}
            : fmt::format(R"({{"file":{},"changed":{}}})", json_string(program.config_file), program.config_changed);
    return fmt::format(R"({{"name":{},"host":{},"version":"{}","config":{},"admin":{}}})", json_string(program.name),
                       json_string(program.host), program.version, config, program.admits_admin);
}

std::string json_of(const CompositeState& composite);
std::string json_of(const RingState& ring);
std::string json_of(const SinkState& sink, Utc utc);

template <class Part, class... More>
std::string list_of(const std::vector<Part>& parts, More... more) {
    std::string list{"["};
    for (const auto& part : parts) list += (list.size() == 1 ? "" : ",") + json_of(part, more...);
    return list + "]";
}

std::string json_of(const CompositeState& composite) {
    return fmt::format(
        R"({{"venue":{},"channel":{},"symbols":{},"locked":{},"crossed":{},"refused":{},"left_out":{}}})",
        json_string(composite.venue), composite.channel, composite.symbols, composite.locked, composite.crossed,
        composite.refused, list_of(composite.left_out));
}

std::string json_of(const RingState& ring) {
    return fmt::format(
        R"({{"name":{},"published":{},"published_per_second":{:.1f},"latency_warn":{},"capacity":{},"instruments":{},)"
        R"("max_instruments":{},"refused":{},"memory":{{"mapped":{},"resident":{},"huge":{},"locked":{},)"
        R"("page":{},"shortfall":{}}},"wire":{},"in_process":{},"readers":{},"readers_complete":{},"composites":{}}})",
        json_string(ring.name), ring.published, ring.published_per_second,
        ring.latency_warn_ns == 0 ? "null" : fmt::format("{}", ring.latency_warn_ns), ring.capacity, ring.instruments,
        ring.max_instruments, ring.refused, ring.memory.mapped_bytes, ring.memory.resident_bytes,
        ring.memory.huge_bytes, ring.memory.locked_bytes, ring.memory.page_bytes, json_string(ring.memory.shortfall),
        json_of(ring.wire), json_of(ring.in_process), list_of(ring.readers), ring.readers_complete,
        list_of(ring.composites));
}

std::string json_of(const SinkState& sink, Utc utc) {
    return fmt::format(
        R"({{"name":{},"type":"{}","ring":{},"clients":{},"replays":{},"replays_failed":{},"connected":{},"ended":{},"behind":{},"lag_ns":{},"published":{},)"
        R"("delivered":{},"delivered_per_second":{:.1f},"filtered":{},"conflated":{},"missed":{},"refused":{},"queued":{},)"
        R"("snapshot":{},"last_error":{},"last_error_at":{}}})",
        json_string(sink.name), sink.type, json_string(sink.ring),
        sink.clients ? fmt::format("{}", *sink.clients) : "null",
        sink.replays ? fmt::format("{}", *sink.replays) : "null",
        sink.replays ? fmt::format("{}", sink.replays_failed) : "null",
        sink.connected ? fmt::format("{}", *sink.connected) : "null", sink.ended, sink.behind.holds, sink.lag_ns,
        sink.account.published, sink.account.delivered, sink.delivered_per_second, sink.account.filtered,
        sink.account.conflated, sink.account.missed, sink.account.refused, sink.account.queued, sink.account.snapshot,
        sink.last_error.empty() ? "null" : json_string(sink.last_error), utc.or_null(sink.last_error_at));
}

/// Formats a time as 2020-01-30T14:30:00Z.
std::string time_text(std::int64_t utc_ns) {
    constexpr std::int64_t kSecondNs = 1'000'000'000;
    const auto seconds = static_cast<std::time_t>(utc_ns / kSecondNs);
    std::tm parts{};
    gmtime_r(&seconds, &parts);
    return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday,
                       parts.tm_hour, parts.tm_min, parts.tm_sec);
}

}  // namespace

bool is_good(const State& state) {
    const auto all = findings(state, state.now);
    return std::none_of(all.begin(), all.end(),
                        [](const Finding& finding) { return finding.severity == service::Severity::error; });
}

std::string report_line(const State& state) {
    const auto all = findings(state, state.now);
    if (all.empty()) return "good\n";
    const auto& first = all.front();
    return fmt::format("{}{}: {}: {} (since {})\n", is_good(state) ? "good, but " : "", to_string(first.stage),
                       first.of, first.text, time_text(Utc{state.utc_offset_ns}(first.since)));
}

std::string report_json(const State& state) {
    const auto all = findings(state, state.now);
    const Utc utc{state.utc_offset_ns};
    return fmt::format(
        R"({{"now":{},"started":{},"gateway":{},"good":{},"first":{},"findings":{},"feeds":{},"rings":{},"pools":{},"sinks":{}}})"
        "\n",
        utc(state.now), utc(state.started), json_of(state.program), is_good(state),
        all.empty() ? "null" : json_of(all.front(), utc), list_of(all, utc), list_of(state.feeds, utc),
        list_of(state.rings), list_of(state.pools), list_of(state.sinks, utc));
}

}  // namespace millpond::gateway::health
