#pragma once

#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace millpond::net {

/// An IPv4 or IPv6 address with a UDP or TCP port, held as a value of 24 bytes.
///
/// Threads: a value.
/// Source:  text form of IPv6 addresses RFC 4291 section 2.2, with a port RFC 5952 section 6, with a zone RFC 4007.
class SocketAddress {
public:
    enum class Family : std::uint8_t { none, ipv4, ipv6 };

    /// An empty address: family none, port 0.
    constexpr SocketAddress() noexcept = default;

    /// Parses "239.1.2.3:14000", "[ff15::1]:14000", "[fe80::1%eth0]:14000". Host names are not resolved.
    /// Throws std::invalid_argument that quotes the text and names the part that is wrong.
    [[nodiscard]] static SocketAddress parse(std::string_view text);

    /// Parses an address without a port: "10.0.0.1", "::1", "fe80::1%eth0". The port is 0. Throws like parse.
    [[nodiscard]] static SocketAddress parse_host(std::string_view text);

    /// address: 4 bytes in network order.
    [[nodiscard]] static SocketAddress ipv4(const std::byte* address, std::uint16_t port) noexcept;
    /// address: 16 bytes in network order.
    [[nodiscard]] static SocketAddress ipv6(const std::byte* address, std::uint16_t port,
                                            std::uint32_t scope = 0) noexcept;
    /// Converts an address of the kernel; another family becomes Family::none.
    [[nodiscard]] static SocketAddress from_kernel(const sockaddr_storage& address) noexcept;

    /// Writes the kernel's form and returns its length; 0 for Family::none.
    socklen_t to_kernel(sockaddr_storage& out) const noexcept;

    [[nodiscard]] constexpr Family family() const noexcept { return family_; }
    [[nodiscard]] constexpr bool empty() const noexcept { return family_ == Family::none; }
    [[nodiscard]] constexpr std::uint16_t port() const noexcept { return port_; }
    /// The interface's index of a link-local IPv6 address, else 0.
    [[nodiscard]] constexpr std::uint32_t scope() const noexcept { return scope_; }
    [[nodiscard]] SocketAddress with_port(std::uint16_t port) const noexcept;
    [[nodiscard]] SocketAddress with_scope(std::uint32_t scope) const noexcept;

    [[nodiscard]] bool is_multicast() const noexcept;
    /// Whether the address is 0.0.0.0 or ::.
    [[nodiscard]] bool is_wildcard() const noexcept;
    /// Whether the address is in 127.0.0.0/8 or is ::1.
    [[nodiscard]] bool is_loopback() const noexcept;
    /// Whether the address is in fe80::/10, or is a multicast group that is valid on one link only (ff02::/16): it
    /// needs a scope.
    [[nodiscard]] bool is_link_local_ipv6() const noexcept;

    /// Text that `parse` accepts; "none" for Family::none.
    [[nodiscard]] std::string to_string() const;
    /// Text that `parse_host` accepts.
    [[nodiscard]] std::string host() const;

    friend constexpr bool operator==(const SocketAddress&, const SocketAddress&) noexcept = default;

private:
    std::array<std::uint8_t, 16> bytes_{};  // network order; IPv4 uses the first four
    std::uint32_t scope_{0};
    std::uint16_t port_{0};
    Family family_{Family::none};
};

}  // namespace millpond::net
