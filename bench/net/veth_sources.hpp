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
#include "bench/net/polled_receiver.hpp"

/// Ways to receive datagrams at near0 of tests/net/network_pair.hpp. Each has port(), a free port, and poll(handle),
/// which calls handle(bytes) for each datagram and returns their number.
namespace millpond::bench {

[[nodiscard]] inline net::SocketAddress near_address(std::uint16_t port) {
    return net::SocketAddress::parse("10.99.0.1:" + std::to_string(port));
}

/// recv alone.
class BareSocket {
public:
    [[nodiscard]] std::uint16_t port() const { return socket_.port(); }

    template <class Handle>
    std::size_t poll(Handle&& handle) {
        const auto size = recv(socket_.descriptor(), buffer_.data(), buffer_.size(), MSG_DONTWAIT);
        if (size < 0) return 0;
        handle(std::span<const std::byte>(buffer_).first(static_cast<std::size_t>(size)));
        return 1;
    }

private:
    BoundSocket socket_{INADDR_ANY};
    std::array<std::byte, 2048> buffer_;
};

/// A UdpReceiver. trains: with UDP_GRO.
[[nodiscard]] inline net::ReceiveOptions on_veth(net::ReceivePath path, net::Want trains) {
    return {.local = near_address(0),
            .interface = "near0",
            .gro = trains,
            .path = path,
            .path_want = net::Want::require,
            .zero_copy = net::Want::no,
            .checksum = net::Checksum::trust};
}

}  // namespace millpond::bench
