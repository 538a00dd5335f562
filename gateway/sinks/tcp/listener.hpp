#pragma once

#include <millpond/core/descriptor.hpp>
#include <millpond/net/socket_address.hpp>

#include "gateway/sinks/tcp/options.hpp"

namespace millpond::gateway::tcp {

/// The socket that clients connect to.
///
/// Threads: one.
class Listener {
public:
    /// Result of a call to accept.
    struct Accepted {
        core::Descriptor socket;  ///< Does not block; empty: no client.
        int error{0};             ///< The error, or 0 if no client is waiting.
        net::SocketAddress peer;  ///< Of the socket.
    };

    /// Listens at once. Throws std::system_error that names the sink and the address.
    explicit Listener(const Options& options);

    [[nodiscard]] Accepted accept() const;

    [[nodiscard]] int descriptor() const noexcept { return socket_.get(); }
    /// With the port that the kernel chose.
    [[nodiscard]] const net::SocketAddress& address() const noexcept { return address_; }

private:
    core::Descriptor socket_;
    net::SocketAddress address_;
};

}  // namespace millpond::gateway::tcp
