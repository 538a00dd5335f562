#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <millpond/core/idle.hpp>
#include <millpond/net/socket_address.hpp>
#include <millpond/net/udp_receiver.hpp>

#include "gateway/feeds/format.hpp"
#include "gateway/sinks/kind.hpp"
#include "service/log.hpp"
#include "service/say.hpp"
#include "service/settings/settings_of.hpp"
#include "service/token.hpp"

/// The configuration of a gateway, from the TOML file and the command line; schema.hpp lists every key, and
/// complete() below checks that keys fit together.
namespace millpond::gateway {

/// How much an optional facility of the machine is wanted: `require` makes its absence an error.
enum class Wanted : std::uint8_t { none, prefer, require };

/// The feed formats of this build; the first is the default.
[[nodiscard]] std::span<const FeedFormat* const> builtin_feed_formats() noexcept;

/// One source of datagrams: `[[feed]]`.
struct FeedConfig {
    settings::Origin origin;
    std::string name;                          ///< For logs and metrics; `listen` when empty.
    std::string ring;                          ///< The ring it is published to; the first ring when empty.
    net::SocketAddress listen;                 ///< ADDRESS:PORT; a multicast group is joined.
    net::SocketAddress source;                 ///< Sender's address for source-specific multicast; any when empty.
    std::string interface;                     ///< Network interface by name; the kernel's choice when empty.
    std::optional<std::uint16_t> channel;      ///< Number in every event of this feed; its place in the file if unset.
    std::string venue;                         ///< Up to 8 characters, for every instrument.
    std::string timezone{"America/New_York"};  ///< Where the exchange's day begins.
    std::string date;                          ///< The exchange's day as YYYY-MM-DD; today there when empty.
    std::uint64_t stale_seconds{10};           ///< Silence after which it is stale and its quotes incomplete; 0: never.
    std::uint64_t receive_buffer{8ULL * 1024 * 1024};  ///< Bytes asked of the kernel.
    Wanted nic_time{Wanted::none};                     ///< Receive time by the network card.
    bool gro{true};                                    ///< Take trains of datagrams in one receive call.
    std::optional<net::ReceivePath> receive;           ///< The gateway's `receive` when unset.
    std::optional<Wanted> receive_want;                ///< The gateway's `receive_want` when unset.
    Wanted zero_copy{Wanted::prefer};                  ///< Of af_xdp.
    net::Checksum checksum{net::Checksum::verify};     ///< Of af_xdp.
    std::uint64_t vlan{0};                             ///< Of af_xdp; 0: untagged frames.
    net::SocketAddress line_b;                         ///< The second line of the same feed; none when empty.
    net::SocketAddress source_b;                       ///< Its sender; `source` when empty.
    std::string interface_b;                           ///< Its interface; `interface` when empty.
    std::uint64_t reorder_us{2'000};                   ///< How long datagrams behind a gap wait for it to be filled.
    std::uint64_t reorder_datagrams{0};  ///< Maximum number of waiting datagrams; 0: kHeldForLine, or kHeldForServer.
    static constexpr std::uint64_t kHeldForLine = 512;      ///< If the other line may fill a gap.
    static constexpr std::uint64_t kHeldForServer = 8'192;  ///< If a server is asked.

    const FeedFormat* format;              ///< How its datagrams are read.
    std::vector<FormatSettings> settings;  ///< Of every format: a format's keys may come before `format`.

    FeedConfig() : FeedConfig(builtin_feed_formats()) {}
    /// The first of the formats is the default.
    explicit FeedConfig(std::span<const FeedFormat* const> formats) : format(formats.front()) {
        for (const auto* one : formats) settings.emplace_back(*one);
    }

    /// The settings of its format.
    [[nodiscard]] const FormatSettings& chosen() const {
        return *std::ranges::find(settings, format, [](const FormatSettings& of) { return &of.format(); });
    }
    [[nodiscard]] FormatSettings& chosen() { return const_cast<FormatSettings&>(std::as_const(*this).chosen()); }
    /// Makes it a feed of the format that has these settings, and returns them.
    template <class Settings>
    Settings& use() {
        format = &Settings::format();
        return *chosen().template as<Settings>();
    }
    friend bool operator==(const FeedConfig&, const FeedConfig&) = default;
};

/// One ring in shared memory with the thread that fills it: `[[ring]]`.
struct RingConfig {
    settings::Origin origin{};
    std::string name{"main"};               ///< Readers open the ring by this name.
    std::uint64_t capacity{65'536};         ///< Entries, a power of two.
    std::uint64_t max_instruments{16'384};  ///< Instruments beyond these are counted and not published.
    Wanted huge_pages{Wanted::prefer};      ///< For the ring and the board.
    bool lock{false};                       ///< Lock the ring's memory.
    std::uint32_t mode{0644};               ///< Who may read the ring: 0600, 0640 or 0644. Only the gateway writes it.
    std::string group;                      ///< Group it belongs to; the gateway's own when empty.
    std::optional<core::Poll> poll;         ///< The gateway's `poll` when unset.
    std::optional<std::uint32_t> pin;       ///< CPU of the receive thread; the gateway's `pin` when unset.
    std::optional<std::uint32_t> realtime;  ///< SCHED_FIFO priority, 0 none; the gateway's `realtime` when unset.
    friend bool operator==(const RingConfig&, const RingConfig&) = default;
};

/// The kinds of sink of this build. A kind that follows another is listed after it.
[[nodiscard]] std::span<const SinkKind* const> builtin_sink_kinds() noexcept;

struct Config {
    service::Severity log_level{service::Severity::info};
    service::LogFormat log_format{service::LogFormat::text};
    bool quiet{false};                                                        ///< No status line.
    net::SocketAddress metrics{net::SocketAddress::parse("127.0.0.1:9464")};  ///< /metrics, /health; empty: nowhere.
    core::Poll poll{core::Poll::adaptive};
    std::optional<std::uint32_t> pin;
    std::uint32_t realtime{0};
    net::ReceivePath receive{net::ReceivePath::socket};
    Wanted receive_want{Wanted::prefer};  ///< Whether to fall back to a socket if that path is not available.
    service::TokenSource admin_token;     ///< Authorizes reloads at `metrics`; empty: none are accepted.
    std::string capture;                  ///< Folder for raw datagrams; none when empty.
    std::uint64_t capture_rotate_bytes{256ULL * 1024 * 1024};  ///< A capture file of this size is full.
    std::uint64_t capture_keep{0};                             ///< Full files to keep for each ring; 0: all.
    std::uint64_t capture_buffer{16ULL * 1024 * 1024};         ///< Bytes for each ring that wait for the disk.
    std::uint32_t file_mode{0640};  ///< Permissions of the files that sinks and the capture create.
    std::vector<RingConfig> rings;
    std::vector<FeedConfig> feeds;
    std::vector<SinkConfig> sinks;  ///< In the order of `sink_kinds` once complete.
    std::span<const FeedFormat* const> feed_formats{builtin_feed_formats()};
    std::span<const SinkKind* const> sink_kinds{builtin_sink_kinds()};

    /// Adds a sink with these settings.
    template <class Settings>
    Settings& add(const Settings& settings = {}) {
        auto& sink = sinks.emplace_back(Settings::kind());
        auto& added = *sink.template as<Settings>();
        const auto name = added.name;
        added = settings;
        if (added.name.empty()) added.name = name;
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

/// Fills in derived settings (names, rings, channels, poll modes) and checks that keys fit together: every named ring
/// exists; names, channels and addresses are not used twice. Throws ConfigError (value.hpp).
void complete(Config& config);

/// Throws ConfigError if a complete configuration cannot run: a gateway needs a feed.
void check_runnable(const Config& config);

/// Reads every secret and certificate that the configuration names. Throws ConfigError for the first that is missing or
/// bad.
void check_secrets(const Config& config);

}  // namespace millpond::gateway
