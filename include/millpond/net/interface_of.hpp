#pragma once

#include <string>

#include <millpond/net/socket_address.hpp>

namespace millpond::net {

/// The name of the interface with this address; empty if there is none. Some system calls.
[[nodiscard]] std::string interface_of(const SocketAddress& address);

}  // namespace millpond::net
