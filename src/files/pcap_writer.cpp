#include <millpond/files/pcap_writer.hpp>

#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace millpond::files {
namespace {

constexpr std::uint32_t kNanosMagic = 0xA1B2'3C4D;
constexpr std::uint32_t kRawIp = 101;
constexpr std::uint32_t kSnapLength = 65'535;
constexpr std::size_t kIpv4Bytes = 20;
constexpr std::size_t kIpv6Bytes = 40;
constexpr std::size_t kUdpBytes = 8;
constexpr unsigned char kUdp = 17;
constexpr unsigned char kHops = 64;

template <class Number>
void append_native(std::string& out, Number number) {
    std::array<char, sizeof number> bytes{};
    std::memcpy(bytes.data(), &number, sizeof number);
    out.append(bytes.data(), bytes.size());
}

void append_big(std::string& out, std::size_t number) {
    out += static_cast<char>(number >> 8U & 0xFFU);
    out += static_cast<char>(number & 0xFFU);
}

/// The 16-bit one's complement sum of RFC 1071, not yet complemented.
std::uint32_t sum_of(std::string_view bytes, std::uint32_t sum = 0) {
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        const auto byte = static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[i]));
        sum += i % 2 == 0 ? byte << 8U : byte;
        sum = (sum & 0xFFFFU) + (sum >> 16U);
    }
    return sum;
}

std::string address_bytes(const net::SocketAddress& address, bool ipv6) {
    std::string bytes(ipv6 ? 16 : 4, '\0');
    sockaddr_storage raw{};
    if (address.to_kernel(raw) == 0) return bytes;
    if (raw.ss_family == AF_INET6 && ipv6) {
        std::memcpy(bytes.data(), &reinterpret_cast<const sockaddr_in6&>(raw).sin6_addr, bytes.size());
    } else if (raw.ss_family == AF_INET && !ipv6) {
        std::memcpy(bytes.data(), &reinterpret_cast<const sockaddr_in&>(raw).sin_addr, bytes.size());
    }
    return bytes;
}

void set_checksum(std::string& out, std::size_t at, std::uint32_t sum) {
    const auto checksum = ~sum & 0xFFFFU;
    out[at] = static_cast<char>(checksum >> 8U);
    out[at + 1] = static_cast<char>(checksum & 0xFFU);
}

}  // namespace

void append_pcap_header(std::string& out) {
    append_native(out, kNanosMagic);
    append_native(out, std::uint16_t{2});  // version 2.4
    append_native(out, std::uint16_t{4});
    append_native(out, std::uint64_t{0});  // time zone and accuracy: unused
    append_native(out, kSnapLength);
    append_native(out, kRawIp);
}

bool append_pcap_datagram(std::string& out, const CapturedDatagram& datagram) {
    const bool ipv6 = datagram.destination.family() == net::SocketAddress::Family::ipv6;
    const auto ip_bytes = ipv6 ? kIpv6Bytes : kIpv4Bytes;
    const auto udp_bytes = kUdpBytes + datagram.payload.size();
    if (datagram.destination.empty() || ip_bytes + udp_bytes > kSnapLength) return false;
    constexpr std::int64_t kSecond = 1'000'000'000;
    append_native(out, static_cast<std::uint32_t>(datagram.utc_ns / kSecond));
    append_native(out, static_cast<std::uint32_t>(datagram.utc_ns % kSecond));
    append_native(out, static_cast<std::uint32_t>(ip_bytes + udp_bytes));
    append_native(out, static_cast<std::uint32_t>(ip_bytes + udp_bytes));
    const auto addresses = address_bytes(datagram.source, ipv6) + address_bytes(datagram.destination, ipv6);
    const auto ip_at = out.size();
    if (ipv6) {
        out.append("\x60\0\0\0", 4);
        append_big(out, udp_bytes);
        out += static_cast<char>(kUdp);
        out += static_cast<char>(kHops);
        out += addresses;
    } else {
        out.append("\x45\0", 2);
        append_big(out, ip_bytes + udp_bytes);
        out.append("\0\0\x40\0", 4);  // no fragment
        out += static_cast<char>(kHops);
        out += static_cast<char>(kUdp);
        out.append(2, '\0');
        out += addresses;
        set_checksum(out, ip_at + 10, sum_of(std::string_view{out}.substr(ip_at)));
    }
    const auto udp_at = out.size();
    append_big(out, datagram.source.port());
    append_big(out, datagram.destination.port());
    append_big(out, udp_bytes);
    out.append(2, '\0');  // IPv4: no checksum
    out.append(reinterpret_cast<const char*>(datagram.payload.data()), datagram.payload.size());
    if (ipv6) {
        const auto pseudo = sum_of(addresses) + static_cast<std::uint32_t>(udp_bytes) + kUdp;
        set_checksum(out, udp_at + 6, sum_of(std::string_view{out}.substr(udp_at), pseudo));
    }
    return true;
}

}  // namespace millpond::files
