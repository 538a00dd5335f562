#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <millpond/engine/allow_list.hpp>
#include <millpond/engine/io_thread.hpp>
#include <millpond/engine/session_options.hpp>
#include <millpond/engine/tls.hpp>
#include <millpond/metrics/registry.hpp>
#include <millpond/net/socket_address.hpp>

namespace millpond::engine {

/// A replica at some moment.
struct ReplicaStatus {
    std::string name;         ///< "FIX.4.4:HOUSE->CLIENT"
    std::string peer{};       ///< Address of its primary; empty: it is not connected.
    bool is_whole{false};     ///< It may be promoted without loss.
    bool is_filled{false};    ///< It has had everything that the primary had when that connected.
    bool is_promoted{false};  ///< Its session runs here.
    std::uint64_t epoch{0};
    std::uint64_t next_sender{1};
    std::uint64_t next_target{1};
    std::uint64_t records{0};  ///< Messages received from primaries.
    std::uint64_t connections{0};
    std::uint64_t refused{0};  ///< Connections and frames refused.
    std::uint64_t store_failures{0};
    /// When its primary was last heard: the copy is of that time. In a new process the SendingTime of its newest
    /// message. 0: never.
    std::int64_t heard_utc_ns{0};
    std::string error{};  ///< Of the latest connection that ended; empty: none.
};

/// Why a primary was turned away.
enum class ReplicaRefusal : std::uint8_t {
    not_allowed,      ///< The address is not on the list. The primary only sees that the connection ends.
    tls,              ///< The TLS handshake failed: the certificate, most often.
    not_a_primary,    ///< The first bytes are no Hello, or none came in time.
    version,          ///< It uses another version of the protocol. From here on, the primary gets the reason.
    token,            ///< The token is wrong.
    unknown_session,  ///< There is no session of these ids.
    superseded,       ///< Another machine has taken over from it.
    full,             ///< There is no descriptor or memory for its connection, which waits. Its address is not known.
    store,            ///< It has another store than the one that the copy is of, or the copy's disk fails.
    protocol,         ///< A frame that makes no sense.
};
[[nodiscard]] std::string_view name(ReplicaRefusal reason) noexcept;

/// Holds the copies of sessions' stores for their primaries (StandbyOptions), until it is promoted.
///
/// Threads: its I/O thread, which also waits for the disk where a session's durability says so; the rest on any.
/// Memory:  buffers for each connection; the stores' files.
class ReplicaServer {
public:
    static constexpr std::size_t kMostStrangers = 32;  ///< Connections that have not said which session they are.

    struct Options {
        std::string address{"127.0.0.1"};
        std::uint16_t port{0};
        std::optional<TlsOptions> tls{};
        AllowList allowed{};
        /// Whether a primary's token is right. Not set: its certificate is enough.
        std::function<bool(std::string_view token)> admits{};
        /// A silent primary is disconnected after so long, and one that has not said its session.
        std::chrono::nanoseconds silence{std::chrono::seconds{10}};
        /// A primary was turned away, for this session, or an empty one where it has not said which. On the I/O thread.
        std::function<void(ReplicaRefusal reason, const net::SocketAddress& peer, std::string_view session,
                           std::string_view detail)>
            refused{};
        /// A primary of a greater epoch came for a session that runs here. On the I/O thread.
        std::function<void(const std::string& session, std::uint64_t epoch)> superseded{};
        /// Messages that only this machine had were dropped for what its new primary has. On the I/O thread.
        std::function<void(const std::string& session, std::uint64_t messages)> dropped{};
    };

    /// io: outlives it. Throws as Acceptor does.
    ReplicaServer(IoThread& io, Options options);
    ~ReplicaServer();
    ReplicaServer(const ReplicaServer&) = delete;
    ReplicaServer& operator=(const ReplicaServer&) = delete;

    [[nodiscard]] std::uint16_t port() const noexcept;

    /// Holds the copy of this session's store. False: that store was promoted, and the session is to run. Throws
    /// std::invalid_argument when the store is in memory or the session there already, and what FileStore throws.
    [[nodiscard]] bool add(const SessionOptions& session);
    void remove(std::string_view name);
    [[nodiscard]] std::vector<ReplicaStatus> replicas() const;
    /// Those that were turned away, for each reason.
    [[nodiscard]] std::vector<metrics::Registration> add_metrics(metrics::Registry& registry) const;
    /// Ends the replica and begins the next epoch; gives that. The session may be run from its store then. One that was
    /// promoted before stays as it is. An error says why not; force: also where the primary has had more.
    [[nodiscard]] std::expected<std::uint64_t, std::string> promote(std::string_view name, bool force = false);

private:
    class Listener;
    IoThread* io_;
    std::unique_ptr<Listener> listener_;
};

}  // namespace millpond::engine
