#include "gateway/settings/schema.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <millpond/market/level_sums.hpp>
#include <millpond/market/quote_board.hpp>

#include "gateway/sinks/kind_of.hpp"
#include "service/log_words.hpp"
#include "service/settings/choices.hpp"

namespace millpond::gateway {
namespace {

using TopKey = settings::KeyOf<Config>;
using RingKey = settings::KeyOf<RingConfig>;
using FeedKey = settings::KeyOf<FeedConfig>;
using CompositeKey = settings::KeyOf<CompositeConfig>;
using SymbolsKey = settings::KeyOf<SymbolsConfig>;

constexpr std::pair<std::string_view, Wanted> kWanted[] = {
    {"none", Wanted::none}, {"prefer", Wanted::prefer}, {"require", Wanted::require}};
constexpr std::pair<std::string_view, Wanted> kReceiveWants[] = {{"prefer", Wanted::prefer},
                                                                 {"require", Wanted::require}};
constexpr std::pair<std::string_view, net::ReceivePath> kReceivePaths[] = {{"socket", net::ReceivePath::socket},
                                                                           {"af_xdp", net::ReceivePath::af_xdp}};
constexpr std::pair<std::string_view, net::Checksum> kChecksums[] = {{"verify", net::Checksum::verify},
                                                                     {"trust", net::Checksum::trust}};
constexpr std::pair<std::string_view, std::uint32_t> kRingModes[] = {{"0600", 0600}, {"0640", 0640}, {"0644", 0644}};

constexpr std::size_t kMaxVenueLength = 8;
constexpr std::uint64_t kMaxPriority = 99;
constexpr std::uint64_t kMaxVlan = 4'094;
constexpr std::uint64_t kMaxEntries = 1ULL << 30;

constexpr std::uint64_t kMaxChannel = std::numeric_limits<std::uint16_t>::max();

net::ReceivePath receive_path(const Value& value) {
    if (value.text() == "io_uring") value.fail("one of socket, af_xdp", "'io_uring', which was removed: use socket");
    return value.choice<net::ReceivePath>(kReceivePaths);
}

constexpr settings::Key<Config> kTopKeys[] = {
    TopKey::short_text<&Config::name, kMaxNameLength>(
        "name", "NAME", "Name of the gateway on its page and in /api/health; that of its first ring if unset."),
    TopKey::choice<&Config::log_level, service::kSeverities>("log_level", "debug|info|warning|error",
                                                             "Least severe messages to log."),
    TopKey::choice<&Config::log_format, service::kLogFormats>(
        "log_format", "text|json", "Log each message as a line of text or as a JSON object."),
    {"quiet", "", "Print no status line.", [](Config& c, const Value& v) { c.quiet = v.boolean(); }},
    {"strict", "", "Refuse to start for what `config check` warns of.",
     [](Config& c, const Value& v) { c.strict = v.boolean(); }},
    {"metrics", "ADDRESS:PORT|off", "Address and port of /metrics, /health and the pages of /api.",
     [](Config& c, const Value& v) { c.metrics = v.text() == "off" ? net::SocketAddress{} : v.endpoint(); },
     [](const Config& c) { return c.metrics.to_string(); }},
    TopKey::file<[](auto& c) -> auto& { return c.admin_token.file; }>(
        "admin_token_file",
        "File with the bearer token for POST /api/reload at the metrics address and POST /api/disconnect; neither if "
        "unset."),
    TopKey::text<[](auto& c) -> auto& { return c.admin_token.environment; }>("admin_token_env", "NAME",
                                                                             "Environment variable with that token."),
    TopKey::text<&Config::capture>(
        "capture", "FOLDER", "Folder for raw datagrams, in rotated pcap files that `millpond replay` can replay."),
    TopKey::bytes<&Config::capture_rotate_bytes>("capture_rotate_bytes", "Size at which a capture file is renamed."),
    TopKey::integer<&Config::capture_keep, 0, 1'000'000>("capture_keep", "N",
                                                         "Full capture files to keep for each ring; 0 keeps all."),
    TopKey::bytes<&Config::capture_buffer>("capture_buffer",
                                           "Memory for datagrams that wait for the capture's disk, for each ring."),
    TopKey::choice<&Config::file_mode, settings::kFileModes>(
        "file_mode", "0600|0640|0644|0660|0664",
        "Permissions of the files that sinks, captures and the history create, whatever the umask."),
    TopKey::text<&Config::state>(
        "state", "FOLDER",
        "Folder for the history of charts, the event log and the counts of snap requests, which then survive a "
        "restart. If unset: $STATE_DIRECTORY, and with --config also $XDG_STATE_HOME/millpond or "
        "~/.local/state/millpond."),
    TopKey::choice<&Config::poll, settings::kPolls>(
        "poll", "spin|block|adaptive",
        "How receive threads wait: busy-wait, sleep, or busy-wait briefly and then sleep."),
    TopKey::integer<&Config::pin, 0, kMaxCpu>("pin", "CPU", "CPU to bind the receive thread to."),
    TopKey::integer<&Config::realtime, 0, kMaxPriority>("realtime", "PRIORITY",
                                                        "SCHED_FIFO priority of receive threads; 0 for none."),
    {"receive", "socket|af_xdp", "How feeds receive datagrams from the kernel.",
     [](Config& c, const Value& v) { c.receive = receive_path(v); },
     [](const Config& c) { return std::string{net::name_of(c.receive)}; }},
    TopKey::choice<&Config::receive_want, kReceiveWants>(
        "receive_want", "prefer|require", "Fall back to a socket where that is not available, or refuse to start."),
};

constexpr settings::Key<RingConfig> kRingKeys[] = {
    RingKey::short_text<&RingConfig::name, kMaxNameLength>("name", "NAME", "Name by which readers open the ring."),
    RingKey::power_of_two<&RingConfig::capacity, 64, kMaxEntries>("capacity", "N",
                                                                  "Entries of 128 bytes; a power of two."),
    RingKey::integer<&RingConfig::max_instruments, 1, market::kMaxInstruments>(
        "max_instruments", "N", "Maximum number of instruments; further ones are counted and not published."),
    RingKey::choice<&RingConfig::huge_pages, kWanted>("huge_pages", "none|prefer|require",
                                                      "Huge pages for the ring and the board."),
    RingKey::boolean<&RingConfig::lock>("lock", "Lock the ring's memory."),
    RingKey::choice<&RingConfig::mode, kRingModes>(
        "mode", "0600|0640|0644", "Who may read the ring: only the gateway's user, also its group, or all users."),
    RingKey::text<&RingConfig::group>("group", "GROUP", "Group that owns the ring; the gateway's group if unset."),
    {"poll", "spin|block|adaptive", "Overrides the gateway's poll.",
     [](RingConfig& r, const Value& v) { r.poll = v.choice<core::Poll>(settings::kPolls); }},
    RingKey::integer<&RingConfig::pin, 0, kMaxCpu>("pin", "CPU", "Overrides the gateway's pin."),
    RingKey::time<&RingConfig::latency_warn, 1'000, 60'000'000'000>(
        "latency_warn",
        "Latency from receive timestamp to shared memory; a p99 over 10 s above it is a finding. No finding if unset."),
    RingKey::removed("realtime", "the top-level 'realtime'"),
};

constexpr settings::Key<CompositeConfig> kCompositeKeys[] = {
    CompositeKey::short_text<&CompositeConfig::venue, kMaxVenueLength>(
        "venue", "TEXT", "Venue of the composite's instruments, up to 8 characters."),
    CompositeKey::text<&CompositeConfig::ring>("ring", "NAME", "Ring of its feeds; the first ring if unset."),
    CompositeKey::nonempty_list<&CompositeConfig::feeds>(
        "feeds", "NAME+...", "Names of the feeds that take part; all feeds of the ring if unset."),
    CompositeKey::integer<&CompositeConfig::channel, 0, kMaxChannel>(
        "channel", "N", "Channel number in its events; the next one after those of the feeds if unset."),
    CompositeKey::integer<&CompositeConfig::depth, 0, market::kMaxCompositeDepth>(
        "depth", "N", "Levels of a side that are sums of those of the feeds, at most 10; 0: none."),
};

constexpr settings::Key<SymbolsConfig> kSymbolsKeys[] = {
    SymbolsKey::file<&SymbolsConfig::file>(
        "file", "File with lines 'venue,symbol,name': instruments with the same name are one symbol of a composite."),
};

constexpr settings::Key<FeedConfig> kFeedKeys[] = {
    FeedKey::short_text<&FeedConfig::name, kMaxNameLength>("name", "NAME",
                                                           "Name in logs, metrics and health; its address if unset."),
    FeedKey::text<&FeedConfig::ring>("ring", "NAME", "Ring to publish to; the first ring if unset."),
    FeedKey::endpoint<&FeedConfig::listen>("listen", "Address to receive on; a multicast group is joined.")
        .required("127.0.0.1:14000"),
    FeedKey::endpoint<&FeedConfig::connect>("connect",
                                            "itch: SoupBinTCP server to log in to and receive from, not with listen."),
    FeedKey::host<&FeedConfig::source>("source", "Sender, for source-specific multicast; any if unset."),
    FeedKey::text<&FeedConfig::interface>("interface", "NAME", "Network interface; the kernel chooses if unset."),
    FeedKey::integer<&FeedConfig::channel, 0, kMaxChannel>(
        "channel", "N", "Channel number in every event of this feed; the index of the feed, from 0, if unset."),
    FeedKey::short_text<&FeedConfig::venue, kMaxVenueLength>(
        "venue", "TEXT", "Venue of every instrument, up to 8 characters; the format's own if unset."),
    FeedKey::text<&FeedConfig::timezone>("timezone", "ZONE", "Time zone of the exchange."),
    {"date", "YYYY-MM-DD", "Date at the exchange, for replays; today if unset.",
     [](FeedConfig& f, const Value& v) { f.date = v.date(); }},
    FeedKey::integer<&FeedConfig::stale_seconds, 0, 86'400>(
        "stale_seconds", "N",
        "Seconds of silence after which the feed is stale and its quotes incomplete; 0 for never."),
    FeedKey::bytes<&FeedConfig::receive_buffer>("receive_buffer", "Socket receive buffer to request from the kernel."),
    FeedKey::choice<&FeedConfig::nic_time, kWanted>("nic_time", "none|prefer|require",
                                                    "Use receive timestamps of the network card."),
    {"receive", "socket|af_xdp", "Overrides the gateway's receive.",
     [](FeedConfig& f, const Value& v) { f.receive = receive_path(v); }},
    FeedKey::choice<&FeedConfig::zero_copy, kWanted>("zero_copy", "none|prefer|require",
                                                     "af_xdp: have the driver write into the receive memory."),
    FeedKey::choice<&FeedConfig::checksum, kChecksums>(
        "checksum", "verify|trust", "af_xdp: drop datagrams with a wrong IP or UDP checksum, or deliver all."),
    FeedKey::integer<&FeedConfig::vlan, 0, kMaxVlan>("vlan", "N",
                                                     "af_xdp: receive only this VLAN; 0 for untagged frames only."),
    FeedKey::endpoint<&FeedConfig::line_b>("line_b", "Line B; the first copy of each message counts."),
    FeedKey::host<&FeedConfig::source_b>("source_b", "Sender of line B; `source` if unset."),
    FeedKey::text<&FeedConfig::interface_b>("interface_b", "NAME",
                                            "Network interface of line B; `interface` if unset."),
    FeedKey::integer<&FeedConfig::reorder_us, 0, 10'000'000>(
        "reorder_us", "N", "Microseconds that messages after a gap wait for it to be filled."),
    FeedKey::removed("receive_want", "the top-level 'receive_want'"),
    FeedKey::removed("gro", "on, where the kernel has it"),
    FeedKey::removed("reorder_datagrams", "512, with 'rerequest' 8192"),
    FeedKey::removed("rerequest_tries", "6 requests for each gap"),
    FeedKey::removed("rerequest_most", "1000 messages for each request"),
    FeedKey::removed("rebuild_seconds", "10 minutes"),
};

}  // namespace

std::vector<settings::KeyText> feed_keys(Formats formats) {
    const FeedConfig defaults{*formats.front()};
    auto texts = settings::texts_of<FeedConfig>(kFeedKeys, defaults);
    std::string names;
    for (const auto* format : formats) {
        names += (names.empty() ? "" : "|") + std::string{format->name()};
        for (auto& key : format->keys()) {
            const auto same = std::ranges::find(texts, key.name, &settings::KeyText::name);
            if (same == texts.end()) texts.push_back(std::move(key));
        }
    }
    texts.insert(texts.begin(), {.name = "format",
                                 .shape = names,
                                 .help = "Format of the datagrams.",
                                 .default_value = std::string{defaults.format.name()}});
    return texts;
}

FormatSettings format_named(const Value& value, Formats formats) {
    std::vector<std::pair<std::string_view, const FeedFormat*>> words;
    for (const auto* one : formats) words.emplace_back(one->name(), one);
    return FormatSettings{*value.choice<const FeedFormat*>(words)};
}

void assign(FeedConfig& feed, std::string_view name, std::string_view where, const Value& value, Formats formats) {
    const auto title = settings::section_title(kFeedSection);
    const auto common = std::ranges::find(kFeedKeys, name, &Key<FeedConfig>::name);
    if (common != std::end(kFeedKeys)) {
        if (common->is_removed()) settings::fail_removed(title, name, common->help, where);
        return common->assign(feed, value);
    }
    if (feed.format.assign(name, value)) return;
    std::string others;
    for (const auto* other : formats) {
        const auto keys = other->keys();
        if (std::ranges::find(keys, name, &settings::KeyText::name) == keys.end()) continue;
        others += fmt::format("{}'{}'", others.empty() ? "" : " or ", other->name());
    }
    if (!others.empty()) {
        if (feed.origin.is_bad) return;  // possibly because of its format
        throw ConfigError(fmt::format("{}: {} is for format {}, but the format is '{}'", where, described(title, name),
                                      others, feed.format.name()));
    }
    const auto keys = feed_keys(formats);
    std::vector<std::string_view> names;
    for (const auto& key : keys) names.push_back(key.name);
    settings::fail_unknown(title, name, names, where);
}

}  // namespace millpond::gateway

namespace millpond::settings {

using namespace gateway;

// clang-format off
template <> std::string_view Schema<Config>::name() { return ""; }
template <> std::string_view Schema<RingConfig>::name() { return "ring"; }
template <> std::string_view Schema<CompositeConfig>::name() { return "composite"; }
template <> std::string_view Schema<SymbolsConfig>::name() { return "symbols"; }
template <> std::span<const Key<Config>> Schema<Config>::keys() { return kTopKeys; }
template <> std::span<const Key<RingConfig>> Schema<RingConfig>::keys() { return kRingKeys; }
template <> std::span<const Key<CompositeConfig>> Schema<CompositeConfig>::keys() { return kCompositeKeys; }
template <> std::span<const Key<SymbolsConfig>> Schema<SymbolsConfig>::keys() { return kSymbolsKeys; }
// clang-format on

}  // namespace millpond::settings
