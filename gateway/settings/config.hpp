#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <millpond/core/idle.hpp>
#include <millpond/net/receive_options.hpp>
#include <millpond/net/socket_address.hpp>

#include "gateway/settings/format.hpp"
#include "gateway/sinks/kind.hpp"
#include "service/log.hpp"
#include "service/log_function.hpp"
#include "service/settings/settings_of.hpp"
#include "service/token.hpp"

/// The configuration of a gateway, from the TOML file and the command line; schema.hpp lists every key, and
/// complete() below checks that keys fit together.
namespace millpond::gateway {

/// Use of an optional facility of the machine; with `require` its absence is an error.
enum class Wanted : std::uint8_t { none, prefer, require };

/// The feed formats of this build; the first is the default.
[[nodiscard]] std::span<const FeedFormat* const> builtin_feed_formats() noexcept;

/// A feed, `[[feed]]`: a source of datagrams.
struct FeedConfig {
    settings::Origin origin;
    std::string name;                          ///< Name in logs and metrics; `listen` when empty.
    std::string ring;                          ///< Ring to publish to; the first one when empty.
    net::SocketAddress listen;                 ///< ADDRESS:PORT; a multicast group is joined.
    net::SocketAddress connect;                ///< Server to receive from by TCP; `listen` is empty then.
    net::SocketAddress source;                 ///< Sender's address for source-specific multicast; any when empty.
    std::string interface;                     ///< Network interface by name; the kernel's choice when empty.
    std::optional<std::uint16_t> channel;      ///< Number in every event of this feed; the index of the feed if unset.
    std::string venue;                         ///< Venue of every instrument, up to 8 characters.
    std::string timezone{"America/New_York"};  ///< Time zone of the exchange.
    std::string date;                          ///< Date at the exchange, YYYY-MM-DD; today when empty.
    std::uint64_t stale_seconds{10};  ///< Silence after which the feed is stale and its quotes incomplete; 0: never.
    std::uint64_t receive_buffer{8ULL * 1024 * 1024};  ///< Socket receive buffer to request from the kernel.
    Wanted nic_time{Wanted::none};                     ///< Receive timestamps of the network card.
    std::optional<net::ReceivePath> receive;           ///< The gateway's `receive` when unset.
    Wanted receive_want{Wanted::prefer};               ///< Copied from the gateway; without a key.
    std::string state;                                 ///< The same.
    Wanted zero_copy{Wanted::prefer};                  ///< Only for af_xdp.
    net::Checksum checksum{net::Checksum::verify};     ///< Only for af_xdp.
    std::uint64_t vlan{0};                             ///< Only for af_xdp; 0: untagged frames.
    net::SocketAddress line_b;                         ///< Line B of the feed; none when empty.
    net::SocketAddress source_b;                       ///< Sender of line B; `source` when empty.
    std::string interface_b;                           ///< Interface of line B; `interface` when empty.
    std::uint64_t reorder_us{2'000};                   ///< Time that datagrams behind a gap wait for it to be filled.
    FormatSettings format;                             ///< Format of its datagrams.

    FeedConfig() : FeedConfig(*builtin_feed_formats().front()) {}
    explicit FeedConfig(const FeedFormat& kind) : format(kind) {}

    /// Sets the format that has these settings, unless it is set already, and returns the settings.
    template <class Settings>
    Settings& use() {
        if (&format.kind() != &Settings::format()) format = FormatSettings{Settings::format()};
        return *format.as<Settings>();
    }
    friend bool operator==(const FeedConfig&, const FeedConfig&) = default;
};

/// A ring, `[[ring]]`: a ring in shared memory with the thread that writes it.
struct RingConfig {
    settings::Origin origin{};
    std::string name{"main"};               ///< Readers open the ring by this name.
    std::uint64_t capacity{65'536};         ///< Entries, a power of two.
    std::uint64_t max_instruments{16'384};  ///< Maximum number; further instruments are counted and not published.
    Wanted huge_pages{Wanted::prefer};      ///< Huge pages for the ring and the board.
    bool lock{false};                       ///< Lock the ring's memory.
    std::uint32_t mode{0644};               ///< File mode of the ring: 0600, 0640 or 0644. Only the gateway writes it.
    std::string group;                      ///< Group it belongs to; the gateway's own when empty.
    std::optional<core::Poll> poll;         ///< The gateway's `poll` when unset.
    std::optional<std::uint32_t> pin;       ///< CPU of the receive thread; the gateway's `pin` when unset.
    std::uint32_t realtime{0};  ///< SCHED_FIFO priority of the receive thread, the gateway's; without a key.
    std::chrono::nanoseconds latency_warn{0};  ///< p99 latency above which there is a finding; 0: never.
    friend bool operator==(const RingConfig&, const RingConfig&) = default;
};

/// A composite, `[[composite]]`: the best bid and offer over several feeds of a ring.
struct CompositeConfig {
    settings::Origin origin{};
    std::string venue{"BEST"};             ///< Venue of its instruments.
    std::string ring;                      ///< The first one when empty.
    std::vector<std::string> feeds;        ///< Names; all feeds of the ring when empty.
    std::optional<std::uint16_t> channel;  ///< Of its events; the next one after those of the feeds when unset.
    std::uint32_t depth{0};                ///< Levels of a side.
    friend bool operator==(const CompositeConfig&, const CompositeConfig&) = default;
};

/// The table `[symbols]`.
struct SymbolsConfig {
    std::string file;  ///< See SymbolNames; empty: every symbol is its own name.
    friend bool operator==(const SymbolsConfig&, const SymbolsConfig&) = default;
};

/// The kinds of sink of this build. A kind that follows another is listed after it.
[[nodiscard]] std::span<const SinkKind* const> builtin_sink_kinds() noexcept;

struct Config {
    std::string name;       ///< Name of the gateway on its page and in /api/health; that of its first ring when empty.
    std::string file;       ///< File that it was read from; empty without one.
    std::string file_hash;  ///< FileHashes::of that file.
    service::Severity log_level{service::Severity::info};
    service::LogFormat log_format{service::LogFormat::text};
    bool quiet{false};   ///< Suppress the status line.
    bool strict{false};  ///< Treat warnings as errors.
    net::SocketAddress metrics{
        net::SocketAddress::parse("127.0.0.1:9464")};  ///< Address of /metrics and /health; empty: off.
    core::Poll poll{core::Poll::adaptive};
    std::optional<std::uint32_t> pin;
    std::uint32_t realtime{0};
    net::ReceivePath receive{net::ReceivePath::socket};
    Wanted receive_want{Wanted::prefer};  ///< Fall back to a socket, or refuse to start.
    service::TokenSource admin_token;     ///< Authorizes reloads at `metrics`; empty: none are accepted.
    std::string capture;                  ///< Folder for raw datagrams; none when empty.
    std::uint64_t capture_rotate_bytes{256ULL * 1024 * 1024};  ///< Size at which a capture file is renamed.
    std::uint64_t capture_keep{0};                             ///< Full files to keep for each ring; 0: all.
    std::uint64_t capture_buffer{16ULL * 1024 * 1024};         ///< Bytes that wait for the disk, for each ring.
    std::uint32_t file_mode{0640};  ///< Permissions of the files that sinks, the capture and the history create.
    std::string state;  ///< Folder for what survives a restart; empty: the history and the event log do not.
    std::vector<RingConfig> rings;
    std::vector<FeedConfig> feeds;
    std::vector<CompositeConfig> composites;
    SymbolsConfig symbols;
    std::vector<SinkConfig> sinks;  ///< In the order of `sink_kinds` once complete.
    std::span<const FeedFormat* const> feed_formats{builtin_feed_formats()};
    std::span<const SinkKind* const> sink_kinds{builtin_sink_kinds()};

    /// Adds a sink with these settings.
    template <class Settings>
    Settings& add(const Settings& settings = {}) {
        auto& sink = sinks.emplace_back(Settings::kind());
        auto& added = *sink.template as<Settings>();
        const auto usual_name = added.name;
        added = settings;
        if (added.name.empty()) added.name = usual_name;
        return added;
    }
    /// The settings of the first sink of this kind, or null.
    template <class Settings>
    [[nodiscard]] Settings* first() {
        for (auto& sink : sinks) {
            if (auto* settings = sink.template as<Settings>()) return settings;
        }
        return nullptr;
    }
    template <class Settings>
    [[nodiscard]] const Settings* first() const {
        return const_cast<Config*>(this)->first<Settings>();
    }
};

/// Venue of the instruments of a feed; empty if they have none, or several.
[[nodiscard]] std::string venue_of(const FeedConfig& feed);

/// Fills in derived settings (names, rings, channels, poll modes) and checks that keys fit together: every named ring
/// exists; names, channels and addresses are not used twice. Throws a ConfigError with all errors, one in each line;
/// ignores sections that are already bad.
void complete(Config& config);

/// Throws ConfigError if a complete configuration cannot run: a gateway needs a feed.
void check_runnable(const Config& config);

/// Checks secrets, certificates, interfaces, addresses and folders of this machine, without disturbing a running
/// gateway. Throws a ConfigError with all errors, one in each line.
void check_start(const Config& config);

/// Listeners that admit other machines without authentication or TLS, one sentence each.
[[nodiscard]] std::vector<std::string> warnings(const Config& config);
/// Returns service::exposure of the key `metrics`.
[[nodiscard]] std::string metrics_exposure(const Config& config);

}  // namespace millpond::gateway
