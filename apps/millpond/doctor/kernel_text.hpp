#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <millpond/net/socket_address.hpp>

/// Parses output of the kernel and its tools about the path of a datagram. Pure functions of text.
namespace millpond::app::doctor {

/// Interfaces that have joined an IPv4 group, from /proc/net/igmp.
[[nodiscard]] std::vector<std::string> joined_on(std::string_view igmp, const net::SocketAddress& group);

/// Interface of the route to `address`, from /proc/net/route; empty if there is no route.
[[nodiscard]] std::string route_to(std::string_view routes, const net::SocketAddress& address);

/// Number of datagrams dropped on sockets bound to this port, from /proc/net/udp; nullopt if there is no such socket.
[[nodiscard]] std::optional<std::uint64_t> drops_of_port(std::string_view sockets, std::uint16_t port);

/// Rules of `nft list ruleset` that drop datagrams to this address before a socket receives them: chains at prerouting
/// or input whose policy is drop, and rules with drop or reject that name the port or the address, or neither.
[[nodiscard]] std::vector<std::string> dropping_rules(std::string_view ruleset, const net::SocketAddress& to);

}  // namespace millpond::app::doctor
