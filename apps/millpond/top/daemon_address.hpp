#pragma once

#include <string>

#include <millpond/net/socket_address.hpp>

namespace millpond::app {

/// Address of a daemon's metrics or page: ADDRESS:PORT, localhost:PORT, or a URL as a browser shows it, whose path does
/// not matter. Throws UsageError that names the flag.
[[nodiscard]] net::SocketAddress daemon_address(const std::string& flag, const std::string& text);

/// The value of the environment variable; empty without a name. Throws UsageError if the variable is not set.
[[nodiscard]] std::string token_from(const std::string& variable);

}  // namespace millpond::app
