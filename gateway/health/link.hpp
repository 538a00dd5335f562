#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <millpond/net/socket_address.hpp>

/// Kernel information about the interfaces of this machine.
namespace millpond::gateway::health {

/// Whether the interface is up and has a carrier; nullopt if there is no such interface. Makes a system call.
[[nodiscard]] std::optional<bool> link_is_up(const std::string& interface);

/// Whether the text of /proc/net/igmp lists the IPv4 group, on the interface or, if that is empty, on any.
/// Source: net/ipv4/igmp.c, igmp_mc_seq_show.
[[nodiscard]] bool holds_group(std::string_view table, const net::SocketAddress& group, std::string_view interface);

/// Whether the text of /proc/net/igmp6 lists the IPv6 group. Source: net/ipv6/mcast.c, igmp6_mc_seq_show.
[[nodiscard]] bool holds_group6(std::string_view table, const net::SocketAddress& group, std::string_view interface);

/// Whether the kernel has joined the group. Reads a file of /proc; true when that cannot be read.
[[nodiscard]] bool is_joined(const net::SocketAddress& group, std::string_view interface);

}  // namespace millpond::gateway::health
