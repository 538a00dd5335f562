#include "gateway/config/schema.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace millpond::gateway {
namespace {

constexpr std::pair<std::string_view, Severity> kSeverities[] = {
    {"debug", Severity::debug}, {"info", Severity::info}, {"warning", Severity::warning}, {"error", Severity::error}};
constexpr std::pair<std::string_view, LogFormat> kLogFormats[] = {{"text", LogFormat::text}, {"json", LogFormat::json}};
constexpr std::pair<std::string_view, core::Poll> kPolls[] = {
    {"spin", core::Poll::spin}, {"block", core::Poll::block}, {"adaptive", core::Poll::adaptive}};
constexpr std::pair<std::string_view, FeedFormat> kFeedFormats[] = {{"bbo28", FeedFormat::bbo28},
                                                                    {"quotes", FeedFormat::quotes},
                                                                    {"miax-tom", FeedFormat::miax_tom},
                                                                    {"itch", FeedFormat::itch}};
constexpr std::pair<std::string_view, Wanted> kWanted[] = {
    {"none", Wanted::none}, {"prefer", Wanted::prefer}, {"require", Wanted::require}};
constexpr std::pair<std::string_view, Wanted> kReceiveWants[] = {{"prefer", Wanted::prefer},
                                                                 {"require", Wanted::require}};
constexpr std::pair<std::string_view, net::ReceivePath> kReceivePaths[] = {{"socket", net::ReceivePath::socket},
                                                                           {"io_uring", net::ReceivePath::io_uring},
                                                                           {"af_xdp", net::ReceivePath::af_xdp}};
constexpr std::pair<std::string_view, Delivery> kDeliveries[] = {{"every", Delivery::every},
                                                                 {"conflate", Delivery::conflate}};

constexpr std::pair<std::string_view, millpond::journal::Sync> kSyncs[] = {
    {"none", millpond::journal::Sync::none},
    {"interval", millpond::journal::Sync::interval},
    {"each", millpond::journal::Sync::each}};
constexpr std::pair<std::string_view, std::uint32_t> kRingModes[] = {{"0600", 0600}, {"0640", 0640}, {"0644", 0644}};

constexpr std::pair<std::string_view, mqtt::Protocol> kMqttProtocols[] = {{"3.1.1", mqtt::Protocol::v3_1_1},
                                                                          {"5", mqtt::Protocol::v5}};

constexpr std::pair<std::string_view, kafka::Format> kKafkaFormats[] = {{"json", kafka::Format::json},
                                                                        {"binary", kafka::Format::binary}};
constexpr std::pair<std::string_view, std::string_view> kCompressions[] = {
    {"none", "none"}, {"gzip", "gzip"}, {"snappy", "snappy"}, {"lz4", "lz4"}, {"zstd", "zstd"}};

constexpr std::size_t kLongestName = 32;
constexpr std::size_t kLongestVenue = 8;
constexpr std::uint64_t kHighestCpu = 1023;
constexpr std::uint64_t kHighestPriority = 99;
constexpr std::uint64_t kMostEntries = 1ULL << 30;
constexpr std::uint64_t kMostInstruments = 1ULL << 24;
constexpr std::uint64_t kMostOrders = 1ULL << 28;
constexpr std::uint64_t kMostHours = 24ULL * 366 * 100;
constexpr std::uint64_t kMostSeconds = kMostHours * 3'600;
constexpr std::uint64_t kMostMessages = 1'000'000;
constexpr std::uint64_t kHighestChannel = std::numeric_limits<std::uint16_t>::max();

template <class Int>
Int narrow(std::uint64_t checked) {
    return static_cast<Int>(checked);
}

net::SocketAddress listen_or_off(const Value& value) {
    return value.text() == "off" ? net::SocketAddress{} : value.endpoint();
}

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

constexpr Key<Config> kTopKeys[] = {
    {"log_level", "debug|info|warning|error", "least severe message that is logged (info)",
     [](Config& c, const Value& v) { c.log_level = v.choice<Severity>(kSeverities); }},
    {"log_format", "text|json", "one line of text or one JSON object a message (text)",
     [](Config& c, const Value& v) { c.log_format = v.choice<LogFormat>(kLogFormats); }},
    {"quiet", "", "no status line", [](Config& c, const Value& v) { c.quiet = v.boolean(); }},
    {"metrics", "ADDRESS:PORT|off", "where /metrics and /health are served (127.0.0.1:9464)",
     [](Config& c, const Value& v) { c.metrics = listen_or_off(v); }},
    {"admin_token_file", "FILE",
     "who shows the token in this file may POST /api/reload where metrics are served (nobody)",
     [](Config& c, const Value& v) { c.admin_token.file = v.text(); }},
    {"admin_token_env", "NAME", "the same, of the token in this variable of the environment (nobody)",
     [](Config& c, const Value& v) { c.admin_token.environment = v.text(); }},
    {"capture", "FOLDER",
     "keep raw datagrams there, in rotated pcap files that `millpond replay` sends again (nowhere)",
     [](Config& c, const Value& v) { c.capture = v.text(); }},
    {"capture_rotate_bytes", "BYTES", "a capture file of so many bytes is renamed (256MiB)",
     [](Config& c, const Value& v) { c.capture_rotate_bytes = v.bytes(); }},
    {"capture_keep", "N", "full capture files that are kept a ring, 0 for all (0)",
     [](Config& c, const Value& v) { c.capture_keep = v.integer(0, 1'000'000); }},
    {"capture_buffer", "BYTES", "what may wait for the capture's disk, a ring (16MiB)",
     [](Config& c, const Value& v) { c.capture_buffer = v.bytes(); }},
    {"poll", "spin|block|adaptive",
     "how receive threads wait: never sleep, always sleep, or spin briefly and then sleep (adaptive)",
     [](Config& c, const Value& v) { c.poll = v.choice<core::Poll>(kPolls); }},
    {"pin", "CPU", "CPU of the receive thread",
     [](Config& c, const Value& v) { c.pin = narrow<std::uint32_t>(v.integer(0, kHighestCpu)); }},
    {"realtime", "PRIORITY", "SCHED_FIFO priority of receive threads, 0 for none (0)",
     [](Config& c, const Value& v) { c.realtime = narrow<std::uint32_t>(v.integer(0, kHighestPriority)); }},
    {"receive", "socket|io_uring|af_xdp", "how feeds take datagrams from the kernel (socket)",
     [](Config& c, const Value& v) { c.receive = v.choice<net::ReceivePath>(kReceivePaths); }},
    {"receive_want", "prefer|require", "whether a socket does where that is not to be had (prefer)",
     [](Config& c, const Value& v) { c.receive_want = v.choice<Wanted>(kReceiveWants); }},
};

constexpr Key<RingConfig> kRingKeys[] = {
    {"name", "NAME", "readers open the ring by this name (main)",
     [](RingConfig& r, const Value& v) { r.name = v.text_of_at_most(kLongestName); }},
    {"capacity", "N", "entries of 128 bytes, a power of two (65536)",
     [](RingConfig& r, const Value& v) { r.capacity = v.power_of_two(64, kMostEntries); }},
    {"max_instruments", "N", "further instruments are counted and not published (16384)",
     [](RingConfig& r, const Value& v) { r.max_instruments = v.integer(1, kMostInstruments); }},
    {"huge_pages", "none|prefer|require", "pages under ring and board (prefer)",
     [](RingConfig& r, const Value& v) { r.huge_pages = v.choice<Wanted>(kWanted); }},
    {"lock", "true|false", "lock the ring's memory (false)",
     [](RingConfig& r, const Value& v) { r.lock = v.boolean(); }},
    {"mode", "0600|0640|0644", "who may read the ring: the gateway's user, its group too, or everybody (0644)",
     [](RingConfig& r, const Value& v) { r.mode = v.choice<std::uint32_t>(kRingModes); }},
    {"group", "GROUP", "the group it belongs to, by name (the gateway's own)",
     [](RingConfig& r, const Value& v) { r.group = v.text(); }},
    {"poll", "spin|block|adaptive", "instead of the gateway's",
     [](RingConfig& r, const Value& v) { r.poll = v.choice<core::Poll>(kPolls); }},
    {"pin", "CPU", "instead of the gateway's",
     [](RingConfig& r, const Value& v) { r.pin = narrow<std::uint32_t>(v.integer(0, kHighestCpu)); }},
    {"realtime", "PRIORITY", "instead of the gateway's",
     [](RingConfig& r, const Value& v) { r.realtime = narrow<std::uint32_t>(v.integer(0, kHighestPriority)); }},
};

constexpr Key<FeedConfig> kFeedKeys[] = {
    {"name", "NAME", "for logs and metrics (its address)",
     [](FeedConfig& f, const Value& v) { f.name = v.text_of_at_most(kLongestName); }},
    {"ring", "NAME", "the ring it is published to (the first)",
     [](FeedConfig& f, const Value& v) { f.ring = v.text(); }},
    {"format", "bbo28|quotes|miax-tom|itch", "how its datagrams are read (quotes)",
     [](FeedConfig& f, const Value& v) { f.format = v.choice<FeedFormat>(kFeedFormats); }},
    {"listen", "ADDRESS:PORT", "where it comes in; a multicast group is joined",
     [](FeedConfig& f, const Value& v) { f.listen = v.endpoint(); }},
    {"source", "ADDRESS", "sender, for source-specific multicast (any)",
     [](FeedConfig& f, const Value& v) { f.source = v.host(); }},
    {"interface", "NAME", "network interface (the kernel's choice)",
     [](FeedConfig& f, const Value& v) { f.interface = v.text(); }},
    {"channel", "N", "number in every event of this feed (its place, from 0)",
     [](FeedConfig& f, const Value& v) { f.channel = narrow<std::uint16_t>(v.integer(0, kHighestChannel)); }},
    {"venue", "TEXT", "up to 8 characters, beside every instrument's name",
     [](FeedConfig& f, const Value& v) { f.venue = v.text_of_at_most(kLongestVenue); }},
    {"symbols", "FILE", "lines 'product id,symbol' for formats that carry numbers",
     [](FeedConfig& f, const Value& v) { f.symbols = v.text(); }},
    {"timezone", "ZONE", "where the exchange's day begins (America/New_York)",
     [](FeedConfig& f, const Value& v) { f.timezone = v.text(); }},
    {"date", "YYYY-MM-DD", "the exchange's day, for replays (today there)",
     [](FeedConfig& f, const Value& v) { f.date = v.date(); }},
    {"stale_seconds", "N", "the feed is stale after so much silence, 0 never (10)",
     [](FeedConfig& f, const Value& v) { f.stale_seconds = v.integer(0, 86'400); }},
    {"max_orders", "N", "live orders that the books of an itch feed hold (1048576)",
     [](FeedConfig& f, const Value& v) { f.max_orders = v.integer(1, kMostOrders); }},
    {"receive_buffer", "BYTES", "asked of the kernel (8MiB)",
     [](FeedConfig& f, const Value& v) { f.receive_buffer = v.bytes(); }},
    {"nic_time", "none|prefer|require", "receive time by the network card (none)",
     [](FeedConfig& f, const Value& v) { f.nic_time = v.choice<Wanted>(kWanted); }},
    {"gro", "true|false", "take trains of datagrams in one call (true)",
     [](FeedConfig& f, const Value& v) { f.gro = v.boolean(); }},
    {"receive", "socket|io_uring|af_xdp", "instead of the gateway's",
     [](FeedConfig& f, const Value& v) { f.receive = v.choice<net::ReceivePath>(kReceivePaths); }},
    {"receive_want", "prefer|require", "instead of the gateway's",
     [](FeedConfig& f, const Value& v) { f.receive_want = v.choice<Wanted>(kReceiveWants); }},
    {"zero_copy", "none|prefer|require", "af_xdp: let the interface write into our memory itself (prefer)",
     [](FeedConfig& f, const Value& v) { f.zero_copy = v.choice<Wanted>(kWanted); }},
    {"line_b", "ADDRESS:PORT", "the feed's second line: of each number the first that comes counts (none)",
     [](FeedConfig& f, const Value& v) { f.line_b = v.endpoint(); }},
    {"source_b", "ADDRESS", "line B's sender, for source-specific multicast (source)",
     [](FeedConfig& f, const Value& v) { f.source_b = v.host(); }},
    {"interface_b", "NAME", "line B's network interface (interface)",
     [](FeedConfig& f, const Value& v) { f.interface_b = v.text(); }},
    {"reorder_us", "N", "what comes behind a hole waits so long for it to be closed (2000)",
     [](FeedConfig& f, const Value& v) { f.reorder_us = v.integer(0, 10'000'000); }},
    {"reorder_datagrams", "N", "so many wait at most (512; 8192 with rerequest)",
     [](FeedConfig& f, const Value& v) { f.reorder_datagrams = v.integer(1, 65'535); }},
    {"rerequest", "ADDRESS:PORT", "itch: the MoldUDP64 server that is asked for what no line brought (none)",
     [](FeedConfig& f, const Value& v) { f.rerequest = v.endpoint(); }},
    {"rerequest_ms", "N", "it is asked again after this pause, which doubles each time (5)",
     [](FeedConfig& f, const Value& v) { f.rerequest_ms = v.integer(1, 60'000); }},
    {"rerequest_tries", "N", "then the hole is given up (6)",
     [](FeedConfig& f, const Value& v) { f.rerequest_tries = v.integer(1, 20); }},
    {"rerequest_most", "N", "messages in one request (1000)",
     [](FeedConfig& f, const Value& v) { f.rerequest_most = v.integer(1, 65'534); }},
    {"rerequest_start", "true|false", "ask for the session's messages before the start, too (true)",
     [](FeedConfig& f, const Value& v) { f.rerequest_start = v.boolean(); }},
};

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
    {"path", "FILE", "the file; full ones are renamed to FILE.1, FILE.2, ...",
     [](CsvConfig& s, const Value& v) { s.path = v.text(); }},
    {"mode", "every|conflate", "every quote, or the newest of each instrument (every)",
     [](CsvConfig& s, const Value& v) { s.mode = v.choice<Delivery>(kDeliveries); }},
    {"rotate_bytes", "BYTES", "a file of so many bytes is renamed (256MiB)",
     [](CsvConfig& s, const Value& v) { s.rotate_bytes = v.bytes(); }},
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

namespace millpond::config {

using namespace gateway;

// clang-format off
template <> std::string_view Schema<Config>::name() { return ""; }
template <> std::string_view Schema<RingConfig>::name() { return "ring"; }
template <> std::string_view Schema<FeedConfig>::name() { return "feed"; }
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
template <> std::span<const Key<Config>> Schema<Config>::keys() { return kTopKeys; }
template <> std::span<const Key<RingConfig>> Schema<RingConfig>::keys() { return kRingKeys; }
template <> std::span<const Key<FeedConfig>> Schema<FeedConfig>::keys() { return kFeedKeys; }
template <> std::span<const Key<TcpConfig>> Schema<TcpConfig>::keys() { return kTcpKeys; }
template <> std::span<const Key<CsvConfig>> Schema<CsvConfig>::keys() { return kCsvKeys; }
template <> std::span<const Key<UdpConfig>> Schema<UdpConfig>::keys() { return kUdpKeys; }
// clang-format on

}  // namespace millpond::config
