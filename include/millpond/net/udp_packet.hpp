#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <span>

#include <millpond/net/socket_address.hpp>

namespace millpond::net {

/// The first header of a captured frame. The values are those of capture files.
/// Source: tcpdump.org, "Link-Layer Header Types".
enum class LinkType : std::uint16_t {
    ethernet = 1,
    raw_ip = 101,
    linux_cooked = 113,
    ipv4 = 228,
    ipv6 = 229,
    linux_cooked_v2 = 276,
};

struct UdpPacket {
    SocketAddress source{};
    SocketAddress destination{};
    std::span<const std::byte> payload{};
    std::span<const std::byte> ipv4{};  ///< The whole packet from its IPv4 header on; empty with IPv6.
};

/// Why a frame has no usable datagram. Skip it and continue with the next.
enum class PacketSkip : std::uint8_t {
    not_ip,     ///< Another protocol, ARP for example.
    not_udp,    ///< IP, but another protocol above it.
    fragment,   ///< A part of a datagram: parts are not joined.
    cut,        ///< The frame ends before its headers or the payload they announce.
    malformed,  ///< A header contradicts itself.
};

/// Finds the UDP datagram in a frame: any number of VLAN tags, IPv4 with options, IPv6 with extension headers.
/// Checksums are not compared: captures of the sending machine hold those that the interface had yet to fill in.
///
/// Source: IEEE 802.1Q, RFC 791, RFC 8200, RFC 768, tcpdump.org LINKTYPE_LINUX_SLL and LINKTYPE_LINUX_SLL2.
[[nodiscard]] std::expected<UdpPacket, PacketSkip> find_udp(LinkType link, std::span<const std::byte> frame) noexcept;

/// Whether the checksums of the IPv4 header and of UDP match; a UDP checksum of 0 says that there is none. O(bytes).
///
/// Source: RFC 1071.
[[nodiscard]] bool ipv4_checksums_match(const UdpPacket& packet) noexcept;

}  // namespace millpond::net
