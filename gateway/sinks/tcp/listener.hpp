#pragma once

#include <millpond/net/socket_address.hpp>

#include "gateway/sinks/tcp/options.hpp"

namespace millpond::gateway::tcp {

/// The socket that clients connect to.
///
/// Threads: one.
class Listener {
public:
    /// What a call to accept found.
    struct Accepted {
        int socket{-1};           ///< -1: none. It does not block; the caller closes it.
        int error{0};             ///< Why there is none, 0 when no client waits.
        net::SocketAddress peer;  ///< Of the socket.
    };

    /// Listens at once. Throws std::system_error that names the sink and the address.
    explicit Listener(const Options& options);
    ~Listener();
    Listener(const Listener&) = delete;
    Listener& operator=(const Listener&) = delete;

    [[nodiscard]] Accepted accept() const;

    [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
    /// With the port that the kernel chose.
    [[nodiscard]] const net::SocketAddress& address() const noexcept { return address_; }

private:
    int descriptor_{-1};
    net::SocketAddress address_;
};

}  // namespace millpond::gateway::tcp
