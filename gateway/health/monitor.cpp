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
#include <millpond/feed/line_arbiter.hpp>
#include <millpond/net/interface_of.hpp>
#include <millpond/net/udp_receiver.hpp>

#include "gateway/health/link.hpp"
#include "gateway/health/pools.hpp"

namespace millpond::gateway::health {
namespace {

constexpr std::int64_t kSecondNs = 1'000'000'000;
constexpr std::int64_t kUpdateEveryNs = kSecondNs / 10;
/// Interval for the report of a ring's memory, for which the kernel walks its pages.
constexpr std::int64_t kAskEveryNs = 10 * kSecondNs;
/// A receive thread without activity for this long is stuck or dead.
constexpr std::int64_t kSilenceNs = 2 * kSecondNs;
/// A sink is behind if it lags by this much more than it delays on purpose.
constexpr std::int64_t kLagNs = kSecondNs * 3 / 4;
constexpr std::size_t kMaxMarks = 512;  // enough for nearly a minute

CompositeState state_of(const Composites::One& one, const Pipeline& pipeline) {
    using LeftOut = market::Composite::LeftOut;
    const auto& composite = one.composite;
    CompositeState state{.venue = one.venue,
                         .channel = composite.channel(),
                         .symbols = composite.symbols().read(),
                         .locked = composite.locked().read(),
                         .crossed = composite.crossed().read(),
                         .refused = composite.refused().read(),
                         .left_out = {}};
    pipeline.for_each_feed([&](const auto& feed) {
        const auto channel = *feed.config().channel;
        if (!composite.takes_part(channel)) return;
        const auto count = [&](LeftOut reason) { return composite.left_out(channel, reason).read(); };
        state.left_out.push_back({.feed = feed.config().name,
                                  .incomplete = count(LeftOut::incomplete),
                                  .silent = count(LeftOut::silent),
                                  .halted = count(LeftOut::halted),
                                  .not_firm = count(LeftOut::not_firm)});
    });
    return state;
}

}  // namespace

void Monitor::Rate::update(std::uint64_t now_count, double span_seconds) noexcept {
    if (span_seconds > 0) per_second = static_cast<double>(now_count - count) / span_seconds;
    count = now_count;
}

Monitor::Monitor(const std::vector<std::unique_ptr<Pipeline>>& pipelines, const std::vector<WatchedSink>& sinks,
                 std::string metrics_exposed, core::Moment now)
    : pipelines_(pipelines) {
    state_.started = now.monotonic_ns;
    state_.metrics_exposed = std::move(metrics_exposed);
    for (const auto& pipeline : pipelines_) {
        ring_memory_.push_back({.reader = std::make_unique<market::RingReader>(
                                    market::RingReaderOptions{.name = pipeline->config().name, .own = true}),
                                .asked = 0,
                                .published = {},
                                .wire = {},
                                .in_process = {}});
        auto& ring = state_.rings.emplace_back();
        ring.name = pipeline->config().name;
        ring.latency_warn_ns = pipeline->config().latency_warn.count();
        pipeline->for_each_feed([&](const auto& feed) {
            const auto& config = feed.config();
            auto& state = state_.feeds.emplace_back();
            state.name = config.name;
            state.ring = config.ring;
            state.channel = *config.channel;
            state.format = config.format.name();
            state.listen = feed.receiver().report().local.to_string();
            if (config.connect.empty())
                state.interface = config.interface.empty() ? net::interface_of(config.listen) : config.interface;
            state.started = now.monotonic_ns;
            state.patience_ns = static_cast<std::int64_t>(config.stale_seconds) * kSecondNs;
            if (!config.line_b.empty()) {
                feed.for_each_line([&](std::string_view name, const Line& receiver) {
                    state.lines.push_back({.name = std::string{name}, .listen = receiver.report().local.to_string()});
                });
            }
            feed_memory_.emplace_back();
        });
    }
    set_sinks(sinks);
    update(now);
}

void Monitor::set_sinks(const std::vector<WatchedSink>& sinks) {
    const std::lock_guard updating{updating_};
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
        sink.exposed = watched.exposed;
        sink.client_list = watched.thread->client_list();
        sink.since = core::monotonic_nanos();
        memories.emplace_back();
    }
    sinks_ = sinks;
    state_.sinks = std::move(states);
    sink_memory_ = std::move(memories);
}

void Monitor::set_program(ProgramState program) {
    const std::lock_guard updating{updating_};
    state_.program = std::move(program);
    show();
}

void Monitor::show() {
    auto shown = std::make_shared<const State>(state_);
    const std::lock_guard lock{mutex_};
    shown_ = std::move(shown);
}

std::shared_ptr<const State> Monitor::state() const {
    const std::lock_guard lock{mutex_};
    return shown_;
}

void Monitor::update(core::Moment moment) {
    const std::lock_guard updating{updating_};
    const auto now = moment.monotonic_ns;
    if (updated_ != 0 && now - updated_ < kUpdateEveryNs) return;
    // Rates, latencies, the board and the kernel's tables are read at the first update in each second of UTC, so that
    // each sample of the history is of one second.
    const auto second = moment.utc_ns / kSecondNs;
    const bool counts = state_.counted == 0 || second != counted_second_;
    const double span = counts && state_.counted != 0 ? static_cast<double>(now - state_.counted) / kSecondNs : 0.0;
    updated_ = now;
    counted_second_ = second;
    if (counts) state_.counted = now;
    state_.now = now;
    state_.utc_offset_ns = moment.utc_ns - now;
    std::size_t feed = 0;
    std::size_t way = 0;
    for (std::size_t i = 0; i < pipelines_.size(); ++i) {
        const bool lost = update_feeds(*pipelines_[i], now, span, feed);
        update_ring(i, now, span);
        if (counts) update_links(*pipelines_[i], now, way);
        if (counts || lost) update_board(i, now);
    }
    update_pools(pipelines_, now, state_.pools);
    for (std::size_t i = 0; i < sinks_.size(); ++i) update_sink(i, now, span);
    show();
}

void Monitor::update_lines(const Feed& feed, FeedState& state, std::int64_t now) {
    state.datagrams = state.bytes = 0;
    std::uint64_t dropped = 0;
    std::uint64_t corrupt = 0;
    std::size_t index = 0;
    feed.for_each_line([&](std::string_view, const Line& receiver) {
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
    state.dropped.update(dropped, now);
    state.corrupt.update(corrupt, now);
    index = 0;
    feed.for_each_arbitrated(
        [&](std::string_view, const feed::LineCounters& counters, const feed::SequenceCounters& sequence) {
            auto& one = state.lines[index];
            one.used = counters.used.read();
            one.missing = sequence.missing.read();
            const auto apart = feed.sessions_apart(index++);
            one.apart.update(apart.has_value(), now);
            if (!apart) return;
            one.session = apart->line.view();
            one.feed_session = apart->feed.view();
            one.data_apart = apart->data != 0;
        });
}

bool Monitor::update_feeds(const Pipeline& pipeline, std::int64_t now, double span, std::size_t& index) {
    bool lost = false;
    const auto& board = pipeline.publisher().board();
    pipeline.for_each_feed([&](const auto& feed) {
        auto& state = state_.feeds[index];
        auto& memory = feed_memory_[index++];
        update_lines(feed, state, now);
        state.quotes = feed.counters().quotes.read();
        if (state.datagrams != memory.datagrams) state.last_datagram = now;
        memory.datagrams = state.datagrams;
        const auto heard = feed.heard_ns().read();
        if (heard != std::exchange(memory.heard, heard)) state.last_heard = now;
        state.waits_ns = static_cast<std::int64_t>(feed.waits_ns().read());
        const auto joined_at = feed.joined_at();
        if (joined_at != std::exchange(state.joined_at, joined_at)) state.joined_since = now;
        if (auto rebuilding = feed.rebuilding()) {
            state.update_rebuild(rebuilding->wanted, std::move(rebuilding->last_failure.text),
                                 rebuilding->last_failure.at.monotonic_ns, now);
        }
        if (const auto* server = feed.request_server()) {
            const auto reached = server->state();
            state.no_request_server.update(reached != RequestClient::State::reachable, now);
            state.request_server_silent = reached == RequestClient::State::silent;
            if (state.request_server.empty()) state.request_server = server->server().to_string();
        }
        if (const auto* stream = feed.request_stream(); stream != nullptr && state.request_server.empty())
            state.request_server = stream->server().to_string();
        if (const auto* connection = feed.connection()) {
            const auto status = connection->client().status();
            const auto& counters = connection->client().counters();
            state.disconnected.update(!status.is_logged_in, now);
            state.connection_failure = status.failure == net::SoupBinFailure::none
                                           ? std::string{}
                                           : net::to_string(status.failure, status.detail);
            state.ignored.update(counters.unknown.read() + counters.duplicates.read(), now);
        }
        const auto health = feed.health();
        state.undecodable.update(health.malformed, now);
        state.missing.update(health.missing, now);
        state.rejected.update(health.rejected, now);
        state.strays.update(health.strays, now);
        state.refused_prices.update(health.refused_prices, now);
        state.crossed.update(health.crossed, now);
        state.books_incomplete = health.books_incomplete;
        state.some_books_incomplete.update(health.books_incomplete != 0, now);
        const auto gapped = board.gapped(*feed.config().channel);
        lost = lost || gapped != std::exchange(memory.gapped, gapped);
        if (span == 0) return;
        memory.datagram_rate.update(state.datagrams, span);
        memory.quote_rate.update(state.quotes, span);
        state.datagrams_per_second = memory.datagram_rate.per_second;
        state.quotes_per_second = memory.quote_rate.per_second;
    });
    return lost;
}

void Monitor::update_links(const Pipeline& pipeline, std::int64_t now, std::size_t& index) {
    pipeline.for_each_feed([&](const auto& feed) {
        auto& state = state_.feeds[index++];
        state.link_down.update(!link_is_up(state.interface).value_or(true), now);
        const auto& listen = feed.config().listen;
        state.not_joined.update(listen.is_multicast() && !is_joined(listen, state.interface), now);
    });
}

void Monitor::update_ring(std::size_t index, std::int64_t now, double span) {
    const auto& pipeline = *pipelines_[index];
    auto& state = state_.rings[index];
    auto& memory = ring_memory_[index];
    const auto beaten = static_cast<std::int64_t>(pipeline.publisher().beaten_ns().read());
    state.silent.update(core::monotonic_nanos() - beaten > kSilenceNs, now);
    if (const auto* capture = pipeline.capture()) {
        state.capture_errors.update(capture->counters().write_errors.read(), now);
        state.capture_lost.update(capture->lost().read(), now);
    }
    state.published = pipeline.publisher().published().read();
    state.capacity = pipeline.ring().capacity();
    state.instruments = static_cast<std::uint32_t>(pipeline.publisher().named().read());
    state.max_instruments = static_cast<std::uint32_t>(pipeline.config().max_instruments);
    state.refused = pipeline.instruments().refused().read();
    if (state_.counted != now) return;
    memory.published.update(state.published, span);
    state.published_per_second = memory.published.per_second;
    if (memory.asked == 0 || now - memory.asked >= kAskEveryNs) {
        memory.asked = now;
        state.memory = pipeline.ring().report();
    }
    const auto& latencies = pipeline.publisher().latencies();
    state.wire = memory.wire.update(latencies.wire);
    state.in_process = memory.in_process.update(latencies.in_process);
    const auto p99 = static_cast<std::int64_t>(state.wire.recent.p99);
    state.slow.update(state.latency_warn_ns != 0 && p99 > state.latency_warn_ns, now);
    state.composites.clear();
    if (const auto* composites = pipeline.composites()) {
        for (const auto& one : composites->all()) state.composites.push_back(state_of(one, pipeline));
    }
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

void Monitor::update_sink(std::size_t index, std::int64_t now, double span) {
    const auto& [thread, error, holds, exposed] = sinks_[index];
    auto& state = state_.sinks[index];
    auto& memory = sink_memory_[index];
    state.account = thread->account();
    state.ended = thread->ended();
    state.lost.update(state.account.missed - state.account.refused, now);
    auto said = error->read();
    state.last_error = std::move(said.text);
    state.last_error_at = said.at.monotonic_ns;
    const auto health = thread->health();
    state.clients = health.clients;
    state.clients_departed = health.clients_departed;
    state.clients_accepted = health.clients_accepted;
    state.replays = health.replays;
    state.replays_failed = health.replays_failed;
    state.connected = health.connected;
    state.stalled.update(health.clients_stalled, now);
    state.clients_missed.update(health.clients_missed, now);
    state.refused.update(health.refused_messages, now);
    state.failed.update(health.failures, now);
    state.checkpoint_overdue.update(health.overdue_checkpoint_seconds != 0, now);
    state.checkpoint_age_seconds = health.overdue_checkpoint_seconds;
    state.disconnected.update(!state.connected.value_or(true), now);
    // A sink that the ring laps loses its oldest waiting events, so they are never old although nothing is passed on.
    const auto passed_on = state.account.delivered + state.account.filtered + state.account.refused;
    // Events published since the last update cannot have waited longer.
    if (!memory.waiting || state.account.queued == 0 || passed_on != memory.passed_on) memory.moved = now;
    memory.waiting = state.account.queued != 0;
    memory.passed_on = passed_on;
    const auto consumed = state.account.published - state.account.queued;
    // The oldest waiting event was published before the oldest mark that is not completely passed on.
    while (!memory.marks.empty() && memory.marks.front().published <= consumed) memory.marks.pop_front();
    const auto waits = memory.marks.empty() ? 0 : now - memory.marks.front().at;
    memory.marks.push_back({now, state.account.published});
    // The oldest mark gives the waiting time and must stay; the ones in the middle only add accuracy.
    if (memory.marks.size() > kMaxMarks) memory.marks.erase(memory.marks.begin() + kMaxMarks / 2);
    const auto waiting_ns = std::max(waits, now - memory.moved);
    memory.max_lag = std::max(memory.max_lag, tick_rate_.nanos(thread->reset_max_lag()));
    if (state_.counted == now) memory.shown_lag = std::exchange(memory.max_lag, 0);
    state.lag_ns = std::max(memory.shown_lag, waiting_ns);
    state.behind.update(state.ended || waiting_ns > state.patience_ns, now);
    if (span == 0) return;
    memory.delivered.update(state.account.delivered, span);
    state.delivered_per_second = memory.delivered.per_second;
}

}  // namespace millpond::gateway::health
