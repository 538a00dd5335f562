#pragma once

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <stdexcept>

namespace millpond::bench {

/// A UDP socket, without a library, at a free port.
class BoundSocket {
public:
    /// address: of this machine, in host byte order.
    explicit BoundSocket(std::uint32_t address) : descriptor_(socket(AF_INET, SOCK_DGRAM, 0)) {
        sockaddr_in name{};
        name.sin_family = AF_INET;
        name.sin_addr.s_addr = htonl(address);
        socklen_t length = sizeof name;
        if (descriptor_ < 0 || bind(descriptor_, reinterpret_cast<sockaddr*>(&name), length) != 0 ||
            getsockname(descriptor_, reinterpret_cast<sockaddr*>(&name), &length) != 0) {
            throw std::runtime_error("no bare socket");
        }
        port_ = ntohs(name.sin_port);
    }
    BoundSocket(const BoundSocket&) = delete;
    BoundSocket& operator=(const BoundSocket&) = delete;
    ~BoundSocket() { close(descriptor_); }

    [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
    [[nodiscard]] std::uint16_t port() const noexcept { return port_; }

private:
    int descriptor_;
    std::uint16_t port_{0};
};

}  // namespace millpond::bench
