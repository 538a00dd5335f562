#pragma once

#include <cstdint>
#include <expected>
#include <string>

#include <millpond/core/descriptor.hpp>
#include <millpond/net/socket_address.hpp>

/// TCP sockets that never block. Source: tcp(7), connect(2).
namespace millpond::engine {

/// Creates a socket and starts to connect it to `to`, from `from` if that is not empty. Returns an empty descriptor,
/// with errno, on failure.
[[nodiscard]] core::Descriptor connecting_socket(const net::SocketAddress& to, const net::SocketAddress& from = {});
/// The result of connecting, once the socket is writable: 0, or an errno.
[[nodiscard]] int connect_error(int socket) noexcept;

struct ListeningSocket {
    core::Descriptor socket;
    std::uint16_t port;  ///< The bound port.
};
/// Throws std::system_error that names the address.
[[nodiscard]] ListeningSocket listening_socket(const std::string& address, std::uint16_t port);

struct AcceptedSocket {
    core::Descriptor socket;
    net::SocketAddress peer;
};
/// Accepts the next connection. Returns 0 if there is none, or the errno that prevents it.
[[nodiscard]] std::expected<AcceptedSocket, int> accepted_socket(int listening) noexcept;

/// Disables Nagle's algorithm (TCP_NODELAY), so that each write is sent at once.
void send_at_once(int socket) noexcept;

}  // namespace millpond::engine
