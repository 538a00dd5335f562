#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <stdexcept>
#include <system_error>

#include <millpond/net/socket_address.hpp>

namespace millpond::net {
namespace {

[[noreturn]] void refuse(std::string_view text, const std::string& why) {
    throw std::invalid_argument("address '" + std::string(text) + "': " + why);
}

std::uint16_t parse_port(std::string_view text, std::string_view digits) {
    unsigned value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (digits.empty() || error == std::errc::invalid_argument || end != digits.data() + digits.size())
        refuse(text, "port '" + std::string(digits) + "' is not a number");
    if (error != std::errc{} || value > 65535)
        refuse(text, "port " + std::string(digits) + " is out of range; it must be 0 to 65535");
    return static_cast<std::uint16_t>(value);
}

std::uint32_t parse_zone(std::string_view text, const std::string& zone) {
    if (zone.empty()) refuse(text, "the zone after '%' is empty");
    if (const auto index = if_nametoindex(zone.c_str()); index != 0) return index;
    std::uint32_t number = 0;
    const auto [end, error] = std::from_chars(zone.data(), zone.data() + zone.size(), number);
    if (error != std::errc{} || end != zone.data() + zone.size() || number == 0)
        refuse(text, "zone '" + zone + "' is not an interface of this machine");
    return number;
}

SocketAddress parse_ipv6(std::string_view text, std::string_view host, std::uint16_t port) {
    std::uint32_t scope = 0;
    if (const auto percent = host.find('%'); percent != std::string_view::npos) {
        scope = parse_zone(text, std::string(host.substr(percent + 1)));
        host = host.substr(0, percent);
    }
    std::array<std::byte, 16> bytes;
    if (inet_pton(AF_INET6, std::string(host).c_str(), bytes.data()) != 1)
        refuse(text, "'" + std::string(host) + "' is not an IPv6 address");
    return SocketAddress::ipv6(bytes.data(), port, scope);
}

SocketAddress parse_ipv4(std::string_view text, std::string_view host, std::uint16_t port) {
    std::array<std::byte, 4> bytes;
    if (inet_pton(AF_INET, std::string(host).c_str(), bytes.data()) != 1)
        refuse(text,
               "'" + std::string(host) + "' is not an IPv4 address (four numbers 0 to 255; names are not looked up)");
    return SocketAddress::ipv4(bytes.data(), port);
}

}  // namespace

SocketAddress SocketAddress::parse(std::string_view text) {
    if (text.empty()) refuse(text, "is empty; expected ADDRESS:PORT");
    if (text.front() == '[') {
        const auto close = text.find(']');
        if (close == std::string_view::npos) refuse(text, "']' is missing after the IPv6 address");
        const auto rest = text.substr(close + 1);
        if (rest.empty() || rest.front() != ':') refuse(text, "':PORT' is missing after ']'");
        return parse_ipv6(text, text.substr(1, close - 1), parse_port(text, rest.substr(1)));
    }
    const auto colon = text.rfind(':');
    if (colon == std::string_view::npos) refuse(text, "':PORT' is missing");
    if (text.find(':') != colon) refuse(text, "an IPv6 address with a port is written [ADDRESS]:PORT");
    const auto port = parse_port(text, text.substr(colon + 1));
    return parse_ipv4(text, text.substr(0, colon), port);
}

SocketAddress SocketAddress::parse_host(std::string_view text) {
    return text.find(':') == std::string_view::npos ? parse_ipv4(text, text, 0) : parse_ipv6(text, text, 0);
}

SocketAddress SocketAddress::ipv4(const std::byte* address, std::uint16_t port) noexcept {
    SocketAddress result;
    std::memcpy(result.bytes_.data(), address, 4);
    result.port_ = port;
    result.family_ = Family::ipv4;
    return result;
}

SocketAddress SocketAddress::ipv6(const std::byte* address, std::uint16_t port, std::uint32_t scope) noexcept {
    SocketAddress result;
    std::memcpy(result.bytes_.data(), address, 16);
    result.port_ = port;
    result.scope_ = scope;
    result.family_ = Family::ipv6;
    return result;
}

SocketAddress SocketAddress::from_kernel(const sockaddr_storage& address) noexcept {
    if (address.ss_family == AF_INET) {
        sockaddr_in in;
        std::memcpy(&in, &address, sizeof in);
        return ipv4(reinterpret_cast<const std::byte*>(&in.sin_addr), ntohs(in.sin_port));
    }
    if (address.ss_family == AF_INET6) {
        sockaddr_in6 in;
        std::memcpy(&in, &address, sizeof in);
        return ipv6(reinterpret_cast<const std::byte*>(&in.sin6_addr), ntohs(in.sin6_port), in.sin6_scope_id);
    }
    return {};
}

socklen_t SocketAddress::to_kernel(sockaddr_storage& out) const noexcept {
    out = {};
    if (family_ == Family::ipv4) {
        sockaddr_in in{};
        in.sin_family = AF_INET;
        in.sin_port = htons(port_);
        std::memcpy(&in.sin_addr, bytes_.data(), 4);
        std::memcpy(&out, &in, sizeof in);
        return sizeof in;
    }
    if (family_ == Family::ipv6) {
        sockaddr_in6 in{};
        in.sin6_family = AF_INET6;
        in.sin6_port = htons(port_);
        in.sin6_scope_id = scope_;
        std::memcpy(&in.sin6_addr, bytes_.data(), 16);
        std::memcpy(&out, &in, sizeof in);
        return sizeof in;
    }
    return 0;
}

SocketAddress SocketAddress::with_port(std::uint16_t port) const noexcept {
    auto result = *this;
    result.port_ = port;
    return result;
}

SocketAddress SocketAddress::with_scope(std::uint32_t scope) const noexcept {
    auto result = *this;
    result.scope_ = scope;
    return result;
}

bool SocketAddress::is_multicast() const noexcept {
    if (family_ == Family::ipv4) return (bytes_[0] & 0xf0) == 0xe0;
    return family_ == Family::ipv6 && bytes_[0] == 0xff;
}

bool SocketAddress::is_wildcard() const noexcept {
    return family_ != Family::none && std::ranges::all_of(bytes_, [](auto byte) { return byte == 0; });
}

bool SocketAddress::is_loopback() const noexcept {
    constexpr std::uint8_t kLoopbackNet = 127;
    if (family_ == Family::ipv4) return bytes_[0] == kLoopbackNet;
    return family_ == Family::ipv6 && bytes_.back() == 1 &&
           std::all_of(bytes_.begin(), bytes_.end() - 1, [](auto byte) { return byte == 0; });
}

bool SocketAddress::is_link_local_ipv6() const noexcept {
    if (family_ != Family::ipv6) return false;
    if (bytes_[0] == 0xff) return (bytes_[1] & 0x0f) == 0x02;
    return bytes_[0] == 0xfe && (bytes_[1] & 0xc0) == 0x80;
}

std::string SocketAddress::host() const {
    std::array<char, INET6_ADDRSTRLEN> text{};
    if (family_ == Family::none) return "none";
    inet_ntop(family_ == Family::ipv4 ? AF_INET : AF_INET6, bytes_.data(), text.data(), text.size());
    std::string result{text.data()};
    if (scope_ != 0) {
        std::array<char, IF_NAMESIZE> name{};
        result += '%';
        result += if_indextoname(scope_, name.data()) != nullptr ? std::string{name.data()} : std::to_string(scope_);
    }
    return result;
}

std::string SocketAddress::to_string() const {
    if (family_ == Family::none) return "none";
    const auto port = ":" + std::to_string(port_);
    return family_ == Family::ipv4 ? host() + port : "[" + host() + "]" + port;
}

}  // namespace millpond::net
