#pragma once

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <millpond/core/descriptor.hpp>
#include <millpond/net/socket_address.hpp>
#include <millpond/net/udp_receiver.hpp>

namespace millpond::app {

/// A UDP port of 127.0.0.1, independent of the library's code.
class UdpPort {
public:
    UdpPort() : socket_(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        EXPECT_EQ(bind(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    }
    UdpPort(const UdpPort&) = delete;
    UdpPort& operator=(const UdpPort&) = delete;
    ~UdpPort() { close(socket_); }

    [[nodiscard]] net::SocketAddress address() const {
        sockaddr_storage bound{};
        socklen_t length = sizeof bound;
        EXPECT_EQ(getsockname(socket_, reinterpret_cast<sockaddr*>(&bound), &length), 0);
        return net::SocketAddress::from_kernel(bound);
    }
    struct Received {
        std::vector<std::byte> bytes;
        net::SocketAddress from;
    };
    /// The next datagram that has arrived, if any.
    [[nodiscard]] std::optional<Received> receive() const {
        std::array<std::byte, 1'500> bytes;
        sockaddr_storage from{};
        socklen_t length = sizeof from;
        const auto got =
            recvfrom(socket_, bytes.data(), bytes.size(), MSG_DONTWAIT, reinterpret_cast<sockaddr*>(&from), &length);
        if (got < 0) return std::nullopt;
        return Received{{bytes.begin(), bytes.begin() + got}, net::SocketAddress::from_kernel(from)};
    }
    /// Address of the client whose request has arrived, if any.
    [[nodiscard]] std::optional<net::SocketAddress> sender_of_request() const {
        const auto request = receive();
        if (!request) return std::nullopt;
        return request->from;
    }
    void send(std::span<const std::byte> datagram, const net::SocketAddress& to) const {
        sockaddr_storage address;
        const auto length = to.to_kernel(address);
        EXPECT_EQ(
            sendto(socket_, datagram.data(), datagram.size(), 0, reinterpret_cast<const sockaddr*>(&address), length),
            static_cast<ssize_t>(datagram.size()));
    }

private:
    int socket_;
};

/// An address of this machine whose port is free for UDP and TCP. Closed TCP connections occupy theirs for a minute.
inline std::string free_address() {
    for (;;) {
        const net::UdpReceiver probe{{.local = net::SocketAddress::parse("127.0.0.1:0")}};
        sockaddr_storage address{};
        const auto length = probe.report().local.to_kernel(address);
        const core::Descriptor stream{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
        if (bind(stream.get(), reinterpret_cast<const sockaddr*>(&address), length) == 0)
            return probe.report().local.to_string();
    }
}

}  // namespace millpond::app
