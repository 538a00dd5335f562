#pragma once

#include <millpond/core/descriptor.hpp>
#include <millpond/net/socket_address.hpp>

#include "gateway/sinks/tcp/settings.hpp"

namespace millpond::gateway::tcp {

/// The listening socket for clients.
///
/// Threads: one.
class Listener {
public:
    /// Result of a call to accept.
    struct Accepted {
        core::Descriptor socket;  ///< Non-blocking; empty if there is no client.
        int error{0};             ///< The error, or 0 if no client is waiting.
        net::SocketAddress peer;  ///< Address of the client.
    };

    /// Listens at once. Throws std::system_error that names the sink and the address.
    explicit Listener(const Settings& settings);

    [[nodiscard]] Accepted accept() const;

    [[nodiscard]] int fd() const noexcept { return socket_.get(); }
    /// The listening address, with the port that the kernel chose.
    [[nodiscard]] const net::SocketAddress& address() const noexcept { return address_; }

private:
    core::Descriptor socket_;
    net::SocketAddress address_;
};

}  // namespace millpond::gateway::tcp
