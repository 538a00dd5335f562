#include "gateway/health/monitor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <millpond/core/clock.hpp>
#include <millpond/core/tally.hpp>
#include <millpond/feed/line_arbiter.hpp>
#include <millpond/net/interface_of.hpp>
#include <millpond/net/udp_receiver.hpp>

#include "gateway/health/link.hpp"
#include "gateway/health/pools.hpp"

namespace millpond::gateway::health {
namespace {

constexpr std::int64_t kSecondNs = 1'000'000'000;
constexpr std::int64_t kLookEveryNs = kSecondNs / 10;
/// Rates, latencies, the board and the kernel's tables.
constexpr std::int64_t kCountEveryNs = kSecondNs;
/// What a ring's memory is made of; the kernel walks its pages for it.
constexpr std::int64_t kAskEveryNs = 10 * kSecondNs;
/// A receive thread without activity for this long is stuck or dead.
constexpr std::int64_t kSilenceNs = 2 * kSecondNs;
/// A sink is behind if it lags by this much more than it delays on purpose.
constexpr std::int64_t kLagNs = kSecondNs * 3 / 4;
constexpr std::size_t kMostMarks = 512;  // nearly a minute of looks

}  // namespace

void Monitor::Rate::see(std::uint64_t now_count, double span_seconds) noexcept {
    if (span_seconds > 0) per_second = static_cast<double>(now_count - count) / span_seconds;
    count = now_count;
}

Monitor::Monitor(const std::vector<std::unique_ptr<Pipeline>>& pipelines, const std::vector<WatchedSink>& sinks,
                 core::Moment now)
    : pipelines_(pipelines) {
    state_.started = now.monotonic_ns;
    for (const auto& pipeline : pipelines_) {
        ring_memory_.push_back({.reader = std::make_unique<market::RingReader>(
                                    market::RingReaderOptions{.name = pipeline->config().name, .own = true}),
                                .asked = 0,
                                .published = {},
                                .wire = {},
                                .in_process = {}});
        state_.rings.emplace_back().name = pipeline->config().name;
        pipeline->for_each_feed([&](const auto& line) {
            const auto& config = line.config();
            auto& feed = state_.feeds.emplace_back();
            feed.name = config.name;
            feed.ring = config.ring;
            feed.format = config.format->name();
            feed.listen = line.receiver().report().local.to_string();
            feed.interface = config.interface.empty() ? net::interface_of(config.listen) : config.interface;
            feed.started = now.monotonic_ns;
            feed.patience_ns = static_cast<std::int64_t>(config.stale_seconds) * kSecondNs;
            if (!config.line_b.empty()) {
                line.for_each_line([&](std::string_view name, const net::UdpReceiver& receiver) {
                    feed.lines.push_back({.name = std::string{name}, .listen = receiver.report().local.to_string()});
                });
            }
            feed_memory_.emplace_back();
        });
    }
    set_sinks(sinks);
    look(now);
}

void Monitor::set_sinks(const std::vector<WatchedSink>& sinks) {
    const std::lock_guard looking{looking_};
    std::vector<SinkState> states;
    std::vector<SinkMemory> memories;
    for (const auto& watched : sinks) {
        const auto known = std::find_if(sinks_.begin(), sinks_.end(),
                                        [&](const auto& before) { return before.thread == watched.thread; });
        if (known != sinks_.end()) {
            const auto index = static_cast<std::size_t>(known - sinks_.begin());
            states.push_back(std::move(state_.sinks[index]));
            memories.push_back(std::move(sink_memory_[index]));
            continue;
        }
        auto& sink = states.emplace_back();
        sink.name = watched.thread->name();
        sink.type = watched.thread->type();
        sink.ring = watched.thread->ring();
        sink.patience_ns = kLagNs + watched.holds.count();
        memories.emplace_back();
    }
    sinks_ = sinks;
    state_.sinks = std::move(states);
    sink_memory_ = std::move(memories);
}

std::shared_ptr<const State> Monitor::state() const {
    const std::lock_guard lock{mutex_};
    return shown_;
}

void Monitor::look(core::Moment moment) {
    const std::lock_guard looking{looking_};
    const auto now = moment.monotonic_ns;
    if (looked_ != 0 && now - looked_ < kLookEveryNs) return;
    const bool counts = counted_ == 0 || now - counted_ >= kCountEveryNs;
    const double span = counts && counted_ != 0 ? static_cast<double>(now - counted_) / kSecondNs : 0.0;
    looked_ = now;
    if (counts) counted_ = now;
    state_.now = now;
    state_.utc_offset_ns = moment.utc_ns - now;
    std::size_t feed = 0;
    std::size_t way = 0;
    for (std::size_t i = 0; i < pipelines_.size(); ++i) {
        const bool lost = look_at_feeds(*pipelines_[i], now, span, feed);
        look_at_ring(i, now, span);
        if (counts) look_at_ways(*pipelines_[i], now, way);
        if (counts || lost) look_at_board(i, now);
    }
    look_at_pools(pipelines_, now, state_.pools);
    for (std::size_t i = 0; i < sinks_.size(); ++i) look_at_sink(i, now, span);
    auto shown = std::make_shared<const State>(state_);
    const std::lock_guard lock{mutex_};
    shown_ = std::move(shown);
}

void Monitor::look_at_lines(const Feed& line, FeedState& state, std::int64_t now) {
    state.datagrams = state.bytes = 0;
    std::uint64_t dropped = 0;
    std::uint64_t corrupt = 0;
    std::size_t index = 0;
    line.for_each_line([&](std::string_view, const net::UdpReceiver& receiver) {
        const auto& counts = receiver.counters();
        const auto datagrams = counts.datagrams.read();
        state.datagrams += datagrams;
        state.bytes += counts.bytes.read();
        dropped += counts.kernel_drops.read();
        corrupt += counts.checksum_errors.read();
        if (index == state.lines.size()) return;
        auto& one = state.lines[index++];
        if (datagrams != one.datagrams) one.last_datagram = now;
        one.datagrams = datagrams;
        one.kernel_drops = counts.kernel_drops.read();
    });
    state.dropped.see(dropped, now);
    state.corrupt.see(corrupt, now);
    index = 0;
    line.for_each_arbitrated(
        [&](std::string_view, const feed::LineCounters& counters, const feed::SequenceCounters& sequence) {
            auto& one = state.lines[index];
            one.used = counters.used.read();
            one.missing = sequence.missing.read();
            const auto apart = line.sessions_apart(index++);
            one.apart.see(apart.has_value(), now);
            if (!apart) return;
            one.session = apart->line.view();
            one.feed_session = apart->feed.view();
        });
}

bool Monitor::look_at_feeds(const Pipeline& pipeline, std::int64_t now, double span, std::size_t& feed) {
    bool lost = false;
    const auto& board = pipeline.publisher().board();
    pipeline.for_each_feed([&](const auto& line) {
        auto& state = state_.feeds[feed];
        auto& memory = feed_memory_[feed++];
        look_at_lines(line, state, now);
        state.quotes = line.counters().quotes.read();
        if (state.datagrams != memory.datagrams) state.last_datagram = now;
        memory.datagrams = state.datagrams;
        const auto heard = line.heard_ns().read();
        if (heard != std::exchange(memory.heard, heard)) state.last_heard = now;
        if (auto rebuilding = line.rebuilding()) {
            state.incomplete.see(rebuilding->wanted, now);
            auto& failure = rebuilding->last_failure;
            state.rebuild_failure =
                failure.at.monotonic_ns >= state.incomplete.since ? std::move(failure.text) : std::string{};
        }
        if (const auto* server = line.request_server()) {
            state.no_request_server.see(!server->is_reachable(), now);
            if (state.request_server.empty()) state.request_server = server->server().to_string();
        }
        state.undecodable.see(line.counters().malformed.read(), now);
        line.visit_counters([&](std::string_view name, std::string_view, const core::Tally& tally) {
            if (name == "sequence_missing") state.missing.see(tally.read(), now);
        });
        const auto& counters = line.counters();
        state.rejected.see(counters.rejected.read() + counters.unknown.read(), now);
        state.strays.see(line.strays(), now);
        const auto gapped = board.gapped(*line.config().channel);
        lost = lost || gapped != std::exchange(memory.gapped, gapped);
        if (span == 0) return;
        memory.datagram_rate.see(state.datagrams, span);
        memory.quote_rate.see(state.quotes, span);
        state.datagrams_per_second = memory.datagram_rate.per_second;
        state.quotes_per_second = memory.quote_rate.per_second;
    });
    return lost;
}

void Monitor::look_at_ways(const Pipeline& pipeline, std::int64_t now, std::size_t& feed) {
    pipeline.for_each_feed([&](const auto& line) {
        auto& state = state_.feeds[feed++];
        state.link_down.see(!link_is_up(state.interface).value_or(true), now);
        const auto& listen = line.config().listen;
        state.not_joined.see(listen.is_multicast() && !is_joined(listen, state.interface), now);
    });
}

void Monitor::look_at_ring(std::size_t index, std::int64_t now, double span) {
    const auto& pipeline = *pipelines_[index];
    auto& state = state_.rings[index];
    auto& memory = ring_memory_[index];
    const auto beaten = static_cast<std::int64_t>(pipeline.publisher().beaten_ns().read());
    state.silent.see(core::monotonic_nanos() - beaten > kSilenceNs, now);
    if (const auto* capture = pipeline.capture()) {
        state.capture_errors.see(capture->counters().write_errors.read(), now);
        state.capture_lost.see(capture->lost().read(), now);
    }
    state.published = pipeline.publisher().published().read();
    state.capacity = pipeline.ring().capacity();
    state.instruments = static_cast<std::uint32_t>(pipeline.publisher().named().read());
    state.max_instruments = static_cast<std::uint32_t>(pipeline.config().max_instruments);
    state.refused = pipeline.instruments().refused().read();
    if (counted_ != now) return;
    memory.published.see(state.published, span);
    state.published_per_second = memory.published.per_second;
    if (memory.asked == 0 || now - memory.asked >= kAskEveryNs) {
        memory.asked = now;
        state.memory = pipeline.ring().report();
    }
    const auto& latencies = pipeline.publisher().latencies();
    state.wire = memory.wire.look(latencies.wire, now);
    state.in_process = memory.in_process.look(latencies.in_process, now);
    state.readers.clear();
    const auto newest = memory.reader->newest();
    const auto list = pipeline.ring().readers();
    state.readers_complete = list.complete;
    for (const auto& reader : list.readers) {
        const auto behind = newest + 1 > reader.next ? newest + 1 - reader.next : 0;
        const auto overwritten = behind - std::min(behind, state.capacity);
        state.readers.push_back({.name = std::string{reader.name.view()},
                                 .pid = reader.pid,
                                 .uid = reader.uid,
                                 .behind = behind - overwritten,
                                 .missed = reader.missed + overwritten,
                                 .alive = reader.alive});
    }
}

void Monitor::look_at_sink(std::size_t index, std::int64_t now, double span) {
    const auto& [thread, error, holds] = sinks_[index];
    auto& state = state_.sinks[index];
    auto& memory = sink_memory_[index];
    state.account = thread->account();
    state.ended = thread->ended();
    state.lost.see(state.account.missed, now);
    auto said = error->read();
    state.last_error = std::move(said.text);
    state.last_error_at = said.at.monotonic_ns;
    thread->visit_metrics([&](std::string_view name, std::string_view, const core::Tally& tally) {
        if (name == "clients") state.clients = tally.read();
        if (name == "connected") state.connected = tally.read() != 0;
        if (name == "clients_stalled_total") state.stalled.see(tally.read(), now);
    });
    state.disconnected.see(!state.connected.value_or(true), now);
    // A sink that the ring laps loses its oldest waiting events, so they are never old although nothing is passed on.
    const auto passed_on = state.account.delivered + state.account.filtered;
    if (state.account.queued == 0 || passed_on != memory.passed_on || memory.moved == 0) memory.moved = now;
    memory.passed_on = passed_on;
    const auto consumed = state.account.published - state.account.queued;
    // Waiting events were published after the newest mark that is completely passed on.
    while (memory.marks.size() > 1 && memory.marks[1].published <= consumed) memory.marks.pop_front();
    state.lag_ns = state.account.queued == 0 || memory.marks.empty() ? 0 : now - memory.marks.front().at;
    state.lag_ns = std::max(state.lag_ns, now - memory.moved);
    memory.marks.push_back({now, state.account.published});
    // The oldest mark shows how long events wait and must stay; those in the middle only add accuracy.
    if (memory.marks.size() > kMostMarks) memory.marks.erase(memory.marks.begin() + kMostMarks / 2);
    state.behind.see(state.ended || state.lag_ns > state.patience_ns, now);
    if (span == 0) return;
    memory.delivered.see(state.account.delivered, span);
    state.delivered_per_second = memory.delivered.per_second;
}

}  // namespace millpond::gateway::health
