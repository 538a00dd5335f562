#pragma once

#include <cstdint>
#include <expected>
#include <string>

#include <millpond/core/descriptor.hpp>
#include <millpond/net/socket_address.hpp>

/// TCP sockets that never block. Source: tcp(7), connect(2).
namespace millpond::engine {

/// A socket that starts to connect to `to`, from `from` if that is not empty. On failure none, with errno.
[[nodiscard]] core::Descriptor connecting_socket(const net::SocketAddress& to, const net::SocketAddress& from = {});
/// The result of connecting, once it is writable: 0, or an errno.
[[nodiscard]] int connect_error(int socket) noexcept;

struct ListeningSocket {
    core::Descriptor socket;
    std::uint16_t port;  ///< As bound.
};
/// Throws std::system_error that names the address.
[[nodiscard]] ListeningSocket listening_socket(const std::string& address, std::uint16_t port);

struct AcceptedSocket {
    core::Descriptor socket;
    net::SocketAddress peer;
};
/// The next connection; otherwise 0 if there is none, or the errno that prevents it.
[[nodiscard]] std::expected<AcceptedSocket, int> accepted_socket(int listening) noexcept;

/// Sends each write at once (TCP_NODELAY).
void send_at_once(int socket) noexcept;

}  // namespace millpond::engine
