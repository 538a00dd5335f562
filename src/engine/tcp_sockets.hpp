#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <millpond/core/descriptor.hpp>
#include <millpond/net/socket_address.hpp>

/// TCP sockets that never block. Source: tcp(7), connect(2).
namespace millpond::engine {

/// One that begins to connect to `to`, from `from` where that is not empty. None with errno when that failed.
[[nodiscard]] core::Descriptor connecting_socket(const net::SocketAddress& to, const net::SocketAddress& from = {});
/// What became of it, once it is writable: 0, or an errno.
[[nodiscard]] int connect_error(int socket) noexcept;

struct ListeningSocket {
    core::Descriptor socket;
    std::uint16_t port;  ///< As bound.
};
/// Throws std::system_error that names the place.
[[nodiscard]] ListeningSocket listening_socket(const std::string& address, std::uint16_t port);

struct AcceptedSocket {
    core::Descriptor socket;
    net::SocketAddress peer;
};
/// The next connection; nothing when there is none.
[[nodiscard]] std::optional<AcceptedSocket> accepted_socket(int listening) noexcept;

/// Each write goes out at once.
void send_at_once(int socket) noexcept;

}  // namespace millpond::engine
