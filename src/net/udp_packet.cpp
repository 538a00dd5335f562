#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include <millpond/core/endian.hpp>
#include <millpond/net/udp_packet.hpp>

namespace millpond::net {
namespace {

using Bytes = std::span<const std::byte>;
using Found = std::expected<UdpPacket, PacketSkip>;

constexpr std::uint16_t kTypeIpv4 = 0x0800;
constexpr std::uint16_t kTypeIpv6 = 0x86DD;
constexpr std::uint16_t kTypeVlan = 0x8100;
constexpr std::uint16_t kTypeServiceVlan = 0x88A8;
constexpr std::uint16_t kTypeOldServiceVlan = 0x9100;

constexpr std::size_t kUdpHeader = 8;

std::uint16_t be16(Bytes bytes, std::size_t offset) noexcept {
    return core::load_be<std::uint16_t>(bytes.data() + offset);
}

std::uint8_t u8(Bytes bytes, std::size_t offset) noexcept { return std::to_integer<std::uint8_t>(bytes[offset]); }

/// length: of the UDP part by the IP header; bytes: what the frame has of it.
Found find_in_udp(Bytes bytes, std::size_t length, UdpPacket packet) noexcept {
    if (length < kUdpHeader) return std::unexpected(PacketSkip::malformed);
    if (bytes.size() < kUdpHeader) return std::unexpected(PacketSkip::cut);
    const std::size_t udp_length = be16(bytes, 4);
    if (udp_length < kUdpHeader || udp_length > length) return std::unexpected(PacketSkip::malformed);
    if (udp_length > bytes.size()) return std::unexpected(PacketSkip::cut);
    packet.source = packet.source.with_port(be16(bytes, 0));
    packet.destination = packet.destination.with_port(be16(bytes, 2));
    packet.payload = bytes.subspan(kUdpHeader, udp_length - kUdpHeader);
    return packet;
}

Found find_in_ipv4(Bytes bytes) noexcept {
    constexpr std::size_t kHeader = 20;
    if (bytes.size() < kHeader) return std::unexpected(PacketSkip::cut);
    const std::size_t header = std::size_t{u8(bytes, 0) & 0x0FU} * 4;
    const std::size_t total = be16(bytes, 2);
    if (u8(bytes, 0) >> 4 != 4 || header < kHeader || total < header) return std::unexpected(PacketSkip::malformed);
    constexpr unsigned kMoreFragmentsOrOffset = 0x3FFF;
    if ((be16(bytes, 6) & kMoreFragmentsOrOffset) != 0) return std::unexpected(PacketSkip::fragment);
    if (u8(bytes, 9) != IPPROTO_UDP) return std::unexpected(PacketSkip::not_udp);
    if (bytes.size() < header) return std::unexpected(PacketSkip::cut);
    return find_in_udp(bytes.subspan(header, std::min(bytes.size(), total) - header), total - header,
                       {SocketAddress::ipv4(&bytes[12], 0), SocketAddress::ipv4(&bytes[16], 0), {}, bytes});
}

Found find_in_ipv6(Bytes bytes) noexcept {
    constexpr std::size_t kHeader = 40;
    if (bytes.size() < kHeader) return std::unexpected(PacketSkip::cut);
    if (u8(bytes, 0) >> 4 != 6) return std::unexpected(PacketSkip::malformed);
    const UdpPacket packet{SocketAddress::ipv6(&bytes[8], 0), SocketAddress::ipv6(&bytes[24], 0), {}, {}};
    std::size_t length = be16(bytes, 4);
    auto next = u8(bytes, 6);
    bytes = bytes.subspan(kHeader, std::min(bytes.size() - kHeader, length));
    while (next != IPPROTO_UDP) {
        const bool is_fragment = next == IPPROTO_FRAGMENT;
        if (!is_fragment && next != IPPROTO_HOPOPTS && next != IPPROTO_ROUTING && next != IPPROTO_DSTOPTS)
            return std::unexpected(PacketSkip::not_udp);
        constexpr std::size_t kExtension = 8;
        if (length < kExtension) return std::unexpected(PacketSkip::malformed);
        if (bytes.size() < kExtension) return std::unexpected(PacketSkip::cut);
        constexpr unsigned kMoreFragmentsOrOffset = 0xFFF9;
        if (is_fragment && (be16(bytes, 2) & kMoreFragmentsOrOffset) != 0) return std::unexpected(PacketSkip::fragment);
        const std::size_t size = is_fragment ? kExtension : (std::size_t{u8(bytes, 1)} + 1) * 8;
        if (length < size) return std::unexpected(PacketSkip::malformed);
        if (bytes.size() < size) return std::unexpected(PacketSkip::cut);
        next = u8(bytes, 0);
        length -= size;
        bytes = bytes.subspan(size);
    }
    return find_in_udp(bytes, length, packet);
}

Found find_by_type(Bytes bytes, std::uint16_t type) noexcept {
    constexpr std::size_t kTag = 4;
    while (type == kTypeVlan || type == kTypeServiceVlan || type == kTypeOldServiceVlan) {
        if (bytes.size() < kTag) return std::unexpected(PacketSkip::cut);
        type = be16(bytes, 2);
        bytes = bytes.subspan(kTag);
    }
    if (type == kTypeIpv4) return find_in_ipv4(bytes);
    if (type == kTypeIpv6) return find_in_ipv6(bytes);
    return std::unexpected(PacketSkip::not_ip);
}

/// A link header of `size` bytes with the type of what follows at `type_offset`.
Found find_after(Bytes frame, std::size_t size, std::size_t type_offset) noexcept {
    if (frame.size() < size) return std::unexpected(PacketSkip::cut);
    return find_by_type(frame.subspan(size), be16(frame, type_offset));
}

/// The sum of the bytes as words of 32 bits in the machine's order: folding makes it a sum of 16-bit words.
std::uint64_t sum_of(Bytes bytes) noexcept {
    std::uint64_t sum = 0;
    std::uint32_t word = 0;
    for (; bytes.size() >= sizeof word; bytes = bytes.subspan(sizeof word)) {
        std::memcpy(&word, bytes.data(), sizeof word);
        sum += word;
    }
    word = 0;
    std::memcpy(&word, bytes.data(), bytes.size());
    return sum + word;
}

/// All ones if the checksum among the summed words matches, whatever the machine's byte order.
std::uint16_t folded(std::uint64_t sum) noexcept {
    while (sum >> 16U != 0) sum = (sum & 0xFFFFU) + (sum >> 16U);
    return static_cast<std::uint16_t>(sum);
}

}  // namespace

bool ipv4_checksums_match(const UdpPacket& packet) noexcept {
    constexpr std::uint16_t kMatches = 0xFFFF;
    const std::size_t header = std::size_t{u8(packet.ipv4, 0) & 0x0FU} * 4;
    if (folded(sum_of(packet.ipv4.first(header))) != kMatches) return false;
    const Bytes udp{packet.payload.data() - kUdpHeader, packet.payload.size() + kUdpHeader};
    if (be16(udp, 6) == 0) return true;
    // The pseudo header: both addresses, the protocol and the length of UDP.
    const std::array<std::byte, 4> rest{std::byte{0}, std::byte{IPPROTO_UDP}, udp[4], udp[5]};
    return folded(sum_of(packet.ipv4.subspan(12, 8)) + sum_of(rest) + sum_of(udp)) == kMatches;
}

std::expected<UdpPacket, PacketSkip> find_udp(LinkType link, std::span<const std::byte> frame) noexcept {
    switch (link) {
        case LinkType::ethernet: return find_after(frame, 14, 12);
        case LinkType::linux_cooked: return find_after(frame, 16, 14);
        case LinkType::linux_cooked_v2: return find_after(frame, 20, 0);
        case LinkType::ipv4: return find_in_ipv4(frame);
        case LinkType::ipv6: return find_in_ipv6(frame);
        case LinkType::raw_ip:
            if (frame.empty()) return std::unexpected(PacketSkip::cut);
            if (u8(frame, 0) >> 4 == 6) return find_in_ipv6(frame);
            return find_in_ipv4(frame);
    }
    return std::unexpected(PacketSkip::not_ip);
}

}  // namespace millpond::net
