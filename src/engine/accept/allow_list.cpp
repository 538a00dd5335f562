#include <millpond/engine/allow_list.hpp>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <stdexcept>
#include <string>

#include <netinet/in.h>
#include <sys/socket.h>

namespace millpond::engine {
namespace {

constexpr unsigned kMappedBits = 96;  // length of the prefix ::ffff:0:0/96, which holds IPv4 addresses

}  // namespace

AllowList::Bytes AllowList::bytes_of(const net::SocketAddress& address) noexcept {
    sockaddr_storage kernel{};
    Bytes bytes{};
    address.to_kernel(kernel);
    if (address.family() == net::SocketAddress::Family::ipv6) {
        sockaddr_in6 six{};
        std::memcpy(&six, &kernel, sizeof six);
        std::memcpy(bytes.data(), &six.sin6_addr, bytes.size());
    } else if (address.family() == net::SocketAddress::Family::ipv4) {
        sockaddr_in four{};
        std::memcpy(&four, &kernel, sizeof four);
        bytes[10] = bytes[11] = 0xFF;
        std::memcpy(bytes.data() + kMappedBits / 8, &four.sin_addr, sizeof four.sin_addr);
    }
    return bytes;
}

void AllowList::add(std::string_view range) {
    const auto fail = [&](const std::string& why) {
        throw std::invalid_argument("allow list: '" + std::string{range} + "': " + why);
    };
    const auto slash = range.find('/');
    net::SocketAddress address;
    try {
        address = net::SocketAddress::parse_host(range.substr(0, slash));
    } catch (const std::invalid_argument& error) {
        fail(error.what());
    }
    const bool is_four = address.family() == net::SocketAddress::Family::ipv4;
    const unsigned max = is_four ? 32 : 128;
    unsigned bits = max;
    if (slash != std::string_view::npos) {
        const auto text = range.substr(slash + 1);
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), bits);
        if (error != std::errc{} || end != text.data() + text.size() || bits > max) {
            fail("the part after '/' is a number from 0 to " + std::to_string(max));
        }
    }
    ranges_.push_back({bytes_of(address), is_four ? bits + kMappedBits : bits});
}

bool AllowList::contains(const net::SocketAddress& address) const noexcept {
    if (ranges_.empty()) return true;
    const auto bytes = bytes_of(address);
    return std::ranges::any_of(ranges_, [&](const Range& range) {
        for (unsigned bit = 0; bit < range.bits;) {
            const auto byte = bit / 8;
            const auto count = std::min(8U, range.bits - bit);
            const auto mask = static_cast<std::uint8_t>(0xFFU << (8 - count));
            if (((bytes[byte] ^ range.network[byte]) & mask) != 0) return false;
            bit += count;
        }
        return true;
    });
}

}  // namespace millpond::engine
