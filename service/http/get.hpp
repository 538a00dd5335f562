#pragma once

#include <string>

#include <millpond/net/socket_address.hpp>

namespace millpond::http {

/// Asks a server for a page over HTTP/1.0 and waits for it, for five seconds at most. token: none when empty.
/// Throws std::runtime_error that names the server: it cannot be reached, is silent, or answers with another status
/// than 200.
[[nodiscard]] std::string get(const net::SocketAddress& server, const std::string& path, const std::string& token);

}  // namespace millpond::http
