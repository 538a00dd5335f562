#pragma once

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>

#include <millpond/net/socket_address.hpp>
#include <millpond/net/udp_receiver.hpp>

#include "bench/net/taker.hpp"

/// Ways to take datagrams that come in by near0 of tests/net/network_pair.hpp. All have port(), which the kernel chose,
/// and poll(take), which calls take(bytes) for each datagram and returns how many there were.
namespace millpond::bench {

[[nodiscard]] inline net::SocketAddress near_address(std::uint16_t port) {
    return net::SocketAddress::parse("10.99.0.1:" + std::to_string(port));
}

/// recv alone.
class BareSocket {
public:
    BareSocket() : socket_(socket(AF_INET, SOCK_DGRAM, 0)) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        socklen_t length = sizeof address;
        if (socket_ < 0 || bind(socket_, reinterpret_cast<sockaddr*>(&address), length) != 0 ||
            getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &length) != 0) {
            throw std::runtime_error("no bare socket");
        }
        port_ = ntohs(address.sin_port);
    }
    BareSocket(const BareSocket&) = delete;
    BareSocket& operator=(const BareSocket&) = delete;
    ~BareSocket() { close(socket_); }

    [[nodiscard]] std::uint16_t port() const { return port_; }

    template <class Take>
    std::size_t poll(Take&& take) {
        const auto size = recv(socket_, buffer_.data(), buffer_.size(), MSG_DONTWAIT);
        if (size < 0) return 0;
        take(std::span<const std::byte>(buffer_).first(static_cast<std::size_t>(size)));
        return 1;
    }

private:
    int socket_;
    std::uint16_t port_{0};
    std::array<std::byte, 2048> buffer_;
};

/// A UdpReceiver; trains: with UDP_GRO.
[[nodiscard]] inline net::UdpReceiver::Options on_veth(net::ReceivePath path, net::Want trains) {
    return {.local = near_address(0),
            .interface = "near0",
            .gro = trains,
            .path = path,
            .path_want = net::Want::require,
            .zero_copy = net::Want::no};
}

}  // namespace millpond::bench
