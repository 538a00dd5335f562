#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <span>

#include <millpond/net/socket_address.hpp>

namespace millpond::net {

/// First header of a captured frame, with the values of capture files.
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

/// The payload of an IP packet: a datagram, or a fragment of one.
struct IpPacket {
    SocketAddress source{};                ///< Port 0.
    SocketAddress destination{};           ///< Port 0.
    std::uint8_t protocol{0};              ///< Protocol of the payload, after the extension headers of IPv6.
    std::uint32_t id{0};                   ///< Identification of the fragments of one datagram.
    std::size_t offset{0};                 ///< Bytes of the datagram before this fragment.
    bool more{false};                      ///< Another fragment follows.
    std::size_t length{0};                 ///< Bytes of the payload by the headers.
    std::span<const std::byte> payload{};  ///< The part of it in the frame.
    std::span<const std::byte> ipv4{};     ///< The frame from the IPv4 header on; empty with IPv6.

    [[nodiscard]] bool is_fragment() const noexcept { return more || offset != 0; }
};

/// Why a frame has no complete datagram. Skip it and continue with the next.
enum class PacketSkip : std::uint8_t {
    not_ip,     ///< Another protocol, ARP for example.
    not_udp,    ///< IP with another protocol.
    fragment,   ///< A fragment of a datagram.
    cut,        ///< The frame ends before its headers or the payload they announce.
    malformed,  ///< A header contradicts itself.
    tunnel,     ///< An encapsulation that is not opened: find_ip opens none, find_inner those with a known content.
};

/// Finds the IP packet in a frame: any number of VLAN tags, IPv4 with options, IPv6 with extension headers.
/// Checksums are not verified: in captures of the sending machine the interface had not filled them in yet.
///
/// Source: IEEE 802.1Q, RFC 791, RFC 8200, tcpdump.org LINKTYPE_LINUX_SLL and LINKTYPE_LINUX_SLL2; EtherTypes and
/// protocol numbers of IANA.
[[nodiscard]] std::expected<IpPacket, PacketSkip> find_ip(LinkType link, std::span<const std::byte> frame) noexcept;

/// The largest number of encapsulations around a packet that is found.
inline constexpr int kMaxEncapsulations = 8;

/// The encapsulations of a frame that find_inner has opened.
struct Encapsulations {
    bool vxlan{false};
    bool geneve{false};
    bool gre{false};
    bool erspan{false};  ///< Types I, II and III.
    bool mpls{false};
    bool ip_in_ip{false};
    bool time_header{false};    ///< Arista's time stamp header, EtherType 0xD28B.
    std::size_t packet_end{0};  ///< Bytes of the frame up to the end of its outermost IP packet.
};

/// Finds the innermost IP packet in a frame: opens MPLS, GRE, ERSPAN, VXLAN and Geneve by port, IP in IP, and Arista's
/// time stamp header, up to kMaxEncapsulations deep. A packet whose outer packet is a fragment is not found: the
/// fragment is returned.
///
/// Source: RFC 3032 (MPLS), RFC 2784 and RFC 2890 (GRE), draft-foschiano-erspan-03, RFC 7348 (VXLAN), RFC 8926
/// (Geneve), RFC 2003 and RFC 4213 (IP in IP), RFC 4023 (MPLS in IP).
[[nodiscard]] std::expected<IpPacket, PacketSkip> find_inner(LinkType link, std::span<const std::byte> frame,
                                                             Encapsulations& opened) noexcept;

/// Opens the encapsulations in an IP packet, which may have been reassembled; returns it if there are none.
[[nodiscard]] std::expected<IpPacket, PacketSkip> open_packet(const IpPacket& packet, Encapsulations& opened) noexcept;

/// Finds the UDP datagram in an IP packet, which is not a fragment but may have been reassembled.
///
/// Source: RFC 768, RFC 8200.
[[nodiscard]] std::expected<UdpPacket, PacketSkip> find_udp(const IpPacket& packet) noexcept;

/// Finds the UDP datagram in a frame.
[[nodiscard]] std::expected<UdpPacket, PacketSkip> find_udp(LinkType link, std::span<const std::byte> frame) noexcept;

/// Whether the checksums of the IPv4 header and of UDP match; a UDP checksum of 0 means none. O(bytes).
///
/// Source: RFC 1071.
[[nodiscard]] bool ipv4_checksums_match(const UdpPacket& packet) noexcept;

}  // namespace millpond::net
