#pragma once

#include <string>

#include <millpond/net/socket_address.hpp>

namespace millpond::http {

/// Gets a page over HTTP/1.0, with a timeout of five seconds. token: may be empty. Throws std::runtime_error that names
/// the server, if it cannot be reached, does not answer, or answers with a status other than 200.
[[nodiscard]] std::string get(const net::SocketAddress& server, const std::string& path, const std::string& token);

}  // namespace millpond::http
