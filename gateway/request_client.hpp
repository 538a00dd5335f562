#pragma once

#include <sys/socket.h>

#include <cstddef>
#include <span>

#include <millpond/feed/moldudp64_request.hpp>
#include <millpond/net/socket_address.hpp>
#include <millpond/net/udp_receiver.hpp>

namespace millpond::gateway {

/// Asks a MoldUDP64 server for messages, from where its answers come to.
///
/// Threads: one.
class RequestClient {
public:
    /// receive_buffer: asked of the kernel for the answers; 0: its default. Throws what UdpReceiver throws.
    explicit RequestClient(const net::SocketAddress& server, std::size_t receive_buffer = 0)
        : server_(server), answers_({.local = any_like(server), .receive_buffer = receive_buffer}) {}

    /// What the kernel takes not is as if it were lost: it is asked again.
    void send(const feed::MoldUdp64Request& request) noexcept {
        sockaddr_storage to{};
        const auto length = server_.to_kernel(to);
        const auto bytes = request.bytes();
        static_cast<void>(::sendto(fd(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL,
                                   reinterpret_cast<const sockaddr*>(&to), length));
    }
    /// Valid until the next call.
    [[nodiscard]] std::span<const net::Datagram> poll() noexcept { return answers_.poll(); }

    [[nodiscard]] int fd() const noexcept { return answers_.fd(); }
    [[nodiscard]] const net::SocketAddress& server() const noexcept { return server_; }

private:
    static net::SocketAddress any_like(const net::SocketAddress& to) {
        return net::SocketAddress::parse(to.family() == net::SocketAddress::Family::ipv6 ? "[::]:0" : "0.0.0.0:0");
    }

    net::SocketAddress server_;
    net::UdpReceiver answers_;
};

}  // namespace millpond::gateway
