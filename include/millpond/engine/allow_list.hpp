#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include <millpond/net/socket_address.hpp>

namespace millpond::engine {

/// Address ranges that may connect. An empty list permits all addresses.
///
/// Threads: a value.
/// Source:  CIDR notation, RFC 4632 section 3.1; IPv4-mapped IPv6 addresses (RFC 4291 section 2.5.5.2) count as IPv4.
class AllowList {
public:
    AllowList() = default;

    /// Adds a range: "10.0.0.0/8", "192.168.1.7", "fd00::/8". Throws std::invalid_argument that quotes it and names the
    /// error.
    void add(std::string_view range);

    [[nodiscard]] bool contains(const net::SocketAddress& address) const noexcept;
    [[nodiscard]] bool empty() const noexcept { return ranges_.empty(); }

private:
    // IPv4 addresses are stored as IPv4-mapped IPv6 addresses.
    using Bytes = std::array<std::uint8_t, 16>;
    struct Range {
        Bytes network{};
        unsigned bits{0};
    };
    [[nodiscard]] static Bytes bytes_of(const net::SocketAddress& address) noexcept;

    std::vector<Range> ranges_;
};

}  // namespace millpond::engine
