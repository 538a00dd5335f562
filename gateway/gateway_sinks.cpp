#include <fmt/format.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <millpond/core/clock.hpp>
#include <millpond/market/ring_error.hpp>
#include <millpond/market/ring_reader.hpp>

#include "gateway/gateway.hpp"
#include "gateway/settings/value.hpp"
#include "gateway/sinks/csv/csv_sink.hpp"
#include "gateway/sinks/journal/journal_sink.hpp"
#include "gateway/sinks/kafka/kafka.hpp"
#include "gateway/sinks/mqtt/mqtt.hpp"
#include "gateway/sinks/sink_thread.hpp"
#include "gateway/sinks/tcp/tcp_sink.hpp"
#include "gateway/sinks/udp/udp_sink.hpp"
#include "gateway/sinks/web/web_sink.hpp"
#include "service/tls.hpp"
#include "service/token.hpp"

namespace millpond::gateway {
namespace {

/// How long a dead gateway's ring is waited for while the journal's disk takes nothing.
constexpr std::int64_t kRescuePatienceNs = 2'000'000'000;

journal::Options journal_options(const JournalConfig& sink, mode_t file_mode) {
    return {.name = sink.name,
            .writer = {.folder = sink.folder,
                       .ring = sink.ring,
                       .segment_bytes = sink.segment_bytes,
                       .roll_after = std::chrono::seconds{sink.roll_seconds},
                       .keep_bytes = sink.keep_bytes,
                       .keep_for = std::chrono::hours{sink.keep_hours},
                       .sync = sink.sync,
                       .sync_interval = std::chrono::milliseconds{sink.sync_ms},
                       .file_mode = file_mode}};
}

/// Of what sends lines to subscribers: tcp and web.
template <class Options>
Options line_options(const auto& sink) {
    return {.name = sink.name,
            .listen = sink.listen,
            .mode = sink.mode,
            .backlog = sink.backlog,
            .max_clients = sink.max_clients,
            .send_buffer = sink.send_buffer,
            .stall = std::chrono::seconds{sink.stall_seconds},
            .token = service::Token{sink.token},
            .tls = service::TlsContext{sink.tls}};
}

mqtt::Options mqtt_options(const MqttConfig& sink) {
    if (sink.tls.on) service::check_client_files(sink.tls.authority, sink.tls.certificate, sink.tls.key);
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
            .password = service::read_secret(sink.password, "password"),
            .tls = sink.tls,
            .keepalive = std::chrono::seconds{sink.keepalive_seconds},
            .window = sink.window,
            .send_buffer = sink.send_buffer,
            .reconnect = std::chrono::milliseconds{sink.reconnect_ms},
            .reconnect_longest = std::chrono::milliseconds{sink.reconnect_most_ms}};
}

kafka::Options kafka_options(const KafkaConfig& sink, mode_t file_mode) {
    auto options = unchecked_kafka_options(sink);
    options.password = service::read_secret(sink.password, "password");
    options.file_mode = file_mode;
    kafka::check(options);
    return options;
}

csv::Options csv_options(const CsvConfig& sink, mode_t file_mode) {
    return {.name = sink.name,
            .path = sink.path,
            .mode = sink.mode,
            .rotate_bytes = sink.rotate_bytes,
            .keep = sink.keep,
            .flush = std::chrono::milliseconds{sink.flush_ms},
            .file_mode = file_mode};
}

udp::Options udp_options(const UdpConfig& sink) {
    return {.name = sink.name,
            .to = sink.to,
            .interface = sink.interface,
            .channel = sink.channel,
            .mode = sink.mode,
            .heartbeat = std::chrono::milliseconds{sink.heartbeat_ms}};
}

}  // namespace

template <class Settings>
void Gateway::run_sink(const Settings& settings, std::unique_ptr<Sink> sink, const service::Say& say,
                       std::chrono::nanoseconds holds) {
    const SinkThread::Options options{
        .ring = settings.ring, .name = settings.name, .poll = settings.poll, .pin = settings.pin, .holds = holds};
    sinks_.push_back(std::make_unique<SinkThread>(options, std::move(sink), say));
    watched_.push_back({.thread = sinks_.back().get(), .error = &errors_[settings.name], .holds = holds});
}

const core::Tally& Gateway::newest_record_of(const std::string& journal) const {
    for (const auto& sink : sinks_) {
        const auto* thread = dynamic_cast<const SinkThread*>(sink.get());
        if (thread == nullptr || thread->name() != journal) continue;
        if (const auto* found = dynamic_cast<const journal::JournalSink*>(&thread->sink())) {
            return found->counters().newest_record;
        }
    }
    throw ConfigError(fmt::format("journal '{}' does not run", journal));
}

void Gateway::open_kafka(const KafkaConfig& settings, kafka::Options options) {
    options.newest_record = &newest_record_of(settings.journal);
    sinks_.push_back(kafka::open(options, say_of(settings.name)));
    watched_.push_back({.thread = sinks_.back().get(), .error = &errors_[settings.name], .holds = {}});
}

void Gateway::rescue_left_rings(const Config& config) {
    for (const auto& sink : config.journals) {
        try {
            if (market::RingReader{{.name = sink.ring, .own = true}}.has_writer()) continue;
        } catch (const market::RingError& error) {
            // The usual case is that there is none.
            if (error.fault() != market::RingFault::not_found)
                log_.warning("rescue " + sink.name, "journal sink '{}': {}", sink.name, error.what());
            continue;
        }
        SinkThread left{{.ring = sink.ring, .name = sink.name},
                        std::make_unique<journal::JournalSink>(journal_options(sink, config.file_mode), say()),
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

std::vector<Gateway::PreparedSink> Gateway::prepare_sinks(const Config& config) {
    std::vector<PreparedSink> prepared;
    const auto add = [&](const auto& sink, auto open) {
        prepared.push_back({sink.name, [this, sink, open = std::move(open)] { open(sink, say_of(sink.name)); }});
    };
    for (const auto& journal : config.journals) {
        add(journal,
            [this, options = journal_options(journal, config.file_mode)](const auto& sink, const service::Say& say) {
                run_sink(sink, std::make_unique<journal::JournalSink>(options, say), say);
            });
    }
    for (const auto& kafka : config.kafka) {
        add(kafka, [this, options = kafka_options(kafka, config.file_mode)](const auto& sink, const service::Say&) {
            open_kafka(sink, options);
        });
    }
    for (const auto& tcp : config.tcp) {
        add(tcp, [this, options = line_options<tcp::Options>(tcp)](const auto& sink, const service::Say& say) {
            auto made = std::make_unique<tcp::TcpSink>(options, say);
            log_.info(sink.name, "tcp sink '{}': listens on {}", sink.name, made->address().to_string());
            if (tcp_address_.empty()) tcp_address_ = made->address();
            run_sink(sink, std::move(made), say);
        });
    }
    for (const auto& web : config.web) {
        add(web, [this, options = line_options<web::Options>(web)](const auto& sink, const service::Say& say) {
            auto made = std::make_unique<web::WebSink>(
                options, [this](const http::Request& request) { return page(request); }, say);
            log_.info(sink.name, "web sink '{}': {}://{}/", sink.name, sink.tls.empty() ? "http" : "https",
                      made->address().to_string());
            if (web_address_.empty()) web_address_ = made->address();
            run_sink(sink, std::move(made), say);
        });
    }
    for (const auto& csv : config.csv) {
        add(csv, [this, options = csv_options(csv, config.file_mode)](const auto& sink, const service::Say& say) {
            run_sink(sink, std::make_unique<csv::CsvSink>(options, say), say, options.flush);
        });
    }
    for (const auto& udp : config.udp) {
        add(udp, [this, options = udp_options(udp)](const auto& sink, const service::Say& say) {
            const auto session = static_cast<std::uint64_t>(core::utc_nanos());
            run_sink(sink, std::make_unique<udp::UdpSink>(options, session, say), say);
        });
    }
    for (const auto& mqtt : config.mqtt) {
        add(mqtt, [this, options = mqtt_options(mqtt)](const auto& sink, const service::Say& say) {
            run_sink(sink, mqtt::open(options, say), say);
        });
    }
    return prepared;
}

}  // namespace millpond::gateway
