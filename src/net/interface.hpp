#pragma once

#include <string>

#include <millpond/net/socket_address.hpp>

namespace millpond::net::detail {

/// The index of the interface named, 0 for an empty name. Throws SocketError that lists the machine's interfaces.
unsigned interface_index(const std::string& name);

/// The name of the interface that has this address, empty where none has it.
std::string interface_of(const SocketAddress& address);

/// Has the interface stamp the datagrams it receives and the socket report those stamps. Returns why that cannot be;
/// empty when it is on. Needs CAP_NET_ADMIN where the interface does not stamp every packet already.
std::string enable_nic_time(int socket, const std::string& interface);

}  // namespace millpond::net::detail
