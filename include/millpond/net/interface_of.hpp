#pragma once

#include <string>

#include <millpond/net/socket_address.hpp>

namespace millpond::net {

/// The name of the interface with this address; empty if there is none. Makes several system calls.
[[nodiscard]] std::string interface_of(const SocketAddress& address);

}  // namespace millpond::net
