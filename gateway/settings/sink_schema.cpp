#include <charconv>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "gateway/settings/key_bounds.hpp"
#include "gateway/settings/schema.hpp"

namespace millpond::gateway {
namespace {

constexpr std::pair<std::string_view, Delivery> kDeliveries[] = {{"every", Delivery::every},
                                                                 {"conflate", Delivery::conflate}};

constexpr std::pair<std::string_view, millpond::journal::Sync> kSyncs[] = {
    {"none", millpond::journal::Sync::none},
    {"interval", millpond::journal::Sync::interval},
    {"each", millpond::journal::Sync::each}};
constexpr std::pair<std::string_view, mqtt::Protocol> kMqttProtocols[] = {{"3.1.1", mqtt::Protocol::v3_1_1},
                                                                          {"5", mqtt::Protocol::v5}};

constexpr std::pair<std::string_view, kafka::Format> kKafkaFormats[] = {{"json", kafka::Format::json},
                                                                        {"binary", kafka::Format::binary}};
constexpr std::pair<std::string_view, std::string_view> kCompressions[] = {
    {"none", "none"}, {"gzip", "gzip"}, {"snappy", "snappy"}, {"lz4", "lz4"}, {"zstd", "zstd"}};

constexpr std::uint64_t kMostHours = 24ULL * 366 * 100;
constexpr std::uint64_t kMostSeconds = kMostHours * 3'600;
constexpr std::uint64_t kMostMessages = 1'000'000;

/// HOST:PORT, [ADDRESS]:PORT
void assign_broker(MqttConfig& s, const Value& v) {
    const auto text = v.text();
    const auto colon = text.rfind(':');
    std::uint16_t port = 0;
    const bool numbered =
        colon != std::string::npos && colon != 0 &&
        std::from_chars(text.data() + colon + 1, text.data() + text.size(), port).ptr == text.data() + text.size();
    if (!numbered || port == 0) v.fail("HOST:PORT", "'" + text + "'");
    s.host = text.substr(0, colon);
    s.port = port;
    if (s.host.starts_with('[') && s.host.ends_with(']')) s.host = s.host.substr(1, s.host.size() - 2);
}

constexpr Key<TcpConfig> kTcpKeys[] = {
    {"name", "NAME", "for logs and metrics (tcp)",
     [](TcpConfig& s, const Value& v) { s.name = v.text_of_at_most(kLongestName); }},
    {"ring", "NAME", "the ring it reads (the first)", [](TcpConfig& s, const Value& v) { s.ring = v.text(); }},
    {"listen", "ADDRESS:PORT", "where clients connect (127.0.0.1:9100)",
     [](TcpConfig& s, const Value& v) { s.listen = v.endpoint(); }},
    {"mode", "every|conflate", "a client's mode until it asks for the other (every)",
     [](TcpConfig& s, const Value& v) { s.mode = v.choice<Delivery>(kDeliveries); }},
    {"backlog", "LINES", "how far a client may fall behind, a power of two (16384)",
     [](TcpConfig& s, const Value& v) { s.backlog = v.power_of_two(64, 1ULL << 24); }},
    {"max_clients", "N", "further clients are refused with a reason (1024)",
     [](TcpConfig& s, const Value& v) { s.max_clients = v.integer(1, 100'000); }},
    {"send_buffer", "BYTES", "what the kernel may hold for a client (256KiB)",
     [](TcpConfig& s, const Value& v) { s.send_buffer = v.bytes(); }},
    {"stall_seconds", "N", "a client that takes nothing for so long is disconnected (10)",
     [](TcpConfig& s, const Value& v) { s.stall_seconds = v.integer(1, 86'400); }},
    {"token_file", "FILE", "clients must know the token in this file (none)",
     [](TcpConfig& s, const Value& v) { s.token.file = v.text(); }},
    {"token_env", "NAME", "clients must know the token in this variable of the environment (none)",
     [](TcpConfig& s, const Value& v) { s.token.environment = v.text(); }},
    {"tls_certificate", "FILE", "TLS with the certificate, and those between it and the root, in this PEM file (plain)",
     [](TcpConfig& s, const Value& v) { s.tls.certificate = v.text(); }},
    {"tls_key", "FILE", "the certificate's private key, which not everybody may read",
     [](TcpConfig& s, const Value& v) { s.tls.key = v.text(); }},
    {"tls_client_ca", "FILE", "clients must show a certificate signed by one of these (none needed)",
     [](TcpConfig& s, const Value& v) { s.tls.client_ca = v.text(); }},
    {"poll", "spin|block|adaptive", "how it waits for the ring: never sleep, sleep, or look briefly first (adaptive)",
     [](TcpConfig& s, const Value& v) { s.poll = v.choice<core::Poll>(kPolls); }},
    {"pin", "CPU", "CPU of its thread (any)",
     [](TcpConfig& s, const Value& v) { s.pin = narrow<std::uint32_t>(v.integer(0, kHighestCpu)); }},
};

constexpr Key<CsvConfig> kCsvKeys[] = {
    {"name", "NAME", "for logs and metrics (csv)",
     [](CsvConfig& s, const Value& v) { s.name = v.text_of_at_most(kLongestName); }},
    {"ring", "NAME", "the ring it reads (the first)", [](CsvConfig& s, const Value& v) { s.ring = v.text(); }},
    {"path", "FILE", "the file; full ones, and a session's at its end, are renamed to FILE.1, FILE.2, ...",
     [](CsvConfig& s, const Value& v) { s.path = v.text(); }},
    {"mode", "every|conflate", "every quote, or the newest of each instrument (every)",
     [](CsvConfig& s, const Value& v) { s.mode = v.choice<Delivery>(kDeliveries); }},
    {"rotate_bytes", "BYTES", "a file of so many bytes is renamed (256MiB)",
     [](CsvConfig& s, const Value& v) { s.rotate_bytes = v.bytes(); }},
    {"keep", "N", "renamed files that are kept, 0 for all (0)",
     [](CsvConfig& s, const Value& v) { s.keep = v.integer(0, 1'000'000); }},
    {"flush_ms", "N", "rows wait in memory for at most so long (200)",
     [](CsvConfig& s, const Value& v) { s.flush_ms = v.integer(1, 60'000); }},
    {"poll", "spin|block|adaptive", "how it waits for the ring: never sleep, sleep, or look briefly first (block)",
     [](CsvConfig& s, const Value& v) { s.poll = v.choice<core::Poll>(kPolls); }},
    {"pin", "CPU", "CPU of its thread (any)",
     [](CsvConfig& s, const Value& v) { s.pin = narrow<std::uint32_t>(v.integer(0, kHighestCpu)); }},
};

constexpr Key<UdpConfig> kUdpKeys[] = {
    {"name", "NAME", "for logs and metrics (udp)",
     [](UdpConfig& s, const Value& v) { s.name = v.text_of_at_most(kLongestName); }},
    {"ring", "NAME", "the ring it reads (the first)", [](UdpConfig& s, const Value& v) { s.ring = v.text(); }},
    {"to", "ADDRESS:PORT", "where the datagrams go, unicast or multicast",
     [](UdpConfig& s, const Value& v) { s.to = v.endpoint(); }},
    {"interface", "NAME", "for multicast (the kernel's choice)",
     [](UdpConfig& s, const Value& v) { s.interface = v.text(); }},
    {"channel", "N", "channel number in the datagrams (0)",
     [](UdpConfig& s, const Value& v) { s.channel = narrow<std::uint16_t>(v.integer(0, kHighestChannel)); }},
    {"mode", "every|conflate", "every quote, or the newest of each instrument (every)",
     [](UdpConfig& s, const Value& v) { s.mode = v.choice<Delivery>(kDeliveries); }},
    {"heartbeat_ms", "N", "a datagram without quotes after so much silence (1000)",
     [](UdpConfig& s, const Value& v) { s.heartbeat_ms = v.integer(1, 3'600'000); }},
    {"poll", "spin|block|adaptive", "how it waits for the ring: never sleep, sleep, or look briefly first (adaptive)",
     [](UdpConfig& s, const Value& v) { s.poll = v.choice<core::Poll>(kPolls); }},
    {"pin", "CPU", "CPU of its thread (any)",
     [](UdpConfig& s, const Value& v) { s.pin = narrow<std::uint32_t>(v.integer(0, kHighestCpu)); }},
};

constexpr Key<WebConfig> kWebKeys[] = {
    {"name", "NAME", "for logs and metrics (web)",
     [](WebConfig& s, const Value& v) { s.name = v.text_of_at_most(kLongestName); }},
    {"ring", "NAME", "the ring it reads (the first)", [](WebConfig& s, const Value& v) { s.ring = v.text(); }},
    {"listen", "ADDRESS:PORT", "where the page is served (127.0.0.1:9465)",
     [](WebConfig& s, const Value& v) { s.listen = v.endpoint(); }},
    {"mode", "every|conflate", "a client's mode until it asks for the other (conflate)",
     [](WebConfig& s, const Value& v) { s.mode = v.choice<Delivery>(kDeliveries); }},
    {"backlog", "LINES", "how far a client may fall behind, a power of two (16384)",
     [](WebConfig& s, const Value& v) { s.backlog = v.power_of_two(64, 1ULL << 24); }},
    {"max_clients", "N", "further clients are refused with a reason (1024)",
     [](WebConfig& s, const Value& v) { s.max_clients = v.integer(1, 100'000); }},
    {"send_buffer", "BYTES", "what the kernel may hold for a client (128KiB)",
     [](WebConfig& s, const Value& v) { s.send_buffer = v.bytes(); }},
    {"stall_seconds", "N", "a client that takes nothing for so long is disconnected (10)",
     [](WebConfig& s, const Value& v) { s.stall_seconds = v.integer(1, 86'400); }},
    {"token_file", "FILE", "who asks must know the token in this file (none)",
     [](WebConfig& s, const Value& v) { s.token.file = v.text(); }},
    {"token_env", "NAME", "who asks must know the token in this variable of the environment (none)",
     [](WebConfig& s, const Value& v) { s.token.environment = v.text(); }},
    {"tls_certificate", "FILE", "TLS with the certificate, and those between it and the root, in this PEM file (plain)",
     [](WebConfig& s, const Value& v) { s.tls.certificate = v.text(); }},
    {"tls_key", "FILE", "the certificate's private key, which not everybody may read",
     [](WebConfig& s, const Value& v) { s.tls.key = v.text(); }},
    {"tls_client_ca", "FILE", "clients must show a certificate signed by one of these (none needed)",
     [](WebConfig& s, const Value& v) { s.tls.client_ca = v.text(); }},
    {"poll", "spin|block|adaptive", "how it waits for the ring: never sleep, sleep, or look briefly first (adaptive)",
     [](WebConfig& s, const Value& v) { s.poll = v.choice<core::Poll>(kPolls); }},
    {"pin", "CPU", "CPU of its thread (any)",
     [](WebConfig& s, const Value& v) { s.pin = narrow<std::uint32_t>(v.integer(0, kHighestCpu)); }},
};

constexpr Key<JournalConfig> kJournalKeys[] = {
    {"name", "NAME", "for logs and metrics (journal)",
     [](JournalConfig& s, const Value& v) { s.name = v.text_of_at_most(kLongestName); }},
    {"ring", "NAME", "the ring it reads (the first)", [](JournalConfig& s, const Value& v) { s.ring = v.text(); }},
    {"folder", "FOLDER", "where the segment files stand; made if it is missing",
     [](JournalConfig& s, const Value& v) { s.folder = v.text(); }},
    {"segment_bytes", "BYTES", "size of a segment file (256MiB)",
     [](JournalConfig& s, const Value& v) { s.segment_bytes = v.bytes(); }},
    {"roll_seconds", "N", "a segment of this age is ended, 0 for by size only (3600)",
     [](JournalConfig& s, const Value& v) { s.roll_seconds = v.integer(0, kMostSeconds); }},
    {"keep_bytes", "BYTES", "the oldest segments go beyond so many bytes, 0 for never (0)",
     [](JournalConfig& s, const Value& v) { s.keep_bytes = v.bytes(); }},
    {"keep_hours", "N", "segments older than this go, 0 for never (0)",
     [](JournalConfig& s, const Value& v) { s.keep_hours = v.integer(0, kMostHours); }},
    {"sync", "none|interval|each", "what survives the death of the machine (interval)",
     [](JournalConfig& s, const Value& v) { s.sync = v.choice<millpond::journal::Sync>(kSyncs); }},
    {"sync_ms", "N", "for sync = \"interval\" (1000)",
     [](JournalConfig& s, const Value& v) { s.sync_ms = v.integer(1, 60'000); }},
    {"poll", "spin|block|adaptive", "how it waits for the ring: never sleep, sleep, or look briefly first (adaptive)",
     [](JournalConfig& s, const Value& v) { s.poll = v.choice<core::Poll>(kPolls); }},
    {"pin", "CPU", "CPU of its thread (any)",
     [](JournalConfig& s, const Value& v) { s.pin = narrow<std::uint32_t>(v.integer(0, kHighestCpu)); }},
};

constexpr Key<MqttConfig> kMqttKeys[] = {
    {"name", "NAME", "for logs and metrics (mqtt)",
     [](MqttConfig& s, const Value& v) { s.name = v.text_of_at_most(kLongestName); }},
    {"ring", "NAME", "the ring it reads (the first)", [](MqttConfig& s, const Value& v) { s.ring = v.text(); }},
    {"broker", "HOST:PORT", "where the broker is (127.0.0.1:1883)", assign_broker},
    {"topic", "TEMPLATE", "of an instrument's quotes, with {symbol} and {venue} (bbo/{symbol})",
     [](MqttConfig& s, const Value& v) { s.topic = v.text(); }},
    {"state_topic", "TOPIC", "where it says that it is online, stopped or lost (millpond/NAME)",
     [](MqttConfig& s, const Value& v) { s.state_topic = v.text(); }},
    {"client_id", "ID", "what the broker calls it (chosen by chance)",
     [](MqttConfig& s, const Value& v) { s.client_id = v.text(); }},
    {"protocol", "3.1.1|5", "version of MQTT (5)",
     [](MqttConfig& s, const Value& v) { s.protocol = v.choice<mqtt::Protocol>(kMqttProtocols); }},
    {"qos", "0|1", "0: a message counts as delivered when it is written, 1: when the broker says so (0)",
     [](MqttConfig& s, const Value& v) { s.qos = v.integer(0, 1); }},
    {"retain", "true|false", "the broker keeps the newest quote for those who come later (true)",
     [](MqttConfig& s, const Value& v) { s.retain = v.boolean(); }},
    {"mode", "every|conflate", "every quote, or the newest of each instrument when the link is slow (conflate)",
     [](MqttConfig& s, const Value& v) { s.mode = v.choice<Delivery>(kDeliveries); }},
    {"user", "NAME", "who it is to the broker (none)", [](MqttConfig& s, const Value& v) { s.user = v.text(); }},
    {"password_file", "FILE", "the user's password is this file's first line (none)",
     [](MqttConfig& s, const Value& v) { s.password.file = v.text(); }},
    {"password_env", "NAME", "the user's password is in this variable of the environment (none)",
     [](MqttConfig& s, const Value& v) { s.password.environment = v.text(); }},
    {"tls", "true|false", "TLS; the broker's name and certificate are checked (false)",
     [](MqttConfig& s, const Value& v) { s.tls.on = v.boolean(); }},
    {"tls_ca", "FILE", "whose signature the broker's certificate must bear, PEM (the system's authorities)",
     [](MqttConfig& s, const Value& v) { s.tls.authority = v.text(); }},
    {"tls_certificate", "FILE", "our own certificate, PEM, where the broker asks for one (none)",
     [](MqttConfig& s, const Value& v) { s.tls.certificate = v.text(); }},
    {"tls_key", "FILE", "its private key, PEM (none)", [](MqttConfig& s, const Value& v) { s.tls.key = v.text(); }},
    {"keepalive_seconds", "N", "a silent link is looked after so often (15)",
     [](MqttConfig& s, const Value& v) { s.keepalive_seconds = v.integer(5, 65'535); }},
    {"window", "MESSAGES", "so many are on their way at a time, a power of two (1024)",
     [](MqttConfig& s, const Value& v) { s.window = v.power_of_two(2, 32'768); }},
    {"send_buffer", "BYTES", "what the kernel may hold (64KiB)",
     [](MqttConfig& s, const Value& v) { s.send_buffer = v.bytes(); }},
    {"reconnect_ms", "N", "pause before it connects again; each attempt doubles it (250)",
     [](MqttConfig& s, const Value& v) { s.reconnect_ms = v.integer(1, 60'000); }},
    {"reconnect_most_ms", "N", "longest pause (30000)",
     [](MqttConfig& s, const Value& v) { s.reconnect_most_ms = v.integer(1, 3'600'000); }},
    {"poll", "spin|block|adaptive", "how it waits for the ring: never sleep, sleep, or look briefly first (adaptive)",
     [](MqttConfig& s, const Value& v) { s.poll = v.choice<core::Poll>(kPolls); }},
    {"pin", "CPU", "CPU of its thread (any)",
     [](MqttConfig& s, const Value& v) { s.pin = narrow<std::uint32_t>(v.integer(0, kHighestCpu)); }},
};

constexpr Key<KafkaConfig> kKafkaKeys[] = {
    {"name", "NAME", "for logs and metrics (kafka)",
     [](KafkaConfig& s, const Value& v) { s.name = v.text_of_at_most(kLongestName); }},
    {"journal", "NAME", "the journal that it follows (the first)",
     [](KafkaConfig& s, const Value& v) { s.journal = v.text(); }},
    {"brokers", "HOST:PORT,...", "brokers to ask for the others (127.0.0.1:9092)",
     [](KafkaConfig& s, const Value& v) { s.brokers = v.list(); }},
    {"topic", "TEMPLATE", "of an instrument's events, with {symbol} and {venue} (bbo)",
     [](KafkaConfig& s, const Value& v) { s.topic = v.text(); }},
    {"events_topic", "TOPIC", "of what concerns no single instrument (millpond.events)",
     [](KafkaConfig& s, const Value& v) { s.events_topic = v.text(); }},
    {"format", "json|binary", "of the values (json)",
     [](KafkaConfig& s, const Value& v) { s.format = v.choice<kafka::Format>(kKafkaFormats); }},
    {"compression", "none|gzip|snappy|lz4|zstd", "of batches (lz4)",
     [](KafkaConfig& s, const Value& v) { s.compression = v.choice<std::string_view>(kCompressions); }},
    {"window", "MESSAGES", "so many are on their way at a time (32768)",
     [](KafkaConfig& s, const Value& v) { s.window = v.integer(1, kMostMessages); }},
    {"position_file", "FILE", "where the last delivered position is kept (NAME.position beside the journal)",
     [](KafkaConfig& s, const Value& v) { s.position_file = v.text(); }},
    {"password_file", "FILE", "the password for SASL is this file's first line (none)",
     [](KafkaConfig& s, const Value& v) { s.password.file = v.text(); }},
    {"password_env", "NAME", "the password for SASL is in this variable of the environment (none)",
     [](KafkaConfig& s, const Value& v) { s.password.environment = v.text(); }},
    {"properties", "KEY=VALUE,...",
     "librdkafka's own settings: security.protocol, sasl.*, ssl.*, linger.ms, ... (none)",
     [](KafkaConfig& s, const Value& v) { s.properties = v.list(); }},
    {"pin", "CPU", "CPU of its thread (any)",
     [](KafkaConfig& s, const Value& v) { s.pin = narrow<std::uint32_t>(v.integer(0, kHighestCpu)); }},
};

}  // namespace

}  // namespace millpond::gateway

namespace millpond::settings {

using namespace gateway;

// clang-format off
template <> std::string_view Schema<TcpConfig>::name() { return "tcp"; }
template <> std::string_view Schema<CsvConfig>::name() { return "csv"; }
template <> std::string_view Schema<UdpConfig>::name() { return "udp"; }
template <> std::string_view Schema<WebConfig>::name() { return "web"; }
template <> std::span<const Key<WebConfig>> Schema<WebConfig>::keys() { return kWebKeys; }
template <> std::string_view Schema<JournalConfig>::name() { return "journal"; }
template <> std::span<const Key<JournalConfig>> Schema<JournalConfig>::keys() { return kJournalKeys; }
template <> std::string_view Schema<MqttConfig>::name() { return "mqtt"; }
template <> std::span<const Key<MqttConfig>> Schema<MqttConfig>::keys() { return kMqttKeys; }
template <> std::string_view Schema<KafkaConfig>::name() { return "kafka"; }
template <> std::span<const Key<KafkaConfig>> Schema<KafkaConfig>::keys() { return kKafkaKeys; }
template <> std::span<const Key<TcpConfig>> Schema<TcpConfig>::keys() { return kTcpKeys; }
template <> std::span<const Key<CsvConfig>> Schema<CsvConfig>::keys() { return kCsvKeys; }
template <> std::span<const Key<UdpConfig>> Schema<UdpConfig>::keys() { return kUdpKeys; }
// clang-format on

}  // namespace millpond::settings
