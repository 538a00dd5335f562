#pragma once

#include <string>

#include <millpond/net/socket_address.hpp>

namespace millpond::net::detail {

/// The index of the named interface, 0 for an empty name. Throws SocketError that lists the machine's interfaces.
unsigned interface_index(const std::string& name);

/// Makes the interface timestamp received datagrams and the socket report the timestamps. Returns why that failed;
/// empty on success. Needs CAP_NET_ADMIN unless the interface already timestamps every packet.
std::string enable_nic_time(int socket, const std::string& interface);

}  // namespace millpond::net::detail
