#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <millpond/net/socket_address.hpp>

namespace millpond::net {

struct HostAddresses {
    std::vector<SocketAddress> addresses;
    std::string error;  ///< Why `addresses` is empty.
};

/// Looks up a host name, or an address as text, in the system's resolver. Blocks for an unbounded time.
/// Source: getaddrinfo(3).
[[nodiscard]] HostAddresses host_addresses(const std::string& name, std::uint16_t port);

}  // namespace millpond::net
