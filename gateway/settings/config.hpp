#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <millpond/core/idle.hpp>
#include <millpond/net/socket_address.hpp>
#include <millpond/net/udp_receiver.hpp>

#include "gateway/sinks/kind.hpp"
#include "service/log.hpp"
#include "service/say.hpp"
#include "service/token.hpp"

/// What a gateway is told to do. The TOML file and the command line both end here; schema.hpp names every key, and
/// complete() below checks what no single key can.
namespace millpond::gateway {

enum class FeedFormat : std::uint8_t { bbo28, quotes, miax_tom, itch };

/// How much an optional facility of the machine is wanted: `require` makes its absence an error.
enum class Wanted : std::uint8_t { none, prefer, require };

/// One source of datagrams: `[[feed]]`.
struct FeedConfig {
    std::string name;                          ///< For logs and metrics; `listen` when empty.
    std::string ring;                          ///< The ring it is published to; the first ring when empty.
    FeedFormat format{FeedFormat::quotes};     ///< How its datagrams are read.
    net::SocketAddress listen;                 ///< ADDRESS:PORT; a multicast group is joined.
    net::SocketAddress source;                 ///< Sender's address for source-specific multicast; any when empty.
    std::string interface;                     ///< Network interface by name; the kernel's choice when empty.
    std::optional<std::uint16_t> channel;      ///< Number in every event of this feed; its place in the file if unset.
    std::string venue;                         ///< Up to 8 characters, beside every instrument's name.
    std::string symbols;                       ///< File of `product id,symbol` lines; none when empty.
    std::string timezone{"America/New_York"};  ///< Where the exchange's day begins.
    std::string date;                          ///< The exchange's day as YYYY-MM-DD; today there when empty.
    std::uint64_t stale_seconds{10};           ///< It is stale, its quotes incomplete, after so much silence; 0: never.
    std::uint64_t receive_buffer{8ULL * 1024 * 1024};  ///< Bytes asked of the kernel.
    std::uint64_t max_orders{1U << 20};                ///< Live orders that its books hold (itch).
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
    std::uint64_t reorder_us{2'000};      ///< For how long what comes behind a hole waits for it to be closed.
    std::uint64_t reorder_datagrams{0};   ///< So many wait at most; 0: 512, and 8,192 where a server is asked.
    net::SocketAddress rerequest;         ///< Server of MoldUDP64 that is asked for what no line brought.
    std::uint64_t rerequest_ms{5};        ///< Pause before it is asked again; each time doubles it.
    std::uint64_t rerequest_tries{6};     ///< Then the hole is given up.
    std::uint64_t rerequest_most{1'000};  ///< Messages in one request.
    bool rerequest_start{true};           ///< Ask for what came before the start, too.
    bool rebuild{false};                  ///< Rebuild incomplete books (itch).
    std::string rebuild_from;             ///< From this capture, folder of captures or file of messages first.
    std::uint64_t rebuild_buffer{16ULL * 1024 * 1024};  ///< Bytes of what comes meanwhile.
    std::uint64_t rebuild_seconds{600};                 ///< One attempt takes no longer.

    /// More than its one line has to be looked at.
    [[nodiscard]] bool has_lines() const noexcept { return !line_b.empty() || !rerequest.empty(); }
    friend bool operator==(const FeedConfig&, const FeedConfig&) = default;
};

/// One ring in shared memory with the thread that fills it: `[[ring]]`.
struct RingConfig {
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
    Wanted receive_want{Wanted::prefer};  ///< Whether a socket does where that path is not to be had.
    service::TokenSource admin_token;     ///< Authorizes reloads at `metrics`; empty: none are accepted.
    std::string capture;                  ///< Folder for raw datagrams; none when empty.
    std::uint64_t capture_rotate_bytes{256ULL * 1024 * 1024};  ///< A capture file of so many bytes is full.
    std::uint64_t capture_keep{0};                             ///< Full files kept a ring; 0: all.
    std::uint64_t capture_buffer{16ULL * 1024 * 1024};         ///< Bytes a ring that wait for the disk.
    std::uint32_t file_mode{0640};  ///< Permissions of the files that sinks and the capture create.
    std::vector<RingConfig> rings;
    std::vector<FeedConfig> feeds;
    std::vector<SinkConfig> sinks;  ///< In the order of `sink_kinds` once complete.
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
    /// The settings of the first sink of this kind; null when there is none.
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

/// Fills in what follows from the rest (names, rings, channels, poll modes) and checks what no single key can: every
/// named ring exists, names, channels and addresses are not used twice. Throws ConfigError (value.hpp).
void complete(Config& config);

/// Throws ConfigError when a complete configuration is not one to run: a gateway needs a feed.
void check_runnable(const Config& config);

/// Reads every secret and certificate that the configuration names. Throws ConfigError for the first that is missing or
/// bad.
void check_secrets(const Config& config);

}  // namespace millpond::gateway
