#include "gateway/gateway.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <millpond/core/clock.hpp>
#include <millpond/feed/event_json.hpp>
#include <millpond/market/ring_error.hpp>
#include <millpond/market/ring_reader.hpp>

#include "gateway/sinks/csv/csv_sink.hpp"
#include "gateway/sinks/journal/journal_sink.hpp"
#include "gateway/sinks/mqtt/mqtt.hpp"
#include "gateway/sinks/tcp/tcp_sink.hpp"
#include "gateway/sinks/udp/udp_sink.hpp"
#include "gateway/sinks/web/web_sink.hpp"

namespace millpond::gateway {

namespace {

/// How long a dead gateway's ring is waited for while the journal's disk takes nothing.
constexpr std::int64_t kRescuePatienceNs = 2'000'000'000;

journal::Options journal_options(const JournalConfig& sink) {
    return {.name = sink.name,
            .writer = {.folder = sink.folder,
                       .ring = sink.ring,
                       .segment_bytes = sink.segment_bytes,
                       .roll_after = std::chrono::seconds{sink.roll_seconds},
                       .keep_bytes = sink.keep_bytes,
                       .keep_for = std::chrono::hours{sink.keep_hours},
                       .sync = sink.sync,
                       .sync_interval = std::chrono::milliseconds{sink.sync_ms}}};
}

mqtt::Options mqtt_options(const MqttConfig& sink) {
    return {.name = sink.name,
            .host = sink.host,
            .port = sink.port,
            .topic = sink.topic,
            .state_topic = sink.state_topic,
            .client_id = sink.client_id,
            .protocol = sink.protocol,
            .qos = static_cast<int>(sink.qos),
            .retain = sink.retain,
            .mode = sink.mode,
            .user = sink.user,
            .password = read_secret(sink.password, "password"),
            .tls = sink.tls,
            .keepalive = std::chrono::seconds{sink.keepalive_seconds},
            .window = sink.window,
            .send_buffer = sink.send_buffer,
            .reconnect = std::chrono::milliseconds{sink.reconnect_ms},
            .reconnect_longest = std::chrono::milliseconds{sink.reconnect_most_ms}};
}

}  // namespace

Gateway::Gateway(const Config& config, Log& log) : log_(log), config_(config), admin_token_(config.admin_token) {
    rescue_left_rings(config);
    for (const auto& ring : config.rings) pipelines_.push_back(std::make_unique<Pipeline>(ring, config, say()));
    open_sinks(config);
    monitor_ = std::make_unique<health::Monitor>(pipelines_, watched_, core::utc_nanos());
    list_metrics();
    if (!config.metrics.empty()) serve_metrics(config.metrics);
    report();
}

Gateway::~Gateway() {
    for (const auto& pipeline : pipelines_) pipeline->stop();
    for (const auto& sink : sinks_) sink->stop();
    for (const auto& sink : sinks_) tell_account(*sink);
    http_.reset();
}

void Gateway::tell_account(const SinkThread& sink) {
    const auto account = sink.account();
    log_.info(sink.name() + ".end",
              "sink '{}': published {} = delivered {} + filtered {} + conflated {} + missed {} + queued {}",
              sink.name(), account.published, account.delivered, account.filtered, account.conflated, account.missed,
              account.queued);
}

template <class Settings>
void Gateway::run_sink(const Settings& settings, std::unique_ptr<Sink> sink, const Say& say,
                       std::chrono::nanoseconds holds) {
    const SinkThread::Options options{
        .ring = settings.ring, .name = settings.name, .poll = settings.poll, .pin = settings.pin};
    sinks_.push_back(std::make_unique<SinkThread>(options, std::move(sink), say));
    watched_.push_back({.thread = sinks_.back().get(), .error = &errors_[settings.name], .holds = holds});
}

Say Gateway::say_of(const std::string& sink) {
    return [this, &error = errors_[sink]](Severity severity, std::string_view cause, const std::string& text) {
        if (severity >= Severity::warning) error.say(text, core::utc_nanos());
        log_.say(severity, cause, text);
    };
}

Say Gateway::say() {
    return
        [this](Severity severity, std::string_view cause, const std::string& text) { log_.say(severity, cause, text); };
}

void Gateway::rescue_left_rings(const Config& config) {
    for (const auto& sink : config.journals) {
        try {
            if (market::RingReader{{.name = sink.ring}}.has_writer()) continue;
        } catch (const market::RingError&) {
            continue;  // the usual case: nobody left one
        }
        SinkThread left{{.ring = sink.ring, .name = sink.name},
                        std::make_unique<journal::JournalSink>(journal_options(sink), say()),
                        say()};
        const auto until = core::monotonic_nanos() + kRescuePatienceNs;
        while (left.account().queued != 0 && core::monotonic_nanos() < until) left.round(core::monotonic_nanos());
        const auto account = left.account();
        if (account.delivered + account.missed + account.queued == 0) continue;
        log_.info("rescue " + sink.name,
                  "journal sink '{}': wrote down {} events that an earlier gateway left in ring '{}'; {} were lost",
                  sink.name, account.delivered, sink.ring, account.missed + account.queued);
    }
}

void Gateway::open_sinks(const Config& config) {
    for (const auto& sink : config.journals) {
        const auto say = say_of(sink.name);
        run_sink(sink, std::make_unique<journal::JournalSink>(journal_options(sink), say), say);
    }
    for (const auto& sink : config.tcp) {
        const auto say = say_of(sink.name);
        auto made = std::make_unique<tcp::TcpSink>(tcp::Options{.name = sink.name,
                                                                .listen = sink.listen,
                                                                .mode = sink.mode,
                                                                .backlog = sink.backlog,
                                                                .max_clients = sink.max_clients,
                                                                .send_buffer = sink.send_buffer,
                                                                .stall = std::chrono::seconds{sink.stall_seconds},
                                                                .token = Token{sink.token},
                                                                .tls = TlsContext{sink.tls}},
                                                   say);
        log_.info(sink.name, "tcp sink '{}': listens on {}", sink.name, made->address().to_string());
        if (tcp_address_.empty()) tcp_address_ = made->address();
        run_sink(sink, std::move(made), say);
    }
    for (const auto& sink : config.web) {
        const auto say = say_of(sink.name);
        auto made = std::make_unique<web::WebSink>(
            web::Options{.name = sink.name,
                         .listen = sink.listen,
                         .mode = sink.mode,
                         .backlog = sink.backlog,
                         .max_clients = sink.max_clients,
                         .send_buffer = sink.send_buffer,
                         .stall = std::chrono::seconds{sink.stall_seconds},
                         .token = Token{sink.token},
                         .tls = TlsContext{sink.tls}},
            [this](const http::Request& request) { return page(request); }, say);
        log_.info(sink.name, "web sink '{}': {}://{}/", sink.name, sink.tls.empty() ? "http" : "https",
                  made->address().to_string());
        if (web_address_.empty()) web_address_ = made->address();
        run_sink(sink, std::move(made), say);
    }
    for (const auto& sink : config.csv) {
        const auto say = say_of(sink.name);
        run_sink(sink,
                 std::make_unique<csv::CsvSink>(csv::Options{.name = sink.name,
                                                             .path = sink.path,
                                                             .mode = sink.mode,
                                                             .rotate_bytes = sink.rotate_bytes,
                                                             .flush = std::chrono::milliseconds{sink.flush_ms}},
                                                say),
                 say, std::chrono::milliseconds{sink.flush_ms});
    }
    for (const auto& sink : config.udp) {
        const auto say = say_of(sink.name);
        run_sink(sink,
                 std::make_unique<udp::UdpSink>(udp::Options{.name = sink.name,
                                                             .to = sink.to,
                                                             .interface = sink.interface,
                                                             .channel = sink.channel,
                                                             .mode = sink.mode,
                                                             .heartbeat = std::chrono::milliseconds{sink.heartbeat_ms}},
                                                static_cast<std::uint64_t>(core::utc_nanos()), say),
                 say);
    }
    for (const auto& sink : config.mqtt) {
        const auto say = say_of(sink.name);
        run_sink(sink, mqtt::open(mqtt_options(sink), say), say);
    }
}

void Gateway::report() const {
    constexpr double kMiB = 1024.0 * 1024.0;
    for (const auto& pipeline : pipelines_) {
        const auto memory = pipeline->ring().report();
        const auto& name = pipeline->config().name;
        log_.info("ring " + name, "ring '{}': {:.1f} MiB of memory, {:.1f} MiB in huge pages, {:.1f} MiB locked{}",
                  name, static_cast<double>(memory.mapped_bytes) / kMiB, static_cast<double>(memory.huge_bytes) / kMiB,
                  static_cast<double>(memory.locked_bytes) / kMiB,
                  pipeline->ring().resumed() ? "; goes on with the ring of an earlier run" : "");
        if (!memory.shortfall.empty()) log_.warning("ring short " + name, "ring '{}': {}", name, memory.shortfall);
        pipeline->for_each_feed([&](const auto& line) {
            line.for_each_line([&](std::string_view which, const net::UdpReceiver& receiver) {
                report_line(line.config(), which, receiver.report());
            });
        });
    }
}

void Gateway::report_line(const FeedConfig& config, std::string_view line, const net::UdpReceiver::Report& got) const {
    const auto feed = fmt::format("feed '{}'{}", config.name, line == "b" ? ", line B" : "");
    log_.info(fmt::format("feed {} {}", config.name, line),
              "{}: listens on {}, by {}{}, receive buffer {} KiB, GRO {}, receive time by the {}", feed,
              got.local.to_string(), net::name_of(got.path), got.zero_copy ? " without copies" : "",
              got.receive_buffer / 1024, got.gro ? "on" : "off", got.nic_time ? "card" : "kernel");
    for (std::size_t i = 0; i < got.fallbacks.size(); ++i) {
        log_.warning(fmt::format("feed short {} {} {}", config.name, line, i), "{}: {}", feed, got.fallbacks[i]);
    }
}

void Gateway::start() {
    for (const auto& sink : sinks_) sink->start();
    for (const auto& pipeline : pipelines_) pipeline->start();
}

void Gateway::watch() {
    for (const auto& pipeline : pipelines_) {
        pipeline->set_midnights(core::utc_nanos());
        Notice notice;
        while (pipeline->notices().take(notice)) tell(*pipeline, notice);
        tell_losses(*pipeline);
    }
    monitor_->look(core::utc_nanos());
    log_.tell_suppressed();
}

void Gateway::tell(const Pipeline& pipeline, const Notice& notice) {
    const auto feed = name_of_channel(pipeline, notice.channel);
    switch (notice.kind) {
        case Notice::Kind::rejected:
            log_.warning("rejected " + feed,
                         "feed '{}': a datagram of {} bytes was not decoded: {} at byte {}: found {:#x}, bound {:#x}",
                         feed, notice.bytes, feed::to_string(notice.error.kind), notice.error.offset,
                         notice.error.found, notice.error.bound);
            return;
        case Notice::Kind::gap:
            log_.warning("gap " + feed, "feed '{}': sequence numbers {} to {} are missing", feed, notice.first,
                         notice.last);
            return;
        case Notice::Kind::clear:
            log_.info("clear " + feed, "feed '{}': all its quotes are void: {}", feed, feed::to_string(notice.reason));
            return;
    }
}

void Gateway::tell_losses(Pipeline& pipeline) {
    const auto& ring = pipeline.config().name;
    if (const auto more = growth("notices " + ring, pipeline.notices().dropped().read()); more != 0) {
        log_.warning("notices " + ring, "ring '{}': {} more messages of its receive thread were not kept", ring, more);
    }
    if (const auto more = growth("refused " + ring, pipeline.instruments().refused().read()); more != 0) {
        log_.warning("refused " + ring,
                     "ring '{}': the table of {} instruments is full: {} messages of others were not published "
                     "(raise max_instruments)",
                     ring, pipeline.config().max_instruments, more);
    }
    pipeline.for_each_feed([&](const auto& line) {
        line.for_each_line([&](std::string_view name, const net::UdpReceiver& receiver) {
            const auto feed = line.config().name + (name == "b" ? " (line B)" : "");
            const auto key = fmt::format("{} {}", line.config().name, name);
            const auto& counts = receiver.counts();
            if (const auto more = growth("drops " + key, counts.kernel_drops.read()); more != 0) {
                log_.warning("drops " + key,
                             "feed '{}': the kernel dropped {} datagrams (raise receive_buffer and net.core.rmem_max)",
                             feed, more);
            }
            if (const auto more = growth("errors " + key, counts.errors.read()); more != 0) {
                log_.warning("errors " + key, "feed '{}': {} receive calls failed, the latest with: {}", feed, more,
                             std::generic_category().message(static_cast<int>(counts.last_error.read())));
            }
        });
    });
}

std::uint64_t Gateway::growth(const std::string& of, std::uint64_t value) {
    return value - std::exchange(seen_[of], value);
}

std::string Gateway::name_of_channel(const Pipeline& pipeline, std::uint16_t channel) const {
    std::string name;
    pipeline.for_each_feed([&](const auto& line) {
        if (line.config().channel == channel) name = line.config().name;
    });
    return name;
}

void Gateway::read_totals(Totals& totals) const {
    totals = {};
    metrics::HistogramSnapshot wire;
    for (const auto& pipeline : pipelines_) {
        pipeline->publisher().latencies().wire.read(wire);
        totals.wire.merge(wire);
        pipeline->for_each_feed([&](const auto& line) {
            line.for_each_line([&](std::string_view, const net::UdpReceiver& receiver) {
                totals.packets += receiver.counts().datagrams.read();
                totals.kernel_drops += receiver.counts().kernel_drops.read();
            });
            totals.quotes += line.decoder().counters().quotes.read();
            totals.malformed += line.decoder().counters().malformed.read();
            line.decoder().visit_counters([&](std::string_view name, std::string_view, const core::Tally& tally) {
                if (name == "sequence_missing") totals.missing += tally.read();
            });
        });
    }
}

net::SocketAddress Gateway::metrics_address() const { return http_ ? http_->address() : net::SocketAddress{}; }

}  // namespace millpond::gateway
