#include "apps/millpond/doctor/kernel_text.hpp"

#include <fmt/format.h>

#include <bit>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <sstream>
#include <string>
#include <string_view>

#include <netinet/in.h>
#include <sys/socket.h>

namespace millpond::app::doctor {
namespace {

/// Formats an address as the kernel does: its four bytes in network order, read as a number of this machine.
std::uint32_t kernel_number(const net::SocketAddress& address) {
    sockaddr_storage raw{};
    if (address.to_kernel(raw) == 0 || raw.ss_family != AF_INET) return 0;
    return reinterpret_cast<const sockaddr_in&>(raw).sin_addr.s_addr;
}

std::uint32_t hex(std::string_view text) {
    std::uint32_t number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number, 16);
    return number;
}

std::string trimmed(const std::string& line) {
    const auto begin = line.find_first_not_of(" \t");
    return begin == std::string::npos ? std::string{} : line.substr(begin);
}

/// Whether the line contains `word` as a whole word.
bool names(std::string_view line, std::string_view word) {
    for (auto at = line.find(word); at != std::string_view::npos; at = line.find(word, at + 1)) {
        const auto is_edge = [&](std::size_t place) {
            return place >= line.size() || std::string_view{" \t,;{}-"}.find(line[place]) != std::string_view::npos;
        };
        if ((at == 0 || is_edge(at - 1)) && is_edge(at + word.size())) return true;
    }
    return false;
}

bool names_any(std::string_view line, std::initializer_list<std::string_view> words) {
    for (const auto word : words) {
        if (names(line, word)) return true;
    }
    return false;
}

}  // namespace

std::vector<std::string> joined_on(std::string_view igmp, const net::SocketAddress& group) {
    std::vector<std::string> interfaces;
    const auto wanted = kernel_number(group);
    std::istringstream in{std::string{igmp}};
    std::string interface;
    for (std::string line; std::getline(in, line);) {
        std::istringstream words{line};
        std::string first;
        words >> first;
        if (!line.empty() && line[0] >= '0' && line[0] <= '9') {  // "2	eth0      :     3      V3"
            words >> interface;
        } else if (!line.empty() && line[0] == '\t' && hex(first) == wanted) {
            interfaces.push_back(interface);
        }
    }
    return interfaces;
}

std::string route_to(std::string_view routes, const net::SocketAddress& address) {
    const auto wanted = kernel_number(address);
    std::istringstream in{std::string{routes}};
    std::string best;
    int best_bits = -1;
    for (std::string line; std::getline(in, line);) {
        std::istringstream words{line};
        std::string interface;
        std::string destination;
        std::string mask;
        std::string skip;
        words >> interface >> destination >> skip >> skip >> skip >> skip >> skip >> mask;
        if (mask.empty() || interface == "Iface") continue;
        const auto bits = std::popcount(hex(mask));
        if ((wanted & hex(mask)) != hex(destination) || bits <= best_bits) continue;
        best = interface;
        best_bits = bits;
    }
    return best;
}

std::optional<std::uint64_t> drops_of_port(std::string_view sockets, std::uint16_t port) {
    std::optional<std::uint64_t> drops;
    const auto wanted = fmt::format(":{:04X}", port);
    std::istringstream in{std::string{sockets}};
    for (std::string line; std::getline(in, line);) {
        std::istringstream words{line};
        std::string slot;
        std::string local;
        words >> slot >> local;
        if (!local.ends_with(wanted)) continue;
        std::string last;
        for (std::string word; words >> word;) last = word;
        drops = drops.value_or(0) + std::strtoull(last.c_str(), nullptr, 10);
    }
    return drops;
}

std::vector<std::string> dropping_rules(std::string_view ruleset, const net::SocketAddress& to) {
    std::vector<std::string> found;
    std::istringstream in{std::string{ruleset}};
    const auto port = std::to_string(to.port());
    const auto host = to.host();
    std::string place;
    bool on_the_way = false;
    for (std::string raw; std::getline(in, raw);) {
        const auto line = trimmed(raw);
        if (line.starts_with("table ")) {
            place = line.substr(6, line.find(" {") - 6);
        } else if (line.starts_with("chain ")) {
            const auto slash = place.find(" / ");
            place = place.substr(0, slash) + " / " + line.substr(6, line.find(" {") - 6);
            on_the_way = false;
        } else if (line.starts_with("type ") && line.find(" hook ") != std::string::npos) {
            on_the_way = names_any(line, {"prerouting", "input", "ingress"});
            if (on_the_way && line.find("policy drop") != std::string::npos) found.push_back(place + ": " + line);
        } else if (on_the_way && names_any(line, {"drop", "reject"})) {
            const bool other_protocol = names_any(line, {"tcp", "icmp", "icmpv6", "sctp"}) && !names(line, "udp");
            const bool names_port = names_any(line, {"dport"});
            const bool names_host = names_any(line, {"daddr"});
            const bool elsewhere = (names_port && !names(line, port)) ||
                                   (names_host && !names(line, host) && line.find('/') == std::string::npos);
            if (!other_protocol && !elsewhere) found.push_back(place + ": " + line);
        }
    }
    return found;
}

}  // namespace millpond::app::doctor
