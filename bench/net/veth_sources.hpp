#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include <millpond/net/socket_address.hpp>
#include <millpond/net/udp_receiver.hpp>

#include "bench/net/bound_socket.hpp"
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
    [[nodiscard]] std::uint16_t port() const { return socket_.port(); }

    template <class Take>
    std::size_t poll(Take&& take) {
        const auto size = recv(socket_.descriptor(), buffer_.data(), buffer_.size(), MSG_DONTWAIT);
        if (size < 0) return 0;
        take(std::span<const std::byte>(buffer_).first(static_cast<std::size_t>(size)));
        return 1;
    }

private:
    BoundSocket socket_{INADDR_ANY};
    std::array<std::byte, 2048> buffer_;
};

/// A UdpReceiver; trains: with UDP_GRO.
[[nodiscard]] inline net::UdpReceiver::Options on_veth(net::ReceivePath path, net::Want trains) {
    return {.local = near_address(0),
            .interface = "near0",
            .gro = trains,
            .path = path,
            .path_want = net::Want::require,
            .zero_copy = net::Want::no,
            .checksum = net::Checksum::trust};
}

}  // namespace millpond::bench
