#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <utility>

#include <millpond/core/endian.hpp>
#include <millpond/net/udp_packet.hpp>

namespace millpond::net {
namespace {

using Bytes = std::span<const std::byte>;
using FoundIp = std::expected<IpPacket, PacketSkip>;

constexpr std::uint16_t kTypeIpv4 = 0x0800;
constexpr std::uint16_t kTypeIpv6 = 0x86DD;
constexpr std::uint16_t kTypeVlan = 0x8100;
constexpr std::uint16_t kTypeServiceVlan = 0x88A8;
constexpr std::uint16_t kTypeOldServiceVlan = 0x9100;
constexpr std::uint16_t kTypeMpls = 0x8847;
constexpr std::uint16_t kTypeMplsMulticast = 0x8848;
constexpr std::uint16_t kTypeAristaTime = 0xD28B;
constexpr std::uint16_t kTypeBridgedEthernet = 0x6558;
constexpr std::uint16_t kGreErspan = 0x88BE;  // types I and II
constexpr std::uint16_t kGreErspan3 = 0x22EB;
constexpr std::uint8_t kProtocolMpls = 137;

constexpr std::size_t kUdpHeader = 8;

std::uint16_t be16(Bytes bytes, std::size_t offset) noexcept {
    return core::load_be<std::uint16_t>(bytes.data() + offset);
}

std::uint8_t u8(Bytes bytes, std::size_t offset) noexcept { return std::to_integer<std::uint8_t>(bytes[offset]); }

/// Skips extension headers of IPv6 up to the payload or to the header of a fragment. Returns nullopt on success.
std::optional<PacketSkip> skip_extensions(IpPacket& packet) noexcept {
    constexpr std::size_t kExtension = 8;
    for (;;) {
        const bool fragment = packet.protocol == IPPROTO_FRAGMENT;
        if (!fragment && packet.protocol != IPPROTO_HOPOPTS && packet.protocol != IPPROTO_ROUTING &&
            packet.protocol != IPPROTO_DSTOPTS)
            return std::nullopt;
        const auto bytes = packet.payload;
        if (packet.length < kExtension) return PacketSkip::malformed;
        if (bytes.size() < kExtension) return PacketSkip::cut;
        const std::size_t size = fragment ? kExtension : (std::size_t{u8(bytes, 1)} + 1) * kExtension;
        if (packet.length < size) return PacketSkip::malformed;
        if (bytes.size() < size) return PacketSkip::cut;
        packet.protocol = u8(bytes, 0);
        packet.length -= size;
        packet.payload = bytes.subspan(size);
        if (!fragment) continue;
        constexpr std::size_t kOffset = 0xFFF8;
        packet.offset = be16(bytes, 2) & kOffset;
        packet.more = (be16(bytes, 2) & 1U) != 0;
        packet.id = core::load_be<std::uint32_t>(&bytes[4]);
        if (packet.is_fragment()) return std::nullopt;
    }
}

FoundIp find_ipv4(Bytes bytes) noexcept {
    constexpr std::size_t kHeader = 20;
    if (bytes.size() < kHeader) return std::unexpected(PacketSkip::cut);
    const std::size_t header = std::size_t{u8(bytes, 0) & 0x0FU} * 4;
    const std::size_t total = be16(bytes, 2);
    if (u8(bytes, 0) >> 4 != 4 || header < kHeader || total < header) return std::unexpected(PacketSkip::malformed);
    if (bytes.size() < header) return std::unexpected(PacketSkip::cut);
    constexpr unsigned kMoreFragments = 0x2000;
    constexpr unsigned kOffset = 0x1FFF;
    const auto flags = be16(bytes, 6);
    return IpPacket{.source = SocketAddress::ipv4(&bytes[12], 0),
                    .destination = SocketAddress::ipv4(&bytes[16], 0),
                    .protocol = u8(bytes, 9),
                    .id = be16(bytes, 4),
                    .offset = (flags & kOffset) * std::size_t{8},
                    .more = (flags & kMoreFragments) != 0,
                    .length = total - header,
                    .payload = bytes.subspan(header, std::min(bytes.size(), total) - header),
                    .ipv4 = bytes};
}

FoundIp find_ipv6(Bytes bytes) noexcept {
    constexpr std::size_t kHeader = 40;
    if (bytes.size() < kHeader) return std::unexpected(PacketSkip::cut);
    if (u8(bytes, 0) >> 4 != 6) return std::unexpected(PacketSkip::malformed);
    const std::size_t length = be16(bytes, 4);
    IpPacket packet{.source = SocketAddress::ipv6(&bytes[8], 0),
                    .destination = SocketAddress::ipv6(&bytes[24], 0),
                    .protocol = u8(bytes, 6),
                    .length = length,
                    .payload = bytes.subspan(kHeader, std::min(bytes.size() - kHeader, length))};
    if (const auto skip = skip_extensions(packet)) return std::unexpected(*skip);
    return packet;
}

/// Opens MPLS: labels of four bytes up to the one with the bottom bit, then IP by its version.
FoundIp open_mpls(Bytes bytes, Encapsulations& opened) noexcept {
    constexpr std::size_t kLabel = 4;
    for (bool bottom = false; !bottom; bytes = bytes.subspan(kLabel)) {
        if (bytes.size() < kLabel) return std::unexpected(PacketSkip::cut);
        bottom = (u8(bytes, 2) & 1U) != 0;
    }
    if (bytes.empty()) return std::unexpected(PacketSkip::cut);
    const auto version = u8(bytes, 0) >> 4U;
    if (version != 4 && version != 6) return std::unexpected(PacketSkip::tunnel);  // a pseudowire
    opened.mpls = true;
    return version == 4 ? find_ipv4(bytes) : find_ipv6(bytes);
}

/// Finds the IP packet after a header with an EtherType. opened: null: encapsulations are not opened.
FoundIp find_by_type(Bytes bytes, std::uint16_t type, Encapsulations* opened) noexcept {
    // EtherType 0xD28B: u16 subtype 1, u8 time scale, u8 format, the time of 8 or 6 bytes, then the frame's own type.
    if (type == kTypeAristaTime && opened != nullptr) {
        constexpr std::uint8_t kFormat48Bits = 2;
        constexpr std::size_t kFixed = 4;
        if (bytes.size() < kFixed) return std::unexpected(PacketSkip::cut);
        const std::size_t header = kFixed + (u8(bytes, 3) >> 4U == kFormat48Bits ? 6 : 8);
        if (be16(bytes, 0) != 1) return std::unexpected(PacketSkip::tunnel);
        if (bytes.size() < header + 2) return std::unexpected(PacketSkip::cut);
        opened->time_header = true;
        type = be16(bytes, header);
        bytes = bytes.subspan(header + 2);
    }
    constexpr std::size_t kTag = 4;
    while (type == kTypeVlan || type == kTypeServiceVlan || type == kTypeOldServiceVlan) {
        if (bytes.size() < kTag) return std::unexpected(PacketSkip::cut);
        type = be16(bytes, 2);
        bytes = bytes.subspan(kTag);
    }
    switch (type) {
        case kTypeIpv4: return find_ipv4(bytes);
        case kTypeIpv6: return find_ipv6(bytes);
        case kTypeMpls:
        case kTypeMplsMulticast:
            if (opened == nullptr) return std::unexpected(PacketSkip::tunnel);
            return open_mpls(bytes, *opened);
        case kTypeAristaTime: return std::unexpected(PacketSkip::tunnel);
        default: return std::unexpected(PacketSkip::not_ip);
    }
}

/// Parses a link header of `size` bytes with the type of the payload at `type_offset`.
FoundIp find_after(Bytes frame, std::size_t size, std::size_t type_offset, Encapsulations* opened) noexcept {
    if (frame.size() < size) return std::unexpected(PacketSkip::cut);
    return find_by_type(frame.subspan(size), be16(frame, type_offset), opened);
}

FoundIp find_in_ethernet(Bytes frame, Encapsulations* opened) noexcept { return find_after(frame, 14, 12, opened); }

FoundIp find_in_link(LinkType link, Bytes frame, Encapsulations* opened) noexcept {
    switch (link) {
        case LinkType::ethernet: return find_in_ethernet(frame, opened);
        case LinkType::linux_cooked: return find_after(frame, 16, 14, opened);
        case LinkType::linux_cooked_v2: return find_after(frame, 20, 0, opened);
        case LinkType::ipv4: return find_ipv4(frame);
        case LinkType::ipv6: return find_ipv6(frame);
        case LinkType::raw_ip:
            if (frame.empty()) return std::unexpected(PacketSkip::cut);
            if (u8(frame, 0) >> 4 == 6) return find_ipv6(frame);
            return find_ipv4(frame);
    }
    return std::unexpected(PacketSkip::not_ip);
}

/// Opens a mirrored frame. bytes: what follows the GRE header; type: GRE's. Without sequence numbers, type 0x88BE is
/// ERSPAN I, which has no header.
FoundIp open_erspan(Bytes bytes, std::uint16_t type, bool numbered, Encapsulations& opened) noexcept {
    constexpr std::uint8_t kEthernetFrame = 0;
    constexpr std::uint8_t kIpFrame = 2;
    std::size_t header = 0;
    std::uint8_t frame_type = kEthernetFrame;
    if (type == kGreErspan3) {
        constexpr std::size_t kHeader = 12;
        constexpr std::size_t kPlatform = 8;
        if (bytes.size() < kHeader) return std::unexpected(PacketSkip::cut);
        header = kHeader + ((u8(bytes, 11) & 1U) != 0 ? kPlatform : 0);
        frame_type = static_cast<std::uint8_t>(u8(bytes, 10) >> 2U & 0x1FU);
    } else if (numbered) {
        header = 8;
    }
    if (bytes.size() < header) return std::unexpected(PacketSkip::cut);
    if (frame_type != kEthernetFrame && frame_type != kIpFrame) return std::unexpected(PacketSkip::tunnel);
    opened.erspan = true;
    bytes = bytes.subspan(header);
    return frame_type == kIpFrame ? find_in_link(LinkType::raw_ip, bytes, &opened) : find_in_ethernet(bytes, &opened);
}

FoundIp open_gre(Bytes bytes, Encapsulations& opened) noexcept {
    constexpr std::uint16_t kChecksum = 0x8000;
    constexpr std::uint16_t kKey = 0x2000;
    constexpr std::uint16_t kNumber = 0x1000;
    constexpr std::size_t kWord = 4;
    if (bytes.size() < kWord) return std::unexpected(PacketSkip::cut);
    const auto flags = be16(bytes, 0);
    const auto type = be16(bytes, 2);
    // Source routes, and version 1 of PPTP.
    if ((flags & ~(kChecksum | kKey | kNumber)) != 0) return std::unexpected(PacketSkip::tunnel);
    std::size_t header = kWord;
    for (const auto flag : {kChecksum, kKey, kNumber}) header += (flags & flag) != 0 ? kWord : 0;
    if (bytes.size() < header) return std::unexpected(PacketSkip::cut);
    bytes = bytes.subspan(header);
    if (type == kGreErspan || type == kGreErspan3) return open_erspan(bytes, type, (flags & kNumber) != 0, opened);
    const bool ethernet = type == kTypeBridgedEthernet;
    if (!ethernet && type != kTypeIpv4 && type != kTypeIpv6 && type != kTypeMpls)
        return std::unexpected(PacketSkip::tunnel);
    opened.gre = true;
    return ethernet ? find_in_ethernet(bytes, &opened) : find_by_type(bytes, type, &opened);
}

/// Opens VXLAN or Geneve; nullopt if the datagram is neither.
std::optional<FoundIp> open_datagram(const UdpPacket& datagram, Encapsulations& opened) noexcept {
    constexpr std::uint16_t kVxlanPort = 4789;
    constexpr std::uint16_t kGenevePort = 6081;
    constexpr std::size_t kHeader = 8;
    const auto bytes = datagram.payload;
    const auto port = datagram.destination.port();
    if ((port != kVxlanPort && port != kGenevePort) || bytes.size() < kHeader) return std::nullopt;
    if (port == kVxlanPort) {
        if (be16(bytes, 0) != 0x0800 || be16(bytes, 2) != 0 || u8(bytes, 7) != 0) return std::nullopt;
        opened.vxlan = true;
        return find_in_ethernet(bytes.subspan(kHeader), &opened);
    }
    const auto type = be16(bytes, 2);
    const std::size_t header = kHeader + std::size_t{u8(bytes, 0) & 0x3FU} * 4;
    const bool ethernet = type == kTypeBridgedEthernet;
    if (u8(bytes, 0) >> 6 != 0 || (!ethernet && type != kTypeIpv4 && type != kTypeIpv6)) return std::nullopt;
    if (bytes.size() < header) return std::unexpected(PacketSkip::malformed);
    opened.geneve = true;
    return ethernet ? find_in_ethernet(bytes.subspan(header), &opened)
                    : find_by_type(bytes.subspan(header), type, &opened);
}

/// Opens the outermost encapsulation in an IP packet; nullopt if there is none.
std::optional<FoundIp> open_one(const IpPacket& packet, Encapsulations& opened) noexcept {
    switch (packet.protocol) {
        case IPPROTO_GRE: return open_gre(packet.payload, opened);
        case IPPROTO_IPIP: opened.ip_in_ip = true; return find_ipv4(packet.payload);
        case IPPROTO_IPV6: opened.ip_in_ip = true; return find_ipv6(packet.payload);
        case kProtocolMpls: return open_mpls(packet.payload, opened);
        case IPPROTO_UDP:
            if (const auto datagram = find_udp(packet)) return open_datagram(*datagram, opened);
            return std::nullopt;
        default: return std::nullopt;
    }
}

bool is_encapsulation(std::uint8_t protocol) noexcept {
    return protocol == IPPROTO_GRE || protocol == IPPROTO_IPIP || protocol == IPPROTO_IPV6 || protocol == kProtocolMpls;
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

std::expected<IpPacket, PacketSkip> find_ip(LinkType link, std::span<const std::byte> frame) noexcept {
    return find_in_link(link, frame, nullptr);
}

std::expected<IpPacket, PacketSkip> find_inner(LinkType link, std::span<const std::byte> frame,
                                               Encapsulations& opened) noexcept {
    const auto outer = find_in_link(link, frame, &opened);
    if (!outer) return outer;
    opened.packet_end = static_cast<std::size_t>(outer->payload.data() + outer->payload.size() - frame.data());
    return open_packet(*outer, opened);
}

std::expected<IpPacket, PacketSkip> open_packet(const IpPacket& packet, Encapsulations& opened) noexcept {
    auto inner = packet;
    for (int depth = 0; depth < kMaxEncapsulations; ++depth) {
        if (inner.is_fragment()) return inner;
        if (inner.source.family() == SocketAddress::Family::ipv6) {
            if (const auto skip = skip_extensions(inner)) return std::unexpected(*skip);
        }
        const auto next = open_one(inner, opened);
        if (!next) return inner;
        if (!*next) return *next;
        inner = **next;
    }
    return std::unexpected(PacketSkip::tunnel);
}

std::expected<UdpPacket, PacketSkip> find_udp(const IpPacket& packet) noexcept {
    if (packet.is_fragment()) return std::unexpected(PacketSkip::fragment);
    auto inner = packet;  // headers after that of the fragments are a part of a reassembled payload
    if (inner.source.family() == SocketAddress::Family::ipv6) {
        if (const auto skip = skip_extensions(inner)) return std::unexpected(*skip);
    }
    if (inner.protocol != IPPROTO_UDP)
        return std::unexpected(is_encapsulation(inner.protocol) ? PacketSkip::tunnel : PacketSkip::not_udp);
    const auto bytes = inner.payload;
    if (inner.length < kUdpHeader) return std::unexpected(PacketSkip::malformed);
    if (bytes.size() < kUdpHeader) return std::unexpected(PacketSkip::cut);
    const std::size_t udp_length = be16(bytes, 4);
    if (udp_length < kUdpHeader || udp_length > inner.length) return std::unexpected(PacketSkip::malformed);
    if (udp_length > bytes.size()) return std::unexpected(PacketSkip::cut);
    return UdpPacket{.source = inner.source.with_port(be16(bytes, 0)),
                     .destination = inner.destination.with_port(be16(bytes, 2)),
                     .payload = bytes.subspan(kUdpHeader, udp_length - kUdpHeader),
                     .ipv4 = inner.ipv4};
}

std::expected<UdpPacket, PacketSkip> find_udp(LinkType link, std::span<const std::byte> frame) noexcept {
    const auto packet = find_ip(link, frame);
    if (!packet) return std::unexpected(packet.error());
    return find_udp(*packet);
}

}  // namespace millpond::net
