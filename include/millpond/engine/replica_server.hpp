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
#include <millpond/metrics/registry.hpp>
#include <millpond/net/socket_address.hpp>
#include <millpond/tls/context.hpp>

namespace millpond::engine {

/// Snapshot of a replica.
struct ReplicaStatus {
    std::string name;         ///< Name of the session: "FIX.4.4:HOUSE->CLIENT".
    std::string peer{};       ///< Address of its primary; empty: not connected.
    bool is_whole{false};     ///< Whether promoting it loses nothing.
    bool is_filled{false};    ///< Whether it has received everything that the primary had when it connected.
    bool is_promoted{false};  ///< The session runs here.
    std::uint64_t epoch{0};
    std::uint64_t next_sender{1};
    std::uint64_t next_target{1};
    std::uint64_t records{0};  ///< Messages received from primaries.
    std::uint64_t connections{0};
    std::uint64_t refused{0};  ///< Connections and frames refused.
    std::uint64_t store_damaged{0};
    std::uint64_t store_failures{0};
    /// Time of the last frame of its primary; in a new process the SendingTime of its newest message. 0: never.
    std::int64_t heard_utc_ns{0};
    std::string error{};  ///< Why the latest connection ended; empty: no error.
};

/// Reason why a primary was refused.
enum class ReplicaRefusal : std::uint8_t {
    not_allowed,      ///< The TLS handshake failed, usually because of the certificate.
    tls,              ///< The TLS handshake failed: the certificate, most often.
    not_a_primary,    ///< The first bytes are not a Hello, or no Hello arrived in time.
    version,          ///< Another version of the protocol. This and later reasons are sent to the primary.
    token,            ///< The token is wrong.
    unknown_session,  ///< There is no session with these ids.
    superseded,       ///< Another machine has taken over from it.
    full,             ///< No descriptor or memory for the connection, which waits. The address is not known.
    store,            ///< The copy is of another store, or the disk of the copy fails.
    protocol,         ///< An invalid frame.
};
[[nodiscard]] std::string_view name(ReplicaRefusal reason) noexcept;

/// Holds copies of sessions' stores for their primaries (StandbyOptions), until they are promoted.
///
/// Threads: its I/O thread, which also waits for the disk if a session's durability requires it; the rest on any.
/// Memory:  buffers for each connection; the stores' files.
class ReplicaServer {
public:
    static constexpr std::size_t kMaxUnidentified = 32;  ///< Connections that have not named their session.

    struct Options {
        std::string address{"127.0.0.1"};
        std::uint16_t port{0};
        std::optional<tls::Options> tls{};
        AllowList allowed{};
        /// Whether the token of a primary is valid. Not set: its certificate is enough.
        std::function<bool(std::string_view token)> admits{};
        /// Timeout of a silent primary, and of a connection that has not named its session.
        std::chrono::nanoseconds silence{std::chrono::seconds{10}};
        /// Called for each refused primary, on the I/O thread. session: empty if it has not named one.
        std::function<void(ReplicaRefusal reason, const net::SocketAddress& peer, std::string_view session,
                           std::string_view detail)>
            refused{};
        /// Called on the I/O thread for a primary with a greater epoch than that of a session that runs here.
        std::function<void(const std::string& session, std::uint64_t epoch)> superseded{};
        /// Called on the I/O thread for messages that were dropped because the new primary does not have them.
        std::function<void(const std::string& session, std::uint64_t messages)> dropped{};
    };

    /// io: must outlive the server. Throws like Acceptor.
    ReplicaServer(IoThread& io, Options options);
    ~ReplicaServer();
    ReplicaServer(const ReplicaServer&) = delete;
    ReplicaServer& operator=(const ReplicaServer&) = delete;

    [[nodiscard]] std::uint16_t port() const noexcept;

    /// Replaces the certificates and the token check for new connections. tls: null if and only if Options::tls was not
    /// set.
    void renew(std::unique_ptr<tls::Context> tls, std::function<bool(std::string_view token)> admits);

    /// Adds a copy of the session's store. Returns false if the store was promoted, so that the session runs here.
    /// Throws std::invalid_argument if the store is in memory or the session was added before, and like FileStore.
    [[nodiscard]] bool add(const SessionOptions& session);
    void remove(std::string_view name);
    [[nodiscard]] std::vector<ReplicaStatus> replicas() const;
    /// Adds the counters of refused primaries by reason.
    [[nodiscard]] std::vector<metrics::Registration> add_metrics(metrics::Registry& registry) const;
    /// Ends the replica and returns the next epoch; the session may then run from its store. Has no effect on a replica
    /// that was promoted before. Returns an error if messages may be missing, unless `force`.
    [[nodiscard]] std::expected<std::uint64_t, std::string> promote(std::string_view name, bool force = false);

private:
    class Listener;
    IoThread* io_;
    std::unique_ptr<Listener> listener_;
};

}  // namespace millpond::engine
