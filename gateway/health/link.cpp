#include "gateway/health/link.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>

#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <millpond/core/descriptor.hpp>

namespace millpond::gateway::health {
namespace {

std::string content_of(const char* path) {
    std::ifstream in{path};
    std::ostringstream text;
    if (in) text << in.rdbuf();
    return text.str();
}

/// The group's bytes in the order of the wire.
template <std::size_t Bytes>
std::array<unsigned char, Bytes> bytes_of(const net::SocketAddress& group) {
    sockaddr_storage address{};
    static_cast<void>(group.to_kernel(address));
    std::array<unsigned char, Bytes> bytes{};
    const auto* from = address.ss_family == AF_INET6
                           ? static_cast<const void*>(&reinterpret_cast<sockaddr_in6&>(address).sin6_addr)
                           : static_cast<const void*>(&reinterpret_cast<sockaddr_in&>(address).sin_addr);
    std::memcpy(bytes.data(), from, Bytes);
    return bytes;
}

}  // namespace

std::optional<bool> link_is_up(const std::string& interface) {
    ifreq request{};
    if (interface.empty() || interface.size() >= sizeof request.ifr_name) return std::nullopt;
    std::copy(interface.begin(), interface.end(), request.ifr_name);
    const core::Descriptor any{socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
    if (!any || ioctl(any.get(), SIOCGIFFLAGS, &request) != 0) return std::nullopt;
    const auto flags = static_cast<unsigned>(static_cast<unsigned short>(request.ifr_flags));
    return (flags & IFF_UP) != 0 && (flags & IFF_RUNNING) != 0;
}

bool holds_group(std::string_view table, const net::SocketAddress& group, std::string_view interface) {
    const auto bytes = bytes_of<4>(group);
    // The kernel prints the word in the byte order of the machine.
    unsigned word = 0;
    std::memcpy(&word, bytes.data(), sizeof word);
    const auto wanted = fmt::format("{:08X}", word);
    std::istringstream lines{std::string{table}};
    std::string line;
    bool ours = false;
    while (std::getline(lines, line)) {
        std::istringstream words{line};
        std::string first;
        std::string second;
        words >> first >> second;
        if (!line.empty() && line.front() != '\t' && line.front() != ' ') {
            ours = interface.empty() || second == interface;
        } else if (ours && first == wanted) {
            return true;
        }
    }
    return false;
}

bool holds_group6(std::string_view table, const net::SocketAddress& group, std::string_view interface) {
    std::string wanted;
    for (const auto byte : bytes_of<16>(group)) wanted += fmt::format("{:02x}", byte);
    std::istringstream lines{std::string{table}};
    std::string line;
    while (std::getline(lines, line)) {
        std::istringstream words{line};
        std::string index;
        std::string name;
        std::string address;
        words >> index >> name >> address;
        if (address == wanted && (interface.empty() || name == interface)) return true;
    }
    return false;
}

bool is_joined(const net::SocketAddress& group, std::string_view interface) {
    const bool six = group.family() == net::SocketAddress::Family::ipv6;
    const auto table = content_of(six ? "/proc/thread-self/net/igmp6" : "/proc/thread-self/net/igmp");
    if (table.empty()) return true;
    return six ? holds_group6(table, group, interface) : holds_group(table, group, interface);
}

}  // namespace millpond::gateway::health
