#include "gateway/settings/schema.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "gateway/settings/key_bounds.hpp"
#include "service/settings/file_mode.hpp"

namespace millpond::gateway {
namespace {

constexpr std::pair<std::string_view, service::Severity> kSeverities[] = {{"debug", service::Severity::debug},
                                                                          {"info", service::Severity::info},
                                                                          {"warning", service::Severity::warning},
                                                                          {"error", service::Severity::error}};
constexpr std::pair<std::string_view, service::LogFormat> kLogFormats[] = {{"text", service::LogFormat::text},
                                                                           {"json", service::LogFormat::json}};
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
constexpr std::pair<std::string_view, net::Checksum> kChecksums[] = {{"verify", net::Checksum::verify},
                                                                     {"trust", net::Checksum::trust}};
constexpr std::pair<std::string_view, std::uint32_t> kRingModes[] = {{"0600", 0600}, {"0640", 0640}, {"0644", 0644}};

constexpr std::size_t kLongestVenue = 8;
constexpr std::uint64_t kHighestPriority = 99;
constexpr std::uint64_t kHighestVlan = 4'094;
constexpr std::uint64_t kMostEntries = 1ULL << 30;
constexpr std::uint64_t kMostInstruments = 1ULL << 24;
constexpr std::uint64_t kMostOrders = 1ULL << 28;

net::SocketAddress listen_or_off(const Value& value) {
    return value.text() == "off" ? net::SocketAddress{} : value.endpoint();
}

constexpr Key<Config> kTopKeys[] = {
    {"log_level", "debug|info|warning|error", "least severe message that is logged (info)",
     [](Config& c, const Value& v) { c.log_level = v.choice<service::Severity>(kSeverities); }},
    {"log_format", "text|json", "one line of text or one JSON object a message (text)",
     [](Config& c, const Value& v) { c.log_format = v.choice<service::LogFormat>(kLogFormats); }},
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
    {"file_mode", "0600|0640|0644|0660|0664",
     "permissions of the files that csv, journals, captures and kafka create, whatever the umask (0640)",
     [](Config& c, const Value& v) { c.file_mode = v.choice<std::uint32_t>(settings::kFileModes); }},
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
    {"stale_seconds", "N", "the feed is stale and its quotes are incomplete after so much silence, 0 never (10)",
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
    {"checksum", "verify|trust", "af_xdp: drop datagrams with a wrong IP or UDP checksum, or deliver all (verify)",
     [](FeedConfig& f, const Value& v) { f.checksum = v.choice<net::Checksum>(kChecksums); }},
    {"vlan", "N", "af_xdp: only frames of this VLAN, 1 to 4094; 0: only untagged ones (0)",
     [](FeedConfig& f, const Value& v) { f.vlan = v.integer(0, kHighestVlan); }},
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
    {"rebuild", "true|false", "itch: build incomplete books anew by the rerequest server (false)",
     [](FeedConfig& f, const Value& v) { f.rebuild = v.boolean(); }},
    {"rebuild_from", "PATH", "itch: the same, from a capture, a folder of captures or a file of messages first (none)",
     [](FeedConfig& f, const Value& v) { f.rebuild_from = v.text(); }},
    {"rebuild_buffer", "BYTES", "what comes meanwhile waits in so many bytes (16MiB)",
     [](FeedConfig& f, const Value& v) { f.rebuild_buffer = v.bytes(); }},
    {"rebuild_seconds", "N", "an attempt takes no longer (600)",
     [](FeedConfig& f, const Value& v) { f.rebuild_seconds = v.integer(1, 86'400); }},
};

}  // namespace

}  // namespace millpond::gateway

namespace millpond::settings {

using namespace gateway;

// clang-format off
template <> std::string_view Schema<Config>::name() { return ""; }
template <> std::string_view Schema<RingConfig>::name() { return "ring"; }
template <> std::string_view Schema<FeedConfig>::name() { return "feed"; }
template <> std::span<const Key<Config>> Schema<Config>::keys() { return kTopKeys; }
template <> std::span<const Key<RingConfig>> Schema<RingConfig>::keys() { return kRingKeys; }
template <> std::span<const Key<FeedConfig>> Schema<FeedConfig>::keys() { return kFeedKeys; }
// clang-format on

}  // namespace millpond::settings
