#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <millpond/engine/application.hpp>
#include <millpond/engine/io_thread.hpp>
#include <millpond/engine/proxy.hpp>
#include <millpond/engine/session_options.hpp>
#include <millpond/net/socket_address.hpp>
#include <millpond/tls/context.hpp>

namespace millpond::engine {

class StoreKeeper;

/// Delays between attempts to connect.
struct Reconnect {
    std::chrono::milliseconds first{
        1'000};  ///< Delay after all hosts failed once; doubles with each further failure, up to `max`.
    std::chrono::milliseconds max{30'000};
    double jitter{0.2};  ///< Maximum random change of each delay, as a fraction of it.
    std::chrono::milliseconds connect_timeout{5'000};
    friend bool operator==(const Reconnect&, const Reconnect&) = default;
};

/// Connects FIX sessions and keeps them connected: while the session's schedule is open, it tries its hosts in turn,
/// beginning with the one that accepted last, and backs off once all have failed.
///
/// Threads: see Acceptor.
/// Memory:  each session's buffers are allocated when it is added; names are looked up on separate threads.
/// Source:  connect(2), tcp(7).
class Initiator {
public:
    explicit Initiator(IoThread& io);
    ~Initiator();
    Initiator(const Initiator&) = delete;
    Initiator& operator=(const Initiator&) = delete;

    struct Options {
        std::vector<Host> hosts{};
        Reconnect reconnect{};
        std::optional<tls::Options> tls{};
        std::optional<Proxy> proxy{};
        /// Local address of connections; empty: chosen by the route. Port 0: any.
        net::SocketAddress local_address{};
    };

    /// Adds a session and starts to connect, with session.config.role set to initiator. application: outlives the
    /// initiator. on: the thread that runs the session; null: the initiator's. Throws std::invalid_argument if there is
    /// no host, for the same ids twice, or if a store is too small for its messages.
    SessionHandle& add(SessionOptions session, Options options, Application& application, IoThread* on = nullptr);

    /// Removes a session, see Acceptor::remove.
    void remove(const SessionHandle& session);

    /// Number of sessions that have a connection.
    [[nodiscard]] std::size_t connected() const;
    [[nodiscard]] std::vector<std::shared_ptr<SessionHandle>> sessions() const;

private:
    class Dialer;
    IoThread* io_;
    std::unique_ptr<StoreKeeper> keeper_;
    std::vector<std::unique_ptr<Dialer>> dialers_;
};

}  // namespace millpond::engine
