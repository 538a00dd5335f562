#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include <millpond/core/idle.hpp>
#include <millpond/journal/journal_writer.hpp>
#include <millpond/net/socket_address.hpp>
#include <millpond/net/udp_receiver.hpp>

#include "gateway/sinks/kafka/kafka.hpp"
#include "gateway/sinks/mqtt/mqtt.hpp"
#include "gateway/sinks/sink.hpp"
#include "service/log.hpp"
#include "service/say.hpp"
#include "service/tls.hpp"
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
    bool rebuild{false};                  ///< Build incomplete books anew (itch).
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

/// JSON lines to TCP clients: `[[tcp]]`.
struct TcpConfig {
    std::string name{"tcp"};
    std::string ring;  ///< The first ring when empty.
    net::SocketAddress listen{net::SocketAddress::parse("127.0.0.1:9100")};
    Delivery mode{Delivery::every};  ///< A client's mode until it asks for the other.
    std::uint64_t backlog{16'384};   ///< Lines that a client may fall behind, a power of two.
    std::uint64_t max_clients{1'024};
    std::uint64_t send_buffer{256ULL * 1024};  ///< Bytes that the kernel may hold for a client.
    std::uint64_t stall_seconds{10};           ///< A client that takes nothing for so long is disconnected.
    service::TokenSource token;                ///< What a client must know; none when empty.
    service::TlsOptions tls;                   ///< Plain when empty.
    core::Poll poll{core::Poll::adaptive};     ///< How the sink waits for the ring.
    std::optional<std::uint32_t> pin;          ///< CPU of the sink's thread.
    friend bool operator==(const TcpConfig&, const TcpConfig&) = default;
};

/// Rows in a rotated file: `[[csv]]`.
struct CsvConfig {
    std::string name{"csv"};
    std::string ring;
    std::string path;
    Delivery mode{Delivery::every};
    std::uint64_t rotate_bytes{256ULL * 1024 * 1024};  ///< A file that reached so many bytes is closed and renamed.
    std::uint64_t keep{0};                             ///< Renamed files that are kept; 0: all.
    std::uint64_t flush_ms{200};                       ///< Rows wait in memory for at most so long.
    core::Poll poll{core::Poll::block};                ///< Rows wait longer than any sleep.
    std::optional<std::uint32_t> pin;                  ///< CPU of the sink's thread.
    friend bool operator==(const CsvConfig&, const CsvConfig&) = default;
};

/// Our own `quotes` datagrams, to chain gateways: `[[udp]]`.
struct UdpConfig {
    std::string name{"udp"};
    std::string ring;
    net::SocketAddress to;     ///< ADDRESS:PORT, unicast or multicast.
    std::string interface;     ///< For multicast; the kernel's choice when empty.
    std::uint16_t channel{0};  ///< Channel number in the datagrams.
    Delivery mode{Delivery::every};
    std::uint64_t heartbeat_ms{1'000};  ///< A datagram without quotes after so much silence.
    core::Poll poll{core::Poll::adaptive};
    std::optional<std::uint32_t> pin;  ///< CPU of the sink's thread.
    friend bool operator==(const UdpConfig&, const UdpConfig&) = default;
};

/// The page, and JSON lines to WebSocket clients: `[[web]]`.
struct WebConfig {
    std::string name{"web"};
    std::string ring;
    net::SocketAddress listen{net::SocketAddress::parse("127.0.0.1:9465")};
    Delivery mode{Delivery::conflate};  ///< A client's mode until it asks for the other.
    std::uint64_t backlog{16'384};      ///< Lines that a client may fall behind, a power of two.
    std::uint64_t max_clients{1'024};
    std::uint64_t send_buffer{128ULL * 1024};  ///< Bytes that the kernel may hold for a client.
    std::uint64_t stall_seconds{10};           ///< A client that takes nothing for so long is disconnected.
    service::TokenSource token;                ///< What who asks must know; none when empty.
    service::TlsOptions tls;                   ///< Plain when empty.
    core::Poll poll{core::Poll::adaptive};
    std::optional<std::uint32_t> pin;  ///< CPU of the sink's thread.
    friend bool operator==(const WebConfig&, const WebConfig&) = default;
};

/// Segment files that lose nothing: `[[journal]]`.
struct JournalConfig {
    std::string name{"journal"};
    std::string ring;
    std::string folder;
    std::uint64_t segment_bytes{256ULL * 1024 * 1024};  ///< A multiple of 64 KiB.
    std::uint64_t roll_seconds{3'600};                  ///< A segment of this age is ended; 0: by size only.
    std::uint64_t keep_bytes{0};                        ///< The oldest segments go beyond so many bytes; 0: all stay.
    std::uint64_t keep_hours{0};                        ///< Segments older than this go; 0: all stay.
    millpond::journal::Sync sync{millpond::journal::Sync::interval};
    std::uint64_t sync_ms{1'000};
    core::Poll poll{core::Poll::adaptive};
    std::optional<std::uint32_t> pin;  ///< CPU of the sink's thread.
    friend bool operator==(const JournalConfig&, const JournalConfig&) = default;
};

/// The newest quote of each instrument to an MQTT broker: `[[mqtt]]`.
struct MqttConfig {
    std::string name{"mqtt"};
    std::string ring;
    std::string host{"127.0.0.1"};
    std::uint16_t port{1'883};
    std::string topic{"bbo/{symbol}"};
    std::string state_topic;  ///< Birth and will; millpond/NAME when empty.
    std::string client_id;    ///< Chosen by chance when empty.
    mqtt::Protocol protocol{mqtt::Protocol::v5};
    std::uint64_t qos{0};
    bool retain{true};
    Delivery mode{Delivery::conflate};
    std::string user;
    service::TokenSource password;
    mqtt::Tls tls;
    std::uint64_t keepalive_seconds{15};
    std::uint64_t window{1'024};              ///< Messages on their way at a time, a power of two.
    std::uint64_t send_buffer{64ULL * 1024};  ///< Bytes that the kernel may hold.
    std::uint64_t reconnect_ms{250};          ///< First pause before the next attempt; each one doubles it.
    std::uint64_t reconnect_most_ms{30'000};  ///< Longest pause.
    core::Poll poll{core::Poll::adaptive};
    std::optional<std::uint32_t> pin;  ///< CPU of the sink's thread.
    friend bool operator==(const MqttConfig&, const MqttConfig&) = default;
};

/// A journal's records to Kafka: `[[kafka]]`.
struct KafkaConfig {
    std::string name{"kafka"};
    std::string journal;  ///< Name of the [[journal]] that it follows; the first one when empty.
    std::string ring;     ///< The journal's.
    std::string folder;   ///< The journal's.
    std::vector<std::string> brokers{"127.0.0.1:9092"};
    std::string topic{"bbo"};
    std::string events_topic{"millpond.events"};
    kafka::Format format{kafka::Format::json};
    std::string compression{"lz4"};
    std::uint64_t window{32'768};         ///< Messages on their way at a time.
    std::string position_file;            ///< NAME.position in the journal's folder when empty.
    service::TokenSource password;        ///< For SASL.
    std::vector<std::string> properties;  ///< librdkafka's, each KEY=VALUE.
    std::optional<std::uint32_t> pin;     ///< CPU of the sink's thread.
    friend bool operator==(const KafkaConfig&, const KafkaConfig&) = default;
};

/// As the sink takes them, without the journal's newest record and the password.
[[nodiscard]] kafka::Options unchecked_kafka_options(const KafkaConfig& sink);

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
    std::vector<TcpConfig> tcp;
    std::vector<CsvConfig> csv;
    std::vector<UdpConfig> udp;
    std::vector<WebConfig> web;
    std::vector<JournalConfig> journals;
    std::vector<MqttConfig> mqtt;
    std::vector<KafkaConfig> kafka;
};

/// Where a Config holds its sinks, kind by kind; journals before what follows them.
inline constexpr auto kSinkLists = std::tuple{&Config::journals, &Config::tcp,  &Config::web,  &Config::csv,
                                              &Config::udp,      &Config::mqtt, &Config::kafka};

/// Fills in what follows from the rest (names, rings, channels, poll modes) and checks what no single key can: every
/// named ring exists, names, channels and addresses are not used twice. Throws ConfigError (value.hpp).
void complete(Config& config);

}  // namespace millpond::gateway
