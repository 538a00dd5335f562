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
#include <millpond/engine/tls.hpp>
#include <millpond/net/socket_address.hpp>

namespace millpond::engine {

class StoreKeeper;

/// How an initiator comes back.
struct Reconnect {
    std::chrono::milliseconds first{1'000};  ///< After all hosts failed once; doubles from there.
    std::chrono::milliseconds longest{30'000};
    double jitter{0.2};  ///< Each wait is longer or shorter by up to this part.
    std::chrono::milliseconds connect_timeout{5'000};
};

/// Connects FIX sessions and keeps them connected: while the session's schedule is open, it tries its hosts one after
/// the other, the last good one first, and waits longer and longer once all have failed.
///
/// Threads: as Acceptor.
/// Memory:  each session's buffers are taken when it is added; names are looked up on separate threads.
/// Source:  connect(2), tcp(7).
class Initiator {
public:
    explicit Initiator(IoThread& io);
    ~Initiator();
    Initiator(const Initiator&) = delete;
    Initiator& operator=(const Initiator&) = delete;

    struct Options {
        std::vector<Host> hosts;
        Reconnect reconnect{};
        std::optional<TlsOptions> tls{};
        std::optional<Proxy> proxy{};
        /// Local address of connections; empty: that of the route. Port 0: any.
        net::SocketAddress local_address{};
    };

    /// Begins to connect. session.config.role is set to initiator. application must outlive the initiator; `on` is the
    /// thread that the session runs on, the initiator's where null. Throws std::invalid_argument: no host, the same ids
    /// twice, a store that is too small for its messages.
    SessionHandle& add(SessionOptions session, Options options, Application& application, IoThread* on = nullptr);

    /// As Acceptor::remove.
    void remove(const SessionHandle& session);

    /// Sessions that have a connection.
    [[nodiscard]] std::size_t connected() const;
    [[nodiscard]] std::vector<std::shared_ptr<SessionHandle>> sessions() const;

private:
    class Dialer;
    IoThread* io_;
    std::unique_ptr<StoreKeeper> keeper_;
    std::vector<std::unique_ptr<Dialer>> dialers_;
};

}  // namespace millpond::engine
